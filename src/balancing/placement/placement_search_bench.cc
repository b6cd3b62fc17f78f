// What it costs to place 10,000 new replicas with three metrics on clusters of 300, 3,000 and 30,000 nodes that carry 100
// replicas each: everything, from the cluster as it was read to the arrangement with the new replicas.
#include <benchmark/benchmark.h>

#include "balancing/model/large_cluster_testing.h"
#include "balancing/placement/placement_search.h"

namespace evenkeel::balancing {
namespace {

constexpr int kNew = 10'000;

Cluster WithMissing(int64_t nodes) {
  Cluster cluster = testing::LargeCluster(
      {.nodes = static_cast<NodeId>(nodes), .partitions = static_cast<int>(nodes * 100 / 3) + kNew / 3, .capacity = 1.5});
  const size_t every = cluster.partitions.size() / (kNew / 3);
  for (size_t i = 0; i < cluster.partitions.size(); i += every) {
    Partition& partition = cluster.partitions[i];
    partition.missing = 3;
    for (uint32_t j = 0; j < partition.replica_count; ++j) cluster.replicas[partition.first_replica + j].role = Role::kDropped;
  }
  return cluster;
}

void PlaceTenThousandReplicas(benchmark::State& state) {
  const Cluster cluster = WithMissing(state.range(0));
  const Settings settings;
  const ServiceGroups groups = GroupServices(cluster);
  for (auto _ : state) {
    const NodeSets sets(cluster);
    Arrangement arrangement(cluster, settings, sets);
    const PlacementResult result = PlaceReplicas(arrangement, groups.groups[0], {});
    state.counters["unplaced"] = static_cast<double>(result.unplaced.size());
    state.counters["evaluations"] = static_cast<double>(result.evaluations);
  }
}
BENCHMARK(PlaceTenThousandReplicas)->Arg(300)->Arg(3000)->Arg(30'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace evenkeel::balancing
