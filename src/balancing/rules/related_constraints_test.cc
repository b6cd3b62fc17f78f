// Constraints that look beyond one partition: application groups and affinity.
#include <gtest/gtest.h>

#include "balancing/rules/constraints.h"
#include "balancing/rules/constraints_testing.h"

namespace evenkeel::balancing::related_constraints_test {
namespace {

using testing::ConstraintCase;
using Strings = std::vector<std::string>;

class ApplicationTest : public ::testing::Test, protected ConstraintCase {
 protected:
  ApplicationTest() {
    for (int i = 0; i < 4; ++i) builder.Node();
    builder.Metric("M");
    builder.cluster().applications.emplace_back().name = "app";
  }
  Application& application() { return builder.cluster().applications[0]; }
  ServiceId Member(const std::string& name, std::string_view metric = "M") {
    const ServiceId service = builder.Service(name, {{metric, 1.0}});
    builder.cluster().services[service].application = 0;
    return service;
  }
};

TEST_F(ApplicationTest, ScaleoutCountLimitsTheNodes) {
  application().max_nodes = 2;
  builder.Partition(Member("a"), {{0, Role::kInstance, {1}}});
  builder.Partition(Member("b"), {{1, Role::kInstance, {1}}});
  builder.Partition(Member("c"), {{1, Role::kInstance, {1}}});
  EXPECT_EQ(ObstacleOf(0, 2), "") << "it leaves n0";
  EXPECT_EQ(ObstacleOf(1, 2), "ScaleoutCount");
  EXPECT_EQ(ObstacleOf(1, 0), "");
}

TEST_F(ApplicationTest, TooManyNodesAreLeftByTheFewest) {
  application().max_nodes = 1;
  builder.Partition(Member("a"), {{0, Role::kInstance, {1}}});
  builder.Partition(Member("b"), {{0, Role::kInstance, {1}}});
  builder.Partition(Member("c"), {{1, Role::kInstance, {1}}});
  builder.Partition(Member("d"), {{2, Role::kInstance, {1}}});
  EXPECT_EQ(Violated(), (Strings{"ScaleoutCount n1", "ScaleoutCount n2"}));
  EXPECT_EQ(Text(arrangement(), constraints().Violations()[0]),
            "application app is on 3 nodes, at most 1 may be: 1 replica(s) on n1 have to go");
  EXPECT_EQ(ObstacleOf(2, 3), "") << "no better, no worse";
  EXPECT_EQ(ObstacleOf(2, 2), "") << "one node less";
  EXPECT_EQ(ObstacleOf(0, 3), "ScaleoutCount") << "a fourth node";
  EXPECT_EQ(ObstacleOf(0, 1), "") << "n0 and n2 would be too many";
}

TEST_F(ApplicationTest, CapacitiesPerNodeAndAltogether) {
  application().metrics = {{.metric = 0, .total_capacity = 100, .max_node_capacity = 60}};
  builder.Partition(Member("a"), {{0, Role::kInstance, {40}}});
  builder.Partition(Member("b"), {{1, Role::kInstance, {30}}});
  builder.Missing(1, 1, {0}, {30});
  builder.Partition(Member("c"), {{0, Role::kInstance, {5}}});
  builder.Missing(2, 1, {0}, {25});
  EXPECT_EQ(ObstacleOf(0, 1), "ApplicationCapacity") << "70 of 60";
  EXPECT_EQ(ObstacleOf(2, 1), "") << "35";
  EXPECT_EQ(ObstacleOf(3, 2, Role::kInstance), "ApplicationCapacity") << "105 of 100 altogether";
  EXPECT_EQ(ObstacleOf(4, 2, Role::kInstance), "");
  EXPECT_EQ(Violated(), Strings());
}

TEST_F(ApplicationTest, ExceededCapacitiesAreNamed) {
  application().metrics = {{.metric = 0, .total_capacity = 50, .max_node_capacity = 30}};
  builder.Partition(Member("a"), {{0, Role::kInstance, {40}}});
  builder.Partition(Member("b"), {{1, Role::kInstance, {30}}});
  EXPECT_EQ(Violated(), (Strings{"ApplicationCapacity n0 +10", "ApplicationCapacity everywhere +20"}));
  EXPECT_EQ(Text(arrangement(), constraints().Violations()[1]), "application app has 20 M more altogether than it may have");
}

TEST_F(ApplicationTest, ReservedLoadCountsForTheNode) {
  for (Node& node : builder.cluster().nodes) node.capacities = {{0, 50}};
  application().metrics = {{.metric = 0, .node_reservation = 30}};
  builder.Partition(Member("a"), {{0, Role::kInstance, {10}}});
  builder.Partition(Member("b"), {{1, Role::kInstance, {10}}});
  const ServiceId other = builder.Service("other", {{"M", 1.0}});
  builder.Partition(other, {{2, Role::kInstance, {25}}});
  builder.Partition(other, {{3, Role::kInstance, {20}}});
  EXPECT_EQ(arrangement().UsedOf(0, 0), 30);
  EXPECT_EQ(ObstacleOf(0, 1), "") << "the reservation is there for it";
  EXPECT_EQ(ObstacleOf(0, 2), "Capacity") << "25 and what is reserved there";
  EXPECT_EQ(ObstacleOf(0, 3), "");
  EXPECT_EQ(ObstacleOf(2, 0), "Capacity");
  EXPECT_EQ(ObstacleOf(3, 0), "");
}

TEST_F(ApplicationTest, ReservationsOfOtherMetricsComeWithTheFirstReplica) {
  builder.Metric("N");
  for (Node& node : builder.cluster().nodes) node.capacities = {{1, 50}};
  application().metrics = {{.metric = 1, .node_reservation = 30}};
  builder.Partition(Member("a"), {{0, Role::kInstance, {1}}});
  builder.Partition(builder.Service("other", {{"N", 1.0}}), {{1, Role::kInstance, {25}}});
  EXPECT_EQ(ObstacleOf(0, 1), "Capacity");
  EXPECT_EQ(constraints().Eliminate(0, Role::kInstance).steps[0].detail, "n1: what its application has reserved does not fit");
  EXPECT_EQ(ObstacleOf(0, 2), "");
}

class AffinityTest : public ::testing::Test, protected ConstraintCase {
 protected:
  AffinityTest() {
    for (int i = 0; i < 5; ++i) builder.Node();
  }
  ServiceId Parent() { return builder.Service("parent", {{"M", 1.0}}); }
  ServiceId Child(const std::string& name, bool aligned = true) {
    const ServiceId service = builder.Service(name, {{"M", 1.0}});
    builder.cluster().services[service].affinity_to = 0;
    builder.cluster().services[service].aligned_affinity = aligned;
    return service;
  }
};

TEST_F(AffinityTest, AlignedChildrenStayWithTheSameRole) {
  builder.Partition(Parent(), {{0, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}, {2, Role::kSecondary, {1}}});
  builder.Partition(Child("c"), {{0, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}});
  EXPECT_EQ(Violated(), Strings());
  EXPECT_EQ(ObstacleOf(4, 2), "");
  EXPECT_EQ(ObstacleOf(4, 3), "Affinity");
  EXPECT_EQ(ObstacleOf(3, 2), "Affinity") << "a secondary of the parent is there";
  EXPECT_EQ(constraints().SwapObstacle(3, 4), Constraint::kAffinity);
}

TEST_F(AffinityTest, NonAlignedChildrenMayBeWithAnyRole) {
  builder.Partition(Parent(), {{0, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}, {2, Role::kSecondary, {1}}});
  builder.Partition(Child("c", false), {{0, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}});
  EXPECT_EQ(ObstacleOf(3, 2), "");
  EXPECT_EQ(ObstacleOf(3, 3), "Affinity");
  EXPECT_EQ(constraints().SwapObstacle(3, 4), std::nullopt);
}

TEST_F(AffinityTest, B16ChildrenMaySpreadOverTheParentsSecondaries) {
  builder.Partition(
      Parent(), {{0, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}, {2, Role::kSecondary, {1}}, {3, Role::kSecondary, {1}}});
  for (const char* name : {"a", "b", "c"}) {
    builder.Partition(Child(name), {{0, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}});
  }
  EXPECT_EQ(ObstacleOf(5, 2), "");
  EXPECT_EQ(ObstacleOf(7, 3), "");
  for (NodeId node = 1; node < 5; ++node) EXPECT_NE(ObstacleOf(4, node), "") << "no primary leaves the parent's";
}

TEST_F(AffinityTest, MisplacedChildrenMayGoAnywhereAndShouldGoToTheirParent) {
  builder.Partition(Parent(), {{0, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}});
  builder.Partition(Child("c"), {{2, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}});
  EXPECT_EQ(Violated(), Strings{"Affinity c/0@n2"});
  EXPECT_EQ(Text(arrangement(), constraints().Violations()[0]), "the primary of c/0 on n2 is not where parent is");
  EXPECT_EQ(ObstacleOf(2, 3), "");
  EXPECT_EQ(ObstacleOf(2, 0), "");
  EXPECT_EQ(ObstacleOf(0, 2), "") << "the parent may come, too, and its secondary keeps its child";
}

TEST_F(AffinityTest, C4ParentsTakeTheirChildrenAlong) {
  builder.Partition(Parent(), {{0, Role::kPrimary, {70}}, {1, Role::kSecondary, {0}}});
  builder.Partition(Child("a"), {{0, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}});
  builder.Partition(Child("b"), {{1, Role::kPrimary, {1}}, {0, Role::kSecondary, {1}}});
  EXPECT_EQ(ObstacleOf(0, 3), "Affinity");
  EXPECT_EQ(constraints().FollowersOf(0), std::vector<ReplicaId>{2}) << "the others are not where they should be anyway";
  const ViolationSummary before = Summary();
  arrangement().Move(0, 3);
  EXPECT_TRUE(Better(before, Summary()));
  EXPECT_EQ(ObstacleOf(2, 3), "");
  arrangement().Move(2, 3);
  EXPECT_EQ(Summary(), before);
}

TEST_F(AffinityTest, ParentsOfOneReplicaTakeTheirChildrenAlong) {
  builder.Partition(Parent(), {{0, Role::kPrimary, {70}}});
  builder.Partition(Child("a"), {{0, Role::kPrimary, {1}}});
  EXPECT_EQ(ObstacleOf(0, 3), "Affinity");
  EXPECT_EQ(constraints().FollowersOf(0), std::vector<ReplicaId>{1});
}

TEST_F(AffinityTest, SwapsOfTheParentAreFollowed) {
  builder.Partition(Parent(), {{0, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}});
  builder.Partition(Child("a"), {{0, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}});
  builder.Partition(Child("b", false), {{0, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}});
  EXPECT_EQ(constraints().SwapObstacle(0, 1), Constraint::kAffinity);
  EXPECT_EQ(constraints().FollowingSwaps(0, 1), (std::vector<std::pair<ReplicaId, ReplicaId>>{{2, 3}}));
}

TEST_F(AffinityTest, SurplusOfALargerChildMayBeAnywhere) {
  builder.Partition(Parent(), {{0, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}});
  builder.Partition(Child("c"), {{0, Role::kPrimary, {1}}, {1, Role::kSecondary, {1}}, {2, Role::kSecondary, {1}}});
  EXPECT_EQ(Violated(), Strings());
  EXPECT_EQ(ObstacleOf(4, 3), "");
  EXPECT_EQ(ObstacleOf(3, 3), "Affinity") << "then two of three would be elsewhere";
  settings.allow_higher_child_target_replica_count_for_affinity = false;
  EXPECT_EQ(Violated(), Strings{"Affinity c/0@n2"});
}

TEST_F(AffinityTest, ChildrenWithoutAParentArePlacedIfSettingsSaySo) {
  builder.Partition(Parent(), {});
  builder.Missing(0, 1, {1}, {1});
  builder.Partition(Child("c"), {});
  builder.Missing(1, 1, {1}, {1});
  builder.cluster().services[0].stateful = builder.cluster().services[1].stateful = true;
  EXPECT_EQ(ObstacleOf(1, 2, Role::kPrimary), "");
  settings.place_child_without_parent = false;
  EXPECT_EQ(ObstacleOf(1, 2, Role::kPrimary), "Affinity");
  arrangement().Place(0, 2, Role::kPrimary);
  EXPECT_EQ(ObstacleOf(1, 2, Role::kPrimary), "");
}

}  // namespace
}  // namespace evenkeel::balancing::related_constraints_test
