// The objects through which coordinated replicas agree, and their JSON:
//   ShardPlan evenkeel/evenkeel            who owns what; one, written by the leader with the version it has read
//   Lease evenkeel/evenkeel-IDENTITY       that a replica is alive, and which plan it has applied; its own timer renews it
//   ShardReplica evenkeel/evenkeel-IDENTITY  what a replica holds and measures; written when that changes
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "controllers/distribution/sharding/weighted_plan.h"
#include "kube/resource.h"

namespace evenkeel::controllers::distribution {

inline constexpr char kShardPlanName[] = "evenkeel";
inline constexpr char kReplicaLabel[] = "evenkeel.dev/component";
inline constexpr char kReplicaLabelValue[] = "controller-replica";
inline constexpr char kHostAnnotation[] = "evenkeel.dev/host";
inline constexpr char kLeavingAnnotation[] = "evenkeel.dev/leaving";
/// "false" while the replica cannot tell yet of every other whether it lives.
inline constexpr char kSettledAnnotation[] = "evenkeel.dev/settled";
inline constexpr char kAppliedEpochAnnotation[] = "evenkeel.dev/applied-epoch";

const kube::Resource& ShardPlans();
const kube::Resource& ShardReplicas();
/// "evenkeel-" and the identity, as the name of an object: lower case, what is not allowed becomes "-".
std::string ReplicaObjectName(std::string_view identity);

struct PublishedPlan {
  struct Shard {
    int64_t shard = 0;
    std::string replica;  ///< identity of the process
    std::string host;
    bool leaving = false;
    bool operator==(const Shard&) const = default;
  };
  struct Assignment {
    std::string cluster, server;
    int64_t shard = -1;
    int64_t standby = -1;  ///< shard
    int64_t epoch = 0;     ///< the plan's when the cluster came to this process
    int64_t weight = 0;
    bool operator==(const Assignment&) const = default;
  };
  /// The last ones, oldest first.
  struct Move {
    std::string cluster;
    int64_t from = -1, to = -1;
    int64_t epoch = 0;
    base::Time time{};
    std::string reason;
    bool balance = false;  ///< not necessary: counts for the limit of moves
  };

  int64_t epoch = 0;  ///< grows with each version of the plan; 0: none yet
  base::Time written{};
  std::string leader;
  std::vector<Shard> shards;            ///< by number
  std::vector<Assignment> assignments;  ///< by server
  std::vector<Move> moves;
  std::vector<std::string> hot;  ///< names of clusters that alone exceed the bound, heaviest first
  int64_t waiting = 0;           ///< moves for balance held back
  double mean = 0, imbalance = 1;

  const Shard* FindShard(int64_t shard) const;
  /// The shard of a process; null when it has none.
  const Shard* ShardOf(std::string_view replica) const;
  const Assignment* Find(std::string_view server) const;

  /// Never fails: what is missing or malformed keeps its default; entries without a server are left out.
  static PublishedPlan Decode(const base::Json& object);
  /// Sets `object`'s spec and status.
  void WriteTo(base::Json& object) const;
};

/// "owner gone", "its replica leaves" ...: a move's reason, for people.
std::string ReasonText(const WeightedMove& move);

/// What a replica says of itself.
struct ReplicaReport {
  struct Member {
    std::string server, cluster;
    std::string state;  ///< "owner", "standby", "waiting", "leaving"
    int64_t epoch = 0;  ///< of its tenure, while it owns
    std::optional<base::Time> since;
    std::string detail;  ///< why it waits, what fails
    /// Since when the replica cannot reach it; what is known of it is from before.
    std::optional<base::Time> unreachable_since;
    std::string api;  ///< the member's ApiIdentity, where it is known
    std::optional<MeasuredLoad> load;
    bool operator==(const Member&) const;
  };
  std::string replica, host;
  int64_t shard = -1;
  std::vector<Member> members;  ///< by server

  static ReplicaReport Decode(const base::Json& object);
  void WriteTo(base::Json& object) const;
};

}  // namespace evenkeel::controllers::distribution
