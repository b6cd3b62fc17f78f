// What the leader of a coordinated fleet decides: the next ShardPlan from the present one and from what it sees. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controllers/distribution/sharding/cluster.h"
#include "controllers/distribution/sharding/published_plan.h"

namespace evenkeel::controllers::distribution {

struct LiveReplica {
  std::string identity, host;
  bool leaving = false;
  bool settled = true;  ///< it can tell of every other whether it lives, as whoever leads must
  bool operator==(const LiveReplica&) const = default;
};

struct PlanInputs {
  std::span<const Cluster> clusters{};
  std::span<const LiveReplica> replicas{};
  std::map<std::string, int64_t, std::less<>> weights{};  ///< measured, by server
  std::string leader;
  base::Time now{};
  int64_t moves_per_minute = 10;
  int64_t epoch_floor = 0;  ///< the greatest epoch ever seen
};

struct NextPlan {
  PublishedPlan plan;
  bool changed = false;                 ///< worth writing: the plan has a new epoch
  std::optional<base::Duration> again;  ///< when moves that were held back may be made
  std::vector<Finding> findings;        ///< pins to shards that nobody holds, hot clusters
};

/// A cluster's weight in plans before anything is known of it.
inline constexpr int64_t kUnknownWeight = 20;

/// Shards keep their numbers: a replica keeps its own; a new process on the host of one that is gone takes over that one's; any
/// other gets the lowest free number. Weights follow measurements only when these are half as much again, or less by as
/// much, so that no noise moves a cluster to and fro. Clusters that nobody is to reconcile are left out.
///
/// Who has a cluster taken away while it lives stands by for it: it may have been waiting for the member's Lease to run out,
/// and whoever comes new would begin to wait afresh.
NextPlan MakeNextPlan(const PublishedPlan& current, const PlanInputs& inputs);

}  // namespace evenkeel::controllers::distribution
