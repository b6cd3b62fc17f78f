#include "balancing/measures/arrangement.h"

#include <algorithm>
#include <array>

#include "balancing/measures/deviation.h"
#include "base/result.h"

namespace evenkeel::balancing {

Arrangement::Arrangement(const Cluster& cluster, const Settings& settings, const NodeSets& sets)
    : cluster_(cluster),
      settings_(settings),
      sets_(sets),
      loads_(cluster, sets),
      applications_(cluster),
      on_node_(cluster.nodes.size()),
      building_(cluster.nodes.size()),
      primaries_(cluster.nodes.size()) {
  if (settings.prevent_transient_overcommit) freed_.resize(cluster.metrics.size() * cluster.nodes.size());
  row_size_.reserve(cluster.services.size());
  for (const Service& service : cluster.services) row_size_.push_back(static_cast<uint32_t>(service.metrics.size()));
  const bool any_leaves = std::ranges::any_of(cluster.replicas, [](const Replica& replica) { return replica.Leaves(); });
  if (any_leaves && settings.count_disappearing_load_for_simulated_annealing) {
    with_leaving_.emplace(cluster);
    leaving_.resize(cluster.metrics.size() * cluster.nodes.size());
  }
  replaced_.resize(cluster.replicas.size());
  AddExisting();
  AddNew();
}

void Arrangement::AddExisting() {
  size_t missing = 0;
  for (const Partition& partition : cluster_.partitions) missing += static_cast<size_t>(std::max(partition.missing, 0));
  const size_t all = cluster_.replicas.size() + missing;
  node_.reserve(all);
  role_.reserve(all);
  partition_.reserve(all);
  other_row_.reserve(all);
  place_on_node_.resize(all);
  std::vector<uint32_t> counts(cluster_.nodes.size());
  for (const Replica& replica : cluster_.replicas) counts[replica.node] += replica.Exists() ? 1 : 0;
  for (NodeId node = 0; node < counts.size(); ++node) on_node_[node].reserve(counts[node] + 8);

  service_.reserve(cluster_.partitions.size());
  first_existing_.reserve(cluster_.partitions.size() + 1);
  primary_.assign(cluster_.partitions.size(), kNoId);
  primary_row_.reserve(cluster_.partitions.size());
  for (PartitionId id = 0; id < cluster_.partitions.size(); ++id) {
    const Partition& partition = cluster_.partitions[id];
    service_.push_back(partition.service);
    first_existing_.push_back(partition.first_replica);
    primary_row_.push_back(partition.new_loads);
    for (uint32_t i = 0; i < partition.replica_count; ++i) {
      const ReplicaId replica_id = partition.first_replica + i;
      const Replica& replica = cluster_.replicas[replica_id];
      node_.push_back(replica.Exists() ? replica.node : kNoId);
      role_.push_back(replica.role);
      partition_.push_back(id);
      other_row_.push_back(replica.first_load);
      if (!replica.Exists()) continue;
      if (replica.role == Role::kPrimary) {
        primary_[id] = replica_id;
        primary_row_[id] = replica.first_load;
        other_row_[replica_id] = partition.new_loads + row_size_[partition.service];
      }
      PutOn(replica_id, replica.node, replica.role);
      if (!replica.Leaves()) {
        const bool active = TakesPlaces(replica_id);
        applications_.Change(partition.service, replica.node, active, {}, LoadsOf(replica_id));
        if (with_leaving_) with_leaving_->Change(partition.service, replica.node, active, {}, LoadsOf(replica_id));
      } else {
        ChangeLoads(replica_id, replica.node, {}, LoadsOf(replica_id));
      }
      CountAside(replica_id, 1);
    }
  }
  first_existing_.push_back(static_cast<ReplicaId>(cluster_.replicas.size()));
  given_primary_ = primary_;
}

void Arrangement::AddNew() {
  first_new_.reserve(cluster_.partitions.size() + 1);
  for (PartitionId id = 0; id < cluster_.partitions.size(); ++id) {
    const Partition& partition = cluster_.partitions[id];
    first_new_.push_back(static_cast<ReplicaId>(node_.size()));
    for (int64_t i = MissingOf(id); i > 0; --i) {
      node_.push_back(kNoId);
      role_.push_back(Role::kNone);
      partition_.push_back(id);
      other_row_.push_back(partition.new_loads + row_size_[partition.service]);
    }
  }
  first_new_.push_back(static_cast<ReplicaId>(node_.size()));
  place_on_node_.resize(node_.size());
}

// A service on every node has one wherever it suits, whatever its target says.
int64_t Arrangement::MissingOf(PartitionId id) const {
  const Partition& partition = cluster_.partitions[id];
  if (!cluster_.services[partition.service].on_every_node) return partition.missing;
  NodeSet without = sets_.ValidForService(partition.service);
  for (const Replica& replica : cluster_.ReplicasOf(partition)) {
    if (replica.Exists()) without.reset(replica.node);
  }
  return static_cast<int64_t>(without.count());
}

bool Arrangement::Moved(ReplicaId replica) const {
  if (IsNew(replica)) return false;
  const Replica& before = cluster_.replicas[replica];
  return before.Exists() && (node_[replica] != before.node || role_[replica] != before.role);
}

ReplicaId Arrangement::Find(PartitionId partition, NodeId node) const {
  ReplicaId found = kNoId;
  ForEachOf(partition, [&](ReplicaId replica) {
    if (node_[replica] == node) found = replica;
  });
  return found;
}

bool Arrangement::IsBuilding(ReplicaId replica) const {
  const Service& service = cluster_.services[service_[partition_[replica]]];
  if (!service.stateful || service.affinity_to != kNoId) return false;
  if (IsNew(replica)) return role_[replica] != Role::kPrimary;
  const Replica& before = cluster_.replicas[replica];
  return node_[replica] != before.node || before.Has(kInBuild);
}

void Arrangement::CountAside(ReplicaId replica, int64_t sign) {
  if (node_[replica] != kNoId && IsBuilding(replica)) building_[node_[replica]] += sign;
  if (!freed_.empty()) CountFreed(replica, sign);
}

void Arrangement::CountFreed(ReplicaId replica, int64_t sign) {
  if (IsNew(replica) || !cluster_.replicas[replica].Exists() || replaced_[replica] != 0) return;
  const Replica& before = cluster_.replicas[replica];
  const std::span<const int64_t> then = cluster_.LoadsOf(before);
  const std::span<const int64_t> now = node_[replica] == before.node ? LoadsOf(replica) : std::span<const int64_t>();
  const std::vector<ServiceMetric>& metrics = cluster_.services[service_[partition_[replica]]].metrics;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const int64_t less = std::max<int64_t>(0, then[i] - (now.empty() ? 0 : now[i]));
    freed_[metrics[i].metric * cluster_.nodes.size() + before.node] += sign * less;
  }
}

void Arrangement::ChangeLoads(ReplicaId replica, NodeId node, std::span<const int64_t> before, std::span<const int64_t> after) {
  const ServiceId service = ServiceOf(replica);
  const bool of_application = applications_.Concerns(service);
  const bool active = TakesPlaces(replica);
  if (with_leaving_ && of_application) with_leaving_->Change(service, node, active, before, after);
  if (!Leaves(replica)) {
    loads_.Change(service, node, before, after);
    if (of_application) applications_.Change(service, node, active, before, after);
  } else if (with_leaving_) {
    const std::vector<ServiceMetric>& metrics = cluster_.services[service].metrics;
    for (size_t i = 0; i < metrics.size(); ++i) {
      const int64_t more = (after.empty() ? 0 : after[i]) - (before.empty() ? 0 : before[i]);
      leaving_[metrics[i].metric * cluster_.nodes.size() + node] += more;
    }
  }
}

bool Arrangement::TakesPlaces(ReplicaId replica) const {
  const Role role = role_[replica];
  return role == Role::kPrimary || role == Role::kSecondary || role == Role::kInstance;
}

ReplicaId Arrangement::StandByAt(ReplicaId replica, NodeId node) const {
  const auto [first, last] = ExistingOf(partition_[replica]);
  for (ReplicaId other = first; other < last; ++other) {
    const Replica& before = cluster_.replicas[other];
    if (other != replica && before.role == Role::kStandBy && before.node == node && role_[other] == Role::kStandBy)
      return other;
  }
  return kNoId;
}

void Arrangement::TakePlaceOfStandBy(ReplicaId replica) {
  const ReplicaId other = StandByAt(replica, node_[replica]);
  if (other == kNoId || !TakesPlaces(replica) || node_[other] == kNoId) return;
  CountAside(other, -1);
  ChangeLoads(other, node_[other], LoadsOf(other), {});
  TakeOff(other);
  replaced_[other] = 1;
}

void Arrangement::GiveBackPlaceOfStandBy(ReplicaId replica) {
  const ReplicaId other = StandByAt(replica, node_[replica]);
  if (other == kNoId || !TakesPlaces(replica) || replaced_[other] == 0) return;
  replaced_[other] = 0;
  PutOn(other, cluster_.replicas[other].node, Role::kStandBy);
  ChangeLoads(other, node_[other], {}, LoadsOf(other));
  CountAside(other, 1);
}

std::array<NodeChange, 2> Arrangement::ChangesOfMove(ReplicaId replica, NodeId to) const {
  const std::span<const int64_t> loads = LoadsOf(replica);
  std::array<NodeChange, 2> changes = MoveChanges(node_[replica], to, loads);
  changes[1] = ChangeOfPlacing(replica, to, role_[replica]);
  const ReplicaId gives_back = StandByAt(replica, node_[replica]);
  if (gives_back != kNoId && Replaced(gives_back) && !Leaves(gives_back)) changes[0].added = LoadsOf(gives_back);
  return changes;
}

NodeChange Arrangement::ChangeOfPlacing(ReplicaId replica, NodeId to, Role role) const {
  NodeChange change{to, {}, LoadsOf(replica, role)};
  const ReplicaId takes = StandByAt(replica, to);
  if (takes != kNoId && node_[takes] != kNoId && !Leaves(takes)) change.removed = LoadsOf(takes);
  return change;
}

uint32_t Arrangement::OtherRowOfGiven(PartitionId partition) const {
  const ReplicaId primary = primary_[partition];
  if (primary != kNoId && primary != given_primary_[partition]) return other_row_[primary];
  return cluster_.partitions[partition].new_loads + row_size_[service_[partition]];
}

// Its own role has changed already.
void Arrangement::SetPrimary(PartitionId partition, ReplicaId primary) {
  primary_[partition] = primary;
  const ReplicaId given = given_primary_[partition];
  if (given == kNoId) return;
  const uint32_t row = OtherRowOfGiven(partition);
  if (row == other_row_[given]) return;
  if (node_[given] == kNoId || role_[given] == Role::kPrimary) {
    other_row_[given] = row;
    return;
  }
  const std::span<const int64_t> before = LoadsOf(given);
  CountAside(given, -1);
  other_row_[given] = row;
  ChangeLoads(given, node_[given], before, LoadsOf(given));
  CountAside(given, 1);
}

void Arrangement::PutOn(ReplicaId replica, NodeId node, Role role) {
  node_[replica] = node;
  role_[replica] = role;
  primaries_[node] += role == Role::kPrimary ? 1 : 0;
  place_on_node_[replica] = static_cast<uint32_t>(on_node_[node].size());
  on_node_[node].push_back(replica);
}

void Arrangement::TakeOff(ReplicaId replica) {
  primaries_[node_[replica]] -= role_[replica] == Role::kPrimary ? 1 : 0;
  std::vector<ReplicaId>& on_node = on_node_[node_[replica]];
  const ReplicaId last = on_node.back();
  on_node[place_on_node_[replica]] = last;
  place_on_node_[last] = place_on_node_[replica];
  on_node.pop_back();
  node_[replica] = kNoId;
}

void Arrangement::Attach(ReplicaId replica, NodeId node, Role role) {
  const PartitionId partition = partition_[replica];
  EVENKEEL_CHECK(role != Role::kPrimary || primary_[partition] == kNoId);
  CountAside(replica, -1);
  PutOn(replica, node, role);
  ChangeLoads(replica, node, {}, LoadsOf(replica));
  CountAside(replica, 1);
  TakePlaceOfStandBy(replica);
  if (role == Role::kPrimary) SetPrimary(partition, replica);
}

void Arrangement::Detach(ReplicaId replica, Role role_after) {
  const PartitionId partition = partition_[replica];
  GiveBackPlaceOfStandBy(replica);
  CountAside(replica, -1);
  ChangeLoads(replica, node_[replica], LoadsOf(replica), {});
  const bool was_primary = role_[replica] == Role::kPrimary;
  TakeOff(replica);
  role_[replica] = role_after;
  CountAside(replica, 1);
  if (was_primary) SetPrimary(partition, kNoId);
}

void Arrangement::Move(ReplicaId replica, NodeId to) {
  EVENKEEL_CHECK(node_[replica] != kNoId && node_[replica] != to);
  const std::span<const int64_t> loads = LoadsOf(replica);
  GiveBackPlaceOfStandBy(replica);
  CountAside(replica, -1);
  ChangeLoads(replica, node_[replica], loads, {});
  TakeOff(replica);
  PutOn(replica, to, role_[replica]);
  ChangeLoads(replica, to, {}, loads);
  CountAside(replica, 1);
  TakePlaceOfStandBy(replica);
}

void Arrangement::Swap(ReplicaId primary, ReplicaId secondary) {
  const PartitionId partition = partition_[primary];
  EVENKEEL_CHECK(partition == partition_[secondary] && role_[primary] == Role::kPrimary &&
                 role_[secondary] == Role::kSecondary);
  const auto changes = ChangesOfSwap(primary, secondary);
  const std::array<ReplicaId, 3> replicas{primary, secondary, ThirdOfSwap(primary, secondary)};
  for (size_t i = 0; i < changes.size(); ++i) CountAside(replicas[i], -1);
  std::swap(role_[primary], role_[secondary]);
  --primaries_[node_[primary]];
  ++primaries_[node_[secondary]];
  primary_[partition] = secondary;
  if (given_primary_[partition] != kNoId) other_row_[given_primary_[partition]] = OtherRowOfGiven(partition);
  for (size_t i = 0; i < changes.size(); ++i) {
    ChangeLoads(replicas[i], changes[i].node, changes[i].removed, changes[i].added);
    CountAside(replicas[i], 1);
  }
}

boost::container::static_vector<NodeChange, 3> Arrangement::ChangesOfSwap(ReplicaId primary, ReplicaId secondary) const {
  boost::container::static_vector<NodeChange, 3> changes{
      {node_[primary], LoadsOf(primary), LoadsIfSwapped(primary, secondary)},
      {node_[secondary], LoadsOf(secondary), LoadsIfSwapped(secondary, primary)}};
  const ReplicaId third = ThirdOfSwap(primary, secondary);
  if (third != kNoId) changes.push_back({node_[third], LoadsOf(third), LoadsOf(secondary)});
  return changes;
}

void Arrangement::Place(ReplicaId replica, NodeId node, Role role) {
  EVENKEEL_CHECK(IsNew(replica) && node_[replica] == kNoId && role != Role::kNone && role != Role::kDropped);
  Attach(replica, node, role);
}

void Arrangement::Remove(ReplicaId replica) {
  EVENKEEL_CHECK(node_[replica] != kNoId);
  if (!IsNew(replica)) dropped_.emplace(replica, Dropped{node_[replica], role_[replica]});
  Detach(replica, IsNew(replica) ? Role::kNone : Role::kDropped);
}

void Arrangement::Restore(ReplicaId replica) {
  const auto dropped = dropped_.find(replica);
  EVENKEEL_CHECK(dropped != dropped_.end());
  Attach(replica, dropped->second.node, dropped->second.role);
  dropped_.erase(dropped);
}

void Arrangement::ChangeRole(ReplicaId replica, Role role) {
  const PartitionId partition = partition_[replica];
  EVENKEEL_CHECK(node_[replica] != kNoId && role != role_[replica] && role != Role::kNone && role != Role::kDropped);
  EVENKEEL_CHECK(role != Role::kPrimary || primary_[partition] == kNoId);
  CountAside(replica, -1);
  ChangeLoads(replica, node_[replica], LoadsOf(replica), LoadsOf(replica, role));
  const bool was_primary = role_[replica] == Role::kPrimary;
  primaries_[node_[replica]] += (role == Role::kPrimary ? 1 : 0) - (was_primary ? 1 : 0);
  role_[replica] = role;
  CountAside(replica, 1);
  if (was_primary) SetPrimary(partition, kNoId);
  if (role == Role::kPrimary) SetPrimary(partition, replica);
}

}  // namespace evenkeel::balancing
