// Medium groups, in which a search that weighs steps one by one stops far from what is reachable.
#include <gtest/gtest.h>

#include "balancing/search/balancing_testing.h"
#include "base/random.h"

namespace evenkeel::balancing::balancing_joint_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): builders

// Instances of one service with loads of 1 to 100 on random nodes, on the first ones more often.
Cluster WithRandomLoads(int nodes, int instances) {
  ClusterBuilder builder;
  base::Random random(7);
  AddNodes(builder, nodes);
  const ServiceId service = builder.Service("s", {{"M", 1}});
  for (int i = 0; i < instances; ++i) {
    const uint64_t node = std::min(random.Below(nodes), random.Below(2 * nodes));
    builder.Partition(service, {InstanceOn(static_cast<NodeId>(node), static_cast<int64_t>(1 + random.Below(100)))});
  }
  return std::move(builder.cluster());
}

BalancingResult Only(const Balanced& balanced) {
  EXPECT_EQ(balanced.results.size(), 1u);
  return balanced.results.empty() ? BalancingResult() : balanced.results[0];
}

TEST(BalancingJointTest, QuickSearchesSwapAllPrimariesThatStandTogether) {
  ClusterBuilder builder;
  AddNodes(builder, 3);
  const ServiceId service = DefaultService(builder, "s");
  for (int i = 0; i < 300; ++i) builder.Partition(service, {DefaultPrimary(0), DefaultSecondary(1), DefaultSecondary(2)});
  const Balanced balanced = BalanceAll(builder.cluster(), {}, {.quick = true});
  EXPECT_EQ(balanced.Count("swap", kNoId, kNoId), 200);
  EXPECT_NEAR(Only(balanced).deviation_after, 0, 1e-9);
}

TEST(BalancingJointTest, QuickSearchesEvenOutAThousandInstances) {
  for (const int nodes : {10, 20}) {
    const BalancingResult result = Only(BalanceAll(WithRandomLoads(nodes, 1000), {}, {.quick = true}));
    EXPECT_GT(result.deviation_before, 0.1);
    EXPECT_LT(result.deviation_after, 0.05 * result.deviation_before) << nodes;
  }
}

// As many services as replicas on a node, each with as many replicas as there are nodes.
Cluster WithServicesOnEveryNode(int nodes, int services) {
  ClusterBuilder builder;
  base::Random random(8);
  AddNodes(builder, nodes);
  for (int i = 0; i < services; ++i) {
    const ServiceId service = builder.Service("s" + std::to_string(i), {{"M", 1}, {"Count", 0.1}});
    for (int partition = 0; partition < nodes; ++partition) {
      const auto load = static_cast<int64_t>(50 + random.Below(50));
      builder.Partition(service, {{static_cast<NodeId>(random.Below(nodes)), Role::kInstance, {load, 1}}});
    }
  }
  return std::move(builder.cluster());
}

// When all loads together are even already, no single replica can go to a node where its service has none.
TEST(BalancingJointTest, ServicesBecomeEvenThoughTheNodesWouldBeSooner) {
  const Cluster cluster = WithServicesOnEveryNode(60, 25);
  const Settings settings;
  const BalancingResult result = Only(BalanceAll(cluster, settings));
  const double lowest = LowestDeviation(cluster, settings, GroupServices(cluster).groups[0]);
  EXPECT_GT(result.deviation_before, 2 * lowest);
  EXPECT_LT(result.deviation_after, 1.15 * lowest);
}

// Two that would change places on full nodes find no order, and of three others one is too many: two remain.
TEST(BalancingJointTest, OfStepsThatAreTooManyTogetherSomeRemain) {
  ClusterBuilder builder;
  AddNodes(builder, 4);
  const ServiceId service = builder.Service("s", {{"M", 1}});
  for (int i = 0; i < 4; ++i) builder.Partition(service, {InstanceOn(0, 1)});
  const ServiceId large = builder.Service("large", {{"M", 1}, {"C", 1}});
  for (const NodeId node : {2u, 3u}) {
    builder.Partition(large, {{node, Role::kInstance, {0, 10}}});
    SetCapacity(builder.cluster(), node, "C", 10);
  }
  const Cluster& cluster = builder.cluster();
  const Settings settings;
  const NodeSets sets(cluster);
  Arrangement planned(cluster, settings, sets);
  const ServiceGroups groups = GroupServices(cluster);
  const GroupBalance balance = CheckBalance(cluster, settings, sets, planned.loads(), groups.groups[0]);
  for (const ReplicaId replica : {0u, 1u, 2u}) planned.Move(replica, 1);
  planned.Move(4, 3);
  planned.Move(5, 2);
  std::vector<SkippedItem> skipped;
  const ActionContext context{.group = groups.groups[0], .purpose = Purpose::kBalancing, .balance = &balance};
  EXPECT_EQ(ActionsOf(planned, context, skipped).size(), 2u);
  EXPECT_GE(skipped.size(), 2u);
}

}  // namespace
}  // namespace evenkeel::balancing::balancing_joint_test
