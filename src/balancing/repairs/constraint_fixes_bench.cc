// What a constraint check costs after the loss of one of ten fault domains, on clusters of 300, 3,000 and 30,000 nodes that
// carry 100 replicas each: its replicas are gone, secondaries elsewhere became primaries, and some nodes are too full now.
#include <benchmark/benchmark.h>

#include "balancing/model/large_cluster_testing.h"
#include "balancing/repairs/constraint_fixes.h"

namespace evenkeel::balancing {
namespace {

Cluster WithoutOneDomain(int64_t nodes) {
  Cluster cluster = testing::LargeCluster(
      {.nodes = static_cast<NodeId>(nodes), .partitions = static_cast<int>(nodes * 100 / 3), .capacity = 1.25});
  for (NodeId node = 0; node < cluster.nodes.size(); node += 10) cluster.nodes[node].up = false;
  for (Partition& partition : cluster.partitions) {
    Replica* successor = nullptr;
    bool headless = false;
    for (uint32_t i = 0; i < partition.replica_count; ++i) {
      Replica& replica = cluster.replicas[partition.first_replica + i];
      if (cluster.nodes[replica.node].up) {
        if (successor == nullptr) successor = &replica;
        continue;
      }
      headless = headless || replica.role == Role::kPrimary;
      replica.role = Role::kDropped;
      ++partition.missing;
    }
    if (headless && successor != nullptr) successor->role = Role::kPrimary;
  }
  return cluster;
}

void CheckAfterLossOfFaultDomain(benchmark::State& state) {
  const Cluster cluster = WithoutOneDomain(state.range(0));
  const Settings settings;
  const ServiceGroups groups = GroupServices(cluster);
  for (auto _ : state) {
    const NodeSets sets(cluster);
    Arrangement arrangement(cluster, settings, sets);
    const FixResult result = FixViolations(arrangement, groups.groups[0], {});
    state.counters["violations"] = static_cast<double>(result.before.size());
    state.counters["left"] = static_cast<double>(result.left.size());
    state.counters["moves"] = static_cast<double>(result.moves);
  }
}
BENCHMARK(CheckAfterLossOfFaultDomain)->Arg(300)->Arg(3000)->Arg(30'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace evenkeel::balancing
