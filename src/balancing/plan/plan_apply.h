// The actions of a plan as steps of an arrangement, there and back.
#pragma once

#include <span>

#include "balancing/measures/arrangement.h"
#include "balancing/plan/plan.h"

namespace evenkeel::balancing {

/// Carries the action out. The arrangement is as the actions before it in the plan leave it.
void Apply(const Action& action, Arrangement& arrangement);
/// The reverse, when no later action is carried out any more.
void Undo(const Action& action, Arrangement& arrangement);
void UndoAll(std::span<const Action> actions, Arrangement& arrangement);

/// Whether an existing replica goes elsewhere or exchanges its role: what throttles count.
bool IsMovement(ActionKind kind);
/// Of all movements together (deviation.h).
double CostOf(const Cluster& cluster, const Settings& settings, std::span<const Action> actions);

}  // namespace evenkeel::balancing
