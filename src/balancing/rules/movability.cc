#include "balancing/rules/movability.h"

#include <algorithm>

namespace evenkeel::balancing {
namespace {

std::string_view WhyPartitionIsKept(const Partition& partition, bool upgrading_may_move) {
  if (partition.Has(kPartitionToBeDeleted)) return "its partition is being deleted";
  if (partition.Has(kPartitionInQuorumLoss)) return "its partition has lost its quorum";
  if (partition.Has(kPartitionInTransition)) return "its partition is in transition";
  if (partition.Has(kPartitionSwappingPrimary)) return "its partition is swapping its primary";
  if (partition.Has(kPartitionInUpgrade) && !upgrading_may_move) return "its partition is in an upgrade";
  return {};
}

}  // namespace

namespace {

// Its primary and whoever shall take its place.
bool HeldByUpgrade(const Cluster& cluster, const Replica& replica) {
  constexpr uint16_t kMarks = kPrimaryToBeSwappedOut | kPrimaryToBePlaced | kReplicaToBePlaced;
  if ((replica.flags & kMarks) != 0) return true;
  if (replica.role != Role::kPrimary) return false;
  return std::ranges::any_of(cluster.ReplicasOf(cluster.partitions[replica.partition]),
                             [](const Replica& other) { return other.Has(kPrimaryToBePlaced); });
}

}  // namespace

bool IsBlockedForType(const Cluster& cluster, const Replica& replica) {
  const ServiceTypeId type = cluster.ServiceOf(replica).type;
  if (type == kNoId || cluster.service_types[type].leaves_blocked) return false;
  return std::ranges::binary_search(cluster.service_types[type].blocked_nodes, replica.node);
}

bool LetsGo(const Node& node) {
  if (!node.up) return false;
  if (!node.Deactivated()) return true;
  const bool checked = node.status == DeactivationStatus::kSafetyCheckComplete || node.status == DeactivationStatus::kComplete;
  return node.intent != DeactivationIntent::kPause && !checked;
}

std::string_view WhyKept(const Cluster& cluster, const Replica& replica, bool upgrading_may_move) {
  if (!replica.Exists()) return "it does not exist";
  if (cluster.ServiceOf(replica).on_every_node) return "its service is on every node";
  const std::string_view partition = WhyPartitionIsKept(cluster.partitions[replica.partition], upgrading_may_move);
  if (!partition.empty()) return partition;
  if (!cluster.nodes[replica.node].up) return "its node is down";
  if (replica.Has(kOffline)) return "it is down";
  if (replica.role == Role::kStandBy) return "it is a stand-by replica";
  if (replica.Has(kInBuild)) return "it is being built";
  if (replica.Has(kToBePromoted)) return "it is to be promoted";
  if (replica.Has(kMoveInProgress)) return "it is being moved";
  if (replica.Has(kToBeDropped) || replica.Has(kToBeDroppedForDeactivation)) return "it is to be dropped";
  if (HeldByUpgrade(cluster, replica)) return "an upgrade has marked it";
  if (!LetsGo(cluster.nodes[replica.node])) return "its node is deactivated";
  if (IsBlockedForType(cluster, replica)) return "its service type is blocked on its node";
  return {};
}

}  // namespace evenkeel::balancing
