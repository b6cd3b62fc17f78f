#include "balancing/rules/placement_needs.h"

#include <algorithm>

namespace evenkeel::balancing {
namespace {

bool IsMarked(const Replica& replica) { return replica.Has(kToBeDropped) || replica.Has(kToBeDroppedForDeactivation); }

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
  if (!AtRest(given) || arrangement.cluster().ServiceOf(given).on_every_node) return 0;
  return std::max<int64_t>(0, -int64_t{given.missing});
}

std::vector<ReplicaId> ReplicasToDrop(const Arrangement& arrangement, PartitionId partition) {
  const Partition& given = arrangement.cluster().partitions[partition];
  std::vector<ReplicaId> drops;
  if (!AtRest(given)) return drops;
  const bool on_every_node = arrangement.cluster().ServiceOf(given).on_every_node;
  const auto [first, last] = arrangement.ExistingOf(partition);
  for (ReplicaId replica = first; replica < last; ++replica) {
    const Replica& is = arrangement.cluster().replicas[replica];
    if (arrangement.NodeOf(replica) == kNoId || is.role == Role::kPrimary) continue;
    const bool replaced = given.missing <= 0 || is.Has(kToBeDropped);
    const bool stranded = on_every_node && arrangement.sets().Blocked(given.service).test(is.node);
    if (stranded || (IsMarked(is) && replaced)) drops.push_back(replica);
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
  if (arrangement.PrimaryOf(partition) != kNoId || Successors(arrangement, partition).empty()) return false;
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
  return {.swap = !successors.empty() && arrangement.cluster().replicas[primary].Has(kPrimaryToBeSwappedOut)};
}

Role RoleOfNew(const Arrangement& arrangement, PartitionId partition) {
  if (!arrangement.cluster().ServiceOf(arrangement.cluster().partitions[partition]).stateful) return Role::kInstance;
  bool exists = false;
  arrangement.ForEachOf(partition, [&](ReplicaId replica) { exists = exists || arrangement.NodeOf(replica) != kNoId; });
  return exists ? Role::kSecondary : Role::kPrimary;
}

std::vector<NodeId> FormerNodes(const Arrangement& arrangement, PartitionId partition) {
  std::vector<NodeId> nodes;
  for (const Replica& replica : arrangement.cluster().ReplicasOf(arrangement.cluster().partitions[partition])) {
    if (!replica.Exists() && (replica.Has(kPrimaryToBePlaced) || replica.Has(kReplicaToBePlaced)))
      nodes.push_back(replica.node);
  }
  return nodes;
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
      if (NeedsPromotion(arrangement, partition) || PrimarySwapOf(arrangement, partition).swap) return true;
    }
  }
  return false;
}

}  // namespace evenkeel::balancing
