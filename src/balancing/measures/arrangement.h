// Where every replica is while a plan is being made: the cluster as it was given, and the steps taken since. It adds the
// replicas that do not exist yet (of a partition's `missing` ones, or one for each node that one on every node lacks), and
// keeps what the next question asks for up to date: the replicas on each node, the nodes' loads, what application groups carry
// where. A step is exact and is undone by its reverse; whether it is allowed is for constraints.h to say.
//
// Replicas that leave already (Replica::Leaves) are no load of their nodes, but have their room there. A replica that comes to
// the node of a stand-by one of its partition takes its place: that one is nowhere until the replica goes again.
//
// Replica ids are those of the cluster; the ones after them are new replicas, those of a partition being neighbours, in the
// order of partitions.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "balancing/measures/node_loads.h"
#include "balancing/model/application_loads.h"
#include "balancing/model/cluster.h"
#include "balancing/model/node_sets.h"
#include "balancing/model/settings.h"

namespace evenkeel::balancing {

class Arrangement {
 public:
  /// All outlive this. Existing replicas are where the cluster has them, new ones nowhere. O(replicas * metrics).
  Arrangement(const Cluster& cluster, const Settings& settings, const NodeSets& sets);

  const Cluster& cluster() const { return cluster_; }
  const Settings& settings() const { return settings_; }
  const NodeSets& sets() const { return sets_; }
  const NodeLoads& loads() const { return loads_; }
  const ApplicationLoads& applications() const { return applications_; }

  ReplicaId replica_count() const { return static_cast<ReplicaId>(node_.size()); }
  bool IsNew(ReplicaId replica) const { return replica >= cluster_.replicas.size(); }
  /// kNoId: not placed (yet), or dropped.
  NodeId NodeOf(ReplicaId replica) const { return node_[replica]; }
  /// kNone for a new one that is not placed, kDropped for one that was dropped.
  Role RoleOf(ReplicaId replica) const { return role_[replica]; }
  PartitionId PartitionOf(ReplicaId replica) const { return partition_[replica]; }
  ServiceId ServiceOf(ReplicaId replica) const { return service_[partition_[replica]]; }
  /// What it loads its node with in its present role, or would in `role`: a row as long as its service's metrics. Whichever
  /// replica is the primary has the primary's loads, every other one its own, and the primary that the cluster was given has,
  /// when it is none, those that the primary of the moment had: after one swap the two have taken over each other's. So loads
  /// depend on who is the primary, not on the swaps that led there.
  std::span<const int64_t> LoadsOf(ReplicaId replica) const { return LoadsOf(replica, role_[replica]); }
  std::span<const int64_t> LoadsOf(ReplicaId replica, Role role) const {
    const PartitionId partition = partition_[replica];
    const uint32_t first = role == Role::kPrimary ? primary_row_[partition] : other_row_[replica];
    return std::span(cluster_.loads).subspan(first, row_size_[service_[partition]]);
  }
  /// What one of a primary and a secondary, `other`, loads its node with when the two have swapped.
  std::span<const int64_t> LoadsIfSwapped(ReplicaId replica, ReplicaId other) const {
    if (role_[replica] != Role::kPrimary) return LoadsOf(replica, Role::kPrimary);
    return LoadsOf(replica == given_primary_[partition_[replica]] ? other : replica, Role::kSecondary);
  }
  /// The primary that the cluster was given, when it is a secondary before and after this swap of two others: the swap changes
  /// its loads, to those of the new primary as a secondary. Else kNoId.
  ReplicaId ThirdOfSwap(ReplicaId primary, ReplicaId secondary) const {
    const ReplicaId given = given_primary_[partition_[primary]];
    return given == kNoId || given == primary || given == secondary || node_[given] == kNoId ? kNoId : given;
  }
  /// What a swap changes, each on another node.
  boost::container::static_vector<NodeChange, 3> ChangesOfSwap(ReplicaId primary, ReplicaId secondary) const;
  /// Of a move there: with the stand-by replica whose place it takes, and the one whose place it gives back.
  std::array<NodeChange, 2> ChangesOfMove(ReplicaId replica, NodeId to) const;
  /// The same for one that is nowhere yet and comes with the loads of `role`.
  NodeChange ChangeOfPlacing(ReplicaId replica, NodeId to, Role role) const;
  /// A stand-by replica of its partition on the node, which it would take the place of, or has taken; else kNoId.
  ReplicaId StandByAt(ReplicaId replica, NodeId node) const;
  /// Whether another replica of its partition has taken its place.
  bool Replaced(ReplicaId replica) const { return !IsNew(replica) && replaced_[replica] != 0; }
  bool Moved(ReplicaId replica) const;  ///< an existing one that is elsewhere, or in another role, than the cluster has it

  /// All that count for their node, also those that stay; in no particular order, but the same for the same steps.
  std::span<const ReplicaId> On(NodeId node) const { return on_node_[node]; }
  int64_t PrimariesOn(NodeId node) const { return primaries_[node]; }
  /// Existing ones; of their ids those that have no role, or were dropped, are nowhere.
  std::pair<ReplicaId, ReplicaId> ExistingOf(PartitionId partition) const {
    return {first_existing_[partition], first_existing_[partition + 1]};
  }
  std::pair<ReplicaId, ReplicaId> NewOf(PartitionId partition) const {
    return {first_new_[partition], first_new_[partition + 1]};
  }
  /// The first new one that is nowhere yet; kNoId: all are placed. O(new ones).
  ReplicaId NextUnplaced(PartitionId partition) const {
    const auto [first, last] = NewOf(partition);
    for (ReplicaId replica = first; replica < last; ++replica) {
      if (NodeOf(replica) == kNoId) return replica;
    }
    return kNoId;
  }
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
  ReplicaId PrimaryOf(PartitionId partition) const { return primary_[partition]; }

  /// Loads of replicas, and what application groups have reserved on the node and do not use: what capacities are compared
  /// with.
  int64_t UsedOf(MetricId metric, NodeId node) const { return loads_.Of(metric, node) + applications_.Unused(metric, node); }
  /// Of an application group that has limits, capacities or reservations (0 for others): active replicas on the node, and its
  /// load there of the i-th of its metrics.
  int64_t ReplicasOnNode(ApplicationId application, NodeId node) const {
    return applications_.ActiveReplicas(application, node);
  }
  int64_t LoadOnNode(ApplicationId application, size_t metric_index, NodeId node) const {
    return applications_.Load(application, metric_index, node);
  }
  /// The same with the room of replicas that leave, unless CountDisappearingLoadForSimulatedAnnealing is off: what is not there
  /// for others.
  int64_t TakenOf(MetricId metric, NodeId node) const {
    if (!with_leaving_) return UsedOf(metric, node);
    return loads_.Of(metric, node) + leaving_[metric * cluster_.nodes.size() + node] + with_leaving_->Unused(metric, node);
  }
  const ApplicationLoads& ApplicationsWithLeaving() const { return with_leaving_ ? *with_leaving_ : applications_; }
  int64_t NodesOf(ApplicationId application) const { return applications_.Nodes(application); }
  int64_t LoadOf(ApplicationId application, size_t metric_index) const { return applications_.Load(application, metric_index); }
  /// Replicas that are being built on the node, or will be because of the steps since: of stateful services that follow no
  /// other; a new primary is none of them.
  int64_t BuildingOn(NodeId node) const { return building_[node]; }
  /// With PreventTransientOvercommit: by how much less the steps since load replicas' first nodes, each replica by itself. A
  /// plan must not count on this room, since its actions may overtake one another. Else 0.
  int64_t Freed(MetricId metric, NodeId node) const {
    return freed_.empty() ? 0 : freed_[metric * cluster_.nodes.size() + node];
  }

  /// Steps. O(metrics of the service + replicas of the partition). To its own node, or with roles that do not fit: a broken
  /// invariant.
  void Move(ReplicaId replica, NodeId to);
  void Swap(ReplicaId primary, ReplicaId secondary);
  void Place(ReplicaId replica, NodeId node, Role role);  ///< a new one
  void Remove(ReplicaId replica);                         ///< a new one: no longer placed; an existing one: dropped
  void Restore(ReplicaId replica);                        ///< an existing one that was dropped
  void ChangeRole(ReplicaId replica, Role role);          ///< a promotion, and back

 private:
  void AddExisting();
  void AddNew();
  int64_t MissingOf(PartitionId id) const;
  bool IsBuilding(ReplicaId replica) const;
  void CountAside(ReplicaId replica, int64_t sign);
  void CountFreed(ReplicaId replica, int64_t sign);
  void Attach(ReplicaId replica, NodeId node, Role role);
  void Detach(ReplicaId replica, Role role_after);
  void PutOn(ReplicaId replica, NodeId node, Role role);
  void TakeOff(ReplicaId replica);
  void SetPrimary(PartitionId partition, ReplicaId primary);
  uint32_t OtherRowOfGiven(PartitionId partition) const;
  void ChangeLoads(ReplicaId replica, NodeId node, std::span<const int64_t> before, std::span<const int64_t> after);
  bool Leaves(ReplicaId replica) const { return !IsNew(replica) && cluster_.replicas[replica].Leaves(); }
  bool TakesPlaces(ReplicaId replica) const;
  void TakePlaceOfStandBy(ReplicaId replica);
  void GiveBackPlaceOfStandBy(ReplicaId replica);

  const Cluster& cluster_;
  const Settings& settings_;
  const NodeSets& sets_;
  NodeLoads loads_;
  ApplicationLoads applications_;
  // Engaged when any replica leaves and that counts.
  std::optional<ApplicationLoads> with_leaving_;
  std::vector<int64_t> leaving_;   // by metric, then node
  std::vector<uint8_t> replaced_;  // by existing replica
  std::vector<NodeId> node_;
  std::vector<Role> role_;
  std::vector<PartitionId> partition_;
  // Rows in Cluster::loads: what a replica weighs when it is not the primary, and what the partition's primary does.
  std::vector<uint32_t> other_row_, primary_row_;
  std::vector<ServiceId> service_;         // by partition
  std::vector<ReplicaId> primary_;         // by partition
  std::vector<ReplicaId> given_primary_;   // by partition
  std::vector<ReplicaId> first_existing_;  // by partition, and one behind the last
  std::vector<ReplicaId> first_new_;       // by partition, and one behind the last
  std::vector<uint32_t> row_size_;         // by service
  std::vector<std::vector<ReplicaId>> on_node_;
  std::vector<uint32_t> place_on_node_;
  std::vector<int64_t> building_;   // by node
  std::vector<int64_t> primaries_;  // by node
  std::vector<int64_t> freed_;      // by metric, then node; empty when it does not matter
  struct Dropped {
    NodeId node;
    Role role;
  };
  std::map<ReplicaId, Dropped> dropped_;
};

}  // namespace evenkeel::balancing
