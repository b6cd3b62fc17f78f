#include "balancing/rules/placement_needs.h"

#include <algorithm>

namespace evenkeel::balancing {
namespace {

bool IsMarked(const Replica& replica) { return replica.Has(kToBeDropped) || replica.Has(kToBeDroppedForDeactivation); }

/// Whether it may leave its node: one that is paused keeps what it has.
bool MayGo(const Arrangement& arrangement, const Replica& replica) {
  return arrangement.cluster().nodes[replica.node].intent != DeactivationIntent::kPause;
}

}  // namespace

bool CountsTowardsTarget(const Replica& replica) {
  const bool role = replica.role == Role::kPrimary || replica.role == Role::kSecondary || replica.role == Role::kInstance;
  return role && !IsMarked(replica) && !replica.Has(kOffline);
}

bool AtRest(const Partition& partition) {
  return !partition.Has(kPartitionToBeDeleted) && !partition.Has(kPartitionInTransition) &&
         !partition.Has(kPartitionSwappingPrimary) && !partition.Has(kPartitionInQuorumLoss);
}

int64_t ExtraReplicas(const Arrangement& arrangement, PartitionId partition) {
  const Partition& given = arrangement.cluster().partitions[partition];
  if (!AtRest(given) || arrangement.cluster().ServiceOf(given).on_every_node || given.missing >= 0) return 0;
  const auto [first, last] = arrangement.ExistingOf(partition);
  int64_t candidates = 0;
  for (ReplicaId replica = first; replica < last; ++replica) candidates += MayBeExtra(arrangement, replica) ? 1 : 0;
  return std::min(candidates, -int64_t{given.missing});
}

bool MayBeExtra(const Arrangement& arrangement, ReplicaId replica) {
  if (arrangement.IsNew(replica) || arrangement.NodeOf(replica) == kNoId) return false;
  const Replica& is = arrangement.cluster().replicas[replica];
  return arrangement.RoleOf(replica) != Role::kPrimary && CountsTowardsTarget(is) && MayGo(arrangement, is);
}

std::vector<ReplicaId> ReplicasToDrop(const Arrangement& arrangement, PartitionId partition) {
  const Partition& given = arrangement.cluster().partitions[partition];
  std::vector<ReplicaId> drops;
  if (!AtRest(given)) return drops;
  if (!arrangement.cluster().ServiceOf(given).on_every_node) return drops;
  const auto [first, last] = arrangement.ExistingOf(partition);
  for (ReplicaId replica = first; replica < last; ++replica) {
    const Replica& is = arrangement.cluster().replicas[replica];
    const bool stranded = arrangement.NodeOf(replica) != kNoId && arrangement.sets().Blocked(given.service).test(is.node);
    if (stranded && !IsMarked(is)) drops.push_back(replica);
  }
  return drops;
}

std::vector<ReplicaId> Successors(const Arrangement& arrangement, PartitionId partition) {
  std::vector<ReplicaId> successors;
  const auto [first, last] = arrangement.ExistingOf(partition);
  for (ReplicaId replica = first; replica < last; ++replica) {
    const Replica& is = arrangement.cluster().replicas[replica];
    // The role that it has by now: one that was promoted a moment ago cannot take the primary's place.
    if (arrangement.RoleOf(replica) != Role::kSecondary || !CountsTowardsTarget(is)) continue;
    const bool busy = is.Has(kInBuild) || is.Has(kMoveInProgress) || is.Has(kPrimaryToBeSwappedOut);
    if (!busy && arrangement.cluster().nodes[is.node].up) successors.push_back(replica);
  }
  return successors;
}

bool NeedsPromotion(const Arrangement& arrangement, PartitionId partition) {
  const Partition& given = arrangement.cluster().partitions[partition];
  if (!AtRest(given) || !arrangement.cluster().ServiceOf(given).stateful) return false;
  if (arrangement.PrimaryOf(partition) != kNoId) return false;
  const std::vector<ReplicaId> successors = Successors(arrangement, partition);
  const bool marked = std::ranges::any_of(
      successors, [&](ReplicaId replica) { return arrangement.cluster().replicas[replica].Has(kPrimaryToBePlaced); });
  if (successors.empty() || (given.missing <= 0 && !marked)) return false;
  return std::ranges::none_of(arrangement.cluster().ReplicasOf(given),
                              [](const Replica& replica) { return replica.Exists() && replica.Has(kToBePromoted); });
}

PrimarySwap PrimarySwapOf(const Arrangement& arrangement, PartitionId partition) {
  const Partition& given = arrangement.cluster().partitions[partition];
  const ReplicaId primary = arrangement.PrimaryOf(partition);
  if (!AtRest(given) || primary == kNoId || arrangement.IsNew(primary)) return {};
  const std::vector<ReplicaId> successors = Successors(arrangement, partition);
  for (const ReplicaId replica : successors) {
    if (arrangement.cluster().replicas[replica].Has(kPrimaryToBePlaced)) return {.swap = true, .to = replica};
  }
  const Replica& is = arrangement.cluster().replicas[primary];
  if (!is.Has(kPrimaryToBeSwappedOut)) return {};
  bool on_bad_node = false, elsewhere = false;
  for (const Replica& other : arrangement.cluster().ReplicasOf(given)) {
    if (other.role != Role::kSecondary || !CountsTowardsTarget(other)) continue;
    (arrangement.cluster().nodes[other.node].Available() ? elsewhere : on_bad_node) = true;
  }
  return {.swap = !successors.empty(), .impossible = IsMarked(is) && on_bad_node && !elsewhere};
}

Role RoleOfNew(const Arrangement& arrangement, PartitionId partition) {
  if (!arrangement.cluster().ServiceOf(arrangement.cluster().partitions[partition]).stateful) return Role::kInstance;
  const ReplicaId primary = arrangement.PrimaryOf(partition);
  if (primary != kNoId && !arrangement.IsNew(primary)) {
    const Replica& is = arrangement.cluster().replicas[primary];
    return IsMarked(is) && !is.Has(kPrimaryToBeSwappedOut) ? Role::kPrimary : Role::kSecondary;
  }
  bool exists = false;
  arrangement.ForEachOf(partition, [&](ReplicaId replica) { exists = exists || arrangement.NodeOf(replica) != kNoId; });
  return exists ? Role::kSecondary : Role::kPrimary;
}

std::vector<Return> ReturnsOf(const Arrangement& arrangement, PartitionId partition) {
  std::vector<Return> returns;
  const Partition& given = arrangement.cluster().partitions[partition];
  if (given.missing <= 0 || !AtRest(given)) return returns;
  // Where the present primary is to go it comes first as a secondary, and takes over afterwards.
  const ReplicaId primary = arrangement.PrimaryOf(partition);
  const bool goes =
      primary != kNoId && !arrangement.IsNew(primary) && arrangement.cluster().replicas[primary].Has(kPrimaryToBeSwappedOut);
  for (const Replica& replica : arrangement.cluster().ReplicasOf(given)) {
    const bool there = replica.role == Role::kPrimary || replica.role == Role::kSecondary || replica.role == Role::kInstance;
    if (there || !(replica.Has(kPrimaryToBePlaced) || replica.Has(kReplicaToBePlaced))) continue;
    returns.push_back({replica.node, replica.Has(kPrimaryToBePlaced) && !goes});
  }
  return returns;
}

bool MayReturnTo(const Node& node) {
  if (!node.up) return false;
  const bool stays = node.intent == DeactivationIntent::kPause || node.intent == DeactivationIntent::kRestart;
  return !node.Deactivated() || (stays && node.status == DeactivationStatus::kSafetyCheckInProgress);
}

bool PlacementNeeded(const Arrangement& arrangement, const ServiceGroup& group) {
  for (const ServiceId service : group.services) {
    for (const PartitionId partition : arrangement.cluster().services[service].partitions) {
      if (arrangement.cluster().partitions[partition].Has(kPartitionToBeDeleted)) continue;
      const auto [first, last] = arrangement.NewOf(partition);
      for (ReplicaId replica = first; replica < last; ++replica) {
        if (arrangement.NodeOf(replica) == kNoId) return true;
      }
      if (ExtraReplicas(arrangement, partition) > 0 || !ReplicasToDrop(arrangement, partition).empty()) return true;
      const PrimarySwap swap = PrimarySwapOf(arrangement, partition);
      if (swap.swap || swap.impossible || NeedsPromotion(arrangement, partition)) return true;
    }
  }
  return false;
}

}  // namespace evenkeel::balancing
