// Where the replicas of services with affinity have to be: a child's where its parent's are. Aligned: the primary with the
// parent's primary, secondaries with secondaries; where the parent has no primary, any of its replicas will do. Stateless
// children, and those of stateless parents, go with any replica.
//
// A child that has more replicas than its parent may have the surplus anywhere (AllowHigherChildTargetReplicaCountForAffinity).
// A parent that has no replica yet binds nobody, unless PlaceChildWithoutParent is off. Stand-by replicas do not count.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "balancing/measures/arrangement.h"

namespace evenkeel::balancing {

/// A replica as it would be.
struct Supposed {
  ReplicaId replica = kNoId;
  NodeId node = kNoId;
  Role role = Role::kNone;
};

class AffinityRules {
 public:
  /// `arrangement` outlives this. O(services).
  explicit AffinityRules(const Arrangement& arrangement);

  bool IsChild(ServiceId service) const { return parent_[service] != kNoId; }
  bool IsParent(ServiceId service) const { return !children_[service].empty(); }
  /// Whether more replicas would be without their parents' than are now, if these, of one partition, were like that.
  /// O(replicas of the partition and of its parent); for a parent: of all its children.
  bool Worse(std::span<const Supposed> supposed) const;
  /// Replicas of a child's partition that are not where they should be, less what may be anywhere: of these the last ones are
  /// left out. Appends.
  void FindMisplaced(PartitionId partition, std::vector<ReplicaId>& misplaced) const;

  /// Whether a child of it, or its parent, has a replica on its node.
  bool BesideFamily(ReplicaId replica) const;
  /// Children's replicas that are where they should be because of this replica of the parent, and would not be if it left:
  /// they have to follow it.
  std::vector<ReplicaId> Followers(ReplicaId parent) const;
  /// Primary and secondary of each aligned child that have to swap when these two of the parent do.
  std::vector<std::pair<ReplicaId, ReplicaId>> FollowingSwaps(ReplicaId primary, ReplicaId secondary) const;

 private:
  template <typename F>
  int64_t ForEachMisplaced(PartitionId partition, std::span<const Supposed> supposed, F visit) const;
  int64_t Misplaced(PartitionId partition, std::span<const Supposed> supposed) const;

  const Arrangement& arrangement_;
  std::vector<ServiceId> parent_;
  std::vector<std::vector<ServiceId>> children_;
};

}  // namespace evenkeel::balancing
