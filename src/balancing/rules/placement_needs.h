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
/// Replicas that are marked to be dropped (but for the primary; those on a node that leaves only when none is missing), or are
/// instances of a service on every node where it must not be.
std::vector<ReplicaId> ReplicasToDrop(const Arrangement& arrangement, PartitionId partition);

/// Secondaries that could become the primary.
std::vector<ReplicaId> Successors(const Arrangement& arrangement, PartitionId partition);
/// Stateful and at rest, without a primary, and none is being promoted; somebody could be.
bool NeedsPromotion(const Arrangement& arrangement, PartitionId partition);
/// An upgrade wants the primary somewhere else: away from where it is, or where this secondary is (kNoId: anywhere else).
struct PrimarySwap {
  bool swap = false;
  ReplicaId to = kNoId;
};
PrimarySwap PrimarySwapOf(const Arrangement& arrangement, PartitionId partition);

/// What a new replica of it would be now: the first one of a stateful partition of which nothing exists becomes the primary.
Role RoleOfNew(const Arrangement& arrangement, PartitionId partition);
/// Nodes to which an upgrade wants a replica to come back.
std::vector<NodeId> FormerNodes(const Arrangement& arrangement, PartitionId partition);

/// Whether there is anything to place, promote, swap because of an upgrade, or drop; not whether that is possible.
/// O(replicas of the group).
bool PlacementNeeded(const Arrangement& arrangement, const ServiceGroup& group);

}  // namespace evenkeel::balancing
