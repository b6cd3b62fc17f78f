// What a plan costs before it begins, and each step that its search thinks of, at a tenth of the largest cluster that Service
// Fabric's authors tested with, at its size, and at ten times that. The argument: nodes, with 100 replicas on each.
#include <benchmark/benchmark.h>

#include <map>

#include "balancing/model/large_cluster_testing.h"
#include "balancing/rules/constraints.h"
#include "base/random.h"

namespace evenkeel::balancing {
namespace {

struct Large {
  explicit Large(NodeId nodes)
      : cluster(testing::LargeCluster({.nodes = nodes, .partitions = static_cast<int>(nodes) * 100 / 3, .capacity = 1.2})),
        sets(cluster) {}
  Cluster cluster;
  Settings settings;
  NodeSets sets;
};

const Large& LargeOf(const benchmark::State& state) {
  static std::map<int64_t, Large> of_sizes;
  return of_sizes.try_emplace(state.range(0), static_cast<NodeId>(state.range(0))).first->second;
}

void Sizes(benchmark::internal::Benchmark* benchmark) { benchmark->Arg(300)->Arg(3000)->Arg(30'000); }

void BuildArrangement(benchmark::State& state) {
  const Large& large = LargeOf(state);
  for (auto _ : state) benchmark::DoNotOptimize(Arrangement(large.cluster, large.settings, large.sets).replica_count());
}
BENCHMARK(BuildArrangement)->Apply(Sizes)->Unit(benchmark::kMillisecond);

void BuildConstraints(benchmark::State& state) {
  const Large& large = LargeOf(state);
  const Arrangement arrangement(large.cluster, large.settings, large.sets);
  for (auto _ : state) benchmark::DoNotOptimize(Constraints(arrangement, {}).Movable(0));
}
BENCHMARK(BuildConstraints)->Apply(Sizes)->Unit(benchmark::kMillisecond);

void FindViolations(benchmark::State& state) {
  const Large& large = LargeOf(state);
  const Arrangement arrangement(large.cluster, large.settings, large.sets);
  const Constraints constraints(arrangement, {});
  size_t violations = 0;
  for (auto _ : state) benchmark::DoNotOptimize(violations = constraints.Violations().size());
  state.counters["violations"] = static_cast<double>(violations);
}
BENCHMARK(FindViolations)->Apply(Sizes)->Unit(benchmark::kMillisecond);

// Of random replicas and nodes.
void AskForObstacles(benchmark::State& state) {
  const Large& large = LargeOf(state);
  const Arrangement arrangement(large.cluster, large.settings, large.sets);
  const Constraints constraints(arrangement, {});
  base::Random random(1);
  int64_t allowed = 0;
  for (auto _ : state) {
    const ReplicaId replica = static_cast<ReplicaId>(random.Below(arrangement.replica_count()));
    allowed += constraints.Allows(replica, static_cast<NodeId>(random.Below(large.cluster.nodes.size()))) ? 1 : 0;
  }
  state.counters["allowed"] = benchmark::Counter(static_cast<double>(allowed), benchmark::Counter::kAvgIterations);
}
BENCHMARK(AskForObstacles)->Apply(Sizes)->Unit(benchmark::kNanosecond);

// There and back.
void MoveTwice(benchmark::State& state) {
  const Large& large = LargeOf(state);
  Arrangement arrangement(large.cluster, large.settings, large.sets);
  base::Random random(2);
  for (auto _ : state) {
    const ReplicaId replica = static_cast<ReplicaId>(random.Below(arrangement.replica_count()));
    const NodeId at = arrangement.NodeOf(replica);
    const NodeId to = static_cast<NodeId>((at + 1 + random.Below(large.cluster.nodes.size() - 1)) % large.cluster.nodes.size());
    arrangement.Move(replica, to);
    arrangement.Move(replica, at);
  }
}
BENCHMARK(MoveTwice)->Apply(Sizes)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace evenkeel::balancing
