#include "balancing/plan/plan_apply.h"

#include <ranges>

#include "balancing/measures/deviation.h"

namespace evenkeel::balancing {
namespace {

ReplicaId FirstNowhere(const Arrangement& arrangement, PartitionId partition) {
  const auto [first, last] = arrangement.NewOf(partition);
  ReplicaId replica = first;
  while (replica < last && arrangement.NodeOf(replica) != kNoId) ++replica;
  EVENKEEL_CHECK(replica < last);
  return replica;
}

ReplicaId At(const Arrangement& arrangement, PartitionId partition, NodeId node) {
  const ReplicaId replica = arrangement.Find(partition, node);
  EVENKEEL_CHECK(replica != kNoId);
  return replica;
}

// That one who was the primary steps back, where there is one.
void MakePrimary(Arrangement& arrangement, ReplicaId replica) {
  const ReplicaId primary = arrangement.PrimaryOf(arrangement.PartitionOf(replica));
  if (primary == kNoId) return arrangement.ChangeRole(replica, Role::kPrimary);
  arrangement.Swap(primary, replica);
}

void UnmakePrimary(Arrangement& arrangement, ReplicaId replica) {
  const auto [first, last] = arrangement.ExistingOf(arrangement.PartitionOf(replica));
  for (ReplicaId other = first; other < last; ++other) {
    const bool stepped_back =
        arrangement.cluster().replicas[other].role == Role::kPrimary && arrangement.NodeOf(other) != kNoId;
    if (stepped_back && other != replica) return arrangement.Swap(replica, other);
  }
  arrangement.ChangeRole(replica, Role::kSecondary);
}

Role RoleOfNew(ActionKind kind) {
  if (kind == ActionKind::kAddPrimary) return Role::kPrimary;
  return kind == ActionKind::kAddSecondary ? Role::kSecondary : Role::kInstance;
}

}  // namespace

void Apply(const Action& action, Arrangement& arrangement) {
  switch (action.kind) {
    case ActionKind::kMovePrimary:
    case ActionKind::kMoveSecondary:
    case ActionKind::kMoveInstance:
      return arrangement.Move(At(arrangement, action.partition, action.from), action.to);
    case ActionKind::kSwapPrimarySecondary:
      return arrangement.Swap(At(arrangement, action.partition, action.from), At(arrangement, action.partition, action.to));
    case ActionKind::kAddPrimary:
      if (arrangement.PrimaryOf(action.partition) != kNoId) {
        const ReplicaId replica = FirstNowhere(arrangement, action.partition);
        arrangement.Place(replica, action.to, Role::kSecondary);
        return MakePrimary(arrangement, replica);
      }
      [[fallthrough]];
    case ActionKind::kAddSecondary:
    case ActionKind::kAddInstance:
      return arrangement.Place(FirstNowhere(arrangement, action.partition), action.to, RoleOfNew(action.kind));
    case ActionKind::kPromoteSecondary:
      return MakePrimary(arrangement, At(arrangement, action.partition, action.to));
    case ActionKind::kDropPrimary:
    case ActionKind::kDropSecondary:
    case ActionKind::kDropInstance:
      return arrangement.Remove(At(arrangement, action.partition, action.from));
    case ActionKind::kRequestedPlacementNotPossible:
      return;
  }
}

void Undo(const Action& action, Arrangement& arrangement) {
  switch (action.kind) {
    case ActionKind::kMovePrimary:
    case ActionKind::kMoveSecondary:
    case ActionKind::kMoveInstance:
      return arrangement.Move(At(arrangement, action.partition, action.to), action.from);
    case ActionKind::kSwapPrimarySecondary:
      return arrangement.Swap(At(arrangement, action.partition, action.to), At(arrangement, action.partition, action.from));
    case ActionKind::kAddPrimary:
    case ActionKind::kAddSecondary:
    case ActionKind::kAddInstance:
      if (action.kind == ActionKind::kAddPrimary) UnmakePrimary(arrangement, At(arrangement, action.partition, action.to));
      return arrangement.Remove(At(arrangement, action.partition, action.to));
    case ActionKind::kPromoteSecondary:
      return UnmakePrimary(arrangement, At(arrangement, action.partition, action.to));
    case ActionKind::kDropPrimary:
    case ActionKind::kDropSecondary:
    case ActionKind::kDropInstance:
      return arrangement.Restore(action.replica);
    case ActionKind::kRequestedPlacementNotPossible:
      return;
  }
}

void UndoAll(std::span<const Action> actions, Arrangement& arrangement) {
  for (const Action& action : std::views::reverse(actions)) Undo(action, arrangement);
}

bool IsMovement(ActionKind kind) {
  return kind == ActionKind::kMovePrimary || kind == ActionKind::kMoveSecondary || kind == ActionKind::kMoveInstance ||
         kind == ActionKind::kSwapPrimarySecondary;
}

double CostOf(const Cluster& cluster, const Settings& settings, std::span<const Action> actions) {
  double cost = 0;
  for (const Action& action : actions) {
    if (action.kind == ActionKind::kSwapPrimarySecondary) {
      cost += CostOfSwap(settings);
    } else if (IsMovement(action.kind)) {
      cost += CostOfMove(settings, cluster.replicas[action.replica].move_cost);
    }
  }
  return cost;
}

}  // namespace evenkeel::balancing
