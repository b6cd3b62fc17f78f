#include "balancing/plan/plan.h"

#include <gtest/gtest.h>

#include "balancing/measures/deviation.h"
#include "balancing/model/cluster_testing.h"
#include "balancing/plan/plan_json.h"
#include "balancing/plan/plan_testing.h"

namespace evenkeel::balancing::plan_test {
namespace {

using testing::InstancesText;
using testing::NodesText;
using testing::Ones;

class PlanTest : public testing::PlanFixture {
 protected:
  static std::string Instances(const std::vector<std::vector<int>>& loads, const std::string& history = "") {
    return NodesText(static_cast<int>(loads.size())) +
           "services: [{name: s, metrics: [{name: Memory, load: 1}]}]\npartitions:\n" + InstancesText("s", "Memory", loads) +
           history;
  }
};

TEST_F(PlanTest, BalancingStopsAtTheLimitOfItsWindow) {
  settings.global_movement_throttle_threshold_for_balancing = 10;
  settings.global_movement_throttle_counting_interval = 24 * 3600;
  settings.max_percentage_to_move = 1;
  Make(Instances({Ones(9), {}, {}}));
  EXPECT_EQ(Count(ActionKind::kMoveInstance), 6);
  Load(Instances({Ones(103), Ones(3), Ones(3)}));
  NoteStateChange(memory.groups[0].phase, 12 * 3600);
  MakeAt(12 * 3600 + 10);
  EXPECT_EQ(Count(ActionKind::kMoveInstance), 4) << "6 of 10 were made 12 hours ago";
  EXPECT_EQ(plan.of_groups[0].decision.movement_slots, 4);
  NoteLoadChange(memory.groups[0].phase, 12 * 3600 + 20);
  MakeAt(12 * 3600 + 20);
  EXPECT_EQ(plan.phase, Phase::kNoActionNeeded);
  EXPECT_TRUE(WhySkipped("Balancing").contains("GlobalMovementThrottleThresholdForBalancing")) << WhySkipped("Balancing");
  MakeAt(36 * 3600 + 20);
  EXPECT_EQ(Count(ActionKind::kMoveInstance), 10) << "the window has passed";
}

TEST_F(PlanTest, ASearchThatWasCutOffOnTheWayDownSaysSo) {
  evaluations = 5;
  Make(Instances({Ones(90), {}, {}}));
  EXPECT_TRUE(WhySkipped("Balancing").contains("the search was cut off after")) << WhySkipped("Balancing");
  evaluations = 0;
  Make(Instances({Ones(90), {}, {}}));
  EXPECT_EQ(WhySkipped("Balancing"), "not skipped");
}

TEST_F(PlanTest, ASecondaryThatIsMarkedAsThePlaceOfThePrimaryIsPromotedWhereThereIsNone) {
  Make(NodesText(3) +
       "services: [{name: s, kind: stateful}]\npartitions:\n"
       "- {name: p, service: s, replicas: [{node: n0, role: secondary}, {node: n1, role: secondary, flags: "
       "[PrimaryToBePlaced]}]}");
  ASSERT_EQ(Actions(), 1u);
  EXPECT_EQ(plan.Actions()[0].kind, ActionKind::kPromoteSecondary);
  EXPECT_EQ(NodeName(plan.Actions()[0].to), "n1");
}

TEST_F(PlanTest, AThousandReplicasWithoutANodeAreActionsAndTheOthersCounted) {
  std::string text = NodesText(1) + "services: [{name: s}]\npartitions:\n";
  for (int i = 0; i < 12; ++i) text += "- {name: p" + std::to_string(i) + ", service: s, missing: 101}\n";
  Make(text);
  EXPECT_EQ(Count(ActionKind::kAddInstance), 12);
  EXPECT_EQ(Count(ActionKind::kRequestedPlacementNotPossible), 1000);
  EXPECT_EQ(WhySkipped("200 more replicas"), "they have no node either");
}

TEST_F(PlanTest, NoMoreThanItsShareMoves) {
  Make(Instances({Ones(100), {}}));
  EXPECT_EQ(Actions(), 30u) << "MaxPercentageToMove is 0.3";
}

TEST_F(PlanTest, WhatMovesLastIsMovedByRepairsOnly) {
  settings.use_move_cost_reports = true;
  settings.max_percentage_to_move = 1;
  const auto state = [](const std::string& n0) {
    return "nodes:\n- {name: n0" + n0 +
           "}\n- {name: n1}\nservices: [{name: s, kind: stateless, moveCost: VeryHigh, metrics: [{name: Memory, load: 1}]}]\n" +
           "partitions:\n" + InstancesText("s", "Memory", {{10, 10, 10}, {}});
  };
  Make(state(""));
  EXPECT_EQ(Actions(), 0u);
  Make(state(", capacities: {Memory: 25}"));
  EXPECT_EQ(plan.phase, Phase::kConstraintCheck);
  EXPECT_EQ(Actions(), 1u);
  settings.use_move_cost_reports = false;
  Make(state(""));
  EXPECT_EQ(Actions(), 1u) << "costs do not count";
}

// 55 partitions with their primaries on n0, and five whose primaries are on their way.
std::string ManyPrimaries() {
  std::string text = NodesText(3) + "services: [{name: s, kind: stateful}]\npartitions:\n";
  for (int i = 0; i < 60; ++i) {
    text += "- {name: s/" + std::to_string(i) + ", service: s, flags: [" + (i < 5 ? "SwappingPrimary, InTransition" : "") +
            "], replicas: [{node: n0, role: primary}, {node: n1, role: secondary}]}\n";
  }
  return text;
}

TEST_F(PlanTest, PrimariesOnTheirWayAreLimited) {
  settings.max_percentage_to_move = 1;
  settings.swap_primary_throttling_enabled = true;
  settings.swap_primary_throttling_global_max_value = 10;
  Make(ManyPrimaries());
  EXPECT_EQ(Count(ActionKind::kMovePrimary) + Count(ActionKind::kSwapPrimarySecondary), 5);
  EXPECT_TRUE(WhySkipped("wait for a later plan").contains("SwapPrimaryThrottlingGlobalMaxValue")) << WhySkipped("wait");
  EXPECT_LT(plan.of_groups[0].energy_after, plan.of_groups[0].energy_before);
  settings.swap_primary_throttling_associated_metric = "Other";
  Make(ManyPrimaries());
  EXPECT_GT(Count(ActionKind::kMovePrimary) + Count(ActionKind::kSwapPrimarySecondary), 5) << "of other services only";
}

TEST_F(PlanTest, ReplicasBeingBuiltAreLimitedInAllGroupsTogether) {
  settings.in_build_throttling_enabled = true;
  settings.in_build_throttling_global_max_value = 3;
  std::string text = NodesText(3) + "services:\n";
  std::string partitions = "partitions:\n";
  for (const std::string service : {"a", "b"}) {
    text +=
        "- {name: " + service + ", kind: stateful, metrics: [{name: M" + service + ", primaryLoad: 1, secondaryLoad: 1}]}\n";
    for (int i = 0; i < 4; ++i) {
      partitions += "- {name: " + service + "/" + std::to_string(i) + ", service: " + service +
                    ", missing: 1, replicas: [{node: n0, role: primary}" +
                    (i == 0 && service == "a" ? ", {node: n1, role: secondary, flags: [InBuild]}" : "") + "]}\n";
    }
  }
  Make(text + partitions);
  EXPECT_EQ(plan.phase, Phase::kPlacement);
  EXPECT_EQ(Count(ActionKind::kAddSecondary), 2) << "one is being built already";
  EXPECT_EQ(Count(ActionKind::kRequestedPlacementNotPossible), 0) << "the others wait, they are not impossible";
  settings.in_build_throttling_enabled = false;
  Make(text + partitions);
  EXPECT_EQ(Count(ActionKind::kAddSecondary), 8);
}

TEST_F(PlanTest, AnApplicationUpgradePausesTheBalancingOfItsGroupOnly) {
  settings.allow_balancing_during_application_upgrade = false;
  const auto text = [](const std::string& in_upgrade) {
    return NodesText(2) +
           "services:\n- {name: s1, metrics: [{name: Cpu}]}\n- {name: s2, metrics: [{name: Memory}]}\npartitions:\n" +
           InstancesText("s1", "Cpu", {Ones(4), {}}) + InstancesText("s2", "Memory", {Ones(4), {}}) +
           "- {name: upgraded, service: " + in_upgrade + ", flags: [InUpgrade], replicas: []}\n";
  };
  Make(text("s2"));
  EXPECT_EQ(plan.of_groups[0].decision.phase, Phase::kQuickBalancing);
  EXPECT_EQ(plan.of_groups[1].decision.phase, Phase::kNoActionNeeded);
  EXPECT_EQ(WhySkipped("Balancing", 1), "an application is being upgraded");
  Make(text("s1"));
  EXPECT_EQ(plan.of_groups[0].decision.phase, Phase::kNoActionNeeded);
  EXPECT_EQ(plan.of_groups[1].decision.phase, Phase::kQuickBalancing);
  EXPECT_EQ(plan.phase, Phase::kQuickBalancing) << "that of the first group that has one";
}

// One replica that no other node is better for: imbalanced for ever.
TEST_F(PlanTest, BalancingEscalatesAndRestsWhenNothingChanges) {
  settings.plb_action_retry_times = 1;
  Make(Instances({{10}, {}}));
  EXPECT_EQ(plan.phase, Phase::kQuickBalancing);
  EXPECT_EQ(Actions(), 0u);
  MakeAt(6);
  EXPECT_EQ(plan.phase, Phase::kNoActionNeeded);
  EXPECT_EQ(WhySkipped("Balancing"), "nothing has changed since it was last balanced 6s ago");
  NoteLoadChange(memory.groups[0].phase, 7);
  MakeAt(12);
  EXPECT_EQ(plan.phase, Phase::kBalancing) << "slow";
  NoteLoadChange(memory.groups[0].phase, 13);
  MakeAt(18);
  EXPECT_EQ(plan.phase, Phase::kQuickBalancing);
}

TEST_F(PlanTest, BalancingWaitsAfterANodeCameOrWent) {
  Make(Instances({Ones(4), {}}, "history: {lastNodeUp: -60, lastStateChange: -60}\n"));
  EXPECT_EQ(plan.phase, Phase::kNoActionNeeded);
  MakeAt(61);
  EXPECT_EQ(plan.phase, Phase::kQuickBalancing);
}

TEST_F(PlanTest, WhatIsLongestOverdueComesFirst) {
  settings.min_load_balancing_interval = 1;
  const auto state = [](const std::string& extra) {
    return NodesText(1, "capacities: {Memory: 5}") + "- {name: n1}\n- {name: n2}\n" +
           "services: [{name: s, metrics: [{name: Memory, load: 1}]}]\npartitions:\n" +
           InstancesText("s", "Memory", {{3, 3}, {}, {1}}) + extra;
  };
  const std::string missing = "- {name: s/new, service: s, replicas: [], missing: 1}\n";
  const std::string history = "history: {lastPlacement: 0, lastConstraintCheck: 0, lastBalancing: 0, lastLoadChange: 0.5}\n";
  LoadAfresh(state(missing + history));
  MakeAt(1);
  EXPECT_EQ(plan.phase, Phase::kPlacement) << "equally overdue";
  LoadAfresh(state(history));
  MakeAt(1);
  EXPECT_EQ(plan.phase, Phase::kConstraintCheck);
  EXPECT_EQ(Count(ActionKind::kMoveInstance), 1);
  LoadAfresh(state("history: {lastPlacement: 0, lastConstraintCheck: 0, lastBalancing: -5, lastLoadChange: 0.5}\n"));
  MakeAt(1);
  EXPECT_EQ(plan.phase, Phase::kQuickBalancing);
}

TEST_F(PlanTest, PlacementWithMovesIsTheFourthTry) {
  // The new replica fits nowhere unless the small one makes room.
  const std::string text = NodesText(2, "capacities: {Memory: 10}") +
                           "services: [{name: s, metrics: [{name: Memory, load: 8}]}]\npartitions:\n" +
                           InstancesText("s", "Memory", {{4}, {4}}) + "- {name: s/new, service: s, replicas: [], missing: 1}\n";
  settings.max_percentage_to_move_for_placement = 0.5;
  LoadAfresh(text);
  for (int i = 0; i < 3; ++i) {
    MakeAt(i);
    EXPECT_EQ(plan.phase, Phase::kPlacement);
    EXPECT_EQ(Count(ActionKind::kRequestedPlacementNotPossible), 1);
    EXPECT_TRUE(WhySkipped("a replica of partition s/new").contains("Capacity rules out 2")) << WhySkipped("a replica");
  }
  MakeAt(3);
  EXPECT_EQ(plan.phase, Phase::kPlacementWithMove);
  EXPECT_EQ(Count(ActionKind::kMoveInstance), 1);
  EXPECT_EQ(Count(ActionKind::kAddInstance), 1);
  EXPECT_EQ(memory.throttles.Allowed(settings, Movement::Phase::kPlacement, 2, 4).remaining, 999) << "the move is counted";
  MakeAt(4);
  EXPECT_EQ(plan.phase, Phase::kPlacement);
}

TEST_F(PlanTest, AFullNodeIsDrainedAndTheMoveIsNotCounted) {
  Make(NodesText(1, "capacities: {Memory: 5}") +
       "- {name: n1}\nservices: [{name: s, metrics: [{name: Memory}]}]\npartitions:\n" +
       InstancesText("s", "Memory", {{3, 3}, {}}));
  EXPECT_EQ(plan.phase, Phase::kConstraintCheck);
  EXPECT_EQ(plan.of_groups[0].violations.size(), 1u);
  EXPECT_EQ(plan.of_groups[0].violation_texts[0], "n0 has 6 of Memory, 1 more than its capacity");
  EXPECT_EQ(Count(ActionKind::kMoveInstance), 1);
  EXPECT_EQ(memory.throttles.Allowed(settings, Movement::Phase::kBalancing, 2, 1).remaining, 1000);
}

TEST_F(PlanTest, APartitionThatMovedTooOftenStays) {
  settings.movement_per_partition_throttle_threshold = 1;
  settings.movement_throttled_partitions_percentage_threshold = 1;
  const std::string moved = "history: {movements: [{at: -1, partition: s/0}, {at: -1, partition: s/1}]}\n";
  Make(Instances({Ones(4), {}}, moved));
  EXPECT_EQ(plan.phase, Phase::kQuickBalancing);
  EXPECT_TRUE(WhySkipped("partition s/0").contains("MovementPerPartitionThrottleThreshold"));
  EXPECT_EQ(Actions(), 2u);
  for (const Action& action : plan.Actions()) {
    EXPECT_NE(cluster.partitions[action.partition].name, "s/0");
    EXPECT_NE(cluster.partitions[action.partition].name, "s/1");
  }
}

// Nodes, services and partitions in an order of its own, the same cluster for the same seed.
std::string ShuffledState(uint64_t seed, uint64_t order) {
  base::Random random(seed);
  std::vector<std::string> nodes, services, partitions;
  const int node_count = static_cast<int>(random.Between(4, 8));
  for (int i = 0; i < node_count; ++i) {
    nodes.push_back("{name: node" + std::to_string(i) + ", faultDomain: \"fd:/r" + std::to_string(i % 3) +
                    "\", upgradeDomain: u" + std::to_string(i % 2) + ", capacities: {Memory: 400}}");
  }
  for (const std::string service : {"x", "y", "z"}) {
    services.push_back("{name: " + service + ", kind: stateful, metrics: [{name: Memory, weight: 0.7}, {name: Cpu" + service +
                       ", weight: 0.3}]}");
    for (int i = 0; i < 6; ++i) {
      const int64_t first = random.Between(0, 1), second = random.Between(2, node_count - 1);
      const auto load = [&] { return std::to_string(random.Between(1, 30)); };
      const std::string primary = "{node: node" + std::to_string(first) + ", role: primary, loads: {Memory: " + load() +
                                  ", Cpu" + service + ": " + load() + "}}";
      const std::string secondary = "{node: node" + std::to_string(second) + ", role: secondary, loads: {Memory: " + load() +
                                    ", Cpu" + service + ": " + load() + "}}";
      const bool swapped = order % 2 == 1;
      partitions.push_back("{name: " + service + "/" + std::to_string(i) + ", service: " + service + ", replicas: [" +
                           (swapped ? secondary : primary) + ", " + (swapped ? primary : secondary) + "]}");
    }
  }
  base::Random shuffle(order);
  std::string text;
  const std::pair<std::string, std::vector<std::string>*> lists[] = {
      {"nodes", &nodes}, {"services", &services}, {"partitions", &partitions}};
  for (const auto& [name, list] : lists) {
    for (size_t i = list->size(); order > 0 && i > 1; --i) std::swap((*list)[i - 1], (*list)[shuffle.Below(i)]);
    text += name + ":\n";
    for (const std::string& item : *list) text += "- " + item + "\n";
  }
  return text;
}

TEST_F(PlanTest, TheOrderOfTheInputDoesNotMatter) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    std::string first;
    for (uint64_t order = 0; order < 4; ++order) {
      Make(ShuffledState(seed, order));
      const std::string json = base::ToText(PlanToJson(cluster, settings, plan, 0));
      if (order == 0) first = json;
      EXPECT_GT(Actions(), 0u);
      EXPECT_EQ(json, first) << "seed " << seed << ", order " << order;
    }
  }
}

TEST_F(PlanTest, TheSamePlanTwice) {
  Make(ShuffledState(7, 0));
  const std::string first = base::ToText(PlanToJson(cluster, settings, plan, 0));
  Make(ShuffledState(7, 0));
  EXPECT_EQ(base::ToText(PlanToJson(cluster, settings, plan, 0)), first);
}

// Carries the plan out, action by action.
void ExpectThatTheActionsDoWhatTheySay(const Plan& plan, Arrangement& state, uint64_t seed) {
  const Cluster& cluster = state.cluster();
  const Constraints constraints(state, {.purpose = Purpose::kPlacement, .max_priority = 0});
  for (const GroupPlan& group : plan.of_groups) {
    for (const Action& action : group.actions) {
      const std::string what = "seed " + std::to_string(seed) + ": " + action.reason;
      const ReplicaId replica = state.Find(action.partition, action.from);
      ASSERT_NE(replica, kNoId) << what;
      const auto obstacle = action.kind == ActionKind::kSwapPrimarySecondary
                                ? constraints.SwapObstacle(replica, state.Find(action.partition, action.to))
                                : constraints.Obstacle(replica, action.to);
      ASSERT_FALSE(obstacle.has_value()) << what << ", against " << Name(*obstacle);
      for (const LoadChange& change : action.loads) {
        ASSERT_EQ(change.source_before, state.loads().Of(change.metric, action.from)) << what;
        ASSERT_EQ(change.target_before, state.loads().Of(change.metric, action.to)) << what;
      }
      Apply(action, state);
      for (const LoadChange& change : action.loads) {
        ASSERT_EQ(change.source_after, state.loads().Of(change.metric, action.from)) << what;
        ASSERT_EQ(change.target_after, state.loads().Of(change.metric, action.to)) << what;
      }
    }
    const GroupScore score(cluster, state.settings(), state.sets(), state.loads(), plan.groups.groups[group.group]);
    ASSERT_DOUBLE_EQ(score.average_deviation(), group.deviation_after) << "seed " << seed;
  }
}

TEST_F(PlanTest, EnergyNeverRisesInBalancing) {
  int balanced = 0, actions = 0, carried_out = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    base::Random random(seed);
    cluster = testing::RandomCluster(random);
    settings = {};
    settings.max_percentage_to_move = random.Chance(0.5) ? 1 : 0.3;
    settings.swap_primary_throttling_enabled = settings.in_build_throttling_enabled = random.Chance(0.3);
    settings.swap_primary_throttling_global_max_value = settings.in_build_throttling_global_max_value = 2;
    settings.prevent_transient_overcommit = random.Chance(0.2);
    // Whatever is violated in these clusters stays so.
    settings.constraint_check_enabled = random.Chance(0.3);
    memory = MemoryOf(settings, cluster, 0);
    MakeAt(0);
    for (const GroupPlan& group : plan.of_groups) {
      if (group.decision.phase != Phase::kQuickBalancing) continue;
      ++balanced;
      ASSERT_LE(group.energy_after, group.energy_before) << "seed " << seed;
      ASSERT_LE(group.deviation_after, group.deviation_before) << "seed " << seed;
      ASSERT_LE(static_cast<int64_t>(group.actions.size()), group.decision.movement_slots);
      for (const Action& action : group.actions) ASSERT_TRUE(IsMovement(action.kind)) << Name(action.kind);
    }
    if (std::ranges::all_of(plan.Actions(), [](const Action& action) { return IsMovement(action.kind); })) {
      const NodeSets sets(cluster);
      Arrangement state(cluster, settings, sets);
      ASSERT_NO_FATAL_FAILURE(ExpectThatTheActionsDoWhatTheySay(plan, state, seed));
      carried_out += static_cast<int>(Actions());
    }
    actions += static_cast<int>(Actions());
  }
  EXPECT_GT(carried_out, 100);
  EXPECT_GT(balanced, 50);
  EXPECT_GT(actions, 100);
}

}  // namespace
}  // namespace evenkeel::balancing::plan_test
