#include "balancing/rules/constraints.h"

#include <algorithm>
#include <limits>

#include "balancing/model/buffered_capacity.h"
#include "balancing/rules/movability.h"
#include "balancing/rules/placement_needs.h"

namespace evenkeel::balancing {
namespace {

constexpr int64_t kBoundless = std::numeric_limits<int64_t>::max();

bool UpgradingMayMove(const Settings& settings, Purpose purpose) {
  return purpose == Purpose::kConstraintCheck ? settings.allow_constraint_check_fixes_during_application_upgrade
                                              : settings.allow_balancing_during_application_upgrade;
}

// The rise with what the application then no longer has reserved and unused.
int64_t NetRiseOf(const Arrangement& arrangement, const ApplicationLoads& loads, ServiceId service, NodeId to,
                  size_t metric_index, int64_t rise) {
  const uint32_t index = loads.IndexOfMetrics(service)[metric_index];
  if (index == kNoId) return rise;
  const ApplicationId application = arrangement.cluster().services[service].application;
  const int64_t reservation = arrangement.cluster().applications[application].metrics[index].node_reservation;
  const int64_t load = loads.Load(application, index, to);
  const int64_t unused_before = loads.Replicas(application, to) > 0 ? std::max<int64_t>(0, reservation - load) : 0;
  return rise + std::max<int64_t>(0, reservation - load - rise) - unused_before;
}

}  // namespace

int64_t PriorityOf(const Settings& settings, Constraint constraint) {
  const ConstraintPriorities& priorities = settings.priorities;
  switch (constraint) {
    case Constraint::kNodeAvailable:
    case Constraint::kReplicaExclusion:
      return 0;
    case Constraint::kPlacementConstraint:
      return priorities.placement_constraint;
    case Constraint::kPreferredLocation:
      return priorities.preferred_location;
    case Constraint::kThrottling:
      return priorities.throttling;
    case Constraint::kFaultDomain:
      return priorities.fault_domain;
    case Constraint::kUpgradeDomain:
      return priorities.upgrade_domain;
    case Constraint::kCapacity:
      return priorities.capacity;
    case Constraint::kScaleoutCount:
      return priorities.scaleout_count;
    case Constraint::kApplicationCapacity:
      return priorities.application_capacity;
    case Constraint::kAffinity:
      return priorities.affinity;
  }
  return 0;
}

Constraints::Constraints(const Arrangement& arrangement, const ConstraintOptions& options)
    : arrangement_(arrangement),
      options_(options),
      domains_(arrangement),
      affinity_(arrangement),
      nodes_(arrangement.cluster().nodes.size()) {
  const Cluster& cluster = arrangement.cluster();
  const Settings& settings = arrangement.settings();
  for (size_t i = 0; i < kConstraints; ++i) {
    const int64_t priority = PriorityOf(settings, static_cast<Constraint>(i));
    active_[i] = priority >= 0 && priority <= options.max_priority;
  }
  for (const Constraint always : {Constraint::kNodeAvailable, Constraint::kReplicaExclusion}) {
    active_[static_cast<size_t>(always)] = true;
  }
  if (options.light) {
    for (const Constraint domain : {Constraint::kFaultDomain, Constraint::kUpgradeDomain}) {
      active_[static_cast<size_t>(domain)] = false;
    }
  }
  for (size_t i = 0; i < kConstraints; ++i) {
    if ((options.ignored >> i & 1) != 0) active_[i] = false;
  }
  FindCapacities();
  if (Active(Constraint::kPreferredLocation)) FindPreferredNodes();
  if (Active(Constraint::kThrottling)) FindBuildLimits();
  kept_.reserve(cluster.replicas.size());
  const bool upgrading_may_move = UpgradingMayMove(settings, options.purpose);
  for (const Replica& replica : cluster.replicas) {
    const bool last = options.purpose == Purpose::kBalancing && MovesLast(settings, replica);
    kept_.push_back(last || !WhyKept(cluster, replica, upgrading_may_move).empty());
  }
  for (const Service& service : cluster.services) {
    reserves_.push_back(service.application != kNoId &&
                        std::ranges::any_of(cluster.applications[service.application].metrics,
                                            [](const ApplicationMetric& metric) { return metric.node_reservation > 0; }));
  }
}

std::string_view Constraints::WhyNotMovable(ReplicaId replica) const {
  if (arrangement_.IsNew(replica)) return {};
  const Cluster& cluster = arrangement_.cluster();
  const Settings& settings = arrangement_.settings();
  const std::string_view why = WhyKept(cluster, cluster.replicas[replica], UpgradingMayMove(settings, options_.purpose));
  const bool last = options_.purpose == Purpose::kBalancing && MovesLast(settings, cluster.replicas[replica]);
  return why.empty() && last ? "its move cost is VeryHigh, and it violates nothing" : why;
}

void Constraints::FindCapacities() {
  const Cluster& cluster = arrangement_.cluster();
  capacity_.assign(cluster.metrics.size() * nodes_, kBoundless);
  for (NodeId node = 0; node < nodes_; ++node) {
    for (const Capacity& capacity : cluster.nodes[node].capacities)
      capacity_[capacity.metric * nodes_ + node] = capacity.amount;
  }
  if (options_.purpose == Purpose::kPlacement) without_buffer_ = capacity_;
  for (MetricId metric = 0; metric < cluster.metrics.size(); ++metric) {
    const auto& buffers = arrangement_.settings().node_buffer_percentage;
    const auto buffer = buffers.find(cluster.metrics[metric].name);
    if (buffer == buffers.end()) continue;
    for (int64_t& capacity : std::span(capacity_).subspan(metric * nodes_, nodes_)) {
      if (capacity != kBoundless) capacity = LessBuffer(capacity, buffer->second);
    }
  }
}

void Constraints::FindPreferredNodes() {
  const Cluster& cluster = arrangement_.cluster();
  const bool existing = arrangement_.settings().prefer_existing_replica_locations;
  for (const Replica& replica : cluster.replicas) {
    const bool stands_by = existing && replica.role == Role::kStandBy;
    if (replica.Has(kPreferredPrimaryLocation)) preferred_.push_back({replica.partition, replica.node, true});
    if (replica.Has(kPreferredReplicaLocation) || stands_by) preferred_.push_back({replica.partition, replica.node, false});
  }
}

void Constraints::FindBuildLimits() {
  const Settings& settings = arrangement_.settings();
  const Cluster& cluster = arrangement_.cluster();
  const Group<int64_t>* of_phase = &settings.maximum_in_build_replicas_per_node_placement_throttle;
  bool throttled = settings.throttle_placement_phase;
  if (options_.purpose == Purpose::kConstraintCheck) {
    of_phase = &settings.maximum_in_build_replicas_per_node_constraint_check_throttle;
    throttled = settings.throttle_constraint_check_phase;
  } else if (options_.purpose == Purpose::kBalancing) {
    of_phase = &settings.maximum_in_build_replicas_per_node_balancing_throttle;
    throttled = settings.throttle_balancing_phase;
  }
  if (!throttled) return;
  std::vector<int64_t> of_type(cluster.node_types.size(), kBoundless);
  for (const Group<int64_t>* limits : {&settings.maximum_in_build_replicas_per_node, of_phase}) {
    for (NodeTypeId type = 0; type < of_type.size(); ++type) {
      const auto limit = limits->find(cluster.node_types[type]);
      if (limit != limits->end() && limit->second > 0) of_type[type] = std::min(of_type[type], limit->second);
    }
  }
  if (std::ranges::all_of(of_type, [](int64_t limit) { return limit == kBoundless; })) return;
  for (const Node& node : cluster.nodes) build_limits_.push_back(of_type[node.type]);
}

std::optional<Constraint> Constraints::Obstacle(ReplicaId replica, NodeId to, Role role) const {
  const NodeId at = arrangement_.NodeOf(replica);
  if (at == to && arrangement_.RoleOf(replica) == role) return std::nullopt;
  if (!Available(replica, to, role)) return Constraint::kNodeAvailable;
  if (at != to && Excluded(replica, to)) return Constraint::kReplicaExclusion;
  if (Active(Constraint::kPlacementConstraint) && Unsuitable(replica, to, role)) return Constraint::kPlacementConstraint;
  if (!preferred_.empty() && NotPreferred(replica, to, role)) return Constraint::kPreferredLocation;
  if (!build_limits_.empty() && Throttled(replica, to, role)) return Constraint::kThrottling;
  if (at != to) {
    if (Active(Constraint::kFaultDomain) && domains_.Worse(DomainKind::kFault, replica, to)) return Constraint::kFaultDomain;
    if (Active(Constraint::kUpgradeDomain) && domains_.Worse(DomainKind::kUpgrade, replica, to)) {
      return Constraint::kUpgradeDomain;
    }
  }
  const std::span<const int64_t> loads = arrangement_.LoadsOf(replica, role);
  if (Active(Constraint::kCapacity) && Overloads(replica, to, loads)) return Constraint::kCapacity;
  if (arrangement_.applications().Concerns(arrangement_.ServiceOf(replica))) {
    if (Active(Constraint::kScaleoutCount) && at != to && ScalesOut(replica, to)) return Constraint::kScaleoutCount;
    if (Active(Constraint::kApplicationCapacity) && ExceedsApplication(replica, to, loads)) {
      return Constraint::kApplicationCapacity;
    }
  }
  if (Active(Constraint::kAffinity) && BreaksAffinity(replica, to, role)) return Constraint::kAffinity;
  return std::nullopt;
}

bool Constraints::SwapLeavesSuitable(ReplicaId primary, ReplicaId secondary, SwapFor purpose) const {
  const NodeId from = arrangement_.NodeOf(primary), to = arrangement_.NodeOf(secondary);
  const ServiceId service = arrangement_.ServiceOf(primary);
  const NodeSet& blocked = arrangement_.sets().Blocked(service);
  const NodeSet& for_primary = arrangement_.sets().BlockedForPrimary(service);
  if (purpose != SwapFor::kLoad) return !for_primary.test(to);
  const int before = static_cast<int>(for_primary.test(from)) + static_cast<int>(blocked.test(to));
  const int after = static_cast<int>(for_primary.test(to)) + static_cast<int>(blocked.test(from));
  return after <= before;
}

bool Constraints::SwapOverloads(ReplicaId primary, ReplicaId secondary) const {
  const std::array<ReplicaId, 3> replicas{primary, secondary, arrangement_.ThirdOfSwap(primary, secondary)};
  const auto changes = arrangement_.ChangesOfSwap(primary, secondary);
  for (size_t i = 0; i < changes.size(); ++i) {
    if (ExceedsCapacity(replicas[i], changes[i].node, changes[i].added)) return true;
  }
  return false;
}

std::optional<Constraint> Constraints::SwapObstacle(ReplicaId primary, ReplicaId secondary, SwapFor purpose) const {
  const NodeId from = arrangement_.NodeOf(primary), to = arrangement_.NodeOf(secondary);
  const bool available =
      purpose == SwapFor::kReturn ? arrangement_.cluster().nodes[to].up : Available(secondary, to, Role::kPrimary);
  if (!available) return Constraint::kNodeAvailable;
  if (Active(Constraint::kPlacementConstraint) && !SwapLeavesSuitable(primary, secondary, purpose)) {
    return Constraint::kPlacementConstraint;
  }
  if (!preferred_.empty() && NotPreferred(secondary, to, Role::kPrimary)) return Constraint::kPreferredLocation;
  const std::array<ReplicaId, 3> replicas{primary, secondary, arrangement_.ThirdOfSwap(primary, secondary)};
  const auto changes = arrangement_.ChangesOfSwap(primary, secondary);
  const bool of_application = arrangement_.applications().Concerns(arrangement_.ServiceOf(primary));
  for (size_t i = 0; i < changes.size(); ++i) {
    if (Active(Constraint::kCapacity) && Overloads(replicas[i], changes[i].node, changes[i].added))
      return Constraint::kCapacity;
    if (of_application && Active(Constraint::kApplicationCapacity) &&
        ExceedsApplication(replicas[i], changes[i].node, changes[i].added)) {
      return Constraint::kApplicationCapacity;
    }
  }
  if (Active(Constraint::kAffinity)) {
    const std::array<Supposed, 2> swapped{{{primary, from, Role::kSecondary}, {secondary, to, Role::kPrimary}}};
    if (affinity_.Worse(swapped)) return Constraint::kAffinity;
  }
  return std::nullopt;
}

std::vector<ReplicaId> Constraints::FollowersOf(ReplicaId parent) const {
  return Active(Constraint::kAffinity) ? affinity_.Followers(parent) : std::vector<ReplicaId>();
}

std::vector<std::pair<ReplicaId, ReplicaId>> Constraints::FollowingSwaps(ReplicaId primary, ReplicaId secondary) const {
  if (!Active(Constraint::kAffinity)) return {};
  return affinity_.FollowingSwaps(primary, secondary);
}

bool Constraints::Available(ReplicaId replica, NodeId to, Role role) const {
  if (arrangement_.sets().available().test(to)) return true;
  if (arrangement_.IsNew(replica) && MayReturnTo(arrangement_.cluster().nodes[to])) {
    const std::vector<Return> returns = ReturnsOf(arrangement_, arrangement_.PartitionOf(replica));
    if (std::ranges::find(returns, to, &Return::node) != returns.end()) return true;
  }
  // Nothing comes to the node; what is there may only become less.
  return arrangement_.NodeOf(replica) == to && role != Role::kPrimary;
}

bool Constraints::Excluded(ReplicaId replica, NodeId to) const {
  bool excluded = false;
  const PartitionId partition = arrangement_.PartitionOf(replica);
  // It takes the place of a stand-by one.
  arrangement_.ForEachOf(partition, [&](ReplicaId other) {
    if (arrangement_.NodeOf(other) != to || other == replica) return;
    excluded = excluded || arrangement_.RoleOf(other) != Role::kStandBy;
  });
  if (excluded) return true;
  // One that has no role yet is there, too, unless it marks a place for one that comes back.
  const Cluster& cluster = arrangement_.cluster();
  return std::ranges::any_of(cluster.ReplicasOf(cluster.partitions[partition]), [&](const Replica& other) {
    const bool marks = other.Has(kPrimaryToBePlaced) || other.Has(kReplicaToBePlaced);
    return other.role == Role::kNone && other.node == to && !marks;
  });
}

bool Constraints::Unsuitable(ReplicaId replica, NodeId to, Role role) const {
  const ServiceId service = arrangement_.ServiceOf(replica);
  const bool primary = role == Role::kPrimary;
  if (arrangement_.NodeOf(replica) != to) {
    return (primary ? arrangement_.sets().BlockedForPrimary(service) : arrangement_.sets().Blocked(service)).test(to);
  }
  if (!primary || !arrangement_.settings().validate_primary_placement_constraint_on_promote) return false;
  return arrangement_.sets().BlockedForPrimary(service).test(to) && !arrangement_.sets().Blocked(service).test(to);
}

bool Constraints::NotPreferred(ReplicaId replica, NodeId to, Role role) const {
  const PartitionId partition = arrangement_.PartitionOf(replica);
  bool others = false;
  for (const PreferredNode& node : std::ranges::equal_range(preferred_, partition, {}, &PreferredNode::partition)) {
    if (node.for_primary != (role == Role::kPrimary) || !arrangement_.sets().available().test(node.node)) continue;
    if (node.node == to) return false;
    // A secondary that is there can become the primary; for others the node has to be free. Of new ones only so many are
    // wanted as there are such nodes.
    const bool free = arrangement_.IsNew(replica) || arrangement_.NodeOf(replica) == node.node || !Excluded(replica, node.node);
    others = others || node.for_primary || free;
  }
  return others;
}

bool Constraints::Throttled(ReplicaId replica, NodeId to, Role role) const {
  const Cluster& cluster = arrangement_.cluster();
  const Service& service = cluster.services[arrangement_.ServiceOf(replica)];
  if (arrangement_.NodeOf(replica) == to || !service.stateful || service.affinity_to != kNoId) return false;
  const bool is_new = arrangement_.IsNew(replica);
  if (is_new ? role == Role::kPrimary : cluster.replicas[replica].node == to) return false;
  return arrangement_.BuildingOn(to) >= build_limits_[to];
}

std::span<const int64_t> Constraints::CapacitiesFor(ReplicaId replica, NodeId to) const {
  const bool placed_by_this =
      options_.purpose == Purpose::kPlacement && (arrangement_.IsNew(replica) || arrangement_.NodeOf(replica) == to);
  return placed_by_this ? without_buffer_ : capacity_;
}

int64_t Constraints::Rise(ReplicaId replica, NodeId to, std::span<const int64_t> loads, size_t metric_index) const {
  if (arrangement_.NodeOf(replica) == to) return loads[metric_index] - arrangement_.LoadsOf(replica)[metric_index];
  return loads[metric_index] - StandByLoad(replica, to, metric_index);
}

int64_t Constraints::StandByLoad(ReplicaId replica, NodeId to, size_t metric_index) const {
  const std::span<const int64_t> replaced = arrangement_.ChangeOfPlacing(replica, to, Role::kSecondary).removed;
  return replaced.empty() ? 0 : replaced[metric_index];
}

int64_t Constraints::TransientRise(ReplicaId replica, NodeId to, size_t metric_index, int64_t rise) const {
  const Cluster& cluster = arrangement_.cluster();
  const MetricId metric = cluster.services[arrangement_.ServiceOf(replica)].metrics[metric_index].metric;
  const int64_t freed = arrangement_.Freed(metric, to);
  if (arrangement_.IsNew(replica) || cluster.replicas[replica].node != to) return freed + rise;
  // What it had here at first, and does not have now, is part of what is freed.
  const int64_t before = arrangement_.NodeOf(replica) == to ? arrangement_.LoadsOf(replica)[metric_index] : 0;
  const int64_t first = cluster.LoadsOf(cluster.replicas[replica])[metric_index];
  return freed - std::max<int64_t>(0, first - before) + rise + std::max<int64_t>(0, first - before - rise);
}

int64_t Constraints::NetRise(ServiceId service, NodeId to, size_t metric_index, int64_t rise) const {
  return NetRiseOf(arrangement_, arrangement_.ApplicationsWithLeaving(), service, to, metric_index, rise);
}

bool Constraints::Overloads(ReplicaId replica, NodeId to, std::span<const int64_t> loads) const {
  const Partition& partition = arrangement_.cluster().partitions[arrangement_.PartitionOf(replica)];
  if (partition.Has(kPartitionInUpgrade) && arrangement_.NodeOf(replica) == to && options_.purpose == Purpose::kPlacement &&
      arrangement_.settings().relax_capacity_constraint_for_upgrade) {
    return false;
  }
  return ExceedsCapacity(replica, to, loads);
}

bool Constraints::ExceedsCapacity(ReplicaId replica, NodeId to, std::span<const int64_t> loads) const {
  const ServiceId service = arrangement_.ServiceOf(replica);
  const std::span<const int64_t> capacities = CapacitiesFor(replica, to);
  const bool transient = arrangement_.settings().prevent_transient_overcommit;
  const std::vector<ServiceMetric>& metrics = arrangement_.cluster().services[service].metrics;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const int64_t capacity = capacities[metrics[i].metric * nodes_ + to];
    if (capacity == kBoundless) continue;
    int64_t rise = Rise(replica, to, loads, i);
    if (reserves_[service]) {
      // What leaves may fill a reservation that those who stay then need themselves.
      const int64_t of_staying = NetRiseOf(arrangement_, arrangement_.applications(), service, to, i, rise);
      if (of_staying > 0 && arrangement_.UsedOf(metrics[i].metric, to) + of_staying > capacity) return true;
      rise = NetRise(service, to, i, rise);
    }
    if (rise <= 0) continue;
    const int64_t used = arrangement_.TakenOf(metrics[i].metric, to);
    if (used + rise > capacity || (transient && used + TransientRise(replica, to, i, rise) > capacity)) return true;
  }
  return reserves_[service] && ReservationOverloads(service, to);
}

bool Constraints::ReservationOverloads(ServiceId service, NodeId to) const {
  const Cluster& cluster = arrangement_.cluster();
  const ApplicationId application = cluster.services[service].application;
  if (arrangement_.applications().Replicas(application, to) > 0) return false;
  const bool has_room = arrangement_.ApplicationsWithLeaving().Replicas(application, to) > 0;
  const std::vector<ServiceMetric>& reported = cluster.services[service].metrics;
  return std::ranges::any_of(cluster.applications[application].metrics, [&](const ApplicationMetric& metric) {
    const bool checked = std::ranges::find(reported, metric.metric, &ServiceMetric::metric) != reported.end();
    if (metric.node_reservation == 0 || checked) return false;
    const int64_t capacity = capacity_[metric.metric * nodes_ + to];
    const int64_t used = has_room ? arrangement_.UsedOf(metric.metric, to) : arrangement_.TakenOf(metric.metric, to);
    return capacity != kBoundless && used + metric.node_reservation > capacity;
  });
}

bool Constraints::ExceedsApplication(ReplicaId replica, NodeId to, std::span<const int64_t> loads) const {
  const ServiceId service = arrangement_.ServiceOf(replica);
  const ApplicationId application = arrangement_.cluster().services[service].application;
  const std::span<const uint32_t> indexes = arrangement_.applications().IndexOfMetrics(service);
  const NodeId at = arrangement_.NodeOf(replica);
  const std::span<const int64_t> now = at == kNoId ? std::span<const int64_t>() : arrangement_.LoadsOf(replica);
  std::span<const int64_t> given_back;
  if (at != kNoId && at != to) given_back = arrangement_.ChangesOfMove(replica, to)[0].added;
  for (size_t i = 0; i < indexes.size(); ++i) {
    if (indexes[i] == kNoId) continue;
    const ApplicationMetric& limits = arrangement_.cluster().applications[application].metrics[indexes[i]];
    const int64_t replaced = at == to ? 0 : StandByLoad(replica, to, i);
    const int64_t more = loads[i] - (now.empty() ? 0 : now[i]) - replaced + (given_back.empty() ? 0 : given_back[i]);
    if (limits.total_capacity > 0 && more > 0 && arrangement_.LoadOf(application, indexes[i]) + more > limits.total_capacity) {
      return true;
    }
    const int64_t here = at == to ? more : loads[i] - replaced;
    if (limits.max_node_capacity > 0 && here > 0 &&
        arrangement_.ApplicationsWithLeaving().Load(application, indexes[i], to) + here > limits.max_node_capacity) {
      return true;
    }
  }
  return false;
}

bool Constraints::BreaksAffinity(ReplicaId replica, NodeId to, Role role) const {
  const ServiceId service = arrangement_.ServiceOf(replica);
  if (!affinity_.IsChild(service) && !affinity_.IsParent(service)) return false;
  const Settings& settings = arrangement_.settings();
  const Partition& partition = arrangement_.cluster().partitions[arrangement_.PartitionOf(replica)];
  if (options_.purpose == Purpose::kPlacement && settings.relax_affinity_constraint_during_upgrade &&
      partition.Has(kPartitionInUpgrade)) {
    return false;
  }
  const Supposed supposed{replica, to, role};
  return affinity_.Worse(std::span(&supposed, 1));
}

}  // namespace evenkeel::balancing
