#include "balancing/search/step_journal.h"

#include <set>

namespace evenkeel::balancing {

StepJournal::StepJournal(Arrangement& arrangement, const ServiceGroup& group)
    : arrangement_(arrangement),
      group_(group),
      score_(arrangement.cluster(), arrangement.settings(), arrangement.sets(), arrangement.loads(), group),
      in_group_(arrangement.cluster().services.size()) {
  for (const ServiceId service : group.services) in_group_[service] = true;
}

bool StepJournal::Elsewhere(ReplicaId replica) const {
  return !arrangement_.IsNew(replica) && arrangement_.NodeOf(replica) != arrangement_.cluster().replicas[replica].node;
}

void StepJournal::MoveCounted(ReplicaId replica, NodeId to) {
  elsewhere_ -= Elsewhere(replica) ? 1 : 0;
  arrangement_.Move(replica, to);
  elsewhere_ += Elsewhere(replica) ? 1 : 0;
}

void StepJournal::Move(ReplicaId replica, NodeId to) {
  steps_.push_back({.kind = Kind::kMove, .replica = replica, .node = arrangement_.NodeOf(replica)});
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

double StepJournal::CostSince(size_t mark) const {
  const Settings& settings = arrangement_.settings();
  double cost = 0;
  for (size_t i = mark; i < steps_.size(); ++i) cost += steps_[i].kind == Kind::kSwap ? CostOfSwap(settings) : 0;
  for (const ReplicaId replica : MovedSince(mark)) {
    if (Elsewhere(replica)) cost += CostOfMove(settings, arrangement_.cluster().replicas[replica].move_cost);
  }
  return cost;
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
