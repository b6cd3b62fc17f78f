#include "controllers/distribution/leases/heard_heartbeats.h"

#include <algorithm>

namespace evenkeel::controllers::distribution {

void HeardHeartbeats::See(const std::vector<ShardClaim>& claims, base::Instant now) {
  std::map<int64_t, Heard> next;
  for (const ShardClaim& claim : claims) {
    const auto before = heard_.find(claim.shard);
    if (before == heard_.end()) {
      next.insert_or_assign(claim.shard, Heard{claim, now, false});
    } else {
      next.insert_or_assign(claim.shard, before->second.claim == claim ? before->second : Heard{claim, now, true});
    }
  }
  heard_ = std::move(next);
}

std::map<int64_t, base::Time> HeardHeartbeats::LastAlive(base::Time wall, base::Instant now) const {
  std::map<int64_t, base::Time> alive;
  for (const auto& [shard, heard] : heard_) {
    if (!heard.claim.heartbeat) continue;
    const base::Time seen = wall - (now - heard.at);
    alive[shard] = heard.changed ? seen : std::min(seen, *heard.claim.heartbeat);
  }
  return alive;
}

std::vector<int64_t> HeardHeartbeats::SilentFor(base::Duration silence, base::Instant now) const {
  std::vector<int64_t> shards;
  for (const auto& [shard, heard] : heard_) {
    if (!heard.claim.controller.empty() && now - heard.at >= silence) shards.push_back(shard);
  }
  return shards;
}

std::optional<base::Instant> HeardHeartbeats::NextSilent(base::Duration silence, base::Instant now) const {
  std::optional<base::Instant> next;
  for (const auto& [shard, heard] : heard_) {
    const base::Instant at = heard.at + silence;
    if (!heard.claim.controller.empty() && at > now && (!next || at < *next)) next = at;
  }
  return next;
}

}  // namespace evenkeel::controllers::distribution
