// When the holders of shards were last alive, by the clock of one observer: the wall clocks of two machines may differ.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/time.h"
#include "controllers/distribution/sharding/shard_mapping.h"

namespace evenkeel::controllers::distribution {

/// Told of the claims as they are seen. A heartbeat that changes before the observer's eyes counts from then. One that was
/// there already counts from what it says, as for Argo CD, but never from later than when it was first seen. Pure.
class HeardHeartbeats {
 public:
  /// `now`: of the observer's monotonic clock.
  void See(const std::vector<ShardClaim>& claims, base::Instant now);
  /// For every claim that has a heartbeat: since when its holder has been silent, as a time of the observer's wall clock, which
  /// says `wall` at `now`. By shard.
  std::map<int64_t, base::Time> LastAlive(base::Time wall, base::Instant now) const;
  /// The shards whose holders have let `silence` pass since the observer saw a heartbeat of theirs.
  std::vector<int64_t> SilentFor(base::Duration silence, base::Instant now) const;
  /// When there will be more of them, if nothing is heard before.
  std::optional<base::Instant> NextSilent(base::Duration silence, base::Instant now) const;

 private:
  struct Heard {
    ShardClaim claim;
    base::Instant at{};
    bool changed = false;  ///< at is when it changed, not just when it was first seen
  };
  std::map<int64_t, Heard> heard_;  ///< by shard
};

}  // namespace evenkeel::controllers::distribution
