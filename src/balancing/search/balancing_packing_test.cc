// Defragmentation: what is packed when, in the vectors of Service Fabric's own tests.
#include <gtest/gtest.h>

#include "balancing/search/balancing_testing.h"

namespace evenkeel::balancing::balancing_packing_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): builders
using Texts = std::vector<std::string>;

Settings Packing(double threshold) {
  Settings settings;
  settings.defragmentation_metrics["M"] = true;
  settings.metric_balancing_thresholds["M"] = threshold;
  return settings;
}

Settings EmptyNodes(double target, int64_t policy = 0) {
  Settings settings = Packing(1);
  settings.defragmentation_empty_nodes_threshold["M"] = target;
  settings.defragmentation_empty_node_distribution_policy["M"] = policy;
  return settings;
}

ClusterBuilder FourNodes() {
  ClusterBuilder builder;
  for (const char* domain : {"fd:/r0", "fd:/r0", "fd:/r1", "fd:/r1"}) builder.Node("", domain);
  return builder;
}

Cluster WithPartitions(NodeId secondary_of_first) {
  ClusterBuilder builder = FourNodes();
  const ServiceId service = builder.Service("s", {{"M", 1}});
  builder.Partition(service, {PrimaryOn(0, 10), SecondaryOn(secondary_of_first, 30)});
  for (int i = 0; i < 3; ++i) builder.Partition(service, {PrimaryOn(1, 10), SecondaryOn(3, 30)});
  return std::move(builder.cluster());
}

TEST(BalancingPackingTest, F01PackedEnoughMovesNothing) { EXPECT_FALSE(BalanceAll(WithPartitions(2), Packing(2)).needed); }

TEST(BalancingPackingTest, F02TheLastLoadLeavesItsNode) {
  for (const double threshold : {1.0, 3.0}) {
    EXPECT_EQ(BalanceAll(WithPartitions(3), Packing(threshold)).texts, Texts{"0 move primary 0=>1"}) << threshold;
  }
}

TEST(BalancingPackingTest, F03OtherGroupsStay) {
  ClusterBuilder builder = FourNodes();
  const ServiceId service = builder.Service("s", {{"M", 1}});
  builder.Partition(service, {PrimaryOn(0, 10), SecondaryOn(2, 30)});
  for (int i = 0; i < 3; ++i) builder.Partition(service, {PrimaryOn(1, 10), SecondaryOn(3, 30)});
  const ServiceId even = builder.Service("t", {{"N", 1}});
  builder.Partition(even, {PrimaryOn(0, 10), SecondaryOn(2, 10)});
  builder.Partition(even, {PrimaryOn(1, 10), SecondaryOn(3, 10)});
  Texts texts = BalanceAll(builder.cluster(), Packing(3)).texts;
  std::ranges::sort(texts);
  EXPECT_EQ(texts, (Texts{"0 move primary 0=>1", "0 move secondary 2=>3"}));
}

Cluster WithSwaps(const std::vector<std::vector<ReplicaAt>>& partitions) {
  ClusterBuilder builder;
  for (int i = 0; i < 4; ++i) builder.Node("", "fd:/" + std::to_string(i / 2) + "/" + std::to_string(i));
  const ServiceId service = builder.Service("s", {{"M", 1}});
  for (const std::vector<ReplicaAt>& partition : partitions) builder.Partition(service, partition);
  for (NodeId node = 0; node < 4; ++node) SetCapacity(builder.cluster(), node, "M", 100);
  return std::move(builder.cluster());
}

TEST(BalancingPackingTest, F04RolesAreExchangedToPack) {
  Settings settings = Packing(1);
  settings.prevent_transient_overcommit = true;
  settings.swap_primary_probability = 1;
  const Balanced balanced = BalanceAll(WithSwaps({{PrimaryOn(0, 50)},
                                                  {PrimaryOn(1, 50), SecondaryOn(0, 10)},
                                                  {PrimaryOn(2, 50)},
                                                  {PrimaryOn(3, 50), SecondaryOn(2, 10)}}),
                                       settings);
  Texts texts = balanced.texts;
  std::ranges::sort(texts);
  EXPECT_EQ(texts, (Texts{"1 swap primary 1<=>0", "3 swap primary 3<=>2"}));
  EXPECT_EQ(balanced.loads, (std::vector<int64_t>{100, 10, 100, 10}));
}

TEST(BalancingPackingTest, F05NothingIsExchangedWhenPacked) {
  Settings settings = Packing(1);
  settings.swap_primary_probability = 1;
  const Cluster cluster = WithSwaps(
      {{PrimaryOn(1, 50)}, {PrimaryOn(1, 50), SecondaryOn(0, 10)}, {PrimaryOn(3, 50)}, {PrimaryOn(3, 50), SecondaryOn(2, 10)}});
  EXPECT_TRUE(BalanceAll(cluster, settings).texts.empty());
}

TEST(BalancingPackingTest, F06APausedNodeNeitherCountsNorMoves) {
  ClusterBuilder builder;
  for (int i = 0; i < 3; ++i) builder.Node("", "fd:/0", "ud");
  const ServiceId service = builder.Service("s", {{"M", 1}});
  for (int i = 0; i < 4; ++i) builder.Partition(service, {PrimaryOn(2, 10)});
  builder.cluster().nodes[0].intent = DeactivationIntent::kPause;
  builder.cluster().nodes[0].status = DeactivationStatus::kComplete;
  EXPECT_FALSE(BalanceAll(builder.cluster(), Packing(10)).needed);
  builder.Partition(service, {PrimaryOn(0, 10)});
  builder.Partition(service, {PrimaryOn(1, 10)});
  EXPECT_EQ(BalanceAll(builder.cluster(), Packing(10)).texts, Texts{"5 move primary 1=>2"});
}

// One load of 10 on each of the nodes; nodes in domains of four.
Cluster WithLoaded(int nodes, const std::vector<NodeId>& loaded) {
  ClusterBuilder builder;
  for (int i = 0; i < nodes; ++i) builder.Node("", "fd:/" + std::to_string(i / 4));
  const ServiceId service = builder.Service("s", {{"M", 1}});
  for (const NodeId node : loaded) builder.Partition(service, {InstanceOn(node, 10)});
  return std::move(builder.cluster());
}

int64_t EmptyOf(const Balanced& balanced) { return std::ranges::count(balanced.loads, 0); }

TEST(BalancingPackingTest, F07EmptyNodesAreSpreadOverDomains) {
  std::vector<NodeId> loaded;
  for (NodeId node = 0; node < 20; ++node) {
    if (node % 4 != 3) loaded.push_back(node);
  }
  EXPECT_FALSE(BalanceAll(WithLoaded(20, loaded), EmptyNodes(0.1)).needed);
  loaded.insert(loaded.end(), {3, 7});
  const Balanced balanced = BalanceAll(WithLoaded(20, loaded), EmptyNodes(0.2));
  EXPECT_TRUE(balanced.needed);
  EXPECT_GE(EmptyOf(balanced), 4);
}

std::vector<NodeId> FirstNodes(NodeId count) {
  std::vector<NodeId> nodes(count);
  for (NodeId node = 0; node < count; ++node) nodes[node] = node;
  return nodes;
}

TEST(BalancingPackingTest, F08ANumberOfEmptyNodesAnywhere) {
  EXPECT_FALSE(BalanceAll(WithLoaded(20, FirstNodes(16)), EmptyNodes(4, 1)).needed);
  const Balanced balanced = BalanceAll(WithLoaded(20, FirstNodes(17)), EmptyNodes(4, 1));
  EXPECT_TRUE(balanced.needed);
  EXPECT_GE(EmptyOf(balanced), 4);
}

TEST(BalancingPackingTest, F09F10AShareOrANumberOfTenNodes) {
  EXPECT_FALSE(BalanceAll(WithLoaded(10, FirstNodes(9)), EmptyNodes(0.1, 1)).needed);
  EXPECT_GE(EmptyOf(BalanceAll(WithLoaded(10, FirstNodes(10)), EmptyNodes(0.1, 1))), 1);
  EXPECT_GE(EmptyOf(BalanceAll(WithLoaded(10, FirstNodes(8)), EmptyNodes(3, 1))), 3);
}

TEST(BalancingPackingTest, F11AShareIsOfTheNodesThatServicesMayUse) {
  ClusterBuilder builder;
  for (const char* type : {"Other", "Other", "Tenant", "Tenant", "Tenant", "Tenant"}) builder.Node(type);
  const ServiceId service = builder.Service("s", {{"M", 1}});
  builder.Constrain(service, "NodeType == Tenant");
  for (const NodeId node : {2u, 3u}) builder.Partition(service, {InstanceOn(node, 10)});
  EXPECT_FALSE(BalanceAll(builder.cluster(), EmptyNodes(0.5, 1)).needed);
}

TEST(BalancingPackingTest, F13ScopedPackingAloneDoesNotEvenOut) {
  ClusterBuilder builder;
  AddNodes(builder, 10);
  builder.Loads("s", "M", {200, 200, 200, 50, 50, 50, 50, 0, 0, 0});
  Settings settings = EmptyNodes(3, 1);
  settings.metric_balancing_thresholds["M"] = 3;
  settings.defragmentation_scoped_algorithm_enabled["M"] = true;
  settings.placement_strategy["M"] = 1;
  settings.defragmentation_empty_node_weight["M"] = 1;
  EXPECT_FALSE(BalanceAll(builder.cluster(), settings).needed);
}

}  // namespace
}  // namespace evenkeel::balancing::balancing_packing_test
