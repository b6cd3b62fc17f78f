// Which controller replicas are alive, as one of them sees it from their Leases on the hub. Pure but for the clock: told of
// each Lease as it is seen.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/lease.h"
#include "controllers/distribution/sharding/next_plan.h"

namespace evenkeel::controllers::distribution {

/// A replica is gone when this observer has seen no renewal of its Lease for `duration`, by the observer's monotonic clock.
/// That only counts while the observer can see at all: it must have seen its own Lease renewed, in the same stream, without a
/// gap. So a hub that was down or slow makes nobody look dead.
class ReplicaView {
 public:
  ReplicaView(std::string self, base::Duration duration, base::Clock& clock)
      : self_(std::move(self)), duration_(duration), clock_(clock) {}

  /// A Lease as it is now (any order, repeats are harmless); null: it was deleted.
  /// @param first_list  it was there before this observer: it may be of somebody who is long gone
  void See(const std::string& name, const base::Json* lease, bool first_list = false);
  /// Whether the own renewals are seen as they should be. Without that, nothing is known of the others.
  bool sees() const;
  /// Whether it knows of every other whether it lives: each has renewed its Lease since the view is whole, or has been silent
  /// for long enough. Before that a plan might give clusters to replicas that are long gone.
  bool settled() const;
  /// Those that are alive, the own process among them, by identity. Only while sees().
  std::vector<LiveReplica> Live() const;
  /// Object names of Leases whose holder has been gone for longer than `age`. That it is gone is what this observer has seen;
  /// for how long may be what the Lease says, so that observers who come and go do not keep it.
  std::vector<std::string> GoneFor(base::Duration age) const;
  bool Knows(const std::string& name) const { return seen_.contains(name); }
  /// The plan's epoch that a replica has applied, as its Lease says.
  std::map<std::string, int64_t> AppliedEpochs() const;

 private:
  struct Seen {
    LiveReplica replica;
    base::Time renew_time{};
    base::Instant at{};
    bool renewed =
        false;  ///< at was a renewal that happened before this observer's eyes, not just the first sight of the Lease
    int64_t applied_epoch = 0;
  };
  bool IsLive(const Seen& seen) const;

  const std::string self_;
  const base::Duration duration_;
  base::Clock& clock_;
  std::map<std::string, Seen> seen_;       ///< by the Lease's name
  std::optional<base::Instant> own_seen_;  ///< the last renewal of the own Lease
  base::Instant sees_since_{};
};

}  // namespace evenkeel::controllers::distribution
