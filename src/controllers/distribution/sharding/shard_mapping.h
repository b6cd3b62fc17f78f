// Who holds which shard: Argo CD's claim protocol on the ConfigMap argocd-app-controller-shard-cm, as a pure function of what
// the ConfigMap says, who asks and what time it is. claim.h carries it out.
// Follows: argo-cd@3.6 controller/sharding/sharding.go
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace evenkeel::controllers::distribution {

inline constexpr std::string_view kShardConfigMap = "argocd-app-controller-shard-cm";
inline constexpr std::string_view kShardMappingKey = "shardControllerMapping";
/// More claims than this may not fit into a ConfigMap (1 MiB).
inline constexpr int64_t kReplicasMax = 5000;

struct ShardClaim {
  int64_t shard = 0;
  std::string controller;               ///< host name of the replica; empty: free
  std::optional<base::Time> heartbeat;  ///< whole seconds on the wire; absent: year 1
  bool operator==(const ShardClaim&) const = default;
};

/// Reads the mapping: keys in any case, unknown keys ignored, `null` for the list, times in RFC 3339 or null. kBadRequest says
/// what is wrong.
base::Result<std::vector<ShardClaim>> ParseShardMapping(std::string_view text);
/// Compact JSON with exactly the keys ShardNumber, ControllerName, HeartbeatTime, byte for byte as Argo CD writes it.
std::string FormatShardMapping(const std::vector<ShardClaim>& claims);

struct ClaimRequest {
  int64_t replicas = 1;
  int64_t shard = -1;      ///< asked for; -1: any
  std::string controller;  ///< who asks
  base::Time now;
  base::Duration timeout;  ///< a heartbeat older than this (strictly) has expired: 3 x the heartbeat duration
  /// By shard: from when a heartbeat counts, where that is not what it says (heard_heartbeats.h).
  std::map<int64_t, base::Time> last_alive{};
};

struct ClaimResult {
  int64_t shard = -1;  ///< held now; -1: none is free
  std::vector<ShardClaim> claims;
  /// What happened, for logs and Events: "kept", "claimed a free shard", "took over from NAME, silent for 31s", "asked for by
  /// number", "none is free".
  std::string reason;
  bool reset = false;  ///< the mapping was longer than the replicas and has been started afresh
};

/// The mapping of a ConfigMap that does not exist yet: the caller gets the shard it asks for, or 0.
ClaimResult FirstClaim(const ClaimRequest& request);
/// One claim or heartbeat on an existing mapping: append free entries when there are more replicas, start afresh when there are
/// fewer; then take the shard asked for, or the one held already, or the first that is free or expired, in the order of the
/// list.
ClaimResult NextClaim(std::vector<ShardClaim> claims, const ClaimRequest& request);
/// The mapping with every entry of `controller` free; nullopt when it holds none.
std::optional<std::vector<ShardClaim>> Release(std::vector<ShardClaim> claims, std::string_view controller);

/// Shard numbers must be 0..n-1, each once, in any order; otherwise clusters would have no owner for ever. Returns what is
/// wrong, or empty.
std::string CheckShardMapping(const std::vector<ShardClaim>& claims);
/// A sound mapping of `replicas` entries that keeps each valid claim (the first of several).
std::vector<ShardClaim> RepairShardMapping(const std::vector<ShardClaim>& claims, int64_t replicas);

}  // namespace evenkeel::controllers::distribution
