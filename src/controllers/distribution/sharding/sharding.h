// Which shard a cluster belongs to, exactly as Argo CD's application controller computes it: three pure functions of the same
// inputs. Compatible down to their flaws (docs/COMPATIBILITY.md lists them), because replicas of both systems may share one
// fleet.
// Follows: argo-cd@3.6 controller/sharding/sharding.go, consistent/consistent.go
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/distribution/sharding/cluster.h"

namespace evenkeel::controllers::distribution {

/// The method of the coordinated mode, beside Argo CD's.
inline constexpr std::string_view kWeightedMethod = "weighted";

enum class Method { kLegacy, kRoundRobin, kConsistentHashing };

std::string_view MethodName(Method method);
/// "legacy", "round-robin", "consistent-hashing"; kBadRequest names the choices.
base::Result<Method> ParseMethod(std::string_view name);

/// Applications per destination: spec.destination.server exactly as written -> count.
using AppCounts = std::map<std::string, int64_t, std::less<>>;

/// The virtual nodes of all shards on a ring of 64-bit hashes. Shard s has 1000 of them, with the keys s followed by 0..999;
/// since there is no separator, from 12 shards on some keys coincide and the higher shard takes the point.
class HashRing {
 public:
  struct Point {
    uint64_t hash;
    int32_t shard;
  };
  /// @param separate_keys  puts a separator between shard and number, which mends the collisions (not Argo CD's ring).
  /// @cost 1000 x replicas BLAKE2b hashes and a sort; 100 shards: see sharding_bench.cc.
  explicit HashRing(int64_t replicas, bool separate_keys = false);

  /// In the order of the hash, each hash once.
  const std::vector<Point>& points() const { return points_; }
  /// Index of the first point with a hash strictly greater, wrapping around.
  size_t After(uint64_t hash) const;

 private:
  std::vector<Point> points_;
};

/// One distribution: everything is computed once in the constructor, so that a plan costs one ring and one sort.
class ShardFunction {
 public:
  /// The clusters need not be in any order. `replicas` may be 0 or less (see Of).
  ShardFunction(Method method, int64_t replicas, std::span<const Cluster> clusters, const AppCounts& apps = {},
                bool separate_keys = false);

  /// The shard of a cluster as the bare algorithm answers: -1 without replicas or for a cluster that was not among `clusters`
  /// (except legacy, which needs no list); a pinned shard below the number of replicas as it is, negative ones too; null is the
  /// local cluster: 0.
  int64_t Of(const Cluster* cluster) const;
  /// Applications on each shard after a consistent-hashing assignment; empty for the other methods.
  const std::vector<int64_t>& loads() const { return loads_; }

 private:
  Method method_;
  int64_t replicas_;
  std::map<std::string, int64_t, std::less<>> by_id_;
  std::vector<int64_t> loads_;
};

struct ShardingOptions {
  Method method = Method::kLegacy;
  int64_t replicas = 1;
  /// Quirk: a cluster pinned to a negative shard belongs to nobody. Otherwise the pin is ignored, with a finding.
  bool negative_shard_orphans = false;
  /// Quirk: consistent-hashing's coinciding virtual nodes.
  bool vnode_collisions = true;
};

/// The assignment that controllers work by: server -> shard. With one replica or none all is 0; a pin beyond the replicas is 0,
/// with a finding; otherwise ShardFunction.
std::map<std::string, int64_t> AssignShards(std::span<const Cluster> clusters, const AppCounts& apps,
                                            const ShardingOptions& options, std::vector<Finding>& findings);

/// Counts applications by destination. Objects are argoproj.io Applications.
/// @param by_bare_name  quirk: applications of one name in different namespaces count once.
AppCounts CountApplications(std::span<const base::Json> applications, bool by_bare_name);

}  // namespace evenkeel::controllers::distribution
