// What Service Fabric does with replicas that leave, stand by, come back after an upgrade or cannot move, in whole plans.
#include <spdlog/fmt/fmt.h>

#include "balancing/plan/plan_testing.h"

namespace evenkeel::balancing::plan_rules_test {
namespace {

using testing::NodesText;
using Texts = std::vector<std::string>;

class PlanRulesTest : public testing::PlanFixture {
 protected:
  /// "partition action from to", in the order of partitions.
  Texts Of(const std::string& text) {
    Make(text);
    Texts texts;
    for (const Action& action : plan.Actions()) {
      if (action.from == kNoId && action.to == kNoId) continue;
      texts.push_back(fmt::format("{} {} {} {}", cluster.partitions[action.partition].name, Name(action.kind),
                                  NodeName(action.from), NodeName(action.to)));
    }
    std::ranges::sort(texts);
    return texts;
  }
  void Set(const std::string& section, const std::string& name, const std::string& value) {
    ASSERT_TRUE(SetParameter(settings, section, name, value).has_value());
  }
  void Set(const std::string& name, const std::string& value) { Set("PlacementAndLoadBalancing", name, value); }
};

std::string Sized(const std::vector<int>& capacities) {
  std::string text = "nodes:\n";
  for (size_t i = 0; i < capacities.size(); ++i)
    text += fmt::format("- {{name: n{}, capacities: {{M: {}}}}}\n", i, capacities[i]);
  return text;
}

std::string Stateful(const std::string& name, int primary, int secondary, const std::string& rest = "") {
  return fmt::format("- {{name: {}, kind: stateful, metrics: [{{name: M, primaryLoad: {}, secondaryLoad: {}}}]{}}}\n", name,
                     primary, secondary, rest.empty() ? "" : ", " + rest);
}

/// "P0" is a primary on n0, "S1" a secondary, "B2" a stand-by one, "D3" a dropped one; a flag may follow in brackets.
std::string Partition(const std::string& name, const std::string& service, const Texts& replicas,
                      const std::string& rest = "") {
  std::string text = fmt::format("- {{name: {}, service: {}{}, replicas: [", name, service, rest.empty() ? "" : ", " + rest);
  for (const std::string& replica : replicas) {
    const std::map<char, std::string> roles{{'P', "primary"}, {'S', "secondary"}, {'B', "standBy"}, {'D', "dropped"}};
    const size_t flags = replica.find('[');
    text += fmt::format("{{node: n{}, role: {}{}}},", replica.substr(1, flags - 1), roles.at(replica[0]),
                        flags == std::string::npos ? "" : ", flags: " + replica.substr(flags));
  }
  return text + "]}\n";
}

TEST_F(PlanRulesTest, WhatLeavesIsNoLoadAndIsNotDroppedAgain) {
  EXPECT_EQ(Of(Sized({100, 100, 100}) + "services:\n" + Stateful("s", 30, 30) + "partitions:\n" +
               Partition("a", "s", {"P0", "S1[ToBeDropped]"}) + Partition("b", "s", {"P2", "S1[MoveInProgress]"})),
            Texts{})
      << "n1 counts as empty, but one replica each is as even as it gets";
  EXPECT_EQ(plan.of_groups[0].balance.metrics[0].min, 0);
}

TEST_F(PlanRulesTest, WhatLeavesHasItsRoomUnlessThatDoesNotCount) {
  const std::string text = Sized({100, 100}) + "services:\n" + Stateful("s", 60, 60) + "partitions:\n" +
                           Partition("a", "s", {"P0[ToBeDropped]"}) + Partition("b", "s", {"P1"}) +
                           Partition("c", "s", {}, "missing: 1");
  EXPECT_EQ(Of(text), Texts{});
  Set("CountDisappearingLoadForSimulatedAnnealing", "false");
  EXPECT_EQ(Of(text), Texts{"c AddPrimary - n0"});
}

TEST_F(PlanRulesTest, OfTooManyTheOneThatMovesAlreadyGoesFirstAndThePrimaryNever) {
  EXPECT_EQ(
      Of(NodesText(3) + "services: [{name: s, kind: stateful}]\npartitions:\n" +
         Partition("a", "s", {"P0", "S1", "S2[MoveInProgress]"}, "missing: -1") + Partition("b", "s", {"P1"}, "missing: -1")),
      Texts{"a DropSecondary n2 -"});
}

TEST_F(PlanRulesTest, OfAFamilyTheReplicaThatIsAloneGoesFirst) {
  EXPECT_EQ(Of(NodesText(4) + "services: [{name: s, kind: stateful}, {name: c, kind: stateful, affinityTo: s}]\npartitions:\n" +
               Partition("a", "s", {"P0", "S1", "S2"}, "missing: -1") + Partition("b", "c", {"P0", "S2"}) +
               Partition("d", "c", {"P0", "S2", "S3"}, "missing: -1")),
            (Texts{"a DropSecondary n1 -", "d DropSecondary n3 -"}));
}

TEST_F(PlanRulesTest, AReplicaTakesThePlaceOfItsStandBy) {
  const std::string overloaded = Sized({50, 60}) + "services:\n" + Stateful("s", 60, 40) + "partitions:\n";
  EXPECT_EQ(Of(overloaded + Partition("a", "s", {"P0", "B1"})), Texts{"a MovePrimary n0 n1"}) << "60 instead of 40 fit";
  EXPECT_EQ(Of(Sized({50, 60}) + "services:\n" + Stateful("s", 60, 40) + Stateful("t", 30, 30) + "partitions:\n" +
               Partition("a", "s", {"P0"}) + Partition("b", "t", {"P1"})),
            Texts{});
}

TEST_F(PlanRulesTest, ANodeWithAReplicaWithoutARoleIsTaken) {
  const std::string services = "services: [{name: s, kind: stateful}]\npartitions:\n";
  EXPECT_EQ(Of(NodesText(3) + services +
               "- {name: a, service: s, missing: 1, replicas: [{node: n0, role: primary}, {node: n1, role: none}]}\n"),
            Texts{"a AddSecondary - n2"});
}

TEST_F(PlanRulesTest, WhatIsOnANodeThatItsTypeIsBlockedOnStays) {
  const std::string text =
      NodesText(2) +
      "serviceTypes: [{name: t, blockedNodes: [n0]}]\nservices: [{name: s, kind: stateful, type: t}]\npartitions:\n" +
      Partition("a", "s", {"P0"});
  EXPECT_EQ(Of(text), Texts{});
  EXPECT_TRUE(plan.of_groups[0].violations.empty());
  LoadAfresh(text);
  cluster.service_types[0].leaves_blocked = true;
  MakeAt(0);
  EXPECT_EQ(Count(ActionKind::kMovePrimary), 1) << "as in members";
}

TEST_F(PlanRulesTest, AnUpgradeBringsReplicasBackToTheirNodes) {
  const std::string services = Sized({100, 100, 20, 100}) + "services:\n" + Stateful("s", 40, 30) + "partitions:\n";
  const std::string missing = "flags: [InUpgrade], missing: 1";
  EXPECT_EQ(Of(services + Partition("a", "s", {"P0", "B1[PrimaryToBePlaced]"}, missing)), Texts{"a AddPrimary - n1"});
  EXPECT_EQ(Of(services + Partition("a", "s", {"P0", "D3[ReplicaToBePlaced]"}, missing)), Texts{"a AddSecondary - n3"});
  EXPECT_EQ(Of(services + Partition("a", "s", {"P0", "D2[ReplicaToBePlaced]"}, missing)),
            Texts{"a RequestedPlacementNotPossible n2 -"})
      << "and nowhere else";
  EXPECT_TRUE(plan.Actions()[0].reason.contains("Capacity does not allow it")) << plan.Actions()[0].reason;
  EXPECT_EQ(Of(services + Partition("a", "s", {"P0[PrimaryToBeSwappedOut]", "B1[PrimaryToBePlaced]"}, missing)),
            Texts{"a AddSecondary - n1"})
      << "the exchange comes afterwards";
}

TEST_F(PlanRulesTest, AnUpgradeSwapsOutToNodesThatAreAvailableAndBackToAnyThatIsUp) {
  const std::string nodes =
      "nodes: [{name: n0}, {name: n1, deactivation: {intent: Restart, status: Complete}}]\n"
      "services: [{name: s, kind: stateful}]\npartitions:\n";
  EXPECT_EQ(Of(nodes + Partition("a", "s", {"P0[PrimaryToBeSwappedOut]", "S1"})), Texts{});
  EXPECT_EQ(Of(nodes + Partition("a", "s", {"P0", "S1[PrimaryToBePlaced]"})), Texts{"a SwapPrimarySecondary n0 n1"});
  EXPECT_EQ(Of(nodes + Partition("a", "s", {"P0[PrimaryToBeSwappedOut, ToBeDropped]", "S1"})),
            Texts{"a RequestedPlacementNotPossible n0 -"});
  EXPECT_EQ(Of(NodesText(2) + "services: [{name: s, kind: stateful}]\npartitions:\n" +
               Partition("a", "s", {"P0[PrimaryToBeSwappedOut, ToBeDropped]", "S1"})),
            Texts{"a PromoteSecondary - n1"})
      << "the present one leaves anyway";
}

TEST_F(PlanRulesTest, APrimaryThatIsSwappedOutPrefersANodeThatCanHoldIt) {
  EXPECT_EQ(Of(Sized({50, 40, 50}) + "services:\n" + Stateful("s", 45, 40) + "partitions:\n" +
               Partition("a", "s", {"P0[PrimaryToBeSwappedOut]", "S1", "S2"}, "flags: [InUpgrade], missing: 1")),
            Texts{"a SwapPrimarySecondary n0 n2"})
      << "and nothing is added meanwhile";
}

TEST_F(PlanRulesTest, AParentIsSwappedOutOnlyWithItsChildWhereThatIsChecked) {
  const std::string text = Sized({100, 65}) + "services:\n" + Stateful("s", 30, 20) + Stateful("c", 40, 30, "affinityTo: s") +
                           "partitions:\n" + Partition("a", "s", {"P0[PrimaryToBeSwappedOut]", "S1"}, "flags: [InUpgrade]") +
                           Partition("b", "c", {"P0", "S1"});
  Set("RelaxCapacityConstraintForUpgrade", "false");
  EXPECT_EQ(Of(text), Texts{"a SwapPrimarySecondary n0 n1"});
  Set("CheckAlignedAffinityForUpgrade", "true");
  EXPECT_EQ(Of(text), Texts{});
}

TEST_F(PlanRulesTest, AMissingReplicaIsThePrimaryWhereThePresentOneIsDropped) {
  const std::string services = NodesText(3) + "services: [{name: s, kind: stateful}]\npartitions:\n";
  EXPECT_EQ(Of(services + Partition("a", "s", {"P0[ToBeDropped]", "S1"}, "missing: 1")), Texts{"a AddPrimary - n2"});
  EXPECT_EQ(Of(services + Partition("a", "s", {"P0[MoveInProgress]", "S1"}, "missing: 1")), Texts{"a AddSecondary - n2"});
  EXPECT_EQ(Of(services + Partition("a", "s", {"S0", "S1"})), Texts{}) << "whoever recovers it says who is the primary";
}

TEST_F(PlanRulesTest, AnApplicationLeavesTheNodesThatItCanLeave) {
  const std::string text = Sized({100, 10, 10, 10}) + "applications: [{name: x, maxNodes: 1}]\nservices:\n" +
                           Stateful("big", 50, 50, "application: x") + Stateful("small", 5, 5, "application: x") +
                           "partitions:\n" + Partition("a", "big", {"P0"}) + Partition("b", "small", {"P1", "S2"});
  EXPECT_EQ(Of(text).size(), 1u) << "two of a partition cannot share a node, but two nodes are better than three";
}

TEST_F(PlanRulesTest, AnApplicationGathersOnANodeThatIsNewToIt) {
  EXPECT_EQ(Of(NodesText(3) +
               "serviceTypes: [{name: t, blockedNodes: [n1]}, {name: u, blockedNodes: [n0]}]\n"
               "applications: [{name: x, maxNodes: 1}]\nservices:\n"
               "- {name: s, kind: stateful, type: t, application: x}\n- {name: v, kind: stateful, type: u, application: x}\n"
               "partitions:\n" +
               Partition("a", "s", {"P0"}) + Partition("b", "v", {"P1"})),
            (Texts{"a MovePrimary n0 n2", "b MovePrimary n1 n2"}));
}

TEST_F(PlanRulesTest, AReservationLeavesWithAllThatHoldIt) {
  EXPECT_EQ(Of(Sized({100, 200}) + "applications: [{name: x, metrics: [{name: M, nodeReservation: 150}]}]\nservices:\n" +
               Stateful("s", 10, 10, "application: x") + "- {name: t, kind: stateful, application: x}\npartitions:\n" +
               Partition("a", "s", {"P0"}) + Partition("b", "t", {"P0"})),
            (Texts{"a MovePrimary n0 n1", "b MovePrimary n0 n1"}));
}

TEST_F(PlanRulesTest, ManyCheapMovementsGoBeforeADearOne) {
  const std::string text = Sized({100, 200}) + "services:\n" + Stateful("dear", 30, 30, "moveCost: High") +
                           Stateful("cheap", 10, 10) + "partitions:\n" + Partition("a", "dear", {"P0"}) +
                           Partition("b", "dear", {"P0"}) + Partition("c", "dear", {"P0"}) + Partition("d", "cheap", {"P0"}) +
                           Partition("e", "cheap", {"P0"}) + Partition("f", "cheap", {"P0"});
  EXPECT_EQ(Of(text).size(), 1u);
  Set("UseMoveCostReports", "true");
  EXPECT_EQ(Of(text).size(), 1u) << "it earns its cost: the nodes are more alike";
  Set("MoveCostHighValue", "2000");
  const Texts moves = Of(text);
  EXPECT_EQ(moves.size(), 2u);
  EXPECT_TRUE(std::ranges::all_of(moves, [](const std::string& move) { return move[0] >= 'd'; }));
}

TEST_F(PlanRulesTest, AFamilyMeetsWhereBothMayBe) {
  Set("MoveParentToFixAffinityViolation", "true");
  EXPECT_EQ(Of(NodesText(4) +
               "serviceTypes: [{name: t, blockedNodes: [n2]}, {name: u, blockedNodes: [n1]}]\nservices:\n"
               "- {name: s, kind: stateful, type: t}\n- {name: c, kind: stateful, type: u, affinityTo: s}\npartitions:\n" +
               Partition("a", "s", {"P0", "S1"}) + Partition("b", "c", {"P0", "S2"})),
            (Texts{"a MoveSecondary n1 n3", "b MoveSecondary n2 n3"}));
}

TEST_F(PlanRulesTest, ChildrenWaitForParentsWhereTheyMust) {
  const std::string text = NodesText(3) +
                           "services: [{name: s, kind: stateful}, {name: c, kind: stateful, affinityTo: s}]\npartitions:\n" +
                           Partition("a", "s", {"P0"}) + Partition("b", "c", {}, "missing: 2");
  EXPECT_EQ(Of(text).size(), 2u);
  Set("PlaceChildWithoutParent", "false");
  EXPECT_EQ(Of(text), Texts{"b AddPrimary - n0"}) << "no more than the parent has";
}

TEST_F(PlanRulesTest, AFullDomainGetsNoneWhileAnotherOneHasNone) {
  EXPECT_EQ(Of("nodes: [{name: n0, faultDomain: 'fd:/0'}, {name: n1, faultDomain: 'fd:/0'}, {name: n2, faultDomain: 'fd:/1'},\n"
               " {name: n3, faultDomain: 'fd:/1'}, {name: n4, faultDomain: 'fd:/2', capacities: {M: 1}},\n"
               " {name: n5, faultDomain: 'fd:/2', capacities: {M: 1}}]\nservices:\n" +
               Stateful("s", 5, 5) + "partitions:\n" + Partition("a", "s", {"P0", "S1", "S2"}, "missing: 1")),
            Texts{});
  Set("FaultDomainEnabled", "false");
  EXPECT_EQ(Of("nodes: [{name: n0, faultDomain: 'fd:/0'}, {name: n1, faultDomain: 'fd:/0'}, {name: n2, faultDomain: 'fd:/1'}]\n"
               "services: [{name: s, kind: stateful}]\npartitions:\n" +
               Partition("a", "s", {"P0", "S1"})),
            Texts{})
      << "domains are not looked at";
}

TEST_F(PlanRulesTest, PlacementWithMovesTriesWhatOneOrTwoOthersCouldDo) {
  Set("MaxPercentageToMoveForPlacement", "1");
  Set("LoadBalancingEnabled", "false");
  Set("ConstraintCheckEnabled", "false");
  const std::string text =
      Sized({60, 50, 90}) + "serviceTypes: [{name: t, blockedNodes: [n0]}, {name: u, blockedNodes: [n2]}]\nservices:\n" +
      Stateful("wall", 60, 60) + Stateful("s", 40, 40, "type: t") + Stateful("c", 30, 30, "affinityTo: s") +
      Stateful("v", 50, 50, "type: u") + "partitions:\n" + Partition("a", "wall", {"P0"}) + Partition("b", "s", {"P1"}) +
      Partition("d", "c", {}, "missing: 1") + Partition("e", "v", {}, "missing: 1");
  Make(text);
  memory.groups[0].phase.placement_with_move = true;
  MakeAt(10);
  ASSERT_EQ(plan.phase, Phase::kPlacementWithMove);
  EXPECT_EQ(Count(ActionKind::kMovePrimary), 1);
  EXPECT_EQ(Count(ActionKind::kAddPrimary), 2);
}

}  // namespace
}  // namespace evenkeel::balancing::plan_rules_test
