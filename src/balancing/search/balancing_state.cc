#include "balancing/search/balancing_state.h"

#include <algorithm>
#include <limits>

namespace evenkeel::balancing {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();
// Preferred locations do not keep a group from being even.
constexpr ConstraintOptions kConstraintsOfBalancing{.purpose = Purpose::kBalancing, .max_priority = kBalancingMaxPriority};

bool MayStandInTheWayOf(const std::optional<Constraint>& obstacle, bool followed) {
  return obstacle.has_value() && !(followed && *obstacle == Constraint::kAffinity);
}

bool CountsInBalancing(int64_t priority) { return priority >= 0 && priority <= kBalancingMaxPriority; }

}  // namespace

BalancingState::BalancingState(Arrangement& arrangement, const ServiceGroup& group, const GroupBalance& balance,
                               const BalancingOptions& options)
    : arrangement_(arrangement),
      group_(group),
      score_(arrangement.cluster(), arrangement.settings(), arrangement.sets(), arrangement.loads(), group),
      constraints_(arrangement, kConstraintsOfBalancing),
      slots_(options.movement_slots),
      per_node_type_(!options.node_types.empty()),
      swaps_only_(arrangement.settings().swap_primary_probability >= 1),
      affinity_counts_(CountsInBalancing(PriorityOf(arrangement.settings(), Constraint::kAffinity))),
      eligible_flags_(arrangement.replica_count()),
      movable_flags_(arrangement.replica_count()),
      first_primary_(cluster().partitions.size(), kNoId) {
  FindEligible(balance, options);
  FindPrimaries();
}

void BalancingState::FindEligible(const GroupBalance& balance, const BalancingOptions& options) {
  std::vector<uint8_t> throttled(cluster().partitions.size()), type_moves(cluster().node_types.size(), !per_node_type_);
  for (const PartitionId partition : options.throttled_partitions) throttled[partition] = 1;
  for (const NodeTypeId type : options.node_types) type_moves[type] = 1;
  std::vector<uint8_t> may_move(cluster().node_types.size());
  for (const ServiceId id : group_.services) {
    for (NodeTypeId type = 0; type < may_move.size(); ++type) {
      may_move[type] = type_moves[type] != 0 && balance.MayMove(cluster(), id, type);
    }
    for (const PartitionId partition : cluster().services[id].partitions) {
      const auto [first, last] = arrangement_.ExistingOf(partition);
      for (ReplicaId replica = first; replica < last; ++replica) {
        if (!cluster().replicas[replica].Exists()) continue;
        ++replicas_;
        const NodeId node = arrangement_.NodeOf(replica);
        if (node == kNoId || throttled[partition] != 0 || !constraints_.Movable(replica)) continue;
        movable_flags_[replica] = 1;
        if (!arrangement_.sets().available().test(node) || may_move[cluster().nodes[node].type] == 0) continue;
        eligible_flags_[replica] = 1;
        eligible_.push_back(replica);
      }
    }
  }
}

void BalancingState::FindPrimaries() {
  for (const ServiceId id : group_.services) {
    const Service& service = cluster().services[id];
    for (const PartitionId partition : service.partitions) first_primary_[partition] = arrangement_.PrimaryOf(partition);
    if (service.affinity_to == kNoId) continue;
    children_.resize(cluster().services.size());
    children_[service.affinity_to].push_back(id);
  }
}

double BalancingState::EnergyOf(double deviation, double cost) const { return Energy(settings(), deviation, cost, replicas_); }

double BalancingState::PriceOfMovement() const {
  const double now = energy();
  const double more = EnergyOf(deviation(), cost_ + 1) - now;
  const double per_deviation = EnergyOfDeviation();
  return per_deviation > 0 ? more / per_deviation : 0;
}

bool BalancingState::TypesAllow(NodeId from, NodeId to) const {
  return !per_node_type_ || cluster().nodes[from].type == cluster().nodes[to].type;
}

double BalancingState::CostDelta(const BalancingStep& step, int64_t& movements) const {
  if (step.to == kNoId) {
    const ReplicaId first = first_primary_[arrangement_.PartitionOf(step.replica)];
    movements = static_cast<int64_t>(step.other != first) - static_cast<int64_t>(step.replica != first);
    return static_cast<double>(movements) * CostOfSwap(settings());
  }
  const NodeId home = HomeOf(step.replica);
  movements = static_cast<int64_t>(step.to != home) - static_cast<int64_t>(arrangement_.NodeOf(step.replica) != home);
  return static_cast<double>(movements) * CostOfMove(settings(), cluster().replicas[step.replica].move_cost);
}

bool BalancingState::SlotsSuffice(const BalancingStep& step) const {
  if (movements_ < slots_) return true;
  int64_t movements = 0;
  CostDelta(step, movements);
  return movements <= 0;
}

bool BalancingState::Allows(const BalancingStep& step) const {
  if (movable_flags_[step.replica] == 0 || !SlotsSuffice(step)) return false;
  const bool followed = IsFollowed(step.replica);
  if (step.to == kNoId) {
    // Another step may have changed the roles since this one was thought of.
    return arrangement_.RoleOf(step.replica) == Role::kPrimary && arrangement_.RoleOf(step.other) == Role::kSecondary &&
           movable_flags_[step.other] != 0 && TypesAllow(arrangement_.NodeOf(step.replica), arrangement_.NodeOf(step.other)) &&
           !MayStandInTheWayOf(constraints_.SwapObstacle(step.replica, step.other), followed);
  }
  const NodeId from = arrangement_.NodeOf(step.replica);
  return from != step.to && TypesAllow(from, step.to) &&
         !MayStandInTheWayOf(constraints_.Obstacle(step.replica, step.to), followed);
}

double BalancingState::EnergyAfter(const BalancingStep& step) {
  if (IsFollowed(step.replica)) {
    const size_t mark = Mark();
    if (!Make(step)) return kImpossible;
    const double after = energy();
    RollBack(mark);
    return after;
  }
  int64_t movements = 0;
  const double cost = cost_ + CostDelta(step, movements);
  const ServiceId service = arrangement_.ServiceOf(step.replica);
  if (step.to == kNoId) {
    return EnergyOf(score_.AverageDeviationAfter(service, arrangement_.ChangesOfSwap(step.replica, step.other)), cost);
  }
  const auto changes = arrangement_.ChangesOfMove(step.replica, step.to);
  return EnergyOf(score_.AverageDeviationAfter(service, changes), cost);
}

void BalancingState::Do(const BalancingStep& step) {
  int64_t movements = 0;
  cost_ += CostDelta(step, movements);
  movements_ += movements;
  // Costs are sums of a few numbers; that of no movement is exactly none.
  if (movements_ == 0) cost_ = 0;
  if (step.to == kNoId) {
    arrangement_.Swap(step.replica, step.other);
  } else {
    arrangement_.Move(step.replica, step.to);
  }
  score_.Update(arrangement_.ServiceOf(step.replica));
}

bool BalancingState::Make(const BalancingStep& step) {
  const size_t mark = Mark();
  const bool made = step.to == kNoId ? MakeSwap(step) : MakeShift(step);
  if (made && movements_ <= slots_) return true;
  RollBack(mark);
  return false;
}

bool BalancingState::MakeBoth(const BalancingStep& one, const BalancingStep& other) {
  const size_t mark = Mark();
  if (Make(one) && Make(other)) return true;
  RollBack(mark);
  if (Make(other) && Make(one)) return true;
  RollBack(mark);
  return false;
}

int64_t BalancingState::MisplacedFollowers(ServiceId parent) const {
  std::vector<ReplicaId> misplaced;
  for (const ServiceId child : children_[parent]) {
    for (const PartitionId partition : cluster().services[child].partitions) {
      constraints_.affinity().FindMisplaced(partition, misplaced);
    }
  }
  return static_cast<int64_t>(misplaced.size());
}

bool BalancingState::MakeShift(const BalancingStep& step) {
  if (!Allows(step)) return false;
  std::vector<ReplicaId> followers;
  if (IsFollowed(step.replica)) followers = constraints_.FollowersOf(step.replica);
  const NodeId from = arrangement_.NodeOf(step.replica);
  Do(step);
  journal_.push_back({step, from});
  return std::ranges::all_of(followers, [&](ReplicaId follower) { return MakeShift({follower, step.to, kNoId}); });
}

bool BalancingState::MakeSwap(const BalancingStep& step) {
  if (!Allows(step)) return false;
  std::vector<std::pair<ReplicaId, ReplicaId>> following;
  const bool followed = IsFollowed(step.replica) && affinity_counts_;
  if (followed) following = constraints_.FollowingSwaps(step.replica, step.other);
  const ServiceId service = arrangement_.ServiceOf(step.replica);
  const int64_t misplaced = followed ? MisplacedFollowers(service) : 0;
  Do(step);
  journal_.push_back({step, kNoId});
  if (!std::ranges::all_of(following, [&](const auto& swap) { return MakeSwap({swap.first, kNoId, swap.second}); }))
    return false;
  // A child without a replica where the parent's secondary was cannot follow, so the parent stays.
  return !followed || MisplacedFollowers(service) <= misplaced;
}

void BalancingState::RollBack(size_t mark) {
  while (journal_.size() > mark) {
    const auto [step, from] = journal_.back();
    journal_.pop_back();
    Do(step.to == kNoId ? BalancingStep{step.other, kNoId, step.replica} : BalancingStep{step.replica, from, kNoId});
  }
}

std::vector<BalancingStep> BalancingState::Steps() const {
  std::vector<BalancingStep> steps;
  for (const PartitionId partition : SwappedPartitions()) {
    steps.push_back({first_primary_[partition], kNoId, arrangement_.PrimaryOf(partition)});
  }
  for (const ReplicaId replica : MovedReplicas()) steps.push_back({replica, arrangement_.NodeOf(replica), kNoId});
  return steps;
}

void BalancingState::Remake(std::span<const BalancingStep> steps) {
  RollBack(0);
  for (const BalancingStep& step : steps) {
    journal_.push_back({step, arrangement_.NodeOf(step.replica)});
    Do(step);
  }
  score_.Resum();
}

std::vector<ReplicaId> BalancingState::MovedReplicas() const {
  std::vector<ReplicaId> moved;
  for (const ServiceId service : group_.services) {
    for (const PartitionId partition : cluster().services[service].partitions) {
      const auto [first, last] = arrangement_.ExistingOf(partition);
      for (ReplicaId replica = first; replica < last; ++replica) {
        if (movable_flags_[replica] != 0 && arrangement_.NodeOf(replica) != HomeOf(replica)) moved.push_back(replica);
      }
    }
  }
  return moved;
}

std::vector<PartitionId> BalancingState::SwappedPartitions() const {
  std::vector<PartitionId> swapped;
  for (const ServiceId service : group_.services) {
    if (!cluster().services[service].stateful) continue;
    for (const PartitionId partition : cluster().services[service].partitions) {
      if (arrangement_.PrimaryOf(partition) != first_primary_[partition]) swapped.push_back(partition);
    }
  }
  return swapped;
}

BalancingStep BalancingState::WayBack(PartitionId partition) const {
  const ReplicaId primary = arrangement_.PrimaryOf(partition);
  if (primary == first_primary_[partition]) return {};
  return {primary, kNoId, first_primary_[partition]};
}

}  // namespace evenkeel::balancing
