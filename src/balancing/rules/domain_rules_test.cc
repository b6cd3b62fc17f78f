#include "balancing/rules/domain_rules.h"

#include <gtest/gtest.h>

#include <optional>

#include "balancing/rules/constraints_testing.h"

namespace evenkeel::balancing::domain_rules_test {
namespace {

using testing::ConstraintCase;
using testing::ReplicaAt;

class DomainRulesTest : public ::testing::Test, protected ConstraintCase {
 protected:
  // Five fault and five upgrade domains: a diagonal of five nodes, and `more` beside it.
  void Diagonal(int more) {
    for (int i = 0; i < 5; ++i) builder.Node("", "fd:/" + std::to_string(i), "ud" + std::to_string(i));
    for (int i = 0; i < more; ++i) builder.Node("", "fd:/" + std::to_string(i), "ud" + std::to_string(i + 1));
  }

  // A stateless partition without load.
  PartitionId Instances(const std::vector<NodeId>& nodes, const std::string& constraint = "") {
    const ServiceId service = builder.Service("s", {{"M", 0.0}});
    if (!constraint.empty()) builder.Constrain(service, constraint);
    std::vector<ReplicaAt> replicas;
    for (const NodeId node : nodes) replicas.push_back({node, Role::kInstance, {0}});
    return builder.Partition(service, replicas);
  }

  DomainRule FaultRule() { return constraints().domains().RuleOf(DomainKind::kFault, 0); }
  int64_t FaultDistance() { return constraints().domains().Distance(DomainKind::kFault, 0); }
  int64_t UpgradeDistance() { return constraints().domains().Distance(DomainKind::kUpgrade, 0); }
};

TEST_F(DomainRulesTest, DocumentedSampleOfFiveReplicasIsQuorumSafe) {
  Diagonal(3);
  Instances({0, 5, 6, 7, 4});
  EXPECT_EQ(FaultRule(), DomainRule::kQuorumSafe);
  EXPECT_EQ(constraints().domains().RuleOf(DomainKind::kUpgrade, 0), DomainRule::kQuorumSafe);
  EXPECT_EQ(constraints().domains().LimitOf(DomainKind::kFault, 0), 2);
  EXPECT_EQ(FaultDistance(), 0) << "two replicas in fault domain 0 leave a majority of three";
}

TEST_F(DomainRulesTest, DocumentedSampleOfFourReplicasIsMaxDifference) {
  Diagonal(3);
  Instances({0, 5, 6, 7});
  EXPECT_EQ(FaultRule(), DomainRule::kMaxDifference);
  EXPECT_EQ(FaultDistance(), 1);
}

TEST_F(DomainRulesTest, QuorumSafeNeedsAtMostOneNodePerPairOfDomains) {
  Diagonal(0);
  for (int i = 0; i < 21; ++i) builder.Node("", "fd:/0", "ud0");
  Instances({0, 1, 2, 3, 4});
  EXPECT_EQ(FaultRule(), DomainRule::kMaxDifference) << "26 nodes";
}

TEST_F(DomainRulesTest, QuorumSafeCanBeSwitchedOffOrChosenForOneTree) {
  Diagonal(3);
  Instances({0, 5, 6, 7, 4});
  settings.quorum_based_logic_auto_switch = false;
  settings.quorum_based_replica_distribution_per_upgrade_domains = true;
  EXPECT_EQ(FaultRule(), DomainRule::kMaxDifference);
  EXPECT_EQ(FaultDistance(), 1);
  EXPECT_EQ(UpgradeDistance(), 0);
}

TEST_F(DomainRulesTest, QuorumSafeAllowsOneMoreWhereThereAreTooFewDomains) {
  for (int i = 0; i < 8; ++i) builder.Node("", "fd:/" + std::to_string(i / 4), "ud" + std::to_string(i % 2));
  settings.quorum_based_replica_distribution_per_fault_domains = true;
  Instances({0, 1, 2, 3, 4});
  EXPECT_EQ(constraints().domains().LimitOf(DomainKind::kFault, 0), 3) << "2 of 5, and two domains only";
  EXPECT_EQ(FaultDistance(), 1);
}

TEST_F(DomainRulesTest, ALevelWithOneDomainDoesNotCount) {
  for (int i = 0; i < 6; ++i) builder.Node("", "fd:/dc1/r" + std::to_string(i / 2), "ud" + std::to_string(i / 2));
  Instances({0});
  builder.Missing(0, 2, {0}, {0});
  builder.cluster().services[0].target_replicas = 3;
  EXPECT_EQ(FaultRule(), DomainRule::kQuorumSafe);
  EXPECT_EQ(constraints().domains().LimitOf(DomainKind::kFault, 0), 1) << "of three racks";
  EXPECT_EQ(ObstacleOf(1, 1, Role::kInstance), "FaultDomain") << "the same rack";
  arrangement().Place(1, 2, Role::kInstance);
  EXPECT_EQ(ObstacleOf(2, 4, Role::kInstance), "");
  arrangement().Place(2, 4, Role::kInstance);
  EXPECT_EQ(Violated(), std::vector<std::string>());
}

TEST_F(DomainRulesTest, ATreeInWhichNoLevelHasTwoDomainsHasNoRule) {
  for (int i = 0; i < 3; ++i) builder.Node("", "fd:/dc1/r1", "ud0");
  Instances({0, 1, 2});
  settings.quorum_based_replica_distribution_per_fault_domains = true;
  settings.quorum_based_replica_distribution_per_upgrade_domains = true;
  EXPECT_EQ(FaultRule(), DomainRule::kNone);
  EXPECT_EQ(constraints().domains().RuleOf(DomainKind::kUpgrade, 0), DomainRule::kNone);
  EXPECT_EQ(Violated(), std::vector<std::string>());
}

TEST_F(DomainRulesTest, WhatTheServiceMayUseDecidesWhichLevelCounts) {
  for (int i = 0; i < 6; ++i) {
    builder.Node(i < 4 ? "blue" : "red", i < 4 ? "fd:/dc1/r" + std::to_string(i / 2) : "fd:/dc2/r0", "ud" + std::to_string(i));
  }
  settings.quorum_based_replica_distribution_per_fault_domains = true;
  Instances({0, 2, 1}, "NodeType == blue");
  EXPECT_EQ(constraints().domains().LimitOf(DomainKind::kFault, 0), 2) << "of the two racks of one datacenter";
  EXPECT_EQ(FaultDistance(), 0);
}

TEST_F(DomainRulesTest, NonpackingIsOfTheRacksOfOneDatacenter) {
  for (int i = 0; i < 4; ++i) builder.Node("", "fd:/dc1/r" + std::to_string(i / 2));
  Instances({0, 2}, "FDPolicy ~ Nonpacking");
  EXPECT_EQ(FaultDistance(), 0);
  EXPECT_EQ(ObstacleOf(0, 3), "FaultDomain");
}

TEST_F(DomainRulesTest, NonpackingHoldsAlsoInTheOnlyDomain) {
  for (int i = 0; i < 3; ++i) builder.Node("", "fd:/dc1/r1");
  Instances({0, 1}, "FDPolicy ~ Nonpacking");
  EXPECT_EQ(FaultDistance(), 1);
}

TEST_F(DomainRulesTest, NodesWithoutDomainsViolateNothing) {
  for (const char* domain : {"fd:/a", "fd:/a", "fd:/b", "", "", ""}) builder.Node("", domain, domain);
  Instances({0, 3, 4});
  EXPECT_EQ(Violated(), std::vector<std::string>());
  EXPECT_EQ(ObstacleOf(0, 5), "") << "a third one on nodes without domains";
  EXPECT_EQ(ObstacleOf(1, 1), "FaultDomain") << "a second one in domain a, none in b";
  EXPECT_EQ(ObstacleOf(1, 2), "");
}

TEST_F(DomainRulesTest, NodesThatAllNameNoDomainHaveNoRule) {
  for (int i = 0; i < 3; ++i) builder.Node("", "fd:/" + std::to_string(i), "");
  Instances({0, 1, 2});
  EXPECT_EQ(constraints().domains().RuleOf(DomainKind::kUpgrade, 0), DomainRule::kNone);
  EXPECT_EQ(Violated(), std::vector<std::string>());
}

// C16: the constraint takes node 0 away, and with it upgrade domain 0, so that five is no multiple of four any more.
TEST_F(DomainRulesTest, C16RuleFollowsTheNodesThatSuitTheService) {
  for (int i = 0; i < 5; ++i) builder.Node(i == 0 ? "red" : "blue", "fd:/" + std::to_string(i), "ud" + std::to_string(i));
  builder.Node("blue", "fd:/0", "ud1");
  builder.Node("blue", "fd:/1", "ud2");
  builder.Node("blue", "fd:/2", "ud3");
  builder.Node("blue", "fd:/3", "ud4");
  Instances({1, 2, 3, 4, 8}, "NodeType == blue");
  EXPECT_EQ(FaultRule(), DomainRule::kMaxDifference);
  EXPECT_EQ(Violated(), std::vector<std::string>{"FaultDomain s/0@n8"});
  EXPECT_EQ(ObstacleOf(4, 5), "");
  arrangement().Move(4, 5);
  EXPECT_EQ(Violated(), std::vector<std::string>());
}

TEST_F(DomainRulesTest, C16WithoutConstraintTheQuorumRuleIsActive) {
  Diagonal(4);
  Instances({1, 2, 3, 4, 8});
  EXPECT_EQ(FaultRule(), DomainRule::kQuorumSafe);
  EXPECT_EQ(Violated(), std::vector<std::string>());
}

TEST_F(DomainRulesTest, C7TwoReplicasInOneUpgradeDomain) {
  for (int i = 0; i < 8; ++i) builder.Node("", "fd:/" + std::to_string(i / 4), "ud" + std::to_string(i / 2 % 2));
  const ServiceId service = builder.Service("s", {{"M", 0.0}});
  builder.Partition(service, {{0, Role::kPrimary, {0}}, {4, Role::kSecondary, {0}}});
  EXPECT_EQ(Violated(), std::vector<std::string>{"UpgradeDomain s/0@n4"});
  EXPECT_EQ(constraints().Violations()[0].priority, 1);
  EXPECT_EQ(ObstacleOf(1, 6), "");
  EXPECT_EQ(ObstacleOf(1, 2), "FaultDomain");
}

TEST_F(DomainRulesTest, C8NonpackingAllowsOnePerTopFaultDomain) {
  for (int i = 0; i < 6; ++i) {
    builder.Node("", "fd:/dc" + std::to_string(i / 2) + "/r" + std::to_string(i % 2), "ud" + std::to_string(i % 2));
  }
  Instances({4, 0, 1}, "FDPolicy ~ Nonpacking");
  EXPECT_EQ(Violated(), std::vector<std::string>{"FaultDomain s/0@n1"});
  EXPECT_EQ(ObstacleOf(2, 3), "") << "dc1 is empty";
  EXPECT_EQ(ObstacleOf(2, 5), "") << "no worse, only elsewhere";
  arrangement().Move(2, 3);
  EXPECT_EQ(ObstacleOf(2, 5), "FaultDomain");
  EXPECT_EQ(FaultDistance(), 0);
}

TEST_F(DomainRulesTest, IgnoreLeavesFaultDomainsAlone) {
  for (int i = 0; i < 4; ++i) builder.Node("", "fd:/" + std::to_string(i / 2), "ud" + std::to_string(i % 2));
  Instances({0, 1}, "FDPolicy ~ Ignore");
  EXPECT_EQ(FaultRule(), DomainRule::kNone);
  EXPECT_EQ(constraints().domains().RuleOf(DomainKind::kUpgrade, 0), DomainRule::kQuorumSafe);
}

// B36: paths of different lengths are padded.
TEST_F(DomainRulesTest, B36EveryLevelIsEven) {
  for (const char* domain : {"fd:/dc0/r0", "fd:/dc1/r0", "fd:/dc1/r0/c1", "fd:/dc1/r1/c1", "fd:/dc1/r1"})
    builder.Node("", domain);
  Instances({1, 4});
  EXPECT_EQ(FaultDistance(), 1);
  EXPECT_EQ(ObstacleOf(0, 0), "");
  EXPECT_EQ(ObstacleOf(0, 2), "") << "the rack is the same";
  EXPECT_EQ(ObstacleOf(0, 3), "FaultDomain") << "both in rack 1 besides";
  arrangement().Move(1, 0);
  EXPECT_EQ(FaultDistance(), 0);
}

TEST_F(DomainRulesTest, TooFewInADomainIsUnevenToo) {
  for (int i = 0; i < 9; ++i) builder.Node("", "fd:/" + std::to_string(i / 3));
  Instances({0, 1, 3, 4});
  EXPECT_EQ(FaultDistance(), 1) << "2, 2 and 0 of four";
  EXPECT_EQ(constraints().Violations().size(), 1u);
  EXPECT_EQ(ObstacleOf(0, 6), "");
}

TEST_F(DomainRulesTest, DomainsWithoutSuitableNodesAreAsIfTheyWereNotThere) {
  for (int i = 0; i < 6; ++i) builder.Node(i < 2 ? "red" : "blue", "fd:/" + std::to_string(i / 2));
  Instances({2, 4, 5, 3}, "NodeType == blue");
  EXPECT_EQ(FaultDistance(), 0) << "two domains with two each";
}

TEST_F(DomainRulesTest, NewReplicasGoWhereThereAreFewest) {
  for (int i = 0; i < 6; ++i) builder.Node("", "fd:/" + std::to_string(i / 2));
  Instances({0});
  builder.Missing(0, 2, {0}, {0});
  EXPECT_EQ(ObstacleOf(1, 1, Role::kInstance), "FaultDomain");
  EXPECT_EQ(ObstacleOf(1, 2, Role::kInstance), "");
  arrangement().Place(1, 2, Role::kInstance);
  EXPECT_EQ(ObstacleOf(2, 3, Role::kInstance), "FaultDomain");
  EXPECT_EQ(ObstacleOf(2, 4, Role::kInstance), "");
}

TEST_F(DomainRulesTest, ReplicasThatGoOrAreDownDoNotCount) {
  for (int i = 0; i < 4; ++i) builder.Node("", "fd:/" + std::to_string(i / 2));
  Instances({0, 1, 2});
  builder.cluster().replicas[1].flags = kToBeDropped;
  builder.cluster().replicas[2].flags = kOffline;
  builder.Missing(0, 1, {0}, {0});
  EXPECT_EQ(FaultDistance(), 0);
  EXPECT_EQ(ObstacleOf(3, 3, Role::kInstance), "") << "the one beside it is down";
}

TEST_F(DomainRulesTest, LightChecksLeaveDomainsAlone) {
  for (int i = 0; i < 4; ++i) builder.Node("", "fd:/" + std::to_string(i / 2));
  Instances({0, 2});
  options.light = true;
  EXPECT_EQ(ObstacleOf(1, 1), "");
  arrangement().Move(1, 1);
  EXPECT_EQ(Violated(), std::vector<std::string>());
}

}  // namespace
}  // namespace evenkeel::balancing::domain_rules_test
