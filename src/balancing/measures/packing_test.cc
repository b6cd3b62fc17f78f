#include "balancing/measures/packing.h"

#include <gtest/gtest.h>

#include "balancing/measures/imbalance.h"
#include "balancing/model/cluster_testing.h"

namespace evenkeel::balancing::packing_test {
namespace {

using testing::ClusterBuilder;
using Loads = std::vector<int64_t>;

MetricBalance Check(const Cluster& cluster, const Settings& settings) {
  const NodeSets sets(cluster);
  const NodeLoads loads(cluster, sets);
  return CheckBalance(cluster, settings, sets, loads, GroupServices(cluster).groups.at(0)).metrics.at(0);
}

Settings Packed(double threshold) {
  Settings settings;
  settings.defragmentation_metrics["M"] = true;
  settings.metric_balancing_thresholds["M"] = threshold;
  return settings;
}

Settings WithTarget(double target, int64_t policy = 0) {
  Settings settings = Packed(1);
  settings.defragmentation_empty_nodes_threshold["M"] = target;
  settings.defragmentation_empty_node_distribution_policy["M"] = policy;
  return settings;
}

Settings Scoped(double threshold, int64_t strategy, double empty_weight) {
  Settings settings = Packed(threshold);
  settings.defragmentation_scoped_algorithm_enabled["M"] = true;
  settings.placement_strategy["M"] = strategy;
  settings.defragmentation_empty_node_weight["M"] = empty_weight;
  return settings;
}

// `racks` fault domains of equally many nodes, one after the other; each node its own upgrade domain.
Cluster WithRacks(size_t racks, const Loads& loads) {
  ClusterBuilder builder;
  for (size_t i = 0; i < loads.size(); ++i) {
    builder.Node("", "fd:/r" + std::to_string(i / (loads.size() / racks)), "ud" + std::to_string(i));
  }
  builder.Loads("s", "M", loads);
  return std::move(builder.cluster());
}

Cluster WithoutDomains(const Loads& loads) {
  Cluster cluster = WithRacks(1, loads);
  for (Node& node : cluster.nodes) {
    node.fault_domain.clear();
    node.upgrade_domain.clear();
  }
  return cluster;
}

TEST(PackingTest, F01RatioAboveTheThresholdInEveryDomainIsPackedEnough) {
  const Cluster cluster = WithRacks(2, {10, 30, 10, 30});
  EXPECT_EQ(Check(cluster, Packed(2)).reason, BalanceReason::kPacked);
  EXPECT_EQ(Text(cluster, Check(cluster, Packed(2))),
            "in every domain the ratio is above the threshold 2: it is packed enough");
}

TEST(PackingTest, F02ARatioThatIsNotAboveItWantsPacking) {
  const Cluster cluster = WithRacks(2, {10, 30, 0, 40});
  EXPECT_EQ(Check(cluster, Packed(2)).reason, BalanceReason::kPacked) << "the empty node's domain cannot be packed more";
  const MetricBalance balance = Check(cluster, Packed(3));
  EXPECT_EQ(Text(cluster, balance), "ratio 3 (30 on n1, 10 on n0) is not above the threshold 3: it can be packed more");
  EXPECT_EQ(Check(cluster, Packed(1)).reason, BalanceReason::kNotPacked);
}

TEST(PackingTest, DomainsOfOneNodeOrWithoutLoadCannotBePackedMore) {
  ClusterBuilder builder;
  for (const char* rack : {"r0", "r0", "r1"}) builder.Node("", std::string("fd:/") + rack, rack + std::string("u"));
  builder.Loads("s", "M", {10, 30, 10});
  EXPECT_EQ(Check(builder.cluster(), Packed(2)).reason, BalanceReason::kPacked);
  EXPECT_EQ(Check(WithRacks(2, {10, 30, 0, 0}), Packed(2)).reason, BalanceReason::kPacked);
}

TEST(PackingTest, F06AnEmptyNodeLeavesNothingToPackAndPausedNodesDoNotCount) {
  Cluster cluster = WithoutDomains({0, 0, 40});
  cluster.nodes[0].intent = DeactivationIntent::kPause;
  EXPECT_EQ(Check(cluster, Packed(10)).reason, BalanceReason::kPacked);
  cluster = WithoutDomains({10, 10, 40});
  cluster.nodes[0].intent = DeactivationIntent::kPause;
  EXPECT_EQ(Check(cluster, Packed(10)).reason, BalanceReason::kNotPacked);
}

TEST(PackingTest, S15RatioBelowTheThresholdTriggersDefragmentation) {
  EXPECT_EQ(Check(WithoutDomains({5, 2}), Packed(3)).reason, BalanceReason::kNotPacked);
  EXPECT_EQ(Check(WithoutDomains({10, 2}), Packed(3)).reason, BalanceReason::kPacked);
  EXPECT_EQ(Check(WithoutDomains({0, 0}), Packed(3)).reason, BalanceReason::kNothingToPack);
  EXPECT_EQ(Check(WithRacks(2, {5, 2}), Packed(3)).reason, BalanceReason::kNothingToPack)
      << "every node is a fault domain and an upgrade domain of its own";
}

TEST(PackingTest, F07EmptyNodesAreSpreadOverDomains) {
  Loads loads(20, 10);
  for (const size_t node : {3u, 7u, 11u, 15u, 19u}) loads[node] = 0;
  EXPECT_EQ(Check(WithRacks(5, loads), WithTarget(0.1)).reason, BalanceReason::kEnoughEmptyNodes);
  loads[3] = loads[7] = 10;
  const MetricBalance balance = Check(WithRacks(5, loads), WithTarget(0.2));
  EXPECT_EQ(balance.reason, BalanceReason::kTooFewEmptyNodes);
  EXPECT_EQ(Text(Cluster(), balance), "3 of 4 wanted nodes are empty");
  loads[18] = loads[17] = 0;
  EXPECT_EQ(Check(WithRacks(5, loads), WithTarget(0.2)).reason, BalanceReason::kUnevenEmptyNodes)
      << "four of five domains need one, only three have one";
  EXPECT_EQ(Check(WithRacks(5, loads), WithTarget(0.2, 1)).reason, BalanceReason::kEnoughEmptyNodes);
}

TEST(PackingTest, F08EmptyNodesMayBeAnywhereWhereThePolicySaysSo) {
  Loads loads(20, 10);
  for (size_t node = 16; node < 20; ++node) loads[node] = 0;
  EXPECT_EQ(Check(WithRacks(5, loads), WithTarget(4, 1)).reason, BalanceReason::kEnoughEmptyNodes);
  EXPECT_EQ(Check(WithRacks(5, loads), WithTarget(4, 0)).reason, BalanceReason::kUnevenEmptyNodes);
  loads[16] = 10;
  EXPECT_EQ(Check(WithRacks(5, loads), WithTarget(4, 1)).reason, BalanceReason::kTooFewEmptyNodes);
}

TEST(PackingTest, EveryDomainNeedsItsShareOfTheEmptyNodes) {
  EXPECT_EQ(Check(WithRacks(2, {10, 10, 0, 0, 0, 0}), WithTarget(4)).reason, BalanceReason::kUnevenEmptyNodes);
  EXPECT_EQ(Check(WithRacks(2, {10, 0, 0, 10, 0, 0}), WithTarget(4)).reason, BalanceReason::kEnoughEmptyNodes);
}

TEST(PackingTest, F09AShareOfTheNodesIsRoundedDown) {
  Loads loads(10, 10);
  EXPECT_EQ(Check(WithoutDomains(loads), WithTarget(0.1)).reason, BalanceReason::kTooFewEmptyNodes);
  loads[4] = 0;
  EXPECT_EQ(Check(WithoutDomains(loads), WithTarget(0.1)).reason, BalanceReason::kEnoughEmptyNodes);
  EXPECT_EQ(Check(WithoutDomains(loads), WithTarget(0.19)).wanted_empty_nodes, 1);
  EXPECT_EQ(Check(WithoutDomains(Loads(100, 10)), WithTarget(0.29)).wanted_empty_nodes, 29) << "0.29 * 100 is less in doubles";
}

TEST(PackingTest, F10ANumberOfNodesIsTakenAsItIs) {
  Loads loads(10, 10);
  loads[0] = loads[9] = 0;
  EXPECT_EQ(Check(WithoutDomains(loads), WithTarget(3)).reason, BalanceReason::kTooFewEmptyNodes);
  EXPECT_EQ(Check(WithoutDomains(loads), WithTarget(2)).reason, BalanceReason::kEnoughEmptyNodes);
  EXPECT_EQ(Check(WithoutDomains(loads), WithTarget(30)).wanted_empty_nodes, 10);
}

TEST(PackingTest, F11SharesAreOfTheNodesThatTheServicesMayUse) {
  ClusterBuilder builder;
  for (const char* type : {"Other", "Other", "Tenant", "Tenant", "Tenant", "Tenant"}) builder.Node(type);
  builder.Constrain(builder.Loads("s", "M", {10, 10}, 2), "NodeType == Tenant");
  const MetricBalance balance = Check(builder.cluster(), WithTarget(0.5));
  EXPECT_EQ(balance.reason, BalanceReason::kEnoughEmptyNodes);
  EXPECT_EQ(balance.wanted_empty_nodes, 2);
  EXPECT_EQ(balance.empty_nodes, 2);
}

TEST(PackingTest, F13WithTheWholeWeightOnEmptyNodesTheOthersAreNotBalanced) {
  const Cluster cluster = WithoutDomains({200, 200, 200, 50, 50, 50, 50, 0, 0, 0});
  EXPECT_EQ(Check(cluster, Scoped(3, 0, 1)).reason, BalanceReason::kEnoughEmptyNodes);
  EXPECT_EQ(Check(cluster, Scoped(3, 2, 0.5)).reason, BalanceReason::kEnoughEmptyNodes) << "reservation alone";
  const MetricBalance balance = Check(cluster, Scoped(3, 1, 0.5));
  EXPECT_EQ(balance.reason, BalanceReason::kAboveThreshold);
  EXPECT_EQ(balance.min, 50) << "empty nodes are left out";
  EXPECT_EQ(Check(cluster, Scoped(4, 1, 0.5)).reason, BalanceReason::kWithinThreshold);
  EXPECT_EQ(Check(cluster, Scoped(3, 0, 0.5)).reason, BalanceReason::kAboveThreshold) << "no strategy: the weights tell";
}

TEST(PackingTest, ActivityThresholdOfAClassicMetricIsTheLoadOfAnEmptyNode) {
  Loads loads(10, 10);
  loads[4] = 3;
  Settings settings = WithTarget(1);
  EXPECT_EQ(Check(WithoutDomains(loads), settings).reason, BalanceReason::kTooFewEmptyNodes);
  settings.metric_activity_thresholds["M"] = 3;
  EXPECT_EQ(Check(WithoutDomains(loads), settings).reason, BalanceReason::kEnoughEmptyNodes);
}

TEST(PackingTest, ReservationOfAScopedMetricDecidesWhichNodesAreEmpty) {
  Cluster cluster = WithoutDomains({60, 61, 0, 0});
  const std::optional<int64_t> capacities[] = {100, 100, 30, std::nullopt};
  for (NodeId node = 0; node < 4; ++node) {
    if (capacities[node]) cluster.nodes[node].capacities = {{0, *capacities[node]}};
  }
  Settings settings = Scoped(1, 2, 1);
  settings.reserved_load_per_node["M"] = 40;
  const Emptiness given(cluster, settings, 0, Aim::kReserve);
  EXPECT_TRUE(given.IsEmpty(0, 60));
  EXPECT_FALSE(given.IsEmpty(1, 61));
  EXPECT_DOUBLE_EQ(given.Occupied(1, 80), 0.5);
  EXPECT_EQ(given.Occupied(1, 1000), 1);
  EXPECT_FALSE(given.IsEmpty(2, 0)) << "too small";
  EXPECT_EQ(given.Occupied(2, 0), 1);
  EXPECT_TRUE(given.IsEmpty(3, 1000)) << "unlimited";
  settings.reserved_load_per_node.clear();
  settings.metric_empty_node_thresholds["M"] = 25;
  const Emptiness derived(cluster, settings, 0, Aim::kReserve);
  EXPECT_TRUE(derived.IsEmpty(0, 25));
  EXPECT_FALSE(derived.IsEmpty(0, 26));
  const Cluster unlimited = WithoutDomains({1});
  EXPECT_TRUE(Emptiness(unlimited, settings, 0, Aim::kReserve).IsEmpty(0, 25));
  EXPECT_FALSE(Emptiness(unlimited, settings, 0, Aim::kReserve).IsEmpty(0, 26));
}

TEST(PackingTest, AimsFollowTheStrategyOnlyOfScopedMetrics) {
  Settings settings = Scoped(1, 0, 0.9);
  EXPECT_EQ(AimOf(settings, "M"), Aim::kReserveAndSpread);
  const Aim aims[] = {Aim::kReserveAndSpread, Aim::kReserve, Aim::kReserveAndPack, Aim::kPack};
  for (int64_t strategy = 1; strategy <= 4; ++strategy) {
    settings.placement_strategy["M"] = strategy;
    EXPECT_EQ(AimOf(settings, "M"), aims[strategy - 1]);
  }
  settings.placement_strategy["M"] = 1;
  settings.defragmentation_scoped_algorithm_enabled["M"] = false;
  EXPECT_EQ(AimOf(settings, "M"), Aim::kPack);
  settings.defragmentation_metrics["M"] = false;
  EXPECT_EQ(AimOf(settings, "M"), Aim::kSpread);
  EXPECT_EQ(AimOf(settings, "Other"), Aim::kSpread);
  EXPECT_EQ(PackingWeightsOf({}, "M", Aim::kReserve).others, 0);
  EXPECT_DOUBLE_EQ(PackingWeightsOf({}, "M", Aim::kReserveAndSpread).others, 0.001);
}

}  // namespace
}  // namespace evenkeel::balancing::packing_test
