#include "balancing/search/balancing_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "balancing/search/balancing_testing.h"

namespace evenkeel::balancing::balancing_search_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): builders
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using Texts = std::vector<std::string>;

Settings WithThreshold(double threshold, int64_t activity = 0) {
  Settings settings;
  settings.metric_balancing_thresholds["M"] = threshold;
  settings.metric_activity_thresholds["M"] = activity;
  return settings;
}

// As many stateless partitions with loads of one as the loads say, on nodes from 0.
Cluster WithUnits(const std::vector<int64_t>& loads) {
  ClusterBuilder builder;
  AddNodes(builder, static_cast<int>(loads.size()));
  const ServiceId service = builder.Service("s", {{"M", 1}});
  for (NodeId node = 0; node < loads.size(); ++node) {
    for (int64_t i = 0; i < loads[node]; ++i) builder.Partition(service, {InstanceOn(node, 1)});
  }
  return std::move(builder.cluster());
}

Texts SortedTexts(const Cluster& cluster, const Settings& settings) {
  Texts texts = BalanceAll(cluster, settings).texts;
  std::ranges::sort(texts);
  return texts;
}

TEST(BalancingSearchTest, S01NothingMovesBelowTheThreshold) {
  EXPECT_FALSE(BalanceAll(WithUnits({5, 3, 2}), WithThreshold(3)).needed);
}

TEST(BalancingSearchTest, S02LoadGoesToAllNodesThatLackIt) {
  const Balanced balanced = BalanceAll(WithUnits({10, 2, 2}), WithThreshold(3));
  EXPECT_TRUE(balanced.needed);
  EXPECT_THAT(balanced.loads, AnyOf(ElementsAre(5, 5, 4), ElementsAre(5, 4, 5), ElementsAre(4, 5, 5)));
  EXPECT_GT(balanced.Count("move", 0, 1), 0);
  EXPECT_GT(balanced.Count("move", 0, 2), 0);
}

TEST(BalancingSearchTest, S03S04ActivityThresholdDecidesWhetherAnythingMoves) {
  EXPECT_FALSE(BalanceAll(WithUnits({15, 1, 2}), WithThreshold(3, 15)).needed);
  EXPECT_FALSE(BalanceAll(WithUnits({16, 1, 2}), WithThreshold(3, 15)).actions.empty());
}

TEST(BalancingSearchTest, S05DifferentMetricsAboveTheirThresholdsMoveNothing) {
  ClusterBuilder builder;
  AddNodes(builder, 2);
  const ServiceId service = builder.Service("s", {{"M", 1}, {"N", 1}});
  for (const NodeId node : {0u, 0u, 0u, 0u, 1u}) builder.Partition(service, {{node, Role::kInstance, {10, 0}}});
  builder.Partition(service, {{0, Role::kInstance, {0, 2000}}});
  builder.Partition(service, {{1, Role::kInstance, {0, 1900}}});
  Settings settings = WithThreshold(3, 1536);
  settings.metric_balancing_thresholds["N"] = 3;
  settings.metric_activity_thresholds["N"] = 1536;
  EXPECT_FALSE(BalanceAll(builder.cluster(), settings).needed);
}

// Node types with two nodes each and as many units on them; a service for each type.
Cluster WithTypes(const std::vector<std::pair<std::string, std::pair<int64_t, int64_t>>>& types) {
  ClusterBuilder builder;
  for (const auto& [type, loads] : types) {
    const NodeId first = builder.Node(type);
    builder.Node(type);
    const ServiceId service = builder.Service("on-" + type, {{"M", 1}});
    builder.Constrain(service, "NodeType == " + type);
    for (const auto& [node, load] : {std::pair(first, loads.first), std::pair(first + 1, loads.second)}) {
      for (int64_t i = 0; i < load / 100; ++i) builder.Partition(service, {InstanceOn(node, 100)});
    }
  }
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

TEST(BalancingSearchTest, S09OnlyTheImbalancedNodeTypeMoves) {
  const Cluster cluster = WithTypes({{"A", {300, 100}}, {"B", {700, 500}}});
  const Balanced balanced = BalanceAll(cluster, PerType({{"A", {2.5, 50}}, {"B", {1.41, 400}}}));
  EXPECT_EQ(balanced.actions.size(), 1u);
  EXPECT_EQ(balanced.Count("move instance", 0, 1), 1);
  EXPECT_THAT(balanced.actions[0].reason, ::testing::HasSubstr("M on node type A is imbalanced: ratio 3"));
}

TEST(BalancingSearchTest, S10ARatioAtTheThresholdOfItsTypeMoves) {
  const Cluster cluster = WithTypes({{"A", {600, 100}}, {"B", {900, 100}}, {"C", {600, 300}}});
  const Balanced balanced = BalanceAll(cluster, PerType({{"A", {5, 700}}, {"B", {10, 200}}, {"C", {2, 300}}}));
  EXPECT_EQ(balanced.actions.size(), 1u);
  EXPECT_EQ(balanced.Count("move instance", 4, 5), 1);
}

TEST(BalancingSearchTest, S11APausedNodeTypeDoesNotMove) {
  const Cluster cluster = WithTypes({{"A", {600, 100}}, {"B", {900, 100}}});
  const Settings settings = PerType({{"A", {2, 0}}, {"B", {2, 0}}});
  const Balanced both = BalanceAll(cluster, settings);
  EXPECT_GT(both.Count("move", 0, 1), 0);
  EXPECT_GT(both.Count("move", 2, 3), 0);
  const Balanced one = BalanceAll(cluster, settings, {.node_types = {1}});
  EXPECT_EQ(one.Count("move", 0, kNoId), 0);
  EXPECT_EQ(one.Count("move", 2, 3), 4);
}

TEST(BalancingSearchTest, ReplicasOfAnUnconstrainedServiceStayInTheirNodeType) {
  ClusterBuilder builder;
  for (const char* type : {"A", "A", "B", "B"}) builder.Node(type);
  const ServiceId service = builder.Service("s", {{"M", 1}});
  for (int i = 0; i < 6; ++i) builder.Partition(service, {InstanceOn(0, 1)});
  const Balanced balanced = BalanceAll(builder.cluster(), PerType({{"A", {1, 0}}, {"B", {1, 0}}}));
  EXPECT_EQ(balanced.actions.size(), 3u);
  EXPECT_EQ(balanced.Count("move instance", 0, 1), 3);
}

TEST(BalancingSearchTest, S16NothingMovesWhereConstraintsAllowNothing) {
  ClusterBuilder builder;
  AddNodes(builder, 3);
  const ServiceId service = builder.Service("s", {{"M", 1}});
  builder.Constrain(service, "NodeName != n1");
  for (int i = 0; i < 4; ++i) builder.Partition(service, {InstanceOn(0, 5)});
  SetCapacity(builder.cluster(), 2, "M", 4);
  const Balanced balanced = BalanceAll(builder.cluster(), {});
  EXPECT_TRUE(balanced.needed);
  EXPECT_TRUE(balanced.actions.empty());
  EXPECT_EQ(balanced.results[0].energy_before, balanced.results[0].energy_after);
}

TEST(BalancingSearchTest, B01MovesReplicasOfTheDefaultMetrics) {
  ClusterBuilder builder;
  AddNodes(builder, 5);
  const ServiceId service = DefaultService(builder, "s");
  for (const auto& [primary, secondary] :
       {std::pair(0, 3), std::pair(1, 2), std::pair(3, 1), std::pair(3, 1), std::pair(1, 4)}) {
    builder.Partition(service,
                      {DefaultPrimary(static_cast<NodeId>(primary)), DefaultSecondary(static_cast<NodeId>(secondary))});
  }
  const Balanced balanced = BalanceAll(builder.cluster(), {});
  EXPECT_EQ(balanced.actions.size(), 3u) << ::testing::PrintToString(balanced.texts);
  EXPECT_EQ(balanced.Count("move primary", kNoId, 2), 1);
  EXPECT_EQ(balanced.Count("move primary", kNoId, 4), 1);
  EXPECT_EQ(balanced.Count("move secondary", kNoId, 0), 1);
}

TEST(BalancingSearchTest, B02TwoGroupsAreBalancedEachByItself) {
  ClusterBuilder builder;
  AddNodes(builder, 2);
  for (const char* name : {"A", "B"}) {
    const ServiceId service = builder.Service(name, {{std::string("MyMetric") + name, 1}});
    for (int i = 0; i < 4; ++i) builder.Partition(service, {InstanceOn(0, 10)});
  }
  for (const NodeId node : {0u, 1u}) {
    for (const char* metric : {"MyMetricA", "MyMetricB"}) SetCapacity(builder.cluster(), node, metric, 50);
  }
  const Balanced balanced = BalanceAll(builder.cluster(), {});
  EXPECT_EQ(balanced.results.size(), 2u);
  EXPECT_EQ(balanced.actions.size(), 4u);
  EXPECT_EQ(balanced.Count("move instance", 0, 1), 4);
}

TEST(BalancingSearchTest, B04FillsACapacityAndNoMore) {
  ClusterBuilder builder;
  AddNodes(builder, 2);
  const ServiceId service = builder.Service("s", {{"Count", 1}});
  for (int i = 0; i < 100; ++i) builder.Partition(service, {InstanceOn(1, 1)});
  SetCapacity(builder.cluster(), 0, "Count", 25);
  const Balanced balanced = BalanceAll(builder.cluster(), {});
  EXPECT_EQ(balanced.actions.size(), 25u);
  EXPECT_EQ(balanced.Count("move instance", 1, 0), 25);
}

TEST(BalancingSearchTest, B06LocalImbalanceMovesOnlyWithAThreshold) {
  ClusterBuilder builder;
  AddNodes(builder, 3);
  for (const auto& [name, loads] :
       {std::pair("1", std::vector<int>{20, 25, 30}), std::pair("2", std::vector<int>{30, 25, 20})}) {
    const ServiceId service = builder.Service(name, {{"PrimaryCount", 1}});
    for (NodeId node = 0; node < 3; ++node) {
      for (int i = 0; i < loads[node]; ++i) builder.Partition(service, {PrimaryOn(node, 1)});
    }
  }
  Settings settings;
  EXPECT_FALSE(BalanceAll(builder.cluster(), settings).needed);
  settings.local_balancing_threshold = 1.49;
  const Balanced balanced = BalanceAll(builder.cluster(), settings);
  EXPECT_GT(balanced.actions.size(), 0u);
  EXPECT_THAT(balanced.loads, ElementsAre(50, 50, 50));
  EXPECT_THAT(balanced.actions[0].reason, ::testing::HasSubstr("PrimaryCount of "));
}

TEST(BalancingSearchTest, B07BlockedNodesDoNotCount) {
  ClusterBuilder builder;
  AddNodes(builder, 5);
  builder.cluster().service_types.push_back({.name = "type", .blocked_nodes = {0, 1}});
  for (const char* name : {"1", "2"}) {
    const ServiceId service = builder.Service(name, {{"M", 1}});
    builder.cluster().services[service].type = 0;
    for (const auto& [node, count] : {std::pair(2u, 4), std::pair(3u, 5), std::pair(4u, 6)}) {
      for (int i = 0; i < count; ++i) builder.Partition(service, {InstanceOn(node, 100)});
    }
  }
  EXPECT_FALSE(BalanceAll(builder.cluster(), WithThreshold(1.5)).needed);
  const Balanced balanced = BalanceAll(builder.cluster(), WithThreshold(1.49));
  EXPECT_GT(balanced.actions.size(), 0u);
  EXPECT_THAT(balanced.loads, ElementsAre(0, 0, 1000, 1000, 1000));
}

TEST(BalancingSearchTest, B08B09ActivityThresholdOfTheMetricItself) {
  const Cluster cluster = WithUnits({20, 25, 30});
  EXPECT_FALSE(BalanceAll(cluster, WithThreshold(1, 30)).needed);
  EXPECT_GT(BalanceAll(cluster, WithThreshold(1, 29)).actions.size(), 0u);
  Settings other;
  other.metric_activity_thresholds["Other"] = 300;
  EXPECT_GT(BalanceAll(cluster, other).actions.size(), 0u);
}

TEST(BalancingSearchTest, B11TwoMovesReachTheOptimum) {
  ClusterBuilder builder;
  AddNodes(builder, 3);
  const ServiceId service = builder.Service("s", {{"M", 1}});
  for (const auto& [node, load] : {std::pair(0u, 100), std::pair(0u, 100), std::pair(1u, 1), std::pair(2u, 99)}) {
    builder.Partition(service, {InstanceOn(node, load)});
  }
  const Balanced balanced = BalanceAll(builder.cluster(), {});
  EXPECT_EQ(balanced.actions.size(), 2u);
  EXPECT_THAT(balanced.loads, ElementsAre(100, 100, 100));
  EXPECT_EQ(balanced.results[0].deviation_after, 0);
}

TEST(BalancingSearchTest, B12MovesTheFewestThatReachTheOptimum) {
  ClusterBuilder builder;
  AddNodes(builder, 10);
  const ServiceId service = builder.Service("s", {{"MyMetric", 1}});
  for (const auto& [node, count] : {std::pair(0u, 30), std::pair(1u, 20), std::pair(2u, 10), std::pair(3u, 10),
                                    std::pair(4u, 10), std::pair(5u, 10), std::pair(6u, 10)}) {
    for (int i = 0; i < count; ++i) builder.Partition(service, {PrimaryOn(node, 10)});
  }
  const Balanced balanced = BalanceAll(builder.cluster(), {});
  EXPECT_EQ(balanced.actions.size(), 30u);
  EXPECT_EQ(balanced.Count("move primary", 0, kNoId), 20);
  EXPECT_EQ(balanced.Count("move primary", 1, kNoId), 10);
  for (const NodeId node : {7u, 8u, 9u}) EXPECT_EQ(balanced.Count("move primary", kNoId, node), 10);
}

TEST(BalancingSearchTest, B14ChildrenGoWhereTheirParentsGo) {
  ClusterBuilder builder;
  AddNodes(builder, 4);
  for (const char* name : {"1", "2"}) {
    const ServiceId parent = DefaultService(builder, std::string("parent") + name);
    const ServiceId child = DefaultService(builder, std::string("child") + name);
    builder.cluster().services[child].affinity_to = parent;
    for (const ServiceId service : {parent, child}) {
      for (ServiceMetric& metric : builder.cluster().services[service].metrics) metric.weight = 1;
      builder.Partition(service, {DefaultPrimary(0), DefaultSecondary(1)});
    }
  }
  const Balanced balanced = BalanceAll(builder.cluster(), {});
  EXPECT_EQ(balanced.actions.size(), 4u) << ::testing::PrintToString(balanced.texts);
  for (const ReplicaId parent : {0u, 1u, 4u, 5u}) EXPECT_EQ(balanced.nodes[parent], balanced.nodes[parent + 2]);
}

TEST(BalancingSearchTest, B16ChildrenMoveAmongTheirParentsSecondaries) {
  ClusterBuilder builder;
  AddNodes(builder, 4);
  const ServiceId parent = DefaultService(builder, "parent");
  builder.Partition(parent, {DefaultPrimary(0), DefaultSecondary(1), DefaultSecondary(2), DefaultSecondary(3)});
  for (const char* name : {"1", "2", "3"}) {
    const ServiceId child = DefaultService(builder, name);
    builder.cluster().services[child].affinity_to = parent;
    builder.Partition(child, {DefaultPrimary(0), DefaultSecondary(1)});
  }
  const Balanced balanced = BalanceAll(builder.cluster(), {});
  EXPECT_EQ(balanced.actions.size(), 2u) << ::testing::PrintToString(balanced.texts);
  EXPECT_EQ(balanced.Count("move primary", 0, kNoId), 0);
}

TEST(BalancingSearchTest, B17ImprovementBelowItsThresholdIsNoReasonToMove) {
  Settings settings;
  settings.score_improvement_threshold = 0.1;
  const Cluster cluster = WithUnits({20, 25, 30});
  settings.global_metric_weights["M"] = 0;
  EXPECT_TRUE(BalanceAll(cluster, settings).actions.empty());
  settings.global_metric_weights.clear();
  settings.score_improvement_threshold = 0.2;
  const Balanced balanced = BalanceAll(cluster, settings);
  EXPECT_TRUE(balanced.needed);
  EXPECT_TRUE(balanced.actions.empty()) << "0.163 is all there is to win";
  settings.score_improvement_threshold = 0.16;
  EXPECT_EQ(BalanceAll(cluster, settings).actions.size(), 5u);
}

TEST(BalancingSearchTest, B18StandbyReplicasAndExpensiveOnesStay) {
  ClusterBuilder builder;
  AddNodes(builder, 2);
  const ServiceId service = builder.Service("s", {{"M", 1}});
  for (int i = 0; i < 4; ++i) builder.Partition(service, {{0, Role::kStandBy, {10}}});
  const Balanced standby = BalanceAll(builder.cluster(), {});
  EXPECT_TRUE(standby.needed);
  EXPECT_TRUE(standby.actions.empty());
  for (Replica& replica : builder.cluster().replicas) {
    replica.role = Role::kInstance;
    replica.move_cost = MoveCost::kHigh;
  }
  Settings settings;
  settings.use_move_cost_reports = true;
  settings.move_cost_high_value = 2'000'000'000;
  EXPECT_TRUE(BalanceAll(builder.cluster(), settings).actions.empty());
  settings.use_move_cost_reports = false;
  EXPECT_EQ(BalanceAll(builder.cluster(), settings).actions.size(), 2u);
}

TEST(BalancingSearchTest, WhatMovesLastStaysHoweverUnevenLoadsAre) {
  Cluster cluster = WithUnits({12, 0});
  Settings settings;
  settings.use_move_cost_reports = true;
  for (size_t i = 0; i < 10; ++i) cluster.replicas[i].move_cost = MoveCost::kVeryHigh;
  EXPECT_EQ(SortedTexts(cluster, settings), (Texts{"10 move instance 0=>1", "11 move instance 0=>1"}));
  for (Replica& replica : cluster.replicas) replica.move_cost = MoveCost::kVeryHigh;
  EXPECT_TRUE(BalanceAll(cluster, settings).actions.empty());
  settings.use_move_cost_reports = false;
  EXPECT_EQ(BalanceAll(cluster, settings).actions.size(), 6u) << "costs do not count";
}

TEST(BalancingSearchTest, B19MoveCostDecidesBetweenOneLargeAndTwoSmallMoves) {
  ClusterBuilder builder;
  AddNodes(builder, 2);
  const ServiceId service = builder.Service("s", {{"M", 1}});
  for (const int64_t load : {50, 25, 25}) builder.Partition(service, {PrimaryOn(0, load)});
  for (const NodeId node : {0u, 1u}) SetCapacity(builder.cluster(), node, "M", 100);
  builder.cluster().replicas[0].move_cost = MoveCost::kHigh;
  Settings settings;
  settings.use_move_cost_reports = true;
  EXPECT_EQ(SortedTexts(builder.cluster(), settings), (Texts{"1 move primary 0=>1", "2 move primary 0=>1"}));
  builder.cluster().replicas[0].move_cost = MoveCost::kZero;
  EXPECT_THAT(BalanceAll(builder.cluster(), settings).texts, ElementsAre("0 move primary 0=>1"));
  builder.cluster().replicas[0].move_cost = MoveCost::kHigh;
  settings.use_move_cost_reports = false;
  EXPECT_THAT(BalanceAll(builder.cluster(), settings).texts, ElementsAre("0 move primary 0=>1"));
}

Cluster WithFourPrimaries(const std::vector<std::vector<ReplicaAt>>& partitions) {
  ClusterBuilder builder;
  for (int i = 0; i < 4; ++i) builder.Node("", "fd:/" + std::to_string(i), "ud" + std::to_string(i));
  const ServiceId service = builder.Service("s", {{"M", 1}});
  for (const std::vector<ReplicaAt>& partition : partitions) builder.Partition(service, partition);
  for (NodeId node = 0; node < 4; ++node) SetCapacity(builder.cluster(), node, "M", 100);
  return std::move(builder.cluster());
}

TEST(BalancingSearchTest, B21ExchangesOfRolesNeedNoRoom) {
  const Cluster cluster = WithFourPrimaries(
      {{PrimaryOn(0, 50)}, {PrimaryOn(0, 50), SecondaryOn(1, 10)}, {PrimaryOn(2, 50)}, {PrimaryOn(2, 50), SecondaryOn(3, 10)}});
  Settings settings;
  settings.prevent_transient_overcommit = true;
  settings.swap_primary_probability = 1;
  EXPECT_EQ(SortedTexts(cluster, settings), (Texts{"1 swap primary 0<=>1", "3 swap primary 2<=>3"}));
}

TEST(BalancingSearchTest, B22WithOnlyExchangesOfRolesAnOptimumStays) {
  const Cluster cluster = WithFourPrimaries(
      {{PrimaryOn(1, 50)}, {PrimaryOn(0, 50), SecondaryOn(1, 10)}, {PrimaryOn(3, 50)}, {PrimaryOn(2, 50), SecondaryOn(3, 10)}});
  Settings settings;
  settings.swap_primary_probability = 1;
  EXPECT_TRUE(BalanceAll(cluster, settings).actions.empty());
}

Cluster WithPausedNode(const std::vector<std::pair<NodeId, int64_t>>& loads) {
  ClusterBuilder builder;
  AddNodes(builder, 3);
  const ServiceId service = builder.Service("s", {{"M", 1}});
  for (const auto& [node, load] : loads) builder.Partition(service, {InstanceOn(node, load)});
  builder.cluster().nodes[0].intent = DeactivationIntent::kPause;
  builder.cluster().nodes[0].status = DeactivationStatus::kComplete;
  return std::move(builder.cluster());
}

TEST(BalancingSearchTest, B24B26APausedNodeNeitherCountsNorMoves) {
  EXPECT_FALSE(BalanceAll(WithPausedNode({{0, 100}, {0, 100}, {1, 100}, {2, 100}}), {}).needed);
  EXPECT_THAT(BalanceAll(WithPausedNode({{0, 100}, {0, 100}, {1, 100}, {2, 100}, {2, 20}, {2, 20}}), {}).texts,
              AnyOf(ElementsAre("4 move instance 2=>1"), ElementsAre("5 move instance 2=>1")));
}

TEST(BalancingSearchTest, B27LocalDomainWeightDecidesWhoseLoadIsEven) {
  ClusterBuilder builder;
  AddNodes(builder, 8);
  using Places = std::vector<std::vector<NodeId>>;
  for (const auto& [name, places] : {std::pair<std::string, Places>("1", {{0, 1, 2}, {3, 4, 5}}),
                                     std::pair<std::string, Places>("2", {{2, 1, 0}, {5, 4, 3}})}) {
    const ServiceId service = builder.Service(name, {{"Count", 1}});
    for (const std::vector<NodeId>& nodes : places) {
      builder.Partition(service, {PrimaryOn(nodes[0], 1), SecondaryOn(nodes[1], 1), SecondaryOn(nodes[2], 1)});
    }
  }
  Settings settings;
  settings.local_domain_weight = 1;
  const Balanced local = BalanceAll(builder.cluster(), settings);
  EXPECT_TRUE(local.needed);
  EXPECT_TRUE(local.actions.empty());
  EXPECT_EQ(BalanceAll(builder.cluster(), {}).actions.size(), 2u);
}

TEST(BalancingSearchTest, B28LocalImbalanceExchangesReplicasOfEvenNodes) {
  ClusterBuilder builder;
  AddNodes(builder, 2);
  for (NodeId node = 0; node < 2; ++node) {
    const ServiceId service = builder.Service(std::to_string(node), {{"PrimaryCount", 1}});
    for (int i = 0; i < 2; ++i) builder.Partition(service, {PrimaryOn(node, 1)});
  }
  Settings settings;
  settings.local_balancing_threshold = 1;
  const Balanced balanced = BalanceAll(builder.cluster(), settings);
  EXPECT_EQ(balanced.actions.size(), 2u);
  EXPECT_THAT(balanced.texts, Contains(AnyOf("0 move primary 0=>1", "1 move primary 0=>1")));
  EXPECT_THAT(balanced.texts, Contains(AnyOf("2 move primary 1=>0", "3 move primary 1=>0")));
}

TEST(BalancingSearchTest, B29MovesNoMoreThanItsSlots) {
  const Cluster cluster = WithUnits({100, 0});
  const Balanced balanced = BalanceAll(cluster, {}, {.movement_slots = 23});
  EXPECT_EQ(balanced.actions.size(), 23u);
  EXPECT_EQ(balanced.results[0].moves, 23);
  EXPECT_TRUE(BalanceAll(cluster, {}, {.movement_slots = 0}).actions.empty());
}

TEST(BalancingSearchTest, B32NodesThatNoServiceMayUseDoNotCount) {
  ClusterBuilder builder;
  for (const char* type : {"Tenant", "Tenant", "Other", "Other"}) builder.Node(type);
  const ServiceId service = builder.Service("s", {{"M", 1}});
  builder.Constrain(service, "NodeType == Tenant");
  for (int i = 0; i < 4; ++i) builder.Partition(service, {InstanceOn(0, 10)});
  EXPECT_EQ(BalanceAll(builder.cluster(), {}).Count("move instance", 0, 1), 2);
  const ServiceId everywhere = builder.Service("everywhere", {{"M", 1}});
  builder.cluster().services[everywhere].on_every_node = true;
  builder.Partition(everywhere, {InstanceOn(0, 0), InstanceOn(1, 0), InstanceOn(2, 0), InstanceOn(3, 0)});
  const Balanced balanced = BalanceAll(builder.cluster(), {});
  EXPECT_EQ(balanced.actions.size(), 2u);
  EXPECT_EQ(balanced.Count("move instance", 0, 1), 2);
}

TEST(BalancingSearchTest, B36FaultDomainsAreNotBalancingsMatter) {
  ClusterBuilder builder;
  for (const char* domain : {"fd:/dc0/r0", "fd:/dc1/r0", "fd:/dc1/r0/c1", "fd:/dc1/r1/c1", "fd:/dc1/r1"})
    builder.Node("", domain);
  const ServiceId service = builder.Service("s", {{"Count", 1}});
  builder.Partition(service, {PrimaryOn(1, 1), SecondaryOn(4, 1)});
  EXPECT_FALSE(BalanceAll(builder.cluster(), {}).needed) << "a constraint check moves one to node 0";
}

TEST(BalancingSearchTest, ThrottledPartitionsStay) {
  const Cluster cluster = WithUnits({4, 0});
  const Balanced balanced = BalanceAll(cluster, {}, {.throttled_partitions = {0, 1, 2}});
  EXPECT_THAT(balanced.texts, ElementsAre("3 move instance 0=>1"));
}

TEST(BalancingSearchTest, EveryActionTellsWhatItGainsAndChanges) {
  const Balanced balanced = BalanceAll(WithUnits({4, 0}), {});
  ASSERT_EQ(balanced.actions.size(), 2u);
  const Action& first = balanced.actions[0];
  EXPECT_EQ(first.reason, "M is imbalanced: n1 has no load while n0 has 4; M goes from 4 to 3 on n0 and from 0 to 1 on n1");
  EXPECT_EQ(first.trigger_metric, 0u);
  EXPECT_EQ(first.loads[0].source_before, 4);
  EXPECT_EQ(first.loads[0].source_after, 3);
  EXPECT_EQ(balanced.actions[1].loads[0].target_after, 2);
  EXPECT_GT(first.energy_gain, 0);
}

}  // namespace
}  // namespace evenkeel::balancing::balancing_search_test
