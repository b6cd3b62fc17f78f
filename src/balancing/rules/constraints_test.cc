#include "balancing/rules/constraints.h"

#include <gtest/gtest.h>

#include "balancing/rules/constraints_testing.h"

namespace evenkeel::balancing::constraints_test {
namespace {

using testing::ConstraintCase;
using Strings = std::vector<std::string>;

class ConstraintsTest : public ::testing::Test, protected ConstraintCase {
 protected:
  void Nodes(const std::vector<int64_t>& capacities) {
    for (const int64_t capacity : capacities) {
      const NodeId node = builder.Node();
      if (capacity >= 0) builder.cluster().nodes[node].capacities = {{builder.Metric("M"), capacity}};
    }
  }
  ServiceId Service(const std::string& name = "s") { return builder.Service(name, {{"M", 1.0}}); }
  Cluster& cluster() { return builder.cluster(); }
};

TEST_F(ConstraintsTest, C13CapacityBlockedTypesAndBuffer) {
  Nodes({50, 550, 200, 600});
  cluster().service_types.push_back({.name = "t", .blocked_nodes = {1}});
  for (int i = 0; i < 2; ++i) {
    const ServiceId service = Service("s" + std::to_string(i));
    cluster().services[service].type = 0;
    builder.Partition(service, {{static_cast<NodeId>(2 * i), Role::kPrimary, {150}}});
  }
  EXPECT_EQ(Violated(), Strings{"Capacity n0 +100"});
  EXPECT_EQ(ObstacleOf(0, 1), "PlacementConstraint");
  EXPECT_EQ(ObstacleOf(0, 2), "Capacity");
  EXPECT_EQ(ObstacleOf(0, 3), "");
}

TEST_F(ConstraintsTest, C13BufferDrainsWhatIsBetweenBufferedAndTotalCapacity) {
  Nodes({50, 550, 200, 600});
  settings.node_buffer_percentage["M"] = 0.5;
  builder.Partition(Service("a"), {{3, Role::kPrimary, {150}}});
  builder.Partition(Service("b"), {{2, Role::kPrimary, {150}}});
  EXPECT_EQ(Violated(), Strings{"Capacity n2 +50"});
  EXPECT_EQ(ObstacleOf(1, 3), "") << "300 of 300";
  EXPECT_EQ(ObstacleOf(1, 0), "Capacity");
}

TEST_F(ConstraintsTest, P11NewReplicasMayUseTheBuffer) {
  Nodes({100, 100});
  settings.node_buffer_percentage["M"] = 0.2;
  builder.Partition(Service("a"), {{0, Role::kPrimary, {50}}});
  builder.Missing(0, 1, {50}, {20});
  builder.Partition(Service("b"), {{1, Role::kPrimary, {80}}});
  options.purpose = Purpose::kPlacement;
  EXPECT_EQ(ObstacleOf(2, 1, Role::kSecondary), "") << "100 of 100";
  EXPECT_EQ(ObstacleOf(0, 1), "Capacity") << "existing ones stay below 80";
}

TEST_F(ConstraintsTest, BufferKeepsExactlyItsShare) {
  Nodes({100, 1'000'000'000'000});
  settings.node_buffer_percentage["M"] = 0.9;
  builder.Partition(Service("a"), {{0, Role::kPrimary, {10}}});
  builder.Partition(Service("b"), {{1, Role::kPrimary, {100'000'000'000}}});
  EXPECT_EQ(Violated(), Strings()) << "10 of floor(100 * 0.1)";
}

TEST_F(ConstraintsTest, P4ThereIsNoRoomAnywhere) {
  Nodes({4000, 6000, 6000, 4000, 4000});
  builder.Partition(Service("a"), {{3, Role::kPrimary, {5000}}, {2, Role::kSecondary, {5000}}});
  builder.Partition(Service("b"), {{1, Role::kPrimary, {5000}}});
  builder.Missing(1, 1, {5000}, {5000});
  options.purpose = Purpose::kPlacement;
  const Elimination elimination = constraints().Eliminate(3, Role::kSecondary);
  EXPECT_EQ(elimination.nodes, 5);
  EXPECT_EQ(elimination.remaining, 0);
  ASSERT_EQ(elimination.steps.size(), 2u);
  EXPECT_EQ(elimination.steps[0].constraint, Constraint::kReplicaExclusion);
  EXPECT_EQ(elimination.steps[0].nodes, std::vector<NodeId>{1});
  EXPECT_EQ(elimination.steps[0].detail, "n1 has another replica of the partition");
  EXPECT_EQ(elimination.steps[1].constraint, Constraint::kCapacity);
  EXPECT_EQ(elimination.steps[1].eliminated, 4);
  EXPECT_EQ(elimination.steps[1].detail, "n0: 0 of 4000 M used, 5000 more do not fit");
}

TEST_F(ConstraintsTest, FullNodesKeepWhatTheyHaveAndTakeNoMore) {
  Nodes({10, 100});
  builder.Partition(Service("a"), {{0, Role::kPrimary, {30}}, {1, Role::kSecondary, {20}}});
  builder.Partition(Service("b"), {{1, Role::kInstance, {0}}});
  EXPECT_EQ(Violated(), Strings{"Capacity n0 +20"});
  EXPECT_EQ(constraints().SwapObstacle(0, 1), std::nullopt) << "less on n0, 30 of 100 on n1";
  EXPECT_EQ(ObstacleOf(2, 0), "") << "it weighs nothing";
}

TEST_F(ConstraintsTest, B21PlansMustNotCountOnRoomThatTheyFree) {
  Nodes({100, 100, 100, 100});
  settings.prevent_transient_overcommit = true;
  builder.Partition(Service("a"), {{0, Role::kPrimary, {50}}});
  builder.Partition(Service("b"), {{0, Role::kPrimary, {50}}, {1, Role::kSecondary, {10}}});
  builder.Partition(Service("c"), {{2, Role::kPrimary, {35}}});
  builder.Partition(Service("d"), {{3, Role::kPrimary, {10}}, {2, Role::kSecondary, {50}}});
  EXPECT_EQ(constraints().SwapObstacle(1, 2), std::nullopt);
  EXPECT_EQ(constraints().SwapObstacle(4, 5), std::nullopt);
  arrangement().Swap(1, 2);
  EXPECT_EQ(arrangement().UsedOf(0, 0), 60);
  EXPECT_EQ(ObstacleOf(3, 0), "Capacity") << "40 are free only when the swap has happened";
  EXPECT_EQ(ObstacleOf(3, 1), "");
  EXPECT_EQ(constraints().Eliminate(3, Role::kPrimary).steps[0].detail, "n0: 35 more M fit only when what leaves it has left");
  EXPECT_EQ(constraints().SwapObstacle(2, 1), std::nullopt) << "back to what was";
}

TEST_F(ConstraintsTest, WithoutTransientOvercommitFreedRoomIsRoom) {
  Nodes({100, 100});
  builder.Partition(Service("a"), {{0, Role::kPrimary, {60}}});
  builder.Partition(Service("b"), {{1, Role::kPrimary, {60}}});
  EXPECT_EQ(ObstacleOf(0, 1), "Capacity");
  arrangement().Remove(1);
  EXPECT_EQ(ObstacleOf(0, 1), "");
}

TEST_F(ConstraintsTest, C17ReplicasOnBlockedNodesHaveNowhereToGo) {
  for (int i = 0; i < 5; ++i) builder.Node();
  cluster().service_types.push_back({.name = "t", .blocked_nodes = {1, 2}, .leaves_blocked = true});
  const ServiceId service = Service();
  cluster().services[service].type = 0;
  std::vector<testing::ReplicaAt> replicas;
  for (NodeId node = 0; node < 5; ++node) replicas.push_back({node, Role::kInstance, {1}});
  builder.Partition(service, replicas);
  const ServiceId everywhere = Service("everywhere");
  cluster().services[everywhere].on_every_node = true;
  cluster().services[everywhere].type = 0;
  builder.Partition(everywhere, replicas);
  EXPECT_EQ(Violated(), (Strings{"PlacementConstraint s/0@n1", "PlacementConstraint s/0@n2"}));
  EXPECT_EQ(Text(arrangement(), constraints().Violations()[0]), "the instance of s/0 on n1: service type t is blocked on n1");
  const Elimination elimination = constraints().Eliminate(1, Role::kInstance);
  EXPECT_EQ(elimination.own, 1u);
  EXPECT_EQ(elimination.remaining, 0);
  EXPECT_EQ(elimination.steps[0].eliminated, 4);
  EXPECT_EQ(constraints().WhyNotMovable(5), "its service is on every node");
}

TEST_F(ConstraintsTest, ConstraintsForPrimariesAlone) {
  builder.Node("", "fd:/dc0");
  builder.Node("", "fd:/dc1");
  builder.Node("", "fd:/dc1");
  const ServiceId service = Service();
  builder.Constrain(service, "FaultDomain ^P fd:/dc0 && FDPolicy ~ Ignore");
  builder.Partition(service, {{0, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}});
  EXPECT_EQ(ObstacleOf(0, 2), "PlacementConstraint");
  EXPECT_EQ(ObstacleOf(1, 2), "");
  EXPECT_EQ(constraints().SwapObstacle(0, 1), Constraint::kPlacementConstraint);
  EXPECT_EQ(ObstacleOf(1, 1, Role::kPrimary), "PlacementConstraint");
  arrangement().Swap(0, 1);
  EXPECT_EQ(Violated(), Strings{"PlacementConstraint s/0@n1"});
  EXPECT_EQ(constraints().SwapObstacle(1, 0), std::nullopt);
}

TEST_F(ConstraintsTest, TargetsAreUpAndNotDeactivated) {
  Nodes({-1, -1, -1, -1});
  cluster().nodes[1].up = false;
  cluster().nodes[2].intent = DeactivationIntent::kPause;
  cluster().nodes[2].status = DeactivationStatus::kComplete;
  builder.Partition(Service(), {{0, Role::kPrimary, {1}}, {2, Role::kSecondary, {1}}});
  EXPECT_EQ(ObstacleOf(0, 1), "NodeAvailable");
  EXPECT_EQ(constraints().SwapObstacle(0, 1), Constraint::kNodeAvailable);
  EXPECT_EQ(ObstacleOf(1, 2, Role::kPrimary), "NodeAvailable");
  EXPECT_EQ(constraints().Eliminate(0, Role::kPrimary).steps[0].detail, "n1 is down");
  EXPECT_EQ(Violated(), Strings()) << "what is paused stays";
  EXPECT_EQ(constraints().WhyNotMovable(1), "its node is deactivated");
}

TEST_F(ConstraintsTest, NodesThatAreRemovedMayBeLeftButNeedNot) {
  Nodes({-1, -1});
  cluster().nodes[0].intent = DeactivationIntent::kRemoveNode;
  cluster().nodes[0].status = DeactivationStatus::kSafetyCheckInProgress;
  builder.Partition(Service("a"), {{0, Role::kPrimary, {1}}});
  builder.Partition(Service("b"), {{0, Role::kPrimary, {1}}});
  cluster().replicas[1].flags = kToBeDroppedForDeactivation;
  EXPECT_EQ(Violated(), Strings());
  EXPECT_EQ(constraints().WhyNotMovable(0), "");
  EXPECT_EQ(constraints().WhyNotMovable(1), "it is to be dropped");
  EXPECT_EQ(ObstacleOf(0, 1), "");
}

TEST_F(ConstraintsTest, WhatIsNotAtRestIsNotMovable) {
  Nodes({-1, -1, -1});
  cluster().nodes[2].up = false;
  for (int i = 0; i < 6; ++i) builder.Partition(Service("s" + std::to_string(i)), {{0, Role::kPrimary, {1}}});
  builder.Partition(Service("down"), {{2, Role::kPrimary, {1}}});
  cluster().replicas[1].flags = kInBuild;
  cluster().replicas[2].flags = kMoveInProgress;
  cluster().partitions[3].flags = kPartitionInQuorumLoss;
  cluster().partitions[4].flags = kPartitionInUpgrade;
  cluster().replicas[5].flags = kToBePromoted;
  settings.allow_balancing_during_application_upgrade = false;
  const Strings expected{"",
                         "it is being built",
                         "it is being moved",
                         "its partition has lost its quorum",
                         "its partition is in an upgrade",
                         "it is to be promoted",
                         "its node is down"};
  for (ReplicaId replica = 0; replica < expected.size(); ++replica) {
    EXPECT_EQ(constraints().WhyNotMovable(replica), expected[replica]);
    EXPECT_EQ(constraints().Movable(replica), expected[replica].empty());
  }
  options.purpose = Purpose::kConstraintCheck;
  EXPECT_TRUE(Constraints(arrangement(), options).Movable(4)) << "fixes are allowed in upgrades";
}

TEST_F(ConstraintsTest, H2ReplicasInBuildAreLimitedPerNodeOfAType) {
  builder.Node("A");
  builder.Node("A");
  settings.maximum_in_build_replicas_per_node["A"] = 3;
  settings.maximum_in_build_replicas_per_node_balancing_throttle["A"] = 2;
  const ServiceId stateful = Service("stateful"), stateless = Service("stateless");
  builder.Partition(stateful, {{0, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}});
  cluster().replicas[1].flags = kInBuild;
  builder.Partition(stateful, {{0, Role::kPrimary, {1}}});
  builder.Partition(stateful, {{0, Role::kPrimary, {1}}});
  builder.Partition(stateless, {{0, Role::kInstance, {1}}});
  EXPECT_EQ(ObstacleOf(2, 1), "");
  arrangement().Move(2, 1);
  EXPECT_EQ(ObstacleOf(3, 1), "Throttling");
  EXPECT_EQ(ObstacleOf(4, 1), "") << "stateless ones are not built";
  arrangement().Move(2, 0);
  EXPECT_EQ(ObstacleOf(3, 1), "");
}

TEST_F(ConstraintsTest, H3PhasesAreThrottledBySettings) {
  builder.Node("A");
  builder.Node("A");
  settings.maximum_in_build_replicas_per_node["A"] = 1;
  builder.Partition(Service(), {{0, Role::kPrimary, {1}}});
  builder.Partition(Service("t"), {{0, Role::kPrimary, {1}}});
  arrangement().Move(0, 1);
  EXPECT_EQ(ObstacleOf(1, 1), "Throttling");
  options.purpose = Purpose::kConstraintCheck;
  EXPECT_TRUE(Constraints(arrangement(), options).Allows(1, 1)) << "ThrottleConstraintCheckPhase is off";
  settings.priorities.throttling = 1;
  EXPECT_TRUE(Constraints(arrangement(), {.max_priority = 0}).Allows(1, 1)) << "soft";
}

TEST_F(ConstraintsTest, ReplicasPreferWhereTheyStandBy) {
  Nodes({-1, -1, -1});
  builder.Partition(Service(), {{0, Role::kPrimary, {1}}, {1, Role::kStandBy, {1}}});
  builder.Missing(0, 1, {1}, {1});
  EXPECT_EQ(ObstacleOf(2, 2, Role::kSecondary), "PreferredLocation");
  EXPECT_EQ(ObstacleOf(2, 1, Role::kSecondary), "") << "it takes over what is there";
  EXPECT_EQ(ObstacleOf(0, 1), "") << "so does one that moves there";
  EXPECT_TRUE(Constraints(arrangement(), {.max_priority = 1}).Obstacle(2, 2, Role::kSecondary) == std::nullopt);
}

TEST_F(ConstraintsTest, PrimariesPreferWhereTheyWere) {
  Nodes({-1, -1, -1});
  builder.Partition(Service(), {{0, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}, {2, Role::kSecondary, {1}}});
  cluster().replicas[1].flags = kPreferredPrimaryLocation;
  EXPECT_EQ(constraints().SwapObstacle(0, 2), Constraint::kPreferredLocation);
  EXPECT_EQ(constraints().SwapObstacle(0, 1), std::nullopt);
}

TEST_F(ConstraintsTest, PrioritiesDecideWhatIsLookedAt) {
  Nodes({10, 10});
  builder.Partition(Service(), {{0, Role::kPrimary, {30}}});
  settings.priorities.capacity = 1;
  EXPECT_EQ(ObstacleOf(0, 1), "Capacity");
  EXPECT_EQ(constraints().Violations()[0].priority, 1);
  const Constraints hard_only(arrangement(), {.max_priority = 0});
  EXPECT_TRUE(hard_only.Allows(0, 1));
  EXPECT_TRUE(hard_only.Violations().empty());
  settings.priorities.capacity = -1;
  EXPECT_TRUE(Constraints(arrangement(), {}).Allows(0, 1)) << "ignored";
  EXPECT_EQ(PriorityName(PriorityOf(settings, Constraint::kCapacity)), "ignored");
  EXPECT_EQ(PriorityName(PriorityOf(settings, Constraint::kUpgradeDomain)), "soft");
}

}  // namespace
}  // namespace evenkeel::balancing::constraints_test
