// What a partition asks of the placement phase, as its flags and replicas say; whether it is possible is another question.
#pragma once

#include <cstdint>
#include <vector>

#include "balancing/measures/arrangement.h"
#include "balancing/model/service_groups.h"

namespace evenkeel::balancing {

/// Counts towards the target: has a role, is up, and is not to be dropped.
bool CountsTowardsTarget(const Replica& replica);
/// Neither being deleted nor in transition, swapping its primary or without its quorum: roles may change and replicas go.
bool AtRest(const Partition& partition);

/// How many replicas too many the partition has.
int64_t ExtraReplicas(const Arrangement& arrangement, PartitionId partition);
/// Of these one that could be dropped: not the primary, not what is to be dropped already, not from a paused node.
bool MayBeExtra(const Arrangement& arrangement, ReplicaId replica);
/// Instances of a service on every node where it must not be.
std::vector<ReplicaId> ReplicasToDrop(const Arrangement& arrangement, PartitionId partition);

/// Secondaries that could become the primary.
std::vector<ReplicaId> Successors(const Arrangement& arrangement, PartitionId partition);
/// Stateful and at rest, without a primary, and none is being promoted; somebody could be. A partition that misses nothing is
/// left to whoever recovers it, unless an upgrade has marked the one that shall be the primary.
bool NeedsPromotion(const Arrangement& arrangement, PartitionId partition);
/// An upgrade wants the primary somewhere else: away from where it is, or where this secondary is (kNoId: anywhere else).
struct PrimarySwap {
  bool swap = false;
  ReplicaId to = kNoId;
  /// It has to leave, and whoever could take over is on a node that cannot have it.
  bool impossible = false;
};
PrimarySwap PrimarySwapOf(const Arrangement& arrangement, PartitionId partition);

/// What a new replica of it would be now: the primary of a stateful partition of which nothing exists, or whose primary is to
/// be dropped without an upgrade that replaces it.
Role RoleOfNew(const Arrangement& arrangement, PartitionId partition);
/// Where an upgrade wants one of its missing replicas to come back.
struct Return {
  NodeId node = kNoId;
  bool as_primary = false;
};
std::vector<Return> ReturnsOf(const Arrangement& arrangement, PartitionId partition);
/// A missing replica may come back to its node: that is up, and if it is deactivated it stays and its checks are not over.
bool MayReturnTo(const Node& node);

/// Whether there is anything to place, promote, swap because of an upgrade, or drop; not whether that is possible.
/// O(replicas of the group).
bool PlacementNeeded(const Arrangement& arrangement, const ServiceGroup& group);

}  // namespace evenkeel::balancing
