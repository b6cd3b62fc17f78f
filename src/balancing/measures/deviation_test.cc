#include "balancing/measures/deviation.h"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <cmath>

#include "balancing/model/cluster_testing.h"

namespace evenkeel::balancing::deviation_test {
namespace {

using testing::ClusterBuilder;
using Loads = std::vector<int64_t>;

double DeviationOf(const Loads& loads) {
  LoadSummary summary;
  for (const int64_t load : loads) summary.Add(0, load);
  return NormStdDev(summary.sums);
}

// The score of one metric M of this weight on as many nodes as there are loads.
double PublishedDeviation(const Loads& loads, double weight) {
  ClusterBuilder builder;
  for (size_t i = 0; i < loads.size(); ++i) builder.Node();
  builder.Loads("s", "M", loads);
  Settings settings;
  settings.global_metric_weights["M"] = weight;
  const NodeSets sets(builder.cluster());
  const NodeLoads node_loads(builder.cluster(), sets);
  const ServiceGroups groups = GroupServices(builder.cluster());
  return GroupScore(builder.cluster(), settings, sets, node_loads, groups.groups[0]).Deviation(0);
}

TEST(DeviationTest, IsTheStandardDeviationInUnitsOfTheAverage) {
  EXPECT_EQ(DeviationOf({}), 0);
  EXPECT_EQ(DeviationOf({0, 0}), 0);
  EXPECT_EQ(DeviationOf({5, 5}), 0);
  EXPECT_EQ(DeviationOf({10, 0}), 1);
  EXPECT_NEAR(DeviationOf({2, 2, 1}), 0.282843, 5e-7);
  EXPECT_NEAR(DeviationOf({5, 3, 2}), 0.374166, 5e-7);
  EXPECT_NEAR(DeviationOf({10, 2, 2}), 0.808122, 5e-7);
  EXPECT_NEAR(DeviationOf({20, 25, 30}), 0.163299, 5e-7);
  EXPECT_NEAR(DeviationOf({15, 15, 15, 0}), 0.577350, 5e-7);
}

TEST(DeviationTest, AgreesWithFiguresThatServiceFabricHasPrinted) {
  EXPECT_EQ(fmt::format("{:.15g}", PublishedDeviation({4, 4, 4, 4, 4, 4, 4, 4, 4, 5}, 0.1)), "0.00731707317073175");
  EXPECT_EQ(fmt::format("{:.15g}", PublishedDeviation({15, 15, 15, 0}, 1.0 / 3)), "0.192450089729875");
}

TEST(DeviationTest, LargeLoadsLoseNothing) {
  const int64_t gigabytes = int64_t{100} << 30;
  EXPECT_EQ(DeviationOf(Loads(3000, gigabytes)), 0);
  Loads loads(3000, gigabytes);
  loads[0] += 3000;
  const double expected = std::sqrt(2999.0) / static_cast<double>(gigabytes + 1);
  EXPECT_NEAR(DeviationOf(loads) / expected, 1, 1e-12);
  EXPECT_NEAR(DeviationOf({int64_t{1} << 61, 0, 0}), std::sqrt(2.0), 1e-12) << "too wide for whole numbers";
}

TEST(DeviationTest, EnergyWeighsTheScoreAgainstTheCostOfMovements) {
  Settings settings;
  EXPECT_DOUBLE_EQ(Energy(settings, 0.2, 3, 10), 0.201 * 1013);
  EXPECT_DOUBLE_EQ(Energy(settings, -0.101, 3, 10), -0.1 * 1007) << "a cost never lowers the energy";
  EXPECT_EQ(Energy(settings, 0.2, 3, 0), 0.2);
  settings.ignore_cost_in_scoring = true;
  EXPECT_EQ(Energy(settings, 0.2, 3, 10), 0.2);
  settings = Settings();
  // One movement has to improve the score by a part in 1000 and the replicas.
  EXPECT_GT(Energy(settings, 0.1 * (1 - 0.0009), 1, 10), Energy(settings, 0.1, 0, 10));
  EXPECT_LT(Energy(settings, 0.1 * (1 - 0.0011), 1, 10), Energy(settings, 0.1, 0, 10));
}

TEST(DeviationTest, EveryMovementCostsOneUnlessReportsCount) {
  Settings settings;
  EXPECT_EQ(CostOfMove(settings, MoveCost::kHigh), 1);
  EXPECT_EQ(CostOfSwap(settings), 1);
  settings.use_move_cost_reports = true;
  EXPECT_EQ(CostOfMove(settings, MoveCost::kZero), 0);
  EXPECT_EQ(CostOfMove(settings, MoveCost::kMedium), 15);
  EXPECT_EQ(CostOfMove(settings, MoveCost::kHigh), 40);
  EXPECT_DOUBLE_EQ(CostOfSwap(settings), 0.1);
}

class GroupScoreTest : public ::testing::Test {
 protected:
  double Average() const {
    const NodeSets sets(builder.cluster());
    const NodeLoads loads(builder.cluster(), sets);
    return GroupScore(builder.cluster(), settings, sets, loads, GroupServices(builder.cluster()).groups.at(0))
        .average_deviation();
  }
  mutable ClusterBuilder builder;
  Settings settings;
};

TEST_F(GroupScoreTest, AveragesMetricsByWeightAndGivesLocalDomainsTheirShare) {
  for (int i = 0; i < 2; ++i) builder.Node();
  const ServiceId one = builder.Service("1", {{"M", 1}, {"N", 0.25}}), two = builder.Service("2", {{"M", 0.5}});
  builder.Partition(one, {{0, Role::kInstance, {10, 10}}});
  builder.Partition(one, {{1, Role::kInstance, {10, 0}}});
  builder.Partition(two, {{0, Role::kInstance, {20}}});
  // M: 30, 10 with weight 0.75; N: 10, 0 with weight 0.25. Service 1: M even, N 1 with weights 1 and 0.25; 2 has one partition.
  const double global = (0.75 * 0.5 + 0.25 * 1) / 1;
  const double local = 0.25 / 1.25;
  EXPECT_DOUBLE_EQ(Average(), 0.25 * local + 0.75 * global);
  settings.local_domain_weight = 1;
  EXPECT_DOUBLE_EQ(Average(), local);
  builder.Partition(two, {{0, Role::kInstance, {0}}});
  EXPECT_DOUBLE_EQ(Average(), (local + 1) / 2);
}

TEST_F(GroupScoreTest, MetricsWithoutWeightHaveNoScore) {
  for (int i = 0; i < 2; ++i) builder.Node();
  builder.Partition(builder.Service("1", {{"M", 0}}), {{0, Role::kInstance, {10}}});
  EXPECT_EQ(Average(), 0);
}

TEST_F(GroupScoreTest, PercentagesCompareLoadsWithCapacitiesWhereAllNodesHaveThem) {
  for (const int64_t capacity : {100, 50}) builder.cluster().nodes[builder.Node()].capacities = {{0, capacity}};
  const ServiceId service = builder.Service("s", {{"M", 1}});
  builder.Partition(service, {{0, Role::kPrimary, {20}}, {1, Role::kSecondary, {10}}});
  settings.local_domain_weight = 0;
  EXPECT_DOUBLE_EQ(Average(), DeviationOf({2, 1}));
  settings.balancing_by_percentage["M"] = true;
  EXPECT_DOUBLE_EQ(Average(), 0);
  builder.Node();
  EXPECT_DOUBLE_EQ(Average(), DeviationOf({2, 1, 0})) << "one node is unlimited";
  builder.cluster().nodes[2].up = false;
  EXPECT_DOUBLE_EQ(Average(), 0);
}

TEST_F(GroupScoreTest, PackedMetricsScoreBetterTheMoreUnevenTheyAre) {
  for (const char* rack : {"fd:/r0", "fd:/r0", "fd:/r1", "fd:/r1"}) builder.Node("", rack, "ud");
  builder.Loads("s", "M", {10, 30, 10, 10});
  settings.local_domain_weight = 0;
  settings.defragmentation_metrics["M"] = true;
  // Racks 40 and 20; all in one upgrade domain.
  EXPECT_DOUBLE_EQ(Average(), 1 - DeviationOf({10, 30, 10, 10}) + 0.01 * DeviationOf({40, 20}));
  settings.local_domain_weight = 1;
  EXPECT_DOUBLE_EQ(Average(), 1 - DeviationOf({10, 30, 10, 10}));
}

TEST_F(GroupScoreTest, ScopedMetricsScoreByHowMuchOfTheReservationIsTaken) {
  for (int i = 0; i < 4; ++i) builder.cluster().nodes[builder.Node()].capacities = {{0, 100}};
  builder.Loads("s", "M", {100, 80, 70, 50});
  settings.local_domain_weight = 0;
  settings.defragmentation_metrics["M"] = settings.defragmentation_scoped_algorithm_enabled["M"] = true;
  settings.reserved_load_per_node["M"] = 40;
  settings.defragmentation_empty_nodes_threshold["M"] = 2;
  settings.placement_strategy["M"] = 2;
  // The two best candidates: 50, which is empty, and 70, a quarter of whose reservation is taken.
  const double free = 4 - (1 + 1) - 0.75 * 0.75;
  EXPECT_DOUBLE_EQ(Average(), free);
  settings.placement_strategy["M"] = 1;
  settings.defragmentation_empty_node_weight["M"] = 0.6;
  EXPECT_DOUBLE_EQ(Average(), 0.6 * free + 0.4 * DeviationOf({100, 80, 70, 50}));
  settings.local_domain_weight = 1;
  EXPECT_DOUBLE_EQ(Average(), 0.4 * DeviationOf({100, 80, 70, 50})) << "empty nodes are not a service's own business";
  settings.placement_strategy["M"] = 2;
  EXPECT_EQ(Average(), 0);
}

Settings RandomSettings(base::Random& random, bool percentages) {
  Settings settings;
  for (const char* metric : {"A", "B", "C", "D", "E"}) {
    if (random.Chance(0.3)) settings.global_metric_weights[metric] = static_cast<double>(random.Below(5)) / 4;
    settings.balancing_by_percentage[metric] = percentages && random.Chance(0.5);
    if (!random.Chance(0.4)) continue;
    settings.defragmentation_metrics[metric] = true;
    settings.defragmentation_scoped_algorithm_enabled[metric] = random.Chance(0.5);
    settings.placement_strategy[metric] = static_cast<int64_t>(random.Below(5));
    settings.defragmentation_empty_node_weight[metric] = 0.5;
    if (random.Chance(0.5)) settings.defragmentation_empty_nodes_threshold[metric] = static_cast<double>(random.Below(5));
    if (random.Chance(0.5)) settings.reserved_load_per_node[metric] = static_cast<int64_t>(random.Below(60));
  }
  return settings;
}

// One random change of the cluster's replicas: who it happens to, and what it does to the nodes.
struct Change {
  ServiceId service;
  std::array<NodeChange, 2> nodes;
  Replica *replica, *other;  // other: null for a move
};

Change RandomChange(Cluster& cluster, base::Random& random) {
  Replica& replica = cluster.replicas[random.Below(cluster.replicas.size())];
  const Partition& partition = cluster.partitions[replica.partition];
  Replica& other = cluster.replicas[partition.first_replica + random.Below(partition.replica_count)];
  if (&other != &replica && random.Chance(0.5)) {
    const std::span<const int64_t> heavy = cluster.LoadsOf(replica), light = cluster.LoadsOf(other);
    return {partition.service, {{{replica.node, heavy, light}, {other.node, light, heavy}}}, &replica, &other};
  }
  NodeId to = static_cast<NodeId>(random.Below(cluster.nodes.size()));
  if (to == replica.node) to = (to + 1) % static_cast<NodeId>(cluster.nodes.size());
  return {partition.service, MoveChanges(replica.node, to, cluster.LoadsOf(replica)), &replica, nullptr};
}

TEST_F(GroupScoreTest, ForeseesWhatAnyChangeDoesAndKeepsUpWithIt) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    base::Random random(seed);
    Cluster cluster = testing::RandomCluster(random);
    if (cluster.replicas.empty()) continue;
    const bool percentages = random.Chance(0.5);
    settings = RandomSettings(random, percentages);
    // Near 0 a deviation is the root of what rounding leaves of shares; whole loads are exact.
    const double tolerance = percentages ? 1e-7 : 1e-12;
    const NodeSets sets(cluster);
    NodeLoads loads(cluster, sets);
    const ServiceGroups groups = GroupServices(cluster);
    std::vector<GroupScore> scores;
    for (const ServiceGroup& group : groups.groups) scores.emplace_back(cluster, settings, sets, loads, group);
    for (int step = 0; step < 25; ++step) {
      const std::string where = "seed " + std::to_string(seed) + " step " + std::to_string(step);
      const Change change = RandomChange(cluster, random);
      // A partition's replicas may have come together on one node, where exchanging them is not one change per node.
      if (change.nodes[0].node == change.nodes[1].node) continue;
      GroupScore& score = scores[groups.group_of_service[change.service]];
      const double foreseen = score.AverageDeviationAfter(change.service, change.nodes);
      for (const NodeChange& node : change.nodes) loads.Change(change.service, node.node, node.removed, node.added);
      score.Update(change.service);
      if (change.other == nullptr) {
        change.replica->node = change.nodes[1].node;
      } else {
        std::swap(change.replica->first_load, change.other->first_load);
      }
      const NodeLoads fresh_loads(cluster, sets);
      const GroupScore fresh(cluster, settings, sets, fresh_loads, groups.groups[groups.group_of_service[change.service]]);
      ASSERT_NEAR(foreseen, fresh.average_deviation(), tolerance) << where;
      ASSERT_NEAR(score.average_deviation(), fresh.average_deviation(), tolerance) << where;
      ASSERT_NEAR(Energy(settings, foreseen, 1, 9), Energy(settings, fresh.average_deviation(), 1, 9), 2000 * tolerance)
          << where;
    }
  }
}

}  // namespace
}  // namespace evenkeel::balancing::deviation_test
