#include "balancing/rules/affinity_rules.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>

namespace evenkeel::balancing {
namespace {

struct ParentReplica {
  NodeId node;
  Role role;
};

/// Where and what the replica is, or is supposed to be.
Supposed AsSupposed(const Arrangement& arrangement, std::span<const Supposed> supposed, ReplicaId replica) {
  for (const Supposed& other : supposed) {
    if (other.replica == replica) return other;
  }
  return {replica, arrangement.NodeOf(replica), arrangement.RoleOf(replica)};
}

}  // namespace

AffinityRules::AffinityRules(const Arrangement& arrangement)
    : arrangement_(arrangement), children_(arrangement.cluster().services.size()) {
  const std::vector<Service>& services = arrangement.cluster().services;
  parent_.reserve(services.size());
  for (ServiceId id = 0; id < services.size(); ++id) {
    parent_.push_back(services[id].affinity_to);
    if (services[id].affinity_to != kNoId) children_[services[id].affinity_to].push_back(id);
  }
}

template <typename F>
int64_t AffinityRules::ForEachMisplaced(PartitionId partition, std::span<const Supposed> supposed, F visit) const {
  const Cluster& cluster = arrangement_.cluster();
  const Service& child = cluster.services[cluster.partitions[partition].service];
  const Service& parent = cluster.services[child.affinity_to];
  boost::container::small_vector<ParentReplica, 16> parents;
  bool has_primary = false;
  for (const PartitionId of_parent : parent.partitions) {
    arrangement_.ForEachOf(of_parent, [&](ReplicaId replica) {
      const Supposed is = AsSupposed(arrangement_, supposed, replica);
      if (is.node == kNoId || is.role == Role::kStandBy) return;
      parents.push_back({is.node, is.role});
      has_primary = has_primary || is.role == Role::kPrimary;
    });
  }
  if (parents.empty() && arrangement_.settings().place_child_without_parent) return 0;
  const bool aligned = child.aligned_affinity && child.stateful && parent.stateful && has_primary;
  int64_t all = 0, misplaced = 0;
  arrangement_.ForEachOf(partition, [&](ReplicaId replica) {
    const Supposed is = AsSupposed(arrangement_, supposed, replica);
    if (is.node == kNoId || is.role == Role::kStandBy) return;
    ++all;
    const bool fits = std::ranges::any_of(parents, [&](const ParentReplica& other) {
      return other.node == is.node && (!aligned || (other.role == Role::kPrimary) == (is.role == Role::kPrimary));
    });
    if (fits) return;
    ++misplaced;
    visit(replica);
  });
  const bool higher = arrangement_.settings().allow_higher_child_target_replica_count_for_affinity && !parents.empty();
  const int64_t anywhere = higher ? std::max<int64_t>(0, all - static_cast<int64_t>(parents.size())) : 0;
  return std::max<int64_t>(0, misplaced - anywhere);
}

int64_t AffinityRules::Misplaced(PartitionId partition, std::span<const Supposed> supposed) const {
  return ForEachMisplaced(partition, supposed, [](ReplicaId) {});
}

bool AffinityRules::Worse(std::span<const Supposed> supposed) const {
  const PartitionId partition = arrangement_.PartitionOf(supposed.front().replica);
  const std::vector<Service>& services = arrangement_.cluster().services;
  const ServiceId service = arrangement_.cluster().partitions[partition].service;
  if (IsChild(service)) {
    const int64_t after = Misplaced(partition, supposed);
    if (after > 0 && after > Misplaced(partition, {})) return true;
    // A new one covers a replica of the parent first that none is beside yet.
    const ReplicaId replica = supposed.front().replica;
    if (after > 0 && supposed.size() == 1 && arrangement_.IsNew(replica) && arrangement_.NodeOf(replica) == kNoId) {
      bool beside = true;
      ForEachMisplaced(partition, supposed, [&](ReplicaId other) { beside = beside && other != replica; });
      if (!beside) return true;
    }
  }
  int64_t before = 0, after = 0;
  for (const ServiceId child : children_[service]) {
    for (const PartitionId of_child : services[child].partitions) {
      const int64_t misplaced = Misplaced(of_child, supposed);
      if (misplaced == 0) continue;
      after += misplaced;
      before += Misplaced(of_child, {});
    }
  }
  return after > before;
}

void AffinityRules::FindMisplaced(PartitionId partition, std::vector<ReplicaId>& misplaced) const {
  std::vector<ReplicaId> found;
  const int64_t count = ForEachMisplaced(partition, {}, [&](ReplicaId replica) { found.push_back(replica); });
  misplaced.insert(misplaced.end(), found.begin(), found.begin() + count);
}

bool AffinityRules::BesideFamily(ReplicaId replica) const {
  const std::vector<Service>& services = arrangement_.cluster().services;
  const ServiceId service = arrangement_.ServiceOf(replica);
  const NodeId node = arrangement_.NodeOf(replica);
  const auto is_on_node = [&](ServiceId other) {
    return std::ranges::any_of(services[other].partitions,
                               [&](PartitionId partition) { return arrangement_.Find(partition, node) != kNoId; });
  };
  return IsChild(service) ? is_on_node(services[service].affinity_to) : std::ranges::any_of(children_[service], is_on_node);
}

std::vector<ReplicaId> AffinityRules::Followers(ReplicaId parent) const {
  const std::vector<Service>& services = arrangement_.cluster().services;
  const NodeId at = arrangement_.NodeOf(parent);
  // Somewhere else, where no child is.
  const NodeId elsewhere = static_cast<NodeId>(arrangement_.cluster().nodes.size());
  const Supposed gone{parent, elsewhere, arrangement_.RoleOf(parent)};
  std::vector<ReplicaId> followers;
  for (const ServiceId child : children_[arrangement_.ServiceOf(parent)]) {
    for (const PartitionId partition : services[child].partitions) {
      const ReplicaId replica = arrangement_.Find(partition, at);
      if (replica == kNoId) continue;
      bool before = false, after = false;
      ForEachMisplaced(partition, {}, [&](ReplicaId other) { before = before || other == replica; });
      ForEachMisplaced(partition, std::span(&gone, 1), [&](ReplicaId other) { after = after || other == replica; });
      if (after && !before) followers.push_back(replica);
    }
  }
  return followers;
}

std::vector<std::pair<ReplicaId, ReplicaId>> AffinityRules::FollowingSwaps(ReplicaId primary, ReplicaId secondary) const {
  const std::vector<Service>& services = arrangement_.cluster().services;
  std::vector<std::pair<ReplicaId, ReplicaId>> swaps;
  for (const ServiceId child : children_[arrangement_.ServiceOf(primary)]) {
    if (!services[child].aligned_affinity || !services[child].stateful) continue;
    for (const PartitionId partition : services[child].partitions) {
      const ReplicaId first = arrangement_.PrimaryOf(partition);
      if (first == kNoId || arrangement_.NodeOf(first) != arrangement_.NodeOf(primary)) continue;
      const ReplicaId second = arrangement_.Find(partition, arrangement_.NodeOf(secondary));
      if (second != kNoId && arrangement_.RoleOf(second) == Role::kSecondary) swaps.emplace_back(first, second);
    }
  }
  return swaps;
}

}  // namespace evenkeel::balancing
