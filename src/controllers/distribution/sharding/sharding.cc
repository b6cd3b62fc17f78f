#include "controllers/distribution/sharding/sharding.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/hash.h"
#include "controllers/distribution/sharding/distribution_events.h"

namespace evenkeel::controllers::distribution {
namespace {

constexpr int kVirtualNodes = 1000;

/// Indices of the clusters in the byte order of their ids.
std::vector<size_t> OrderById(std::span<const Cluster> clusters) {
  std::vector<size_t> order(clusters.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return clusters[a].id < clusters[b].id; });
  return order;
}

/// Consistent hashing with bounded loads: the bound is ceil(1.25 x average) over the clusters placed so far, the next one's own
/// load left out.
int64_t LoadBound(int64_t total, int64_t replicas) {
  const int64_t average = std::max<int64_t>((total + 1) / replicas, 1);
  return (average * 5 + 3) / 4;
}

}  // namespace

std::string_view MethodName(Method method) {
  switch (method) {
    case Method::kLegacy:
      return "legacy";
    case Method::kRoundRobin:
      return "round-robin";
    case Method::kConsistentHashing:
      return "consistent-hashing";
  }
  return "";
}

base::Result<Method> ParseMethod(std::string_view name) {
  for (Method method : {Method::kLegacy, Method::kRoundRobin, Method::kConsistentHashing}) {
    if (name == MethodName(method)) return method;
  }
  return base::Fail(base::Code::kBadRequest,
                    "sharding method \"" + std::string(name) +
                        "\" is not known: use weighted, or one of Argo CD's: legacy, round-robin, consistent-hashing");
}

HashRing::HashRing(int64_t replicas, bool separate_keys) {
  points_.reserve(static_cast<size_t>(std::max<int64_t>(replicas, 0)) * kVirtualNodes);
  std::string key;
  for (int64_t shard = 0; shard < replicas; ++shard) {
    const std::string host = std::to_string(shard) + (separate_keys ? "#" : "");
    for (int number = 0; number < kVirtualNodes; ++number) {
      key = host;
      key += std::to_string(number);
      points_.push_back({base::Blake2b64(key), static_cast<int32_t>(shard)});
    }
  }
  std::sort(points_.begin(), points_.end(),
            [](const Point& a, const Point& b) { return a.hash != b.hash ? a.hash < b.hash : a.shard > b.shard; });
  // Of coinciding points the last host added, the highest shard, keeps the point.
  points_.erase(std::unique(points_.begin(), points_.end(), [](const Point& a, const Point& b) { return a.hash == b.hash; }),
                points_.end());
}

size_t HashRing::After(uint64_t hash) const {
  auto next = std::upper_bound(points_.begin(), points_.end(), hash, [](uint64_t h, const Point& p) { return h < p.hash; });
  return next == points_.end() ? 0 : static_cast<size_t>(next - points_.begin());
}

ShardFunction::ShardFunction(Method method, int64_t replicas, std::span<const Cluster> clusters, const AppCounts& apps,
                             bool separate_keys)
    : method_(method), replicas_(replicas) {
  if (replicas_ <= 0 || method_ == Method::kLegacy) return;
  const std::vector<size_t> order = OrderById(clusters);
  if (method_ == Method::kRoundRobin) {
    // Of equal ids the last rank counts.
    for (size_t rank = 0; rank < order.size(); ++rank)
      by_id_[clusters[order[rank]].id] = static_cast<int64_t>(rank) % replicas_;
    return;
  }
  const HashRing ring(replicas_, separate_keys);
  loads_.assign(static_cast<size_t>(replicas_), 0);
  int64_t total = 0;
  for (size_t index : order) {
    const Cluster& cluster = clusters[index];
    const int64_t bound = LoadBound(total, replicas_);
    size_t point = ring.After(base::Blake2b64(cluster.id));
    while (loads_[static_cast<size_t>(ring.points()[point].shard)] >= bound) point = (point + 1) % ring.points().size();
    const int64_t shard = ring.points()[point].shard;
    const auto count = apps.find(cluster.server);
    const int64_t load = count == apps.end() ? 0 : count->second;
    loads_[static_cast<size_t>(shard)] += load;
    total += load;
    by_id_[cluster.id] = shard;
  }
}

int64_t ShardFunction::Of(const Cluster* cluster) const {
  if (replicas_ == 0 || (replicas_ < 0 && method_ != Method::kLegacy)) return -1;
  if (cluster == nullptr) return 0;
  if (cluster->shard.has_value() && *cluster->shard < replicas_) return *cluster->shard;
  if (method_ == Method::kLegacy) {
    if (cluster->id.empty()) return 0;
    // Upstream's arithmetic: the number of replicas as an unsigned 32-bit number, the remainder as a signed one.
    return static_cast<int32_t>(base::Fnv1a32(cluster->id) % static_cast<uint32_t>(replicas_));
  }
  const auto found = by_id_.find(cluster->id);
  return found == by_id_.end() ? -1 : found->second;
}

std::map<std::string, int64_t> AssignShards(std::span<const Cluster> clusters, const AppCounts& apps,
                                            const ShardingOptions& options, std::vector<Finding>& findings) {
  std::map<std::string, int64_t> shards;
  const bool spread = options.replicas > 1;
  std::optional<ShardFunction> function;
  if (spread) function.emplace(options.method, options.replicas, clusters, apps, !options.vnode_collisions);
  for (const Cluster& cluster : clusters) {
    const bool negative = cluster.shard.has_value() && *cluster.shard < 0;
    if (negative && !options.negative_shard_orphans) {
      findings.push_back(
          {cluster.reference, cluster.source, events::kShardOutOfRange.reason,
           "shard " + std::to_string(*cluster.shard) +
               " is negative and would leave the cluster without an owner: ignored, the cluster is distributed as if it had no "
               "shard; set a shard from 0 or remove the key"});
      Cluster unpinned = cluster;
      unpinned.shard.reset();
      shards[cluster.server] = spread ? function->Of(&unpinned) : 0;
      continue;
    }
    if (cluster.shard.has_value() && *cluster.shard >= std::max<int64_t>(options.replicas, 1)) {
      findings.push_back({cluster.reference, cluster.source, events::kShardOutOfRange.reason,
                          "shard " + std::to_string(*cluster.shard) + " does not exist with " +
                              std::to_string(options.replicas) + " replicas: the cluster goes to shard 0"});
      shards[cluster.server] = 0;
      continue;
    }
    shards[cluster.server] = cluster.shard.has_value() ? *cluster.shard : spread ? function->Of(&cluster) : 0;
  }
  return shards;
}

AppCounts CountApplications(std::span<const base::Json> applications, bool by_bare_name) {
  AppCounts counts;
  std::set<std::string, std::less<>> seen;
  for (const base::Json& application : applications) {
    const std::string_view name = base::FindString(application, {"metadata", "name"});
    if (by_bare_name && !seen.emplace(name).second) continue;
    const std::string_view server = base::FindString(application, {"spec", "destination", "server"});
    if (!server.empty()) ++counts[std::string(server)];
  }
  return counts;
}

}  // namespace evenkeel::controllers::distribution
