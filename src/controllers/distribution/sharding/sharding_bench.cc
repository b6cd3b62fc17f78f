// Planning 10,000 clusters over 100 replicas with each method: one ring and one sort per plan.
#include <benchmark/benchmark.h>

#include "base/random.h"
#include "controllers/distribution/sharding/sharding.h"

namespace evenkeel::controllers::distribution {
namespace {

std::vector<Cluster> Fleet(int count) {
  base::Random random(1);
  std::vector<Cluster> clusters(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    Cluster& cluster = clusters[static_cast<size_t>(i)];
    cluster.id = random.Uuid();
    cluster.server = "https://member-" + std::to_string(i) + ":6443";
  }
  return clusters;
}

void BM_Plan(benchmark::State& state, Method method) {
  const auto clusters = Fleet(10'000);
  AppCounts apps;
  base::Random random(2);
  for (const Cluster& cluster : clusters) apps[cluster.server] = random.Between(int64_t{0}, int64_t{50});
  for (auto _ : state) {
    std::vector<Finding> findings;
    benchmark::DoNotOptimize(AssignShards(clusters, apps, {.method = method, .replicas = 100}, findings));
  }
}
BENCHMARK_CAPTURE(BM_Plan, legacy, Method::kLegacy)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Plan, round_robin, Method::kRoundRobin)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Plan, consistent_hashing, Method::kConsistentHashing)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace evenkeel::controllers::distribution
