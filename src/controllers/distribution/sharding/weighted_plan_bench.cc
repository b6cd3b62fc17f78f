// How long the weighted plan takes, and what it is worth: movement and imbalance beside the three compatible methods on the
// same fleets, when a replica comes and when one goes.
#include "controllers/distribution/sharding/weighted_plan.h"

#include <benchmark/benchmark.h>

#include <cmath>

#include "base/random.h"
#include "controllers/distribution/sharding/sharding.h"

namespace evenkeel::controllers::distribution {
namespace {

/// The k-th heaviest cluster weighs 1/k^exponent of the heaviest. Which one that is does not show in its name.
std::vector<WeightedCluster> ZipfFleet(uint64_t seed, size_t count, double exponent) {
  base::Random random(seed);
  std::vector<WeightedCluster> clusters(count);
  for (size_t i = 0; i < count; ++i) {
    clusters[i].server = "https://member-" + std::to_string(i) + ".example.com:6443";
    clusters[i].weight = std::llround(1e6 / std::pow(static_cast<double>(i + 1), exponent));
    std::swap(clusters[i].weight, clusters[random.Below(i + 1)].weight);
  }
  return clusters;
}

std::vector<WeightedShard> Shards(int64_t count) {
  std::vector<WeightedShard> shards(static_cast<size_t>(count));
  for (int64_t shard = 0; shard < count; ++shard) shards[static_cast<size_t>(shard)].shard = shard;
  return shards;
}

/// Plans until nothing moves.
void Settle(const std::vector<WeightedShard>& shards, std::vector<WeightedCluster>& clusters) {
  while (true) {
    const WeightedPlan plan = PlanWeighted(shards, clusters, {});
    for (size_t i = 0; i < clusters.size(); ++i) {
      clusters[i].shard = plan.shard[i];
      clusters[i].standby = plan.standby[i];
    }
    if (plan.moves.empty()) return;
  }
}

/// The plan for `after` shards of a fleet that has settled on `before`; 0: that is new.
void BM_WeightedPlan(benchmark::State& state, int64_t before, int64_t after) {
  std::vector<WeightedCluster> clusters = ZipfFleet(1, 10'000, 1);
  if (before > 0) Settle(Shards(before), clusters);
  const std::vector<WeightedShard> shards = Shards(after);
  for (auto _ : state) benchmark::DoNotOptimize(PlanWeighted(shards, clusters, {}));
  const WeightedPlan plan = PlanWeighted(shards, clusters, {});
  state.counters["moves"] = static_cast<double>(plan.moves.size());
  state.counters["waiting"] = static_cast<double>(plan.waiting);
}
BENCHMARK_CAPTURE(BM_WeightedPlan, from_scratch, 0, 100)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_WeightedPlan, shard_lost, 100, 99)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_WeightedPlan, shard_added, 100, 101)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_WeightedPlan, nothing_to_do, 100, 100)->Unit(benchmark::kMillisecond);

/// Who owns what, before and after a change.
struct Scaled {
  std::vector<int64_t> before, after;
};

Scaled ScaleWeighted(std::vector<WeightedCluster> clusters, int64_t before, int64_t after) {
  Scaled scaled;
  for (auto& [shards, owners] : {std::pair(before, &scaled.before), {after, &scaled.after}}) {
    Settle(Shards(shards), clusters);
    for (const WeightedCluster& cluster : clusters) owners->push_back(cluster.shard);
  }
  return scaled;
}

Scaled ScaleCompatible(Method method, uint64_t seed, const std::vector<WeightedCluster>& fleet, int64_t before, int64_t after) {
  base::Random random = base::Random(seed).Fork("ids");
  std::vector<Cluster> clusters(fleet.size());
  AppCounts apps;
  for (size_t i = 0; i < fleet.size(); ++i) {
    clusters[i].id = random.Uuid();
    clusters[i].server = fleet[i].server;
    apps[fleet[i].server] = fleet[i].weight;
  }
  std::ranges::sort(clusters, {}, &Cluster::id);
  Scaled scaled;
  for (auto& [shards, owners] : {std::pair(before, &scaled.before), {after, &scaled.after}}) {
    const ShardFunction function(method, shards, clusters, apps);
    std::map<std::string_view, int64_t> by_server;
    for (const Cluster& cluster : clusters) by_server[cluster.server] = function.Of(&cluster);
    for (const WeightedCluster& cluster : fleet) owners->push_back(by_server.at(cluster.server));
  }
  return scaled;
}

/// Averages over seeded fleets of 500 clusters. `floor` is the least imbalance that any distribution could have: that of the
/// heaviest cluster.
void BM_Scale(benchmark::State& state, std::optional<Method> method, int64_t before, int64_t after) {
  constexpr uint64_t kSeeds = 20;
  constexpr size_t kClusters = 500;
  double moved = 0, moved_weight = 0, imbalance = 0, floor = 0;
  for (auto _ : state) {
    moved = moved_weight = imbalance = floor = 0;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      const std::vector<WeightedCluster> fleet = ZipfFleet(seed, kClusters, 0.8);
      const Scaled scaled = method ? ScaleCompatible(*method, seed, fleet, before, after) : ScaleWeighted(fleet, before, after);
      std::vector<double> loads(static_cast<size_t>(after), 0);
      double total = 0, heaviest = 0, changed = 0, changed_weight = 0;
      for (size_t i = 0; i < fleet.size(); ++i) {
        const auto weight = static_cast<double>(fleet[i].weight);
        loads.at(static_cast<size_t>(scaled.after[i])) += weight;
        total += weight;
        heaviest = std::max(heaviest, weight);
        if (scaled.before[i] == scaled.after[i]) continue;
        changed += 1;
        changed_weight += weight;
      }
      const double mean = total / static_cast<double>(after);
      moved += 100 * changed / kClusters;
      moved_weight += 100 * changed_weight / total;
      imbalance += std::ranges::max(loads) / mean;
      floor += std::max(1.0, heaviest / mean);
    }
  }
  state.counters["moved_percent"] = moved / kSeeds;
  state.counters["moved_weight_percent"] = moved_weight / kSeeds;
  state.counters["imbalance"] = imbalance / kSeeds;
  state.counters["floor"] = floor / kSeeds;
}
BENCHMARK_CAPTURE(BM_Scale, up_10_11_weighted, std::nullopt, 10, 11)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Scale, up_10_11_legacy, Method::kLegacy, 10, 11)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Scale, up_10_11_round_robin, Method::kRoundRobin, 10, 11)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Scale, up_10_11_consistent_hashing, Method::kConsistentHashing, 10, 11)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Scale, down_11_10_weighted, std::nullopt, 11, 10)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Scale, down_11_10_legacy, Method::kLegacy, 11, 10)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Scale, down_11_10_round_robin, Method::kRoundRobin, 11, 10)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Scale, down_11_10_consistent_hashing, Method::kConsistentHashing, 11, 10)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace evenkeel::controllers::distribution
