#include "balancing/search/placement_search.h"

#include <algorithm>
#include <optional>
#include <set>

#include "balancing/rules/placement_needs.h"
#include "balancing/search/mover.h"
#include "balancing/search/placement_drops.h"
#include "balancing/search/placement_upgrades.h"
#include "balancing/search/rebuild_step.h"
#include "balancing/search/search_levels.h"
#include "base/random.h"

namespace evenkeel::balancing {
namespace {

// A tenth of a second or so.
constexpr int64_t kDefaultEvaluations = 100'000;
constexpr int kOrders = 8;             // in which placement is tried when something does not fit
constexpr int kOrdersByFailure = 3;    // of these without chance
constexpr int kPasses = 8;             // over what was placed, to improve it
constexpr size_t kParentTargets = 16;  // tried for room for children
constexpr size_t kCrowdedNodes = 24;   // where room is made
constexpr int64_t kMovesForOne = 3;    // at most, to make room for one replica
constexpr int kRebuilds = 400;         // at most, of each level
constexpr int kRebuildsForLess = 150;  // once everything is placed: without fewer movements or a lower deviation
constexpr size_t kExplained = 100;
constexpr size_t kNodesOfChain = 4;
constexpr size_t kExchanged = 200;  // new replicas that may change places: all pairs are tried

// What one partition needs.
struct Demand {
  PartitionId partition = kNoId;
  double size = 0;  // the largest of its replicas, in averages of its metrics' loads or capacities
  std::vector<ReplicaId> replicas;
  int64_t below_target = 0;  // of these, without which it has fewer than its service wants
};

class PlacementSearch {
 public:
  PlacementSearch(Arrangement& arrangement, const ServiceGroup& group, const PlacementOptions& options)
      : arrangement_(arrangement),
        options_(options),
        budget_(options.evaluations > 0 ? options.evaluations : kDefaultEvaluations),
        levels_(arrangement, Purpose::kPlacement, false, arrangement.settings().relax_constraint_for_placement),
        journal_(arrangement, group),
        finder_(journal_, options.seed),
        mover_(journal_, finder_, options.with_move ? std::max<int64_t>(0, options.movement_slots) : 0) {
    // While the cluster itself is upgraded nobody would mend anything: a child is better somewhere than nowhere.
    const RuntimeSwitches& runtime = arrangement.cluster().runtime;
    if (!runtime.balancing_enabled && !runtime.constraint_check_enabled) levels_.AddWithout(Constraint::kAffinity);
  }

  PlacementResult Run();

 private:
  // How well an order went: smaller is better.
  struct Outcome {
    size_t unplaced = 0;
    int64_t below_target = 0;
    int64_t movements = 0;
    double deviation = 0;
    auto operator<=>(const Outcome&) const = default;
  };

  void FindDemands();
  int64_t MostOfChild(PartitionId partition) const;
  int64_t BelowTarget(const Demand& demand) const;
  double SizeOf(ReplicaId replica, Role role) const;
  std::vector<double> AverageSizes() const;
  Outcome PlaceAll(const std::vector<size_t>& order);
  void TryOrders();
  Outcome OutcomeNow() const;
  std::vector<ReplicaId> Concerned();
  void FindKept();
  bool NothingWorse(const Constraints& constraints, std::span<const Violation> violated) const;
  int64_t Misplaced(const Constraints& constraints);
  void Rebuild();
  void PlaceDemand(const Demand& demand, const Constraints& constraints);
  TargetFinder::Accept AtUpgraded(ReplicaId replica) const;
  std::vector<Target> BestFor(ReplicaId replica, Role role, size_t most, const Constraints& constraints);
  TargetFinder::Accept WhereItStays(ReplicaId replica);
  bool PlaceInsteadOfPrimary(ReplicaId replica, const Constraints& constraints);
  bool PlaceOne(ReplicaId replica, Role role, const Constraints& constraints);
  bool PlaceWithChildren(ReplicaId replica, Role role, const Constraints& constraints);
  size_t PlaceChildren(ReplicaId parent, const Constraints& constraints);
  TargetFinder::Accept AtParent(ReplicaId replica, const Constraints& constraints) const;
  void MakeRoomFor(const Demand& demand, const Constraints& constraints);
  bool Placed(const Demand& demand) const;
  bool Waits(PartitionId partition) const;
  void PlaceOnStandBy(PartitionId partition);
  bool AllOrNothing(PartitionId partition) const;
  void TakeBackPartial();
  void Improve();
  std::vector<ReplicaId> FewPlaced();
  bool Exchange();
  bool Chain();
  void PlaceRest();
  void Explain(const Demand& demand);

  Arrangement& arrangement_;
  const PlacementOptions options_;
  const int64_t budget_;
  SearchLevels levels_;
  StepJournal journal_;
  TargetFinder finder_;
  Mover mover_;
  std::vector<double> average_sizes_;  // by metric
  std::vector<bool> kept_;             // by replica: Rebuild leaves it where it is
  std::vector<Demand> demands_;
  std::vector<size_t> order_;
  PlacementResult result_;
};

// Averages of node loads where a metric is unlimited, else of capacities: what makes loads of different metrics comparable.
std::vector<double> PlacementSearch::AverageSizes() const {
  const Cluster& cluster = arrangement_.cluster();
  std::vector<double> averages(cluster.metrics.size(), 1);
  for (const MetricId metric : journal_.group().metrics) {
    double capacities = 0, limited = 0;
    for (const NodeId node : arrangement_.sets().all()) {
      const int64_t* capacity = cluster.CapacityOf(node, metric);
      if (capacity == nullptr || !arrangement_.sets().available().test(node)) continue;
      capacities += static_cast<double>(*capacity);
      limited += 1;
    }
    const LoadSums& sums = arrangement_.loads().Summary(metric).sums;
    const double loads = static_cast<double>(sums.sum) / static_cast<double>(std::max<int64_t>(sums.nodes, 1));
    averages[metric] = std::max(limited > 0 ? capacities / limited : loads, 1.0);
  }
  return averages;
}

double PlacementSearch::SizeOf(ReplicaId replica, Role role) const {
  const std::vector<ServiceMetric>& metrics = arrangement_.cluster().services[arrangement_.ServiceOf(replica)].metrics;
  const std::span<const int64_t> loads = arrangement_.LoadsOf(replica, role);
  double size = 0;
  for (size_t i = 0; i < metrics.size(); ++i) {
    size = std::max(size, static_cast<double>(loads[i]) / average_sizes_[metrics[i].metric]);
  }
  return size;
}

// With PlaceChildWithoutParent off a child gets no more replicas than its parent has already.
int64_t PlacementSearch::MostOfChild(PartitionId partition) const {
  const Cluster& cluster = arrangement_.cluster();
  const ServiceId parent = cluster.ServiceOf(cluster.partitions[partition]).affinity_to;
  if (parent == kNoId || arrangement_.settings().place_child_without_parent) return INT64_MAX;
  const auto count = [&](PartitionId of) {
    return std::ranges::count_if(cluster.ReplicasOf(cluster.partitions[of]),
                                 [](const Replica& replica) { return CountsTowardsTarget(replica) && !replica.Leaves(); });
  };
  int64_t most = -count(partition);
  for (const PartitionId of_parent : cluster.services[parent].partitions) most += count(of_parent);
  return most;
}

int64_t PlacementSearch::BelowTarget(const Demand& demand) const {
  const Cluster& cluster = arrangement_.cluster();
  const Partition& partition = cluster.partitions[demand.partition];
  const auto missing = static_cast<int64_t>(demand.replicas.size());
  const int64_t target = cluster.ServiceOf(partition).target_replicas;
  if (target <= 0) return missing;
  return std::clamp<int64_t>(target - std::ranges::count_if(cluster.ReplicasOf(partition), CountsTowardsTarget), 0, missing);
}

// Parents before their children, then what is below its target, then the largest first.
void PlacementSearch::FindDemands() {
  const Cluster& cluster = arrangement_.cluster();
  for (const ServiceId service : journal_.group().services) {
    for (const PartitionId partition : cluster.services[service].partitions) {
      if (cluster.partitions[partition].Has(kPartitionToBeDeleted) || arrangement_.NextUnplaced(partition) == kNoId ||
          Waits(partition))
        continue;
      const auto [first, last] = arrangement_.NewOf(partition);
      const int64_t most = MostOfChild(partition);
      if (most <= 0) {
        result_.waiting.push_back(partition);
        continue;
      }
      Demand& demand = demands_.emplace_back();
      demand.partition = partition;
      for (ReplicaId replica = first; replica < last; ++replica) {
        if (arrangement_.NodeOf(replica) == kNoId) demand.replicas.push_back(replica);
      }
      if (static_cast<int64_t>(demand.replicas.size()) > most) {
        demand.replicas.resize(static_cast<size_t>(most));
        result_.waiting.push_back(partition);
      }
      demand.size = std::max(SizeOf(first, RoleOfNew(arrangement_, partition)),
                             SizeOf(first, cluster.services[service].stateful ? Role::kSecondary : Role::kInstance));
      demand.below_target = BelowTarget(demand);
    }
  }
  const auto is_child = [&](const Demand& demand) {
    return cluster.services[cluster.partitions[demand.partition].service].affinity_to != kNoId;
  };
  std::ranges::sort(demands_, {}, [&](const Demand& demand) {
    return std::tuple(is_child(demand), demand.below_target == 0, -demand.size, demand.partition);
  });
  order_.resize(demands_.size());
  for (size_t i = 0; i < order_.size(); ++i) order_[i] = i;
}

bool PlacementSearch::Waits(PartitionId partition) const {
  return std::ranges::find(result_.waiting, partition) != result_.waiting.end();
}

// One of them, and no more now.
void PlacementSearch::PlaceOnStandBy(PartitionId partition) {
  const ReplicaId replica = arrangement_.NextUnplaced(partition);
  const TargetFinder::Accept stands_by = [&](NodeId node) { return arrangement_.StandByAt(replica, node) != kNoId; };
  const std::vector<Target> targets = finder_.Best(levels_[0], replica, Role::kSecondary, 1, stands_by);
  if (!targets.empty()) {
    journal_.Place(replica, targets[0].node, Role::kSecondary);
  } else if (levels_.size() > 1) {
    return;  // somewhere else, then
  }
  result_.waiting.push_back(partition);
  std::erase_if(demands_, [&](const Demand& demand) { return demand.partition == partition; });
  order_.resize(demands_.size());
  for (size_t i = 0; i < order_.size(); ++i) order_[i] = i;
}

bool PlacementSearch::Placed(const Demand& demand) const {
  return std::ranges::none_of(demand.replicas, [&](ReplicaId replica) { return arrangement_.NodeOf(replica) == kNoId; });
}

// One replica of each child's partition that is still missing, on the parent's node. Answers how many did not fit.
size_t PlacementSearch::PlaceChildren(ReplicaId parent, const Constraints& constraints) {
  if (!arrangement_.settings().place_child_without_parent) return 0;
  const Cluster& cluster = arrangement_.cluster();
  size_t missed = 0;
  for (const ServiceId service : mover_.FollowersOf(arrangement_.ServiceOf(parent))) {
    for (const PartitionId partition : cluster.services[service].partitions) {
      const ReplicaId child = arrangement_.NextUnplaced(partition);
      if (child == kNoId || cluster.partitions[partition].Has(kPartitionToBeDeleted)) continue;
      Role role = RoleOfNew(arrangement_, partition);
      if (cluster.services[service].stateful && cluster.services[service].aligned_affinity) {
        if ((role == Role::kPrimary) != (arrangement_.RoleOf(parent) == Role::kPrimary)) continue;
      }
      if (!mover_.TryPlace(constraints, child, arrangement_.NodeOf(parent), role)) ++missed;
    }
  }
  return missed;
}

bool PlacementSearch::PlaceWithChildren(ReplicaId replica, Role role, const Constraints& constraints) {
  const size_t mark = journal_.Mark();
  std::optional<std::pair<size_t, NodeId>> best;
  for (const Target& target : BestFor(replica, role, kParentTargets, constraints)) {
    journal_.Place(replica, target.node, role);
    const size_t missed = PlaceChildren(replica, constraints);
    if (missed == 0) return true;
    journal_.UndoTo(mark);
    if (!best || missed < best->first) best.emplace(missed, target.node);
  }
  if (!best) return false;
  journal_.Place(replica, best->second, role);
  PlaceChildren(replica, constraints);
  return true;
}

// A child's candidates are known: most other nodes are out of the question.
TargetFinder::Accept PlacementSearch::AtParent(ReplicaId replica, const Constraints& constraints) const {
  const Cluster& cluster = arrangement_.cluster();
  const ServiceId parent = cluster.services[arrangement_.ServiceOf(replica)].affinity_to;
  const int64_t priority = PriorityOf(arrangement_.settings(), Constraint::kAffinity);
  if (parent == kNoId || priority < 0 || priority > constraints.options().max_priority) return {};
  std::vector<NodeId> nodes;
  for (const PartitionId partition : cluster.services[parent].partitions) {
    arrangement_.ForEachOf(partition, [&](ReplicaId other) {
      if (arrangement_.NodeOf(other) != kNoId) nodes.push_back(arrangement_.NodeOf(other));
    });
  }
  if (nodes.empty()) return {};
  return [nodes = std::move(nodes)](NodeId node) { return std::ranges::find(nodes, node) != nodes.end(); };
}

// While an application is upgraded: the nodes where that is done, as what is placed elsewhere soon has to be replaced.
TargetFinder::Accept PlacementSearch::AtUpgraded(ReplicaId replica) const {
  const Cluster& cluster = arrangement_.cluster();
  const ServiceId service = arrangement_.ServiceOf(replica);
  const ApplicationId application = cluster.services[service].application;
  if (application == kNoId || cluster.applications[application].upgraded_domains.empty()) return {};
  if (!arrangement_.settings().prefer_upgraded_uds) return {};
  return [this, service](NodeId node) { return IsUpgraded(arrangement_, service, node); };
}

// These first; others after them.
std::vector<Target> PlacementSearch::BestFor(ReplicaId replica, Role role, size_t most, const Constraints& constraints) {
  std::vector<Target> targets;
  const TargetFinder::Accept upgraded = AtUpgraded(replica);
  if (upgraded) targets = finder_.Best(constraints, replica, role, most, upgraded);
  if (targets.size() >= most) return targets;
  const TargetFinder::Accept others = upgraded ? [&](NodeId node) { return !upgraded(node); } : TargetFinder::Accept();
  std::ranges::copy(finder_.Best(constraints, replica, role, most - targets.size(), others), std::back_inserter(targets));
  return targets;
}

// Where a new replica may go for the deviation alone; anywhere when empty. In an upgrade affinity may yield, but not for that.
TargetFinder::Accept PlacementSearch::WhereItStays(ReplicaId replica) {
  const NodeId node = arrangement_.NodeOf(replica);
  TargetFinder::Accept at_parent = AtParent(replica, levels_[0]);
  if (at_parent && at_parent(node)) return at_parent;
  TargetFinder::Accept upgraded = AtUpgraded(replica);
  return upgraded && upgraded(node) ? upgraded : TargetFinder::Accept();
}

bool PlacementSearch::PlaceInsteadOfPrimary(ReplicaId replica, const Constraints& constraints) {
  const std::vector<Target> targets = finder_.Best(constraints, replica, Role::kPrimary);
  if (targets.empty()) return false;
  const ReplicaId primary = arrangement_.PrimaryOf(arrangement_.PartitionOf(replica));
  journal_.Place(replica, targets[0].node, Role::kSecondary);
  journal_.Swap(primary, replica);
  return true;
}

bool PlacementSearch::PlaceOne(ReplicaId replica, Role role, const Constraints& constraints) {
  if (role == Role::kPrimary && arrangement_.PrimaryOf(arrangement_.PartitionOf(replica)) != kNoId) {
    return PlaceInsteadOfPrimary(replica, constraints);
  }
  if (!mover_.FollowersOf(arrangement_.ServiceOf(replica)).empty()) return PlaceWithChildren(replica, role, constraints);
  if (const TargetFinder::Accept at_parent = AtParent(replica, constraints)) {
    const std::vector<Target> targets = finder_.Best(constraints, replica, role, 1, at_parent);
    if (!targets.empty()) return mover_.TryPlace(constraints, replica, targets[0].node, role);
  }
  const std::vector<Target> targets = BestFor(replica, role, 1, constraints);
  if (targets.empty()) return false;
  journal_.Place(replica, targets[0].node, role);
  return true;
}

// Once one replica of a partition does not fit, the next ones do not either.
void PlacementSearch::PlaceDemand(const Demand& demand, const Constraints& constraints) {
  for (const ReplicaId replica : demand.replicas) {
    if (arrangement_.NodeOf(replica) != kNoId) continue;
    if (!PlaceOne(replica, RoleOfNew(arrangement_, demand.partition), constraints)) return;
  }
}

// Few movements first. What only new replicas have to make way for costs none.
void PlacementSearch::MakeRoomFor(const Demand& demand, const Constraints& constraints) {
  for (const ReplicaId replica : demand.replicas) {
    if (arrangement_.NodeOf(replica) != kNoId) continue;
    const Role role = RoleOfNew(arrangement_, demand.partition);
    const size_t mark = journal_.Mark();
    bool placed = PlaceOne(replica, role, constraints);
    const std::vector<NodeId> crowded =
        placed ? std::vector<NodeId>() : mover_.Crowded(constraints, replica, role, kCrowdedNodes);
    for (int64_t moves = 0; !placed && moves <= std::min(mover_.slots_left(), kMovesForOne); ++moves) {
      for (const NodeId node : crowded) {
        const int depth = moves == 1 ? 1 : 2;
        placed = mover_.MakeRoom(constraints, replica, node, role, moves, depth) &&
                 mover_.TryPlace(constraints, replica, node, role);
        if (placed) break;
        journal_.UndoTo(mark);
      }
    }
    if (!placed) return;
  }
}

PlacementSearch::Outcome PlacementSearch::PlaceAll(const std::vector<size_t>& order) {
  for (size_t level = 0; level < levels_.size(); ++level) {
    std::vector<size_t> left;
    for (const size_t index : order) {
      if (!Placed(demands_[index])) left.push_back(index);
    }
    if (left.empty()) break;
    for (const size_t index : left) PlaceDemand(demands_[index], levels_[level]);
    // What is merely preferred gives way before anything moves for it.
    if (levels_.PriorityOf(level) > 1 && level + 1 < levels_.size()) continue;
    for (const size_t index : left) {
      if (finder_.evaluations() > budget_) break;
      if (!Placed(demands_[index])) MakeRoomFor(demands_[index], levels_[level]);
    }
  }
  return OutcomeNow();
}

// When something does not fit: what failed goes first the next time; later also at random.
void PlacementSearch::TryOrders() {
  const size_t mark = journal_.Mark();
  std::vector<size_t> order = order_, best_order = order_;
  Outcome outcome = PlaceAll(order), best = outcome;
  const int64_t cost = finder_.evaluations();
  base::Random random(options_.seed);
  for (int attempt = 1; attempt < kOrders && best.unplaced > 0 && finder_.evaluations() + cost <= budget_; ++attempt) {
    if (attempt > kOrdersByFailure) {
      for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
    }
    std::vector<size_t> failed_first;
    for (const bool placed : {false, true}) {
      for (const size_t index : order) {
        if (Placed(demands_[index]) == placed) failed_first.push_back(index);
      }
    }
    order = std::move(failed_first);
    journal_.UndoTo(mark);
    outcome = PlaceAll(order);
    if (outcome < best) {
      best = outcome;
      best_order = order;
    }
  }
  if (outcome != best) {
    journal_.UndoTo(mark);
    PlaceAll(best_order);
  }
}

PlacementSearch::Outcome PlacementSearch::OutcomeNow() const {
  Outcome outcome{.movements = journal_.movements(), .deviation = journal_.score().average_deviation()};
  for (const Demand& demand : demands_) {
    int64_t unplaced =
        std::ranges::count_if(demand.replicas, [&](ReplicaId replica) { return arrangement_.NodeOf(replica) == kNoId; });
    if (unplaced > 0 && AllOrNothing(demand.partition)) unplaced = static_cast<int64_t>(demand.replicas.size());
    outcome.unplaced += static_cast<size_t>(unplaced);
    const int64_t placed = static_cast<int64_t>(demand.replicas.size()) - unplaced;
    outcome.below_target += std::max<int64_t>(0, demand.below_target - placed);
  }
  return outcome;
}

// New replicas that are nowhere and might not have to be; when there are none: what has moved for others.
std::vector<ReplicaId> PlacementSearch::Concerned() {
  std::vector<ReplicaId> concerned;
  bool all = true;
  for (const Demand& demand : demands_) {
    for (const ReplicaId replica : demand.replicas) {
      if (arrangement_.NodeOf(replica) != kNoId) continue;
      all = false;
      if (MightFit(levels_.last(), arrangement_, replica, RoleOfNew(arrangement_, demand.partition))) {
        concerned.push_back(replica);
      }
    }
  }
  if (!all) return concerned;
  for (const ReplicaId replica : journal_.MovedSince(0)) {
    if (arrangement_.Moved(replica) && !kept_[replica]) concerned.push_back(replica);
  }
  return concerned;
}

// What earlier parts of the search did stays, and so does everything without slots for movements.
void PlacementSearch::FindKept() {
  const Constraints& constraints = levels_.last();
  kept_.assign(arrangement_.replica_count(), true);
  for (ReplicaId replica = 0; replica < arrangement_.cluster().replicas.size(); ++replica) {
    const bool may_move = mover_.slots_left() > 0 && mover_.Movable(constraints, replica) && !arrangement_.Moved(replica);
    if (may_move) kept_[replica] = false;
  }
  for (const Demand& demand : demands_) {
    const ReplicaId primary = arrangement_.PrimaryOf(demand.partition);
    const bool instead = primary != kNoId && RoleOfNew(arrangement_, demand.partition) == Role::kPrimary;
    for (const ReplicaId replica : demand.replicas) kept_[replica] = instead;
  }
}

bool PlacementSearch::NothingWorse(const Constraints& constraints, std::span<const Violation> violated) const {
  const std::vector<Violation> now = constraints.Violations();
  return std::ranges::all_of(now, [&](const Violation& violation) {
    return std::ranges::any_of(violated, [&](const Violation& before) {
      const bool same = before.constraint == violation.constraint && before.node == violation.node &&
                        before.metric == violation.metric && before.replica == violation.replica &&
                        before.application == violation.application;
      return same && before.excess >= violation.excess;
    });
  });
}

// New replicas that could not be placed where they are now.
int64_t PlacementSearch::Misplaced(const Constraints& constraints) {
  int64_t misplaced = 0;
  for (const Demand& demand : demands_) {
    for (const ReplicaId replica : demand.replicas) {
      const NodeId node = arrangement_.NodeOf(replica);
      if (node == kNoId) continue;
      const Role role = arrangement_.RoleOf(replica);
      const size_t mark = journal_.Mark();
      journal_.Remove(replica);
      misplaced += finder_.Obstacle(constraints, replica, node, role) ? 1 : 0;
      journal_.UndoTo(mark);
    }
  }
  return misplaced;
}

// Of few replicas on few nodes: what is missing and what is in its way goes off and is put back together, as long as that
// places more or moves less.
void PlacementSearch::Rebuild() {
  if (arrangement_.cluster().replicas.size() > kRebuildableReplicas) return;
  for (size_t level = 0; level < levels_.size(); ++level) {
    if (level > 0 && level + 1 < levels_.size()) continue;
    Outcome best = OutcomeNow();
    std::vector<ReplicaId> concerned = best.unplaced > 0 ? Concerned() : std::vector<ReplicaId>();
    if (concerned.empty()) return;
    const Constraints& constraints = levels_[level];
    const std::vector<Violation> violated = constraints.Violations();
    const int64_t misplaced = Misplaced(constraints);
    RebuildStep step(mover_, constraints, [this](ReplicaId replica) { return !kept_[replica]; }, options_.seed);
    const int64_t evaluations = finder_.evaluations() + budget_;
    int last_gain = 0;
    for (int attempt = 0; attempt < kRebuilds && finder_.evaluations() < evaluations && !concerned.empty(); ++attempt) {
      if (best.unplaced == 0 && attempt - last_gain > kRebuildsForLess) break;
      const size_t mark = journal_.Mark();
      if (!step.Take(concerned)) continue;
      TakeBackPartial();
      const Outcome outcome = OutcomeNow();
      if (outcome < best && Misplaced(constraints) <= misplaced && NothingWorse(constraints, violated)) {
        best = outcome;
        last_gain = attempt;
        concerned = Concerned();
      } else {
        journal_.UndoTo(mark);
      }
    }
  }
}

bool PlacementSearch::AllOrNothing(PartitionId partition) const {
  const Cluster& cluster = arrangement_.cluster();
  const Partition& given = cluster.partitions[partition];
  if (arrangement_.settings().partially_place_services && !cluster.ConstraintOf(cluster.ServiceOf(given)).non_partially()) {
    return false;
  }
  return std::ranges::none_of(cluster.ReplicasOf(given), [](const Replica& replica) { return CountsTowardsTarget(replica); });
}

void PlacementSearch::TakeBackPartial() {
  for (const Demand& demand : demands_) {
    if (Placed(demand) || !AllOrNothing(demand.partition)) continue;
    for (const ReplicaId replica : demand.replicas) {
      if (arrangement_.NodeOf(replica) != kNoId) journal_.Remove(replica);
    }
  }
}

// Into the room that others have left.
void PlacementSearch::PlaceRest() {
  for (const Demand& demand : demands_) {
    const size_t mark = journal_.Mark();
    for (size_t level = 0; level < levels_.size() && !Placed(demand); ++level) PlaceDemand(demand, levels_[level]);
    if (Placed(demand) || !AllOrNothing(demand.partition)) continue;
    // Of the one that has no node beside the others.
    Explain(demand);
    journal_.UndoTo(mark);
  }
}

// Each new replica goes where it is best now that the others are placed; nothing gets worse by it.
void PlacementSearch::Improve() {
  for (int pass = 0; pass < kPasses; ++pass) {
    bool improved = false;
    for (const Demand& demand : demands_) {
      if (finder_.evaluations() > budget_) return;
      for (const ReplicaId replica : demand.replicas) {
        if (arrangement_.NodeOf(replica) == kNoId) continue;
        const double before = journal_.score().average_deviation();
        const std::vector<Target> targets =
            finder_.Best(levels_[0], replica, arrangement_.RoleOf(replica), 1, WhereItStays(replica));
        if (targets.empty() || targets[0].deviation >= before * (1 - 1e-9)) continue;
        const size_t mark = journal_.Mark();
        if (!mover_.TryMove(levels_[0], replica, targets[0].node)) continue;
        const bool better = journal_.score().average_deviation() < before * (1 - 1e-9);
        if (better) {
          improved = true;
        } else {
          journal_.UndoTo(mark);
        }
      }
    }
    if (!improved && !Exchange() && !Chain()) return;
  }
}

std::vector<ReplicaId> PlacementSearch::FewPlaced() {
  std::vector<ReplicaId> placed;
  for (const Demand& demand : demands_) {
    for (const ReplicaId replica : demand.replicas) {
      if (arrangement_.NodeOf(replica) != kNoId && !WhereItStays(replica)) placed.push_back(replica);
    }
  }
  if (placed.size() > kExchanged) placed.clear();
  return placed;
}

// One new replica goes to a node that another one leaves.
bool PlacementSearch::Chain() {
  const std::vector<ReplicaId> placed = FewPlaced();
  const Constraints& constraints = levels_[0];
  const double before = journal_.score().average_deviation();
  const size_t mark = journal_.Mark();
  for (const ReplicaId first : placed) {
    for (const Target& target : finder_.Best(constraints, first, arrangement_.RoleOf(first), kNodesOfChain)) {
      if (!mover_.TryMove(constraints, first, target.node)) continue;
      for (const ReplicaId second : placed) {
        if (second == first || arrangement_.NodeOf(second) != target.node) continue;
        if (finder_.evaluations() > budget_) break;
        const size_t half = journal_.Mark();
        const std::vector<Target> targets = finder_.Best(constraints, second, arrangement_.RoleOf(second));
        if (targets.empty() || targets[0].deviation >= before * (1 - 1e-9)) continue;
        if (mover_.TryMove(constraints, second, targets[0].node) &&
            journal_.score().average_deviation() < before * (1 - 1e-9)) {
          return true;
        }
        journal_.UndoTo(half);
      }
      journal_.UndoTo(mark);
    }
  }
  return false;
}

// Two new replicas change places.
bool PlacementSearch::Exchange() {
  const std::vector<ReplicaId> placed = FewPlaced();
  bool improved = false;
  const Constraints& constraints = levels_[0];
  for (size_t i = 0; i < placed.size(); ++i) {
    for (size_t j = i + 1; j < placed.size(); ++j) {
      if (finder_.evaluations() > budget_) return improved;
      const NodeId one = arrangement_.NodeOf(placed[i]), other = arrangement_.NodeOf(placed[j]);
      const PartitionId partition = arrangement_.PartitionOf(placed[i]);
      if (one == other || partition == arrangement_.PartitionOf(placed[j])) continue;
      const double before = journal_.score().average_deviation();
      const size_t mark = journal_.Mark();
      const Role role = arrangement_.RoleOf(placed[i]);
      journal_.Remove(placed[i]);
      const bool better = mover_.TryMove(constraints, placed[j], one) && mover_.TryPlace(constraints, placed[i], other, role) &&
                          journal_.score().average_deviation() < before * (1 - 1e-9);
      if (!better) journal_.UndoTo(mark);
      improved = improved || better;
    }
  }
  return improved;
}

// The first one that is missing says it for its partition: the others could not be placed without it.
void PlacementSearch::Explain(const Demand& demand) {
  if (result_.why.size() >= kExplained) return;
  const ReplicaId replica = arrangement_.NextUnplaced(demand.partition);
  const bool known = std::ranges::any_of(
      result_.why, [&](const auto& why) { return arrangement_.PartitionOf(why.first) == demand.partition; });
  if (!known) {
    result_.why.emplace_back(replica, levels_.last().Eliminate(replica, RoleOfNew(arrangement_, demand.partition)));
  }
}

PlacementResult PlacementSearch::Run() {
  DropReplicas(journal_, levels_[0], finder_.ties());
  UpgradeOutcome upgrades = MeetUpgrades(journal_, levels_, finder_.ties());
  FamilyOutcome families = PlaceFamilies(journal_, levels_, finder_);
  mover_.GrantMade();
  result_.impossible = std::move(upgrades.impossible);
  result_.waiting = std::move(upgrades.waiting);
  result_.waiting.insert(result_.waiting.end(), families.waiting.begin(), families.waiting.end());
  result_.families = std::move(families.families);
  result_.along = std::move(families.along);
  average_sizes_ = AverageSizes();
  FindDemands();
  for (const PartitionId partition : upgrades.stand_by_first) {
    if (arrangement_.NextUnplaced(partition) != kNoId && !Waits(partition)) PlaceOnStandBy(partition);
  }
  FindKept();
  TryOrders();
  TakeBackPartial();
  Rebuild();
  Improve();
  PlaceRest();
  for (const Demand& demand : demands_) {
    if (!Placed(demand)) Explain(demand);
    for (const ReplicaId replica : demand.replicas) {
      if (arrangement_.NodeOf(replica) == kNoId) result_.unplaced.push_back(replica);
    }
  }
  std::ranges::sort(result_.unplaced);
  result_.evaluations = finder_.evaluations();
  return std::move(result_);
}

}  // namespace

PlacementResult PlaceReplicas(Arrangement& arrangement, const ServiceGroup& group, const PlacementOptions& options) {
  return PlacementSearch(arrangement, group, options).Run();
}

}  // namespace evenkeel::balancing
