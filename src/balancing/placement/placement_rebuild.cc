#include "balancing/placement/placement_rebuild.h"

#include <algorithm>

#include "balancing/rules/placement_needs.h"
#include "balancing/search/rebuild_step.h"

namespace evenkeel::balancing {
namespace {

constexpr int kRebuilds = 400;         // at most, of each level
constexpr int kRebuildsForLess = 150;  // once everything is placed: without fewer movements or a lower deviation

// Than what was `violated` before.
bool NothingWorse(const Constraints& constraints, std::span<const Violation> violated) {
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

}  // namespace

PlacementRebuild::PlacementRebuild(Mover& mover, SearchLevels& levels, std::span<const Demand> demands, int64_t evaluations,
                                   uint64_t seed)
    : mover_(mover),
      journal_(mover.journal()),
      finder_(mover.finder()),
      arrangement_(journal_.arrangement()),
      levels_(levels),
      demands_(demands),
      evaluations_(evaluations),
      seed_(seed) {
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

// New replicas that are nowhere and might not have to be; when there are none: what has moved for others.
std::vector<ReplicaId> PlacementRebuild::Concerned() {
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

// New replicas that could not be placed where they are now.
int64_t PlacementRebuild::Misplaced(const Constraints& constraints) {
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

void PlacementRebuild::Run() {
  if (arrangement_.cluster().replicas.size() > kRebuildableReplicas) return;
  for (size_t level = 0; level < levels_.size(); ++level) {
    if (level > 0 && level + 1 < levels_.size()) continue;
    PlacementOutcome best = OutcomeOf(journal_, demands_);
    std::vector<ReplicaId> concerned = best.unplaced > 0 ? Concerned() : std::vector<ReplicaId>();
    if (concerned.empty()) return;
    const Constraints& constraints = levels_[level];
    const std::vector<Violation> violated = constraints.Violations();
    const int64_t misplaced = Misplaced(constraints);
    RebuildStep step(mover_, constraints, [this](ReplicaId replica) { return !kept_[replica]; }, seed_);
    const int64_t evaluations = finder_.evaluations() + evaluations_;
    int last_gain = 0;
    for (int attempt = 0; attempt < kRebuilds && finder_.evaluations() < evaluations && !concerned.empty(); ++attempt) {
      if (best.unplaced == 0 && attempt - last_gain > kRebuildsForLess) break;
      const size_t mark = journal_.Mark();
      if (!step.Take(concerned)) continue;
      TakeBackPartial(journal_, demands_);
      const PlacementOutcome outcome = OutcomeOf(journal_, demands_);
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

}  // namespace evenkeel::balancing
