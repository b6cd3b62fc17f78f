// What it costs, in large clusters, to take a few changes and to know whether the cluster is still balanced.
#include <benchmark/benchmark.h>

#include <map>

#include "balancing/measures/deviation.h"
#include "balancing/measures/imbalance.h"
#include "balancing/model/large_cluster_testing.h"

namespace evenkeel::balancing {
namespace {

const Cluster& LargeCluster() {
  static const Cluster kCluster = testing::LargeCluster({});
  return kCluster;
}

void BuildNodeLoads(benchmark::State& state) {
  const Cluster& cluster = LargeCluster();
  for (auto _ : state) {
    const NodeSets sets(cluster);
    benchmark::DoNotOptimize(NodeLoads(cluster, sets));
  }
}
BENCHMARK(BuildNodeLoads)->Unit(benchmark::kMillisecond);

void GroupTheServices(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(GroupServices(LargeCluster()));
}
BENCHMARK(GroupTheServices)->Unit(benchmark::kMillisecond);

const Cluster& LargeClusterOf(NodeId nodes) {
  static std::map<NodeId, Cluster> of_sizes;
  const auto [found, added] = of_sizes.try_emplace(nodes);
  if (added) found->second = testing::LargeCluster({.nodes = nodes, .partitions = static_cast<int>(nodes) * 100 / 3});
  return found->second;
}

// One load changes on each of so many replicas, then the whole cluster is tested.
void ChangeLoadsAndCheckBalance(benchmark::State& state) {
  const Cluster& cluster = LargeClusterOf(static_cast<NodeId>(state.range(2)));
  const NodeSets sets(cluster);
  NodeLoads loads(cluster, sets);
  const ServiceGroups groups = GroupServices(cluster);
  Settings settings;
  settings.separate_balancing_strategy_per_node_type = settings.subclustering_enabled = state.range(1) == 1;
  base::Random random(2);
  for (auto _ : state) {
    for (int64_t i = 0; i < state.range(0); ++i) {
      const Replica& replica = cluster.replicas[random.Below(cluster.replicas.size())];
      const std::span<const int64_t> row = cluster.LoadsOf(replica);
      const NodeId to = static_cast<NodeId>(random.Below(cluster.nodes.size()));
      loads.Move(cluster.partitions[replica.partition].service, replica.node, to, row);
      loads.Move(cluster.partitions[replica.partition].service, to, replica.node, row);
    }
    for (const ServiceGroup& group : groups.groups) {
      benchmark::DoNotOptimize(CheckBalance(cluster, settings, sets, loads, group).balanced());
    }
  }
}
BENCHMARK(ChangeLoadsAndCheckBalance)
    ->ArgNames({"changes", "per_node_type", "nodes"})
    ->Args({1, 0, 3000})
    ->Args({1000, 0, 300})
    ->Args({1000, 0, 3000})
    ->Args({1000, 0, 30'000})
    ->Args({1000, 1, 3000})
    ->Unit(benchmark::kMicrosecond);

void ForeseeOneMove(benchmark::State& state) {
  const Cluster& cluster = LargeCluster();
  const NodeSets sets(cluster);
  const NodeLoads loads(cluster, sets);
  const ServiceGroups groups = GroupServices(cluster);
  const Settings settings;
  const GroupScore score(cluster, settings, sets, loads, groups.groups[0]);
  base::Random random(3);
  for (auto _ : state) {
    const Replica& replica = cluster.replicas[random.Below(cluster.replicas.size())];
    const auto to = static_cast<NodeId>((replica.node + 1 + random.Below(cluster.nodes.size() - 1)) % cluster.nodes.size());
    const auto changes = MoveChanges(replica.node, to, cluster.LoadsOf(replica));
    benchmark::DoNotOptimize(score.AverageDeviationAfter(cluster.partitions[replica.partition].service, changes));
  }
}
BENCHMARK(ForeseeOneMove)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace evenkeel::balancing
