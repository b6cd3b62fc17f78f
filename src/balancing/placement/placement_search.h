// Where replicas that are missing go, and which of those that are too many leave: the search of the placement phase. In this
// order, for one group of services:
//
//   drops       of a partition with too many replicas, of replicas marked to be dropped, and of instances of services on every
//               node from nodes that no longer suit; followers of affinity before those they follow, secondaries and instances
//               rather than primaries, from the fullest domains, then the drop that leaves the least deviation
//   promotions  of a secondary where a partition has no primary; exchanges of roles that an upgrade asks for
//   families    of services of one replica that an upgrade replaces together (upgrade_families.h)
//   placements  of what is missing, and of services on every node: partitions below their service's target first, of these the
//               most demanding one, each replica where the deviation stays least, followers together with the replica that they
//               follow; while an application is upgraded, in upgrade domains that are done if that can be (PreferUpgradedUDs)
//   room        for what did not fit: replicas placed by this plan go elsewhere, and so do existing ones when `with_move` says
//               so, up to two in a chain, the fewest first; then again in another order, what had failed first
//
// First no constraint gives way; what cannot be placed so is tried without the optional ones, then with the hard ones alone
// (RelaxConstraintForPlacement). Nothing that is done makes a constraint worse that was looked at. Partitions that are placed
// entirely or not at all are: PlacePolicy NonPartially, or PartiallyPlaceServices off, while none of their replicas exists.
//
// Deterministic: the same arrangement, options and seed give the same answer, however fast the machine is.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "balancing/measures/arrangement.h"
#include "balancing/model/service_groups.h"
#include "balancing/placement/placement_upgrades.h"
#include "balancing/placement/upgrade_families.h"
#include "balancing/rules/constraints.h"

namespace evenkeel::balancing {

struct PlacementOptions {
  bool with_move = false;
  int64_t movement_slots = 0;  ///< with_move: at most so many movements of existing replicas
  uint64_t seed = 1;
  /// How many steps it may look at before it stops to look for better ones. 0: by the size of the group.
  int64_t evaluations = 0;
};

struct PlacementResult {
  std::vector<ReplicaId> unplaced;  ///< ascending
  /// Why: no node remains. Of unplaced replicas, one in each of the first hundred partitions.
  std::vector<std::pair<ReplicaId, Elimination>> why;
  std::vector<ImpossibleRequest> impossible;
  std::vector<PartitionId> waiting;  ///< nothing more of them is placed now
  std::vector<WaitingFamily> families;
  std::vector<ReplicaId> along;  ///< existing replicas that moved with what an upgrade replaces
  int64_t evaluations = 0;
};

/// Changes `arrangement`, in which nothing of the group has changed yet. Typically O(new replicas * nodes * metrics).
PlacementResult PlaceReplicas(Arrangement& arrangement, const ServiceGroup& group, const PlacementOptions& options);

}  // namespace evenkeel::balancing
