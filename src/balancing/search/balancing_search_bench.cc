// Balancing from nothing to the actions: node sets, arrangement, test of the balance, search and actions, for 300, 3,000 and
// 30,000 nodes with 100 replicas each. Counters: average deviation before and after, its lower bound, and the share of it that
// is above the bound.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "balancing/model/large_cluster_testing.h"
#include "balancing/search/balancing_search.h"
#include "balancing/search/balancing_testing.h"

namespace evenkeel::balancing {
namespace {

// How the replicas are at first: as the large cluster has them, or also those of the last third of the nodes on the others.
enum Start { kRandom, kSkewed };

Cluster StartOf(NodeId nodes, Start start) {
  Cluster cluster =
      testing::LargeCluster({.nodes = nodes, .partitions = static_cast<int>(nodes) * 100 / 3, .fault_domains = 10});
  if (start == kRandom) return cluster;
  const NodeId third = nodes / 3;
  for (const Partition& partition : cluster.partitions) {
    for (uint32_t i = 0; i < partition.replica_count; ++i) {
      Replica& replica = cluster.replicas[partition.first_replica + i];
      const NodeId to = replica.node - third;
      const bool is_free =
          std::ranges::none_of(cluster.ReplicasOf(partition), [&](const Replica& other) { return other.node == to; });
      if (replica.node >= 2 * third && is_free) replica.node = to;
    }
  }
  return cluster;
}

void BalanceFromNothing(benchmark::State& state) {
  const Cluster cluster = StartOf(static_cast<NodeId>(state.range(0)), static_cast<Start>(state.range(1)));
  const Settings settings;
  const ServiceGroups groups = GroupServices(cluster);
  BalancingResult result;
  size_t actions = 0;
  for (auto _ : state) {
    const NodeSets sets(cluster);
    Arrangement arrangement(cluster, settings, sets);
    const ServiceGroup& group = groups.groups[0];
    const GroupBalance balance = CheckBalance(cluster, settings, sets, arrangement.loads(), group);
    result = Balance(arrangement, group, balance, {});
    const ActionContext context{.group = group, .balance = &balance};
    std::vector<SkippedItem> skipped;
    actions = ActionsOf(arrangement, context, skipped).size();
    state.counters["skipped"] = static_cast<double>(skipped.size());
  }
  const double bound = testing::LowestDeviation(cluster, settings, groups.groups[0]);
  state.counters["before"] = result.deviation_before;
  state.counters["after"] = result.deviation_after;
  state.counters["bound"] = bound;
  state.counters["above_bound"] = result.deviation_after / bound - 1;
  state.counters["actions"] = static_cast<double>(actions);
  state.counters["evaluations"] = static_cast<double>(result.evaluations);
}
BENCHMARK(BalanceFromNothing)
    ->ArgNames({"nodes", "skewed"})
    ->ArgsProduct({{300, 3000, 30000}, {kRandom, kSkewed}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace evenkeel::balancing
