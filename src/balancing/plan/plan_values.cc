#include "balancing/plan/plan.h"

namespace evenkeel::balancing {

std::vector<Action> Plan::Actions() const {
  std::vector<Action> actions;
  for (const GroupPlan& group : of_groups) actions.insert(actions.end(), group.actions.begin(), group.actions.end());
  return actions;
}

AverageDeviation AverageDeviations(const Plan& plan) {
  AverageDeviation average;
  for (const GroupPlan& group : plan.of_groups) {
    average.before += group.deviation_before / static_cast<double>(plan.of_groups.size());
    average.after += group.deviation_after / static_cast<double>(plan.of_groups.size());
  }
  return average;
}

std::string_view Name(ActionKind kind) {
  switch (kind) {
    case ActionKind::kMovePrimary:
      return "MovePrimary";
    case ActionKind::kMoveSecondary:
      return "MoveSecondary";
    case ActionKind::kMoveInstance:
      return "MoveInstance";
    case ActionKind::kSwapPrimarySecondary:
      return "SwapPrimarySecondary";
    case ActionKind::kAddPrimary:
      return "AddPrimary";
    case ActionKind::kAddSecondary:
      return "AddSecondary";
    case ActionKind::kAddInstance:
      return "AddInstance";
    case ActionKind::kPromoteSecondary:
      return "PromoteSecondary";
    case ActionKind::kDropPrimary:
      return "DropPrimary";
    case ActionKind::kDropSecondary:
      return "DropSecondary";
    case ActionKind::kDropInstance:
      return "DropInstance";
    case ActionKind::kRequestedPlacementNotPossible:
      return "RequestedPlacementNotPossible";
  }
  return "RequestedPlacementNotPossible";
}

}  // namespace evenkeel::balancing
