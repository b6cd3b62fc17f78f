#include "balancing/search/mover.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace evenkeel::balancing {
namespace {

// How many of those in the way are tried, and how often others are moved for one replica: enough for any two-step repair on
// nodes of a few dozen replicas, and a bound where there are thousands.
constexpr size_t kBlockersTried = 12;
constexpr size_t kNodesTriedPerBlocker = 6;
constexpr int kRounds = 4;

bool HasRoomToMake(Constraint obstacle) {
  return obstacle == Constraint::kCapacity || obstacle == Constraint::kApplicationCapacity ||
         obstacle == Constraint::kFaultDomain || obstacle == Constraint::kUpgradeDomain;
}

}  // namespace

Mover::Mover(StepJournal& journal, TargetFinder& finder, int64_t slots)
    : journal_(journal),
      finder_(finder),
      arrangement_(journal.arrangement()),
      slots_(slots),
      followers_(arrangement_.cluster().services.size()) {
  const std::vector<Service>& services = arrangement_.cluster().services;
  for (ServiceId service = 0; service < services.size(); ++service) {
    if (services[service].affinity_to != kNoId) followers_[services[service].affinity_to].push_back(service);
  }
}

bool Mover::Movable(const Constraints& constraints, ReplicaId replica) const {
  if (arrangement_.NodeOf(replica) == kNoId || !journal_.InGroup(replica)) return false;
  return arrangement_.IsNew(replica) || constraints.Movable(replica);
}

bool Mover::MoveFollowers(const Constraints& constraints, std::span<const ReplicaId> followers, NodeId to) {
  for (const ReplicaId follower : followers) {
    if (!Movable(constraints, follower) || constraints.Obstacle(follower, to)) return false;
    journal_.Move(follower, to);
  }
  return true;
}

int64_t Mover::MisplacedFollowers(const Constraints& constraints, ReplicaId replica) const {
  const Cluster& cluster = arrangement_.cluster();
  std::vector<ReplicaId> misplaced;
  for (const ServiceId child : followers_[arrangement_.ServiceOf(replica)]) {
    for (const PartitionId partition : cluster.services[child].partitions) {
      constraints.affinity().FindMisplaced(partition, misplaced);
    }
  }
  return static_cast<int64_t>(misplaced.size());
}

bool Mover::TryMove(const Constraints& constraints, ReplicaId replica, NodeId to) {
  const size_t mark = journal_.Mark();
  if (finder_.Obstacle(constraints, replica, to, arrangement_.RoleOf(replica))) return false;
  const std::vector<ReplicaId> followers = constraints.FollowersOf(replica);
  const int64_t misplaced = MisplacedFollowers(constraints, replica);
  journal_.Move(replica, to);
  if (slots_left() >= 0 && MoveFollowers(constraints, followers, to) && slots_left() >= 0 &&
      MisplacedFollowers(constraints, replica) <= misplaced) {
    return true;
  }
  journal_.UndoTo(mark);
  return false;
}

bool Mover::SwapFollowers(const Constraints& constraints, std::span<const std::pair<ReplicaId, ReplicaId>> swaps) {
  for (const auto& [primary, secondary] : swaps) {
    if (!Movable(constraints, primary) || !Movable(constraints, secondary)) return false;
    if (constraints.SwapObstacle(primary, secondary)) return false;
    journal_.Swap(primary, secondary);
  }
  return true;
}

bool Mover::TrySwap(const Constraints& constraints, ReplicaId primary, ReplicaId secondary) {
  const size_t mark = journal_.Mark();
  const std::optional<Constraint> obstacle = constraints.SwapObstacle(primary, secondary);
  const bool leads = constraints.affinity().IsParent(arrangement_.ServiceOf(primary));
  if (obstacle && !(leads && obstacle == Constraint::kAffinity)) return false;
  const std::vector<std::pair<ReplicaId, ReplicaId>> followers = constraints.FollowingSwaps(primary, secondary);
  const int64_t misplaced = MisplacedFollowers(constraints, primary);
  journal_.Swap(primary, secondary);
  if (slots_left() >= 0 && SwapFollowers(constraints, followers) && slots_left() >= 0 &&
      MisplacedFollowers(constraints, primary) <= misplaced) {
    return true;
  }
  journal_.UndoTo(mark);
  return false;
}

bool Mover::TryPlace(const Constraints& constraints, ReplicaId replica, NodeId node, Role role) {
  if (constraints.Obstacle(replica, node, role)) return false;
  journal_.Place(replica, node, role);
  return true;
}

// By how much the node is too small, in shares of its capacities.
double Mover::Lack(ReplicaId replica, NodeId to, Role role) const {
  const std::vector<ServiceMetric>& metrics = arrangement_.cluster().services[arrangement_.ServiceOf(replica)].metrics;
  const std::span<const int64_t> loads = arrangement_.LoadsOf(replica, role);
  double lack = 0;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const int64_t* capacity = arrangement_.cluster().CapacityOf(to, metrics[i].metric);
    if (capacity == nullptr) continue;
    const int64_t excess = arrangement_.TakenOf(metrics[i].metric, to) + loads[i] - *capacity;
    if (excess > 0) lack += static_cast<double>(excess) / static_cast<double>(std::max<int64_t>(*capacity, 1));
  }
  return lack;
}

std::vector<NodeId> Mover::Crowded(const Constraints& constraints, ReplicaId replica, Role role, size_t most,
                                   const TargetFinder::Accept& accept) const {
  std::vector<std::pair<double, NodeId>> crowded;
  for (const NodeId node : arrangement_.sets().all()) {
    if (node == arrangement_.NodeOf(replica) || (accept && !accept(node))) continue;
    const std::optional<Constraint> obstacle = finder_.Obstacle(constraints, replica, node, role);
    if (obstacle && HasRoomToMake(*obstacle)) crowded.emplace_back(Lack(replica, node, role), node);
  }
  most = std::min(most, crowded.size());
  std::ranges::partial_sort(crowded, crowded.begin() + static_cast<ptrdiff_t>(most));
  std::vector<NodeId> nodes;
  for (size_t i = 0; i < most; ++i) nodes.push_back(crowded[i].second);
  return nodes;
}

// Infinite for what moves last; 0 where costs do not count.
double Mover::ReportedCostOf(ReplicaId replica) const {
  if (!journal_.costs_count()) return 0;
  return journal_.IsLastResort(replica) ? std::numeric_limits<double>::infinity() : journal_.CostOfMoving(replica);
}

// Those first that make enough room by themselves, the lightest of these first; then the heaviest. New ones cost no movement.
// Where reported costs count, those first whose movement costs least for what it makes of the room.
std::vector<ReplicaId> Mover::CapacityBlockers(const Constraints& constraints, ReplicaId replica, NodeId to, Role role) const {
  const Cluster& cluster = arrangement_.cluster();
  const std::vector<ServiceMetric>& metrics = cluster.services[arrangement_.ServiceOf(replica)].metrics;
  const std::span<const int64_t> loads = arrangement_.LoadsOf(replica, role);
  std::vector<std::pair<MetricId, int64_t>> lacking;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const int64_t* capacity = cluster.CapacityOf(to, metrics[i].metric);
    if (capacity == nullptr) continue;
    const int64_t excess = arrangement_.TakenOf(metrics[i].metric, to) + loads[i] - *capacity;
    if (excess > 0) lacking.emplace_back(metrics[i].metric, excess);
  }
  struct Candidate {
    double cost;
    bool partial, existing;
    double share;
    ReplicaId replica;
    auto operator<=>(const Candidate&) const = default;
  };
  std::vector<Candidate> candidates;
  for (const ReplicaId other : arrangement_.On(to)) {
    if (arrangement_.PartitionOf(other) == arrangement_.PartitionOf(replica) || !Movable(constraints, other)) continue;
    const std::vector<ServiceMetric>& own = cluster.services[arrangement_.ServiceOf(other)].metrics;
    const std::span<const int64_t> own_loads = arrangement_.LoadsOf(other);
    bool enough = true;
    double share = 0, made = 0;  // of what is lacking
    for (const auto& [metric, excess] : lacking) {
      const auto found = std::ranges::find(own, metric, &ServiceMetric::metric);
      const int64_t load = found == own.end() ? 0 : own_loads[static_cast<size_t>(found - own.begin())];
      enough &= load >= excess;
      share += static_cast<double>(load) / static_cast<double>(excess);
      made += std::min(1.0, static_cast<double>(load) / static_cast<double>(excess));
    }
    if (share <= 0 && !lacking.empty()) continue;
    const double filled = lacking.empty() ? 1 : made / static_cast<double>(lacking.size());
    candidates.push_back({ReportedCostOf(other) / filled, !enough, !arrangement_.IsNew(other), enough ? share : -share, other});
  }
  const size_t most = std::min(candidates.size(), kBlockersTried);
  std::ranges::partial_sort(candidates, candidates.begin() + static_cast<ptrdiff_t>(most));
  std::vector<ReplicaId> blockers;
  for (size_t i = 0; i < most; ++i) blockers.push_back(candidates[i].replica);
  return blockers;
}

std::vector<ReplicaId> Mover::Blockers(const Constraints& constraints, ReplicaId replica, NodeId to, Role role,
                                       Constraint obstacle) const {
  if (obstacle == Constraint::kCapacity || obstacle == Constraint::kApplicationCapacity) {
    return CapacityBlockers(constraints, replica, to, role);
  }
  std::vector<ReplicaId> blockers;
  arrangement_.ForEachOf(arrangement_.PartitionOf(replica), [&](ReplicaId other) {
    if (other != replica && Movable(constraints, other)) blockers.push_back(other);
  });
  std::ranges::stable_sort(blockers, {}, [this](ReplicaId other) { return ReportedCostOf(other); });
  return blockers;
}

bool Mover::MoveAway(const Constraints& constraints, ReplicaId blocker, int64_t limit, int depth) {
  const Role role = arrangement_.RoleOf(blocker);
  const std::vector<Target> targets = finder_.Best(constraints, blocker, role);
  if (!targets.empty()) return TryMove(constraints, blocker, targets[0].node);
  if (depth <= 1) return false;
  const size_t mark = journal_.Mark();
  for (const NodeId node : Crowded(constraints, blocker, role, kNodesTriedPerBlocker)) {
    if (MakeRoom(constraints, blocker, node, role, limit - journal_.movements(), depth - 1) &&
        TryMove(constraints, blocker, node)) {
      return true;
    }
    journal_.UndoTo(mark);
  }
  return false;
}

bool Mover::MakeRoom(const Constraints& constraints, ReplicaId replica, NodeId to, Role role, int64_t slots, int depth) {
  const size_t mark = journal_.Mark();
  const int64_t limit = std::min(slots_, journal_.movements() + slots);
  for (int round = 0; round < kRounds; ++round) {
    const std::optional<Constraint> obstacle = finder_.Obstacle(constraints, replica, to, role);
    if (!obstacle) return true;
    if (!HasRoomToMake(*obstacle)) break;
    bool moved = false;
    for (const ReplicaId blocker : Blockers(constraints, replica, to, role, *obstacle)) {
      const size_t before = journal_.Mark();
      const double lack = Lack(replica, to, role);
      const NodeId home = arrangement_.NodeOf(blocker);
      if (!MoveAway(constraints, blocker, limit, depth)) continue;
      const bool helps = *obstacle == Constraint::kCapacity ? Lack(replica, to, role) < lack
                                                            : finder_.Obstacle(constraints, replica, to, role) != obstacle;
      moved = helps && journal_.movements() <= limit && arrangement_.NodeOf(blocker) != home;
      if (moved) break;
      journal_.UndoTo(before);
    }
    if (!moved) break;
  }
  if (!finder_.Obstacle(constraints, replica, to, role)) return true;
  journal_.UndoTo(mark);
  return false;
}

}  // namespace evenkeel::balancing
