// One call of the scale-down planner, the snapshot being current: the scenarios "down", "steady 5k" and "low 5k" of
// bench/autoscaler, without the other stages of the loop.
#include <benchmark/benchmark.h>

#include "controllers/autoscaler/scale_down.h"
#include "controllers/autoscaler/scale_down_testing.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using namespace std::chrono_literals;
using testing::World;

constexpr int64_t kMilliCpu = 10'000, kMemory = 10'000;

/// Nodes of `groups` groups with `pods` pods each of `percent` % of a node.
std::unique_ptr<World> Cluster(int nodes, int pods, int percent, int groups) {
  auto world = std::make_unique<World>();
  for (int i = 0; i < nodes; ++i) {
    const std::string name = "node-" + std::to_string(10'000 + i);
    world->Node(name, kMilliCpu, kMemory, "ng-" + std::to_string(i % groups));
    for (int p = 0; p < pods; ++p) {
      world->Pod("pod-" + std::to_string(i * pods + p), kMilliCpu * percent / 100, kMemory * percent / 100, name);
    }
  }
  world->snapshot.order();
  return world;
}

void Run(benchmark::State& bench, World& world, const Options& options, size_t expected) {
  const ClusterView view = world.View();
  for (auto _ : bench) {
    ScaleDownState state;
    const ScaleDownPlan plan = PlanScaleDown(view, options, {}, state);
    if (plan.unneeded.size() != expected) {
      bench.SkipWithError(("found " + std::to_string(plan.unneeded.size()) + " nodes removable").c_str());
    }
  }
}

void BM_Down(benchmark::State& bench) {
  const auto world = Cluster(400, 40, 1, 1);
  Options options;
  options.max_scale_down_parallelism = options.max_drain_parallelism = 2000;
  Run(bench, *world, options, 240);
}
BENCHMARK(BM_Down)->Unit(benchmark::kMillisecond);

void BM_Steady5k(benchmark::State& bench) {
  const auto world = Cluster(5000, 30, 3, 10);
  Options options;
  options.ignore_daemonsets_utilization = bench.range(0) != 0;
  Run(bench, *world, options, 0);
}
BENCHMARK(BM_Steady5k)->ArgName("ignore_daemonsets")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void BM_Low5k(benchmark::State& bench) {
  const auto world = Cluster(5000, 30, 1, 10);
  Options options;
  options.max_scale_down_parallelism = options.max_drain_parallelism = 1000;
  Run(bench, *world, options, 2000);
}
BENCHMARK(BM_Low5k)->Unit(benchmark::kMillisecond);

/// Nodes under the threshold of which none can go: each has a pod that fits nowhere else.
void BM_NoPlace5k(benchmark::State& bench) {
  auto world = std::make_unique<World>();
  for (int i = 0; i < 5000; ++i) {
    const std::string name = "node-" + std::to_string(10'000 + i);
    world->Node(name, kMilliCpu, kMemory);
    world->Pod("big-" + std::to_string(i), kMilliCpu * 4 / 10, 1, name);
    world->Pod("memory-" + std::to_string(i), 1, kMemory * 7 / 10, name);
  }
  Options options;
  options.scale_down_utilization_threshold = 0.8;
  Run(bench, *world, options, 0);
}
BENCHMARK(BM_NoPlace5k)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace evenkeel::controllers::autoscaler
