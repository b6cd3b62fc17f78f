#include "balancing/search/step_journal.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "balancing/rules/movability.h"

namespace evenkeel::balancing {

StepJournal::StepJournal(Arrangement& arrangement, const ServiceGroup& group, bool costs_count)
    : arrangement_(arrangement),
      group_(group),
      score_(arrangement.cluster(), arrangement.settings(), arrangement.sets(), arrangement.loads(), group),
      costs_count_(costs_count && arrangement.settings().use_move_cost_reports),
      in_group_(arrangement.cluster().services.size()) {
  const Cluster& cluster = arrangement.cluster();
  for (const ServiceId service : group.services) {
    in_group_[service] = true;
    for (const PartitionId partition : cluster.services[service].partitions) {
      replicas_ += std::ranges::count_if(cluster.ReplicasOf(cluster.partitions[partition]), &Replica::Exists);
    }
  }
}

void StepJournal::CountElsewhere(ReplicaId replica, int64_t change) {
  if (arrangement_.IsNew(replica)) return;
  const Replica& given = arrangement_.cluster().replicas[replica];
  if (arrangement_.NodeOf(replica) != given.node) elsewhere_[static_cast<size_t>(given.move_cost)] += change;
}

void StepJournal::MoveCounted(ReplicaId replica, NodeId to) {
  CountElsewhere(replica, -1);
  arrangement_.Move(replica, to);
  CountElsewhere(replica, 1);
}

void StepJournal::Move(ReplicaId replica, NodeId to) {
  steps_.push_back({.kind = Kind::kMove, .replica = replica, .node = arrangement_.NodeOf(replica), .to = to});
  MoveCounted(replica, to);
  Changed(replica);
}

void StepJournal::Swap(ReplicaId primary, ReplicaId secondary) {
  steps_.push_back({.kind = Kind::kSwap, .replica = primary, .other = secondary});
  arrangement_.Swap(primary, secondary);
  ++swaps_;
  Changed(primary);
}

void StepJournal::Place(ReplicaId replica, NodeId node, Role role) {
  steps_.push_back({.kind = Kind::kPlace, .replica = replica});
  arrangement_.Place(replica, node, role);
  Changed(replica);
}

void StepJournal::Remove(ReplicaId replica) {
  steps_.push_back(
      {.kind = Kind::kRemove, .role = arrangement_.RoleOf(replica), .replica = replica, .node = arrangement_.NodeOf(replica)});
  arrangement_.Remove(replica);
  Changed(replica);
}

void StepJournal::Restore(ReplicaId replica) {
  steps_.push_back({.kind = Kind::kRestore, .replica = replica});
  arrangement_.Restore(replica);
  Changed(replica);
}

void StepJournal::ChangeRole(ReplicaId replica, Role role) {
  steps_.push_back({.kind = Kind::kChangeRole, .role = arrangement_.RoleOf(replica), .replica = replica});
  arrangement_.ChangeRole(replica, role);
  Changed(replica);
}

void StepJournal::Undo(const Step& step) {
  switch (step.kind) {
    case Kind::kMove:
      MoveCounted(step.replica, step.node);
      break;
    case Kind::kSwap:
      arrangement_.Swap(step.other, step.replica);
      --swaps_;
      break;
    case Kind::kPlace:
      arrangement_.Remove(step.replica);
      break;
    case Kind::kRemove:
      if (arrangement_.IsNew(step.replica)) {
        arrangement_.Place(step.replica, step.node, step.role);
      } else {
        arrangement_.Restore(step.replica);
      }
      break;
    case Kind::kRestore:
      arrangement_.Remove(step.replica);
      break;
    case Kind::kChangeRole:
      arrangement_.ChangeRole(step.replica, step.role);
      break;
  }
  Changed(step.replica);
}

void StepJournal::UndoTo(size_t mark) {
  while (steps_.size() > mark) {
    const Step step = steps_.back();
    steps_.pop_back();
    Undo(step);
  }
}

int64_t StepJournal::movements() const { return std::accumulate(elsewhere_.begin(), elsewhere_.end(), swaps_); }

double StepJournal::CostOfSwapping() const { return costs_count_ ? CostOfSwap(arrangement_.settings()) : 1; }

double StepJournal::CostOfMoving(ReplicaId replica) const {
  if (arrangement_.IsNew(replica)) return 0;
  return costs_count_ ? CostOfMove(arrangement_.settings(), arrangement_.cluster().replicas[replica].move_cost) : 1;
}

bool StepJournal::IsLastResort(ReplicaId replica) const {
  return costs_count_ && !arrangement_.IsNew(replica) &&
         MovesLast(arrangement_.settings(), arrangement_.cluster().replicas[replica]);
}

double StepJournal::cost() const {
  if (!costs_count_) return static_cast<double>(movements());
  double cost = static_cast<double>(swaps_) * CostOfSwapping();
  for (size_t level = 0; level < kMoveCostLevels; ++level) {
    cost += static_cast<double>(elsewhere_[level]) * CostOfMove(arrangement_.settings(), static_cast<MoveCost>(level));
  }
  return cost;
}

double StepJournal::EnergyOf(double deviation, double cost) const {
  return Energy(arrangement_.settings(), deviation, cost, replicas_);
}

std::vector<StepJournal::Made> StepJournal::AllMade() const {
  std::vector<Made> made;
  for (const Step& step : steps_) {
    if (step.kind == Kind::kMove || step.kind == Kind::kSwap) made.push_back({step.replica, step.other, step.to});
  }
  return made;
}

std::vector<ReplicaId> StepJournal::MovedSince(size_t mark) const {
  std::vector<ReplicaId> moved;
  std::set<ReplicaId> seen;
  for (size_t i = mark; i < steps_.size(); ++i) {
    if (steps_[i].kind == Kind::kMove && seen.insert(steps_[i].replica).second) moved.push_back(steps_[i].replica);
  }
  return moved;
}

}  // namespace evenkeel::balancing
