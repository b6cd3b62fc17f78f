#include "balancing/measures/imbalance.h"

#include <gtest/gtest.h>

#include <limits>

#include "balancing/model/cluster_testing.h"

namespace evenkeel::balancing::imbalance_test {
namespace {

using testing::ClusterBuilder;
using Loads = std::vector<int64_t>;

GroupBalance Check(const Cluster& cluster, const Settings& settings, size_t group = 0) {
  const NodeSets sets(cluster);
  const NodeLoads loads(cluster, sets);
  return CheckBalance(cluster, settings, sets, loads, GroupServices(cluster).groups.at(group));
}

// One metric M on as many nodes as there are loads.
Cluster WithLoads(const Loads& loads) {
  ClusterBuilder builder;
  for (size_t i = 0; i < loads.size(); ++i) builder.Node();
  builder.Loads("s", "M", loads);
  return std::move(builder.cluster());
}

Settings With(double threshold, int64_t activity = 0) {
  Settings settings;
  settings.metric_balancing_thresholds["M"] = threshold;
  settings.metric_activity_thresholds["M"] = activity;
  return settings;
}

std::string WhyOf(const Loads& loads, const Settings& settings) {
  const Cluster cluster = WithLoads(loads);
  const GroupBalance balance = Check(cluster, settings);
  EXPECT_EQ(balance.balanced(), balance.metrics.at(0).balanced());
  return (balance.balanced() ? "balanced: " : "imbalanced: ") + Text(cluster, balance.metrics.at(0));
}

TEST(ImbalanceTest, S01RatioBelowTheThresholdIsBalanced) {
  EXPECT_EQ(WhyOf({5, 3, 2}, With(3)), "balanced: ratio 2.5 (5 on n0, 2 on n2) is not above the threshold 3");
}

TEST(ImbalanceTest, S02RatioAboveTheThresholdIsImbalanced) {
  EXPECT_EQ(WhyOf({10, 2, 2}, With(3)), "imbalanced: ratio 5 (10 on n0, 2 on n1) is above the threshold 3");
}

TEST(ImbalanceTest, S03NothingAboveTheActivityThresholdIsBalanced) {
  EXPECT_EQ(WhyOf({1536, 100, 2}, With(3, 1536)), "balanced: no load is above the activity threshold 1536");
}

TEST(ImbalanceTest, S04OneLoadAboveTheActivityThresholdSuffices) {
  EXPECT_EQ(WhyOf({1537, 100, 2}, With(3, 1536)), "imbalanced: ratio 768.5 (1537 on n0, 2 on n2) is above the threshold 3");
}

TEST(ImbalanceTest, S05BothThresholdsHaveToBeExceededByTheSameMetric) {
  ClusterBuilder builder;
  for (int i = 0; i < 2; ++i) builder.Node();
  const ServiceId service = builder.Service("s", {{"M", 1}, {"N", 1}});
  builder.Partition(service, {{0, Role::kInstance, {100, 2000}}});
  builder.Partition(service, {{1, Role::kInstance, {10, 1900}}});
  Settings settings = With(3, 1536);
  settings.metric_balancing_thresholds["N"] = 3;
  settings.metric_activity_thresholds["N"] = 1536;
  const GroupBalance balance = Check(builder.cluster(), settings);
  EXPECT_TRUE(balance.balanced());
  EXPECT_EQ(balance.metrics[0].reason, BalanceReason::kNotActive);
  EXPECT_EQ(balance.metrics[1].reason, BalanceReason::kWithinThreshold);
  settings.metric_activity_thresholds["M"] = 99;
  EXPECT_FALSE(Check(builder.cluster(), settings).balanced());
}

TEST(ImbalanceTest, S06NothingConfiguredWantsLoadsThatDifferByOneAtMost) {
  EXPECT_EQ(WhyOf({2, 1, 2}, {}), "balanced: the loads 2 and 1 differ by no more than 1");
  EXPECT_EQ(WhyOf({7, 7}, {}), "balanced: all loads are 7");
  EXPECT_EQ(WhyOf({102, 100}, {}), "imbalanced: ratio 1.02 (102 on n0, 100 on n1) is above the threshold 1");
  const MetricBalance balance = Check(WithLoads({2, 1}), {}).metrics[0];
  EXPECT_EQ(balance.threshold, 1);
  EXPECT_EQ(balance.activity_threshold, 0);
}

TEST(ImbalanceTest, S07AnImbalanceMovesOnlyServicesThatReportTheMetric) {
  ClusterBuilder builder;
  for (int i = 0; i < 2; ++i) builder.Node();
  const ServiceId one = builder.Service("S1", {{"M1", 1}, {"M2", 1}}), two = builder.Service("S2", {{"M2", 1}, {"M3", 1}});
  const ServiceId three = builder.Service("S3", {{"M3", 1}, {"M4", 1}}), four = builder.Service("S4", {{"M99", 1}});
  for (const ServiceId service : {one, two, three}) builder.Partition(service, {{0, Role::kInstance, {5, 5}}});
  for (const ServiceId service : {one, two, three}) builder.Partition(service, {{1, Role::kInstance, {5, 5}}});
  builder.Partition(three, {{0, Role::kInstance, {0, 9}}});
  builder.Partition(four, {{0, Role::kInstance, {9}}});
  const Cluster& cluster = builder.cluster();
  const GroupBalance balance = Check(cluster, {});
  EXPECT_FALSE(balance.balanced());
  EXPECT_FALSE(balance.MayMove(cluster, one, 0));
  EXPECT_FALSE(balance.MayMove(cluster, two, 0));
  EXPECT_TRUE(balance.MayMove(cluster, three, 0));
  EXPECT_FALSE(balance.MayMove(cluster, four, 0));
  EXPECT_TRUE(balance.ImbalancedNodeTypes().empty());
  EXPECT_TRUE(Check(cluster, {}, 1).MayMove(cluster, four, 0));
}

/// One metric on nodes with these loads and capacities, by capacity.
std::string WhyOfShares(const Loads& loads, const Loads& capacities, double threshold, int64_t activity = 0) {
  Cluster cluster = WithLoads(loads);
  for (size_t i = 0; i < capacities.size(); ++i) {
    if (capacities[i] > 0) cluster.nodes[i].capacities.push_back({.metric = 0, .amount = capacities[i]});
  }
  Settings settings = With(threshold, activity);
  settings.balancing_by_percentage["M"] = settings.thresholds_by_percentage = true;
  const GroupBalance balance = Check(cluster, settings);
  return (balance.balanced() ? "balanced: " : "imbalanced: ") + Text(cluster, balance.metrics.at(0));
}

TEST(ImbalanceTest, SharesAreComparedWhereCapacitiesDiffer) {
  EXPECT_EQ(WhyOfShares({4, 4, 4}, {16, 16, 4}, 1.5),
            "imbalanced: ratio 4 (4 of 4 on n2, 4 of 16 on n0) is above the threshold 1.5");
  EXPECT_EQ(WhyOfShares({8, 2}, {16, 4}, 1.5), "balanced: all nodes are as full as each other: 8 of 16 on n0");
  EXPECT_EQ(WhyOfShares({12, 2}, {16, 4}, 1.5),
            "balanced: ratio 1.5 (12 of 16 on n0, 2 of 4 on n1) is not above the threshold 1.5");
  EXPECT_EQ(WhyOfShares({12, 2}, {16, 4}, 1.4),
            "imbalanced: ratio 1.5 (12 of 16 on n0, 2 of 4 on n1) is above the threshold 1.4");
  EXPECT_EQ(WhyOfShares({3, 0}, {16, 4}, 1.5), "imbalanced: n1 has no load while n0 has 3");
  EXPECT_EQ(WhyOfShares({4, 4}, {16, 4}, 1.5, 4), "balanced: no load is above the activity threshold 4");
}

TEST(ImbalanceTest, ADifferenceOfOneIsMeasuredOnTheFullestNode) {
  // 2 of 4 is as much as 8 of 16: with 1 less on n1 it would be the emptier one.
  EXPECT_EQ(WhyOfShares({5, 2}, {16, 4}, 1),
            "balanced: 2 of 4 on n1 and 5 of 16 on n0 are shares that differ by no more than a load of 1");
  EXPECT_TRUE(WhyOfShares({5, 3}, {16, 4}, 1).starts_with("imbalanced: "));
}

TEST(ImbalanceTest, EqualCapacitiesAndMissingOnesLeaveWholeLoads) {
  EXPECT_EQ(WhyOfShares({5, 3, 2}, {16, 16, 16}, 3), WhyOf({5, 3, 2}, With(3)));
  EXPECT_EQ(WhyOfShares({10, 2, 2}, {16, 16, 16}, 3), WhyOf({10, 2, 2}, With(3)));
  EXPECT_EQ(WhyOfShares({2, 1, 2}, {8, 8, 8}, 1), WhyOf({2, 1, 2}, With(1)));
  EXPECT_EQ(WhyOfShares({4, 4}, {16, 0}, 1), WhyOf({4, 4}, With(1))) << "a share of nothing is none";
}

// Two nodes of each type with the given loads.
Cluster WithTypes(const std::vector<std::pair<std::string, std::pair<int64_t, int64_t>>>& types) {
  ClusterBuilder builder;
  Loads loads;
  for (const auto& [type, extremes] : types) {
    builder.Node(type);
    builder.Node(type);
    loads.insert(loads.end(), {extremes.first, extremes.second});
  }
  builder.Loads("s", "M", loads);
  return std::move(builder.cluster());
}

Settings PerType(const std::vector<std::pair<std::string, std::pair<double, int64_t>>>& thresholds) {
  Settings settings;
  settings.separate_balancing_strategy_per_node_type = settings.subclustering_enabled = true;
  for (const auto& [type, both] : thresholds) {
    settings.node_types[type].balancing_thresholds["M"] = both.first;
    settings.node_types[type].activity_thresholds["M"] = both.second;
  }
  return settings;
}

TEST(ImbalanceTest, S09OnlyTheNodeTypeWhoseRatioIsAboveItsThresholdMoves) {
  const Cluster cluster = WithTypes({{"A", {300, 100}}, {"B", {700, 500}}});
  const GroupBalance balance = Check(cluster, PerType({{"A", {2.5, 50}}, {"B", {1.41, 400}}}));
  EXPECT_EQ(balance.ImbalancedNodeTypes(), std::vector<NodeTypeId>{0});
  EXPECT_TRUE(balance.MayMove(cluster, 0, 0));
  EXPECT_FALSE(balance.MayMove(cluster, 0, 1));
  ASSERT_EQ(balance.metrics.size(), 2u);
  EXPECT_EQ(Text(cluster, balance.metrics[0]), "ratio 3 (300 on n0, 100 on n1) is above the threshold 2.5");
  EXPECT_EQ(Text(cluster, balance.metrics[1]), "ratio 1.4 (700 on n2, 500 on n3) is not above the threshold 1.41");
  Settings strict = PerType({{"A", {2.5, 50}}, {"B", {1.4, 400}}});
  strict.comparison = Comparison::kStrict;
  EXPECT_EQ(Check(cluster, strict).ImbalancedNodeTypes(), std::vector<NodeTypeId>{0}) << "1.4 is not above 1.4";
  Settings lower = PerType({{"A", {2.5, 50}}, {"B", {1.2, 400}}});
  const GroupBalance described = Check(cluster, lower);
  EXPECT_EQ(described.ImbalancedNodeTypes(), std::vector<NodeTypeId>{0}) << "as the description says";
  EXPECT_EQ(Text(cluster, described.metrics[1]),
            "ratio 1.4 (700 on n2, 500 on n3) counts as 1 in whole numbers, which is not above the threshold 1.2");
  lower.comparison = Comparison::kPerMode;
  EXPECT_EQ(Check(cluster, lower).ImbalancedNodeTypes(), (std::vector<NodeTypeId>{0, 1}));
}

TEST(ImbalanceTest, S10ARatioAtTheThresholdOfANodeTypeIsImbalanced) {
  const Cluster cluster = WithTypes({{"A", {600, 100}}, {"B", {900, 100}}, {"C", {600, 300}}});
  Settings settings = PerType({{"A", {5, 700}}, {"B", {10, 200}}, {"C", {2, 300}}});
  const GroupBalance balance = Check(cluster, settings);
  EXPECT_EQ(balance.ImbalancedNodeTypes(), std::vector<NodeTypeId>{2});
  EXPECT_EQ(balance.metrics[0].reason, BalanceReason::kNotActive);
  EXPECT_EQ(balance.metrics[1].reason, BalanceReason::kWithinThreshold);
  EXPECT_EQ(Text(cluster, balance.metrics[2]), "ratio 2 (600 on n4, 300 on n5) has reached the threshold 2");
  settings.comparison = Comparison::kStrict;
  EXPECT_TRUE(Check(cluster, settings).balanced());
  settings.subclustering_enabled = false;
  settings.metric_balancing_thresholds["M"] = 10;
  EXPECT_EQ(Check(cluster, settings).metrics.size(), 1u) << "without subclusters the cluster is one";
}

TEST(ImbalanceTest, S12ANodeTypeWithoutOverridesHasThoseOfTheCluster) {
  const Cluster cluster = WithTypes({{"A", {300, 100}}, {"B", {300, 100}}});
  Settings settings = PerType({{"A", {5, 0}}});
  EXPECT_EQ(Check(cluster, settings).metrics[1].threshold, 1);
  EXPECT_EQ(Check(cluster, settings).metrics[1].activity_threshold, 0);
  settings.metric_balancing_thresholds["M"] = 2.5;
  settings.metric_activity_thresholds["M"] = 200;
  EXPECT_EQ(Check(cluster, settings).metrics[1].threshold, 2.5);
  EXPECT_EQ(Check(cluster, settings).metrics[1].activity_threshold, 200);
  EXPECT_EQ(Check(cluster, settings).ImbalancedNodeTypes(), std::vector<NodeTypeId>{1});
  Cluster down = cluster;
  down.nodes[0].up = down.nodes[1].up = false;
  ASSERT_EQ(Check(down, settings).metrics.size(), 1u) << "a type without a node that counts has no balance";
  EXPECT_EQ(Check(down, settings).metrics[0].node_type, 1u);
}

TEST(ImbalanceTest, ComparisonOfTheWholeClusterIsStrictUnlessSetOtherwise) {
  EXPECT_TRUE(Check(WithLoads({6, 3}), With(2)).balanced());
  Settings settings = With(2);
  settings.comparison = Comparison::kInclusive;
  EXPECT_FALSE(Check(WithLoads({6, 3}), settings).balanced());
}

TEST(ImbalanceTest, ANodeWithoutLoadIsAnInfiniteRatio) {
  EXPECT_EQ(WhyOf({0, 10}, With(100)), "imbalanced: n0 has no load while n1 has 10");
  EXPECT_EQ(Check(WithLoads({0, 10}), With(100)).metrics[0].ratio, std::numeric_limits<double>::infinity());
  EXPECT_EQ(WhyOf({0, 1}, With(100)), "balanced: the loads 1 and 0 differ by no more than 1");
  EXPECT_EQ(WhyOf({0, 10}, With(100, 10)), "balanced: no load is above the activity threshold 10");
}

TEST(ImbalanceTest, WeightOrThresholdOfZeroNeverTriggers) {
  EXPECT_EQ(WhyOf({0, 10}, With(0)), "balanced: its balancing threshold is 0");
  Settings settings;
  settings.global_metric_weights["M"] = 0;
  EXPECT_EQ(WhyOf({0, 10}, settings), "balanced: the metric has no weight");
}

TEST(ImbalanceTest, AThresholdOfOneDoesNotLoseWhatARatioCannotTell) {
  const int64_t large = int64_t{1} << 60;
  EXPECT_EQ(Check(WithLoads({large + 2, large}), {}).metrics[0].reason, BalanceReason::kAboveThreshold);
  EXPECT_TRUE(Check(WithLoads({large + 1, large}), {}).balanced());
}

TEST(ImbalanceTest, OwnLoadsOfMetricsWithoutWeightOrToBePackedDoNotTrigger) {
  ClusterBuilder builder;
  for (int i = 0; i < 2; ++i) builder.Node();
  const ServiceId one = builder.Service("1", {{"M", 0}, {"N", 1}}), two = builder.Service("2", {{"M", 1}, {"N", 1}});
  builder.Partition(one, {{0, Role::kInstance, {30, 10}}});
  builder.Partition(one, {{1, Role::kInstance, {10, 10}}});
  builder.Partition(two, {{0, Role::kInstance, {10, 10}}});
  builder.Partition(two, {{1, Role::kInstance, {10, 10}}});
  Settings settings = With(100);
  settings.local_balancing_threshold = 2;
  EXPECT_TRUE(Check(builder.cluster(), settings).balanced());
  builder.cluster().services[one].metrics[0].weight = 0.1;
  EXPECT_FALSE(Check(builder.cluster(), settings).balanced());
  settings.defragmentation_metrics["M"] = true;
  settings.metric_balancing_thresholds["M"] = 1.5;
  EXPECT_TRUE(Check(builder.cluster(), settings).local.empty());
}

TEST(ImbalanceTest, B06LocalImbalanceTriggersOnlyWithAThreshold) {
  ClusterBuilder builder;
  for (int i = 0; i < 3; ++i) builder.Node();
  const ServiceId one = builder.Loads("1", "M", {20, 25, 30}), two = builder.Loads("2", "M", {30, 25, 20});
  const Cluster& cluster = builder.cluster();
  EXPECT_TRUE(Check(cluster, {}).balanced());
  Settings settings;
  settings.local_balancing_threshold = 1.5;
  EXPECT_TRUE(Check(cluster, settings).balanced());
  settings.local_balancing_threshold = 1.49;
  const GroupBalance balance = Check(cluster, settings);
  EXPECT_FALSE(balance.balanced());
  EXPECT_TRUE(balance.MayMove(cluster, one, 0) && balance.MayMove(cluster, two, 0));
  ASSERT_EQ(balance.local.size(), 2u);
  EXPECT_EQ(balance.local[0].service, one);
  EXPECT_EQ(Text(cluster, balance.local[0]), "ratio 1.5 (30 on n2, 20 on n0) is above the threshold 1.49");
  settings.metric_activity_thresholds["M"] = 49;
  EXPECT_FALSE(Check(cluster, settings).balanced()) << "the activity is that of all services together, 50";
  settings.metric_activity_thresholds["M"] = 50;
  EXPECT_TRUE(Check(cluster, settings).balanced());
}

TEST(ImbalanceTest, B07NodesBlockedForTheTypeDoNotMakeTheSmallestLoadZero) {
  ClusterBuilder builder;
  for (int i = 0; i < 5; ++i) builder.Node();
  builder.cluster().service_types.push_back({.name = "type", .blocked_nodes = {0, 1}});
  const ServiceId one = builder.Loads("1", "M", {400, 500, 600}, 2), two = builder.Loads("2", "M", {400, 500, 600}, 2);
  for (const ServiceId service : {one, two}) builder.cluster().services[service].type = 0;
  EXPECT_TRUE(Check(builder.cluster(), With(1.5)).balanced());
  EXPECT_FALSE(Check(builder.cluster(), With(1.49)).balanced());
  builder.cluster().services[two].type = kNoId;
  EXPECT_FALSE(Check(builder.cluster(), With(1.5)).balanced()) << "a node counts as soon as one service may use it";
}

TEST(ImbalanceTest, B08TheLargestLoadHasToBeAboveTheActivityThreshold) {
  EXPECT_TRUE(Check(WithLoads({20, 25, 30}), With(1, 30)).balanced());
  EXPECT_FALSE(Check(WithLoads({20, 25, 30}), With(1, 29)).balanced());
}

TEST(ImbalanceTest, B09TheActivityThresholdOfAnotherMetricDoesNotCount) {
  Settings settings = With(1, 300);
  EXPECT_TRUE(Check(WithLoads({20, 24, 30}), settings).balanced());
  settings.metric_activity_thresholds = {{"Other", 300}};
  EXPECT_FALSE(Check(WithLoads({20, 24, 30}), settings).balanced());
}

TEST(ImbalanceTest, B24LoadsOfDeactivatedNodesDoNotCount) {
  Cluster cluster = WithLoads({200, 100, 100});
  EXPECT_FALSE(Check(cluster, {}).balanced());
  cluster.nodes[0].intent = DeactivationIntent::kPause;
  EXPECT_TRUE(Check(cluster, {}).balanced());
  cluster.nodes[0].intent = DeactivationIntent::kNone;
  cluster.nodes[0].up = false;
  EXPECT_TRUE(Check(cluster, {}).balanced());
  for (Node& node : cluster.nodes) node.up = false;
  EXPECT_EQ(Check(cluster, {}).metrics[0].reason, BalanceReason::kNoNode);
}

TEST(ImbalanceTest, B32NodesThatNoServiceMayUseDoNotCount) {
  ClusterBuilder builder;
  for (const char* type : {"Tenant", "Tenant", "Other", "Other"}) builder.Node(type);
  const ServiceId service = builder.Loads("s", "M", {20, 20});
  builder.Constrain(service, "NodeType == Tenant");
  Cluster& cluster = builder.cluster();
  EXPECT_TRUE(Check(cluster, {}).balanced());
  const ServiceId everywhere = builder.Loads("e", "M", {1, 1, 1, 1});
  cluster.services[everywhere].on_every_node = true;
  EXPECT_TRUE(Check(cluster, {}).balanced()) << "a service on every node makes no node count";
  cluster.services[everywhere].on_every_node = false;
  EXPECT_FALSE(Check(cluster, {}).balanced());
}

TEST(ImbalanceTest, AMetricOfServicesOnEveryNodeAloneIsBalanced) {
  ClusterBuilder builder;
  for (int i = 0; i < 2; ++i) builder.Node();
  builder.cluster().services[builder.Loads("e", "M", {1, 9})].on_every_node = true;
  EXPECT_EQ(Check(builder.cluster(), {}).metrics[0].reason, BalanceReason::kNoNode);
}

TEST(ImbalanceTest, WithNodeTypesAServicesOwnLoadsAreTestedOnEachType) {
  ClusterBuilder builder;
  for (const char* type : {"A", "A", "B", "B"}) builder.Node(type);
  const ServiceId one = builder.Loads("1", "M", {10, 10, 10, 30});
  builder.Loads("2", "M", {30, 30, 30, 10});
  Settings settings = PerType({});
  settings.local_balancing_threshold = 2;
  const GroupBalance balance = Check(builder.cluster(), settings);
  EXPECT_EQ(balance.ImbalancedNodeTypes(), std::vector<NodeTypeId>{1});
  EXPECT_TRUE(balance.MayMove(builder.cluster(), one, 1));
  EXPECT_FALSE(balance.MayMove(builder.cluster(), one, 0));
}

}  // namespace
}  // namespace evenkeel::balancing::imbalance_test
