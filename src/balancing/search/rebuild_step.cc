#include "balancing/search/rebuild_step.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "balancing/rules/placement_needs.h"

namespace evenkeel::balancing {
namespace {

constexpr uint64_t kConcernedAtOnce = 3;
constexpr uint64_t kOthersAtOnce = 7;
constexpr size_t kMostAtOnce = 32;    // with families
constexpr size_t kTargetsDrawn = 12;  // the best by deviation
constexpr int kDraws = 8;             // of a relation, until one may be taken
constexpr double kStaysHome = 0.6;    // movements are dear
constexpr double kTakesBest = 0.4;
constexpr double kExchangesRoles = 0.15;
constexpr double kConcernedFirst = 0.5;

bool IsLargeEnough(const Arrangement& arrangement, ReplicaId replica, Role role, NodeId node) {
  const Cluster& cluster = arrangement.cluster();
  const std::span<const ServiceMetric> metrics = cluster.services[arrangement.ServiceOf(replica)].metrics;
  const std::span<const int64_t> loads = arrangement.LoadsOf(replica, role);
  for (size_t i = 0; i < metrics.size(); ++i) {
    const int64_t* capacity = cluster.CapacityOf(node, metrics[i].metric);
    if (capacity != nullptr && *capacity < loads[i]) return false;
  }
  return true;
}

double RoomFor(const Arrangement& arrangement, MetricId metric) {
  double room = 0;
  for (const NodeId node : arrangement.sets().all()) {
    if (!arrangement.sets().available().test(node)) continue;
    const int64_t* capacity = arrangement.cluster().CapacityOf(node, metric);
    if (capacity == nullptr) return std::numeric_limits<double>::infinity();
    room += static_cast<double>(std::max<int64_t>(0, *capacity - arrangement.TakenOf(metric, node)));
  }
  return room;
}

}  // namespace

bool MightFit(const Constraints& constraints, const Arrangement& arrangement, ReplicaId replica, Role role) {
  const ServiceId service = arrangement.ServiceOf(replica);
  const NodeSet& valid = arrangement.sets().ValidForService(service);
  bool suits = false;
  for (size_t at = valid.find_first(); at != NodeSet::npos && !suits; at = valid.find_next(at)) {
    const auto node = static_cast<NodeId>(at);
    const std::optional<Constraint> obstacle = constraints.Obstacle(replica, node, role);
    const bool never = obstacle == Constraint::kNodeAvailable || obstacle == Constraint::kPlacementConstraint;
    suits = !never && IsLargeEnough(arrangement, replica, role, node);
  }
  const std::span<const ServiceMetric> metrics = arrangement.cluster().services[service].metrics;
  const std::span<const int64_t> loads = arrangement.LoadsOf(replica, role);
  for (size_t i = 0; i < metrics.size() && suits; ++i) {
    suits = loads[i] == 0 || RoomFor(arrangement, metrics[i].metric) >= static_cast<double>(loads[i]);
  }
  return suits;
}

RebuildStep::RebuildStep(Mover& mover, const Constraints& constraints, MayTake may_take, uint64_t seed)
    : mover_(mover),
      journal_(mover.journal()),
      finder_(mover.finder()),
      arrangement_(journal_.arrangement()),
      constraints_(constraints),
      may_take_(std::move(may_take)),
      random_(seed),
      of_application_(arrangement_.cluster().applications.size()) {
  for (const ServiceId service : journal_.group().services) {
    const ApplicationId application = arrangement_.cluster().services[service].application;
    if (application != kNoId) of_application_[application].push_back(service);
  }
}

void RebuildStep::Add(ReplicaId replica) {
  if (chosen_.size() >= kMostAtOnce || std::ranges::find(chosen_, replica) != chosen_.end() || !may_take_(replica)) return;
  chosen_.push_back(replica);
  if (arrangement_.IsNew(replica)) {
    // Which one is the primary is found anew.
    const auto [first, last] = arrangement_.NewOf(arrangement_.PartitionOf(replica));
    for (ReplicaId other = first; other < last; ++other) Add(other);
  }
  if (arrangement_.NodeOf(replica) != kNoId) AddFamily(replica);
}

void RebuildStep::AddFamily(ReplicaId replica) {
  const std::vector<Service>& services = arrangement_.cluster().services;
  const ServiceId service = arrangement_.ServiceOf(replica);
  const NodeId node = arrangement_.NodeOf(replica);
  const ServiceId parent = services[service].affinity_to == kNoId ? service : services[service].affinity_to;
  const auto add = [&](ServiceId of) {
    for (const PartitionId partition : services[of].partitions) {
      const ReplicaId other = arrangement_.Find(partition, node);
      if (other != kNoId) Add(other);
    }
  };
  if (mover_.FollowersOf(parent).empty()) return;
  add(parent);
  for (const ServiceId child : mover_.FollowersOf(parent)) add(child);
}

// Steps that were taken back leave an arrangement's lists in another order: what is drawn does not depend on that.
ReplicaId RebuildStep::DrawFrom(std::span<const ReplicaId> replicas) {
  std::vector<ReplicaId> sorted(replicas.begin(), replicas.end());
  std::ranges::sort(sorted);
  for (int draw = 0; draw < kDraws && !sorted.empty(); ++draw) {
    const ReplicaId replica = sorted[random_.Below(sorted.size())];
    if (journal_.InGroup(replica) && may_take_(replica)) return replica;
  }
  return kNoId;
}

ReplicaId RebuildStep::DrawOfPartitions(std::span<const PartitionId> partitions) {
  if (partitions.empty()) return kNoId;
  std::vector<ReplicaId> replicas;
  arrangement_.ForEachOf(partitions[random_.Below(partitions.size())], [&](ReplicaId replica) { replicas.push_back(replica); });
  return DrawFrom(replicas);
}

ReplicaId RebuildStep::Related(ReplicaId replica) {
  const Cluster& cluster = arrangement_.cluster();
  const Service& service = cluster.services[arrangement_.ServiceOf(replica)];
  const NodeId node = arrangement_.NodeOf(replica);
  switch (random_.Below(5)) {
    case 0:
      return node == kNoId ? kNoId : DrawFrom(arrangement_.On(node));
    case 1:
      return DrawOfPartitions(service.partitions);
    case 2: {
      if (service.application == kNoId) return kNoId;
      const std::vector<ServiceId>& services = of_application_[service.application];
      return DrawOfPartitions(cluster.services[services[random_.Below(services.size())]].partitions);
    }
    case 3: {
      if (service.affinity_to != kNoId) return DrawOfPartitions(cluster.services[service.affinity_to].partitions);
      const std::vector<ServiceId>& children = mover_.FollowersOf(arrangement_.ServiceOf(replica));
      if (children.empty()) return kNoId;
      return DrawOfPartitions(cluster.services[children[random_.Below(children.size())]].partitions);
    }
    default: {
      const NodeSet& valid = arrangement_.sets().ValidForService(arrangement_.ServiceOf(replica));
      const auto to = static_cast<NodeId>(random_.Below(cluster.nodes.size()));
      return valid.test(to) ? DrawFrom(arrangement_.On(to)) : kNoId;
    }
  }
}

void RebuildStep::Choose(std::span<const ReplicaId> concerned) {
  chosen_.clear();
  const uint64_t of_concerned = 1 + random_.Below(std::min<uint64_t>(kConcernedAtOnce, concerned.size()));
  for (uint64_t i = 0; i < of_concerned; ++i) Add(concerned[random_.Below(concerned.size())]);
  const uint64_t others = random_.Below(kOthersAtOnce);
  for (uint64_t i = 0; i < others && !chosen_.empty(); ++i) {
    const ReplicaId related = Related(chosen_[random_.Below(chosen_.size())]);
    if (related != kNoId) Add(related);
  }
}

void RebuildStep::ExchangeRoles() {
  for (const ReplicaId replica : chosen_) {
    if (arrangement_.IsNew(replica) || !random_.Chance(kExchangesRoles)) continue;
    const ReplicaId primary = arrangement_.PrimaryOf(arrangement_.PartitionOf(replica));
    if (primary == kNoId || primary == replica || arrangement_.IsNew(primary) || !may_take_(primary)) continue;
    if (arrangement_.RoleOf(replica) == Role::kSecondary) journal_.Swap(primary, replica);
  }
}

// Roles are found while everything is there.
void RebuildStep::TakeOff() {
  off_.clear();
  for (const ReplicaId replica : chosen_) {
    const PartitionId partition = arrangement_.PartitionOf(replica);
    const ReplicaId primary = arrangement_.PrimaryOf(partition);
    const bool drawn = arrangement_.IsNew(replica) && (primary == kNoId || arrangement_.IsNew(primary));
    const bool placed = arrangement_.NodeOf(replica) != kNoId;
    const Role role = placed ? arrangement_.RoleOf(replica) : RoleOfNew(arrangement_, partition);
    off_.push_back({replica, arrangement_.NodeOf(replica), role, drawn});
  }
  for (const Off& off : off_) {
    if (off.from != kNoId) journal_.Remove(off.replica);
  }
}

void RebuildStep::Order() {
  const bool as_chosen = random_.Chance(kConcernedFirst);
  for (size_t i = off_.size(); i > 1 && !as_chosen; --i) std::swap(off_[i - 1], off_[random_.Below(i)]);
  std::ranges::stable_sort(
      off_, {}, [&](const Off& off) { return constraints_.affinity().IsChild(arrangement_.ServiceOf(off.replica)); });
}

bool RebuildStep::PutBack(const Off& off) {
  const bool is_new = arrangement_.IsNew(off.replica);
  const Role role = off.drawn_role ? RoleOfNew(arrangement_, arrangement_.PartitionOf(off.replica)) : off.role;
  const auto put = [&](NodeId node) {
    if (is_new) {
      journal_.Place(off.replica, node, role);
      return;
    }
    journal_.Restore(off.replica);
    if (arrangement_.NodeOf(off.replica) != node) journal_.Move(off.replica, node);
  };
  if (!is_new) {
    const NodeId home = arrangement_.cluster().replicas[off.replica].node;
    if (random_.Chance(kStaysHome) && !finder_.Obstacle(constraints_, off.replica, home, role)) {
      put(home);
      return true;
    }
  }
  const std::vector<Target> targets = finder_.Best(constraints_, off.replica, role, kTargetsDrawn);
  if (targets.empty()) return is_new;
  put(targets[random_.Chance(kTakesBest) ? 0 : random_.Below(targets.size())].node);
  return true;
}

bool RebuildStep::Take(std::span<const ReplicaId> concerned) {
  const size_t mark = journal_.Mark();
  Choose(concerned);
  if (chosen_.empty()) return false;
  ExchangeRoles();
  TakeOff();
  Order();
  const bool all = std::ranges::all_of(off_, [this](const Off& off) { return PutBack(off); });
  if (all && mover_.slots_left() >= 0) return true;
  journal_.UndoTo(mark);
  return false;
}

}  // namespace evenkeel::balancing
