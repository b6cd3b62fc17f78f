// Where every replica is while a plan is being made: the cluster as it was given, and the steps taken since. It adds the
// replicas that do not exist yet (of a partition's `missing` ones), and keeps what the next question asks for up to date: the
// replicas on each node, the nodes' loads, what application groups carry where. A step is exact and is undone by its reverse;
// whether it is allowed is for constraints.h to say.
//
// Replica ids are those of the cluster; the ones after them are new replicas, those of a partition being neighbours, in the
// order of partitions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "controllers/balancer/cluster.h"
#include "controllers/balancer/node_loads.h"
#include "controllers/balancer/node_sets.h"
#include "controllers/balancer/settings.h"

namespace evenkeel::controllers::balancer {

class Arrangement {
 public:
  /// All outlive this. Existing replicas are where the cluster has them, new ones nowhere. O(replicas * metrics).
  Arrangement(const Cluster& cluster, const Settings& settings, const NodeSets& sets);

  const Cluster& cluster() const { return cluster_; }
  const Settings& settings() const { return settings_; }
  const NodeSets& sets() const { return sets_; }
  const NodeLoads& loads() const { return loads_; }

  ReplicaId replica_count() const { return static_cast<ReplicaId>(node_.size()); }
  bool IsNew(ReplicaId replica) const { return replica >= cluster_.replicas.size(); }
  /// kNoId: not placed (yet), or dropped.
  NodeId NodeOf(ReplicaId replica) const { return node_[replica]; }
  Role RoleOf(ReplicaId replica) const { return role_[replica]; }
  PartitionId PartitionOf(ReplicaId replica) const { return partition_[replica]; }
  ServiceId ServiceOf(ReplicaId replica) const { return cluster_.partitions[partition_[replica]].service; }
  /// What it loads its node with in its present role, or would in `role`: a row as long as its service's metrics. A primary
  /// and a secondary that swap take over each other's loads.
  std::span<const int64_t> LoadsOf(ReplicaId replica) const;
  std::span<const int64_t> LoadsOf(ReplicaId replica, Role role) const;
  bool Moved(ReplicaId replica) const;  ///< an existing one that is elsewhere, or in another role, than the cluster has it

  /// All that count for their node, also those that stay; in no particular order, but the same for the same steps.
  std::span<const ReplicaId> On(NodeId node) const { return on_node_[node]; }
  /// Existing ones; of their ids those that have no role, or were dropped, are nowhere.
  std::pair<ReplicaId, ReplicaId> ExistingOf(PartitionId partition) const;
  std::pair<ReplicaId, ReplicaId> NewOf(PartitionId partition) const;
  template <typename F>
  void ForEachOf(PartitionId partition, F&& visit) const {
    const auto [first, last] = ExistingOf(partition);
    for (ReplicaId replica = first; replica < last; ++replica) visit(replica);
    const auto [first_new, last_new] = NewOf(partition);
    for (ReplicaId replica = first_new; replica < last_new; ++replica) visit(replica);
  }
  /// kNoId when none of the partition is placed on the node.
  ReplicaId Find(PartitionId partition, NodeId node) const;
  /// kNoId when the partition has no primary at the moment.
  ReplicaId PrimaryOf(PartitionId partition) const;

  /// Loads of replicas, and what application groups have reserved on the node and do not use: what capacities are compared
  /// with.
  int64_t UsedOf(MetricId metric, NodeId node) const;
  /// Of an application group: replicas on the node, and its load there of the i-th of its metrics.
  int64_t ReplicasOnNode(ApplicationId application, NodeId node) const;
  int64_t LoadOnNode(ApplicationId application, size_t metric_index, NodeId node) const;
  int64_t NodesOf(ApplicationId application) const;
  int64_t LoadOf(ApplicationId application, size_t metric_index) const;

  /// Steps. O(metrics of the service + replicas of the partition). To its own node, or with roles that do not fit: a broken
  /// invariant.
  void Move(ReplicaId replica, NodeId to);
  void Swap(ReplicaId primary, ReplicaId secondary);
  void Place(ReplicaId replica, NodeId node, Role role);  ///< a new one
  void Remove(ReplicaId replica);                         ///< a new one: no longer placed; an existing one: dropped
  void Restore(ReplicaId replica);                        ///< an existing one that was dropped
  void ChangeRole(ReplicaId replica, Role role);          ///< a promotion, and back

 private:
  const Cluster& cluster_;
  const Settings& settings_;
  const NodeSets& sets_;
  NodeLoads loads_;
  std::vector<NodeId> node_;
  std::vector<Role> role_;
  std::vector<PartitionId> partition_;
  std::vector<ReplicaId> first_new_;  // by partition, and one behind the last
  std::vector<std::vector<ReplicaId>> on_node_;
  std::vector<uint32_t> place_on_node_;
};

}  // namespace evenkeel::controllers::balancer
