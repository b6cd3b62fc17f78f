// The largest cluster that Service Fabric's authors tested with, 3,000 nodes and 100,000 partitions of three replicas with
// three metrics: what it costs to take a few changes and to know whether the cluster is still balanced.
#include <benchmark/benchmark.h>

#include "controllers/balancer/cluster_testing.h"
#include "controllers/balancer/deviation.h"
#include "controllers/balancer/imbalance.h"

namespace evenkeel::controllers::balancer {
namespace {

constexpr NodeId kNodes = 3000;
constexpr int kServices = 1000;
constexpr int kPartitions = 100'000;

const Cluster& LargeCluster() {
  static const Cluster kCluster = [] {
    testing::ClusterBuilder builder;
    base::Random random(1);
    for (NodeId node = 0; node < kNodes; ++node) builder.Node("T" + std::to_string(node % 3));
    for (int i = 0; i < kServices; ++i) {
      builder.Service("s" + std::to_string(i), {{"Memory", 1}, {"Cpu", 0.3}, {"Count", 0.1}});
    }
    for (int i = 0; i < kPartitions; ++i) {
      const NodeId first = static_cast<NodeId>(random.Below(kNodes));
      std::vector<testing::ReplicaAt> replicas;
      for (NodeId j = 0; j < 3; ++j) {
        replicas.push_back({(first + j * 11) % kNodes,
                            j == 0 ? Role::kPrimary : Role::kSecondary,
                            {static_cast<int64_t>(random.Below(100)), static_cast<int64_t>(random.Below(64)), 1}});
      }
      builder.Partition(static_cast<ServiceId>(i % kServices), replicas);
    }
    return std::move(builder.cluster());
  }();
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

// One load changes on each of so many replicas, then the whole cluster is tested; the second argument: per node type.
void ChangeLoadsAndCheckBalance(benchmark::State& state) {
  const Cluster& cluster = LargeCluster();
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
      const NodeId to = static_cast<NodeId>(random.Below(kNodes));
      loads.Move(cluster.partitions[replica.partition].service, replica.node, to, row);
      loads.Move(cluster.partitions[replica.partition].service, to, replica.node, row);
    }
    for (const ServiceGroup& group : groups.groups) {
      benchmark::DoNotOptimize(CheckBalance(cluster, settings, sets, loads, group).balanced());
    }
  }
}
BENCHMARK(ChangeLoadsAndCheckBalance)->Args({1, 0})->Args({1000, 0})->Args({1000, 1})->Unit(benchmark::kMicrosecond);

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
    const NodeId to = (replica.node + 1 + static_cast<NodeId>(random.Below(kNodes - 1))) % kNodes;
    const auto changes = MoveChanges(replica.node, to, cluster.LoadsOf(replica));
    benchmark::DoNotOptimize(score.AverageDeviationAfter(cluster.partitions[replica.partition].service, changes));
  }
}
BENCHMARK(ForeseeOneMove)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace evenkeel::controllers::balancer
