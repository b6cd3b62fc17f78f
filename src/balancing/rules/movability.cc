#include "balancing/rules/movability.h"

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

bool LetsGo(const Node& node) {
  if (!node.up) return false;
  const bool comes_back = node.intent == DeactivationIntent::kPause || node.intent == DeactivationIntent::kRestart;
  const bool checked = node.status == DeactivationStatus::kSafetyCheckComplete || node.status == DeactivationStatus::kComplete;
  return !(comes_back && checked);
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
  if (!LetsGo(cluster.nodes[replica.node])) return "its node is deactivated and takes it back afterwards";
  return {};
}

}  // namespace evenkeel::balancing
