// From an arrangement that a search has found to the actions that lead there, in an order in which they can be carried out one
// after the other: none exceeds a (total) capacity or violates a hard constraint on the way, as far as the arrangement allows
// it. The actions that gain most come first, those of one partition are neighbours where that is possible, so a plan that is
// cut short has done the most for what it did.
//
// A primary and a secondary that have exchanged their roles are one action. Movements that wait for each other in a circle
// (two replicas that would exchange full nodes) cannot be carried out safely; they are left out, and so is what depends on
// them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "balancing/measures/arrangement.h"
#include "balancing/measures/imbalance.h"
#include "balancing/model/service_groups.h"
#include "balancing/placement/placement_upgrades.h"
#include "balancing/plan/plan.h"
#include "balancing/rules/constraints.h"

namespace evenkeel::balancing {

/// What the actions are for, and are explained with.
struct ActionContext {
  const ServiceGroup& group;  ///< only its replicas are looked at
  Purpose purpose = Purpose::kBalancing;
  const GroupBalance* balance = nullptr;       ///< of the cluster as given; balancing needs it
  std::span<const Violation> violations = {};  ///< of the cluster as given
  int64_t max_priority = 2;                    ///< under which the arrangement was found
  /// Why new replicas have no node, where it is known.
  std::span<const std::pair<ReplicaId, Elimination>> unplaced = {};
  std::span<const ImpossibleRequest> impossible = {};
  std::span<const PartitionId> waiting = {};  ///< their new replicas without a node are not missed now
  std::span<const ReplicaId> along = {};      ///< PlacementResult::along
};

/// The actions from the cluster as it is given to `planned`. What has to be left out is undone in `planned` and told in
/// `skipped`; a new replica that has no node becomes RequestedPlacementNotPossible. When something was left out of a balancing
/// plan, movements that no longer pay are undone as well. Answers nothing when nothing changes.
/// O(replicas of the group + actions * log(actions) * metrics).
std::vector<Action> ActionsOf(Arrangement& planned, const ActionContext& context, std::vector<SkippedItem>& skipped);

}  // namespace evenkeel::balancing
