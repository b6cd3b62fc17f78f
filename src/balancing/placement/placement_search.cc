#include "balancing/placement/placement_search.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "balancing/placement/placement_demands.h"
#include "balancing/placement/placement_drops.h"
#include "balancing/placement/placement_rebuild.h"
#include "balancing/placement/placement_upgrades.h"
#include "balancing/rules/placement_needs.h"
#include "balancing/search/mover.h"
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
constexpr size_t kExplained = 100;
constexpr size_t kNodesOfChain = 4;
constexpr size_t kExchanged = 200;  // new replicas that may change places: all pairs are tried

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
  PlacementOutcome PlaceAll(const std::vector<size_t>& order);
  void TryOrders();
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
  bool Placed(const Demand& demand) const { return balancing::Placed(arrangement_, demand); }
  bool Waits(PartitionId partition) const;
  void PlaceOnStandBy(PartitionId partition);
  void OrderAsFound();
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
  std::vector<Demand> demands_;
  std::vector<size_t> order_;
  PlacementResult result_;
};

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
  OrderAsFound();
}

void PlacementSearch::OrderAsFound() {
  order_.resize(demands_.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
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

PlacementOutcome PlacementSearch::PlaceAll(const std::vector<size_t>& order) {
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
  return OutcomeOf(journal_, demands_);
}

// When something does not fit: what failed goes first the next time; later also at random.
void PlacementSearch::TryOrders() {
  const size_t mark = journal_.Mark();
  std::vector<size_t> order = order_, best_order = order_;
  PlacementOutcome outcome = PlaceAll(order), best = outcome;
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

// Into the room that others have left.
void PlacementSearch::PlaceRest() {
  for (const Demand& demand : demands_) {
    const size_t mark = journal_.Mark();
    for (size_t level = 0; level < levels_.size() && !Placed(demand); ++level) PlaceDemand(demand, levels_[level]);
    if (Placed(demand) || !AllOrNothing(arrangement_, demand.partition)) continue;
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
  Demands found = FindDemands(arrangement_, journal_.group(), result_.waiting);
  demands_ = std::move(found.demands);
  result_.waiting.insert(result_.waiting.end(), found.waiting.begin(), found.waiting.end());
  OrderAsFound();
  for (const PartitionId partition : upgrades.stand_by_first) {
    if (arrangement_.NextUnplaced(partition) != kNoId && !Waits(partition)) PlaceOnStandBy(partition);
  }
  PlacementRebuild rebuild(mover_, levels_, demands_, budget_, options_.seed);
  TryOrders();
  TakeBackPartial(journal_, demands_);
  rebuild.Run();
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
