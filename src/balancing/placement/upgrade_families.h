// Services of one replica each that an upgrade may not tear apart: what is replaced of them comes on one node, and the others
// of the family go there too, at the same time.
//
//   CheckAffinityForUpgradePlacement      a parent of affinity and its children
//   RelaxScaleoutConstraintDuringUpgrade  the services of an application that may be on one node only
//
// A partition is replaced that is in an upgrade, has its one replica and misses another one. A family with one of these (of a
// stateful service) goes together; else its replicas are placed like all others.
#pragma once

#include <vector>

#include "balancing/rules/constraints.h"
#include "balancing/search/search_levels.h"
#include "balancing/search/target_finder.h"

namespace evenkeel::balancing {

/// A family of which nothing is placed now.
struct WaitingFamily {
  PartitionId replaced = kNoId;  ///< one that an upgrade replaces
  int64_t partitions = 0;        ///< of the family
  PartitionId busy = kNoId;      ///< what it waits for: its replicas change already. kNoId: no node can take all
};

struct FamilyOutcome {
  std::vector<WaitingFamily> families;
  std::vector<PartitionId> waiting;  ///< their partitions that miss a replica
  std::vector<ReplicaId> along;      ///< existing replicas that moved with their family
};

/// Places what families miss and moves the rest of them. Of nodes that can take all it takes the one that needs the fewest
/// movements, in an upgrade domain that is done (PreferUpgradedUDs), with the least deviation. Of a family that fits nowhere
/// nothing changes. O(nodes * replicas of the families * Obstacle).
FamilyOutcome PlaceFamilies(StepJournal& journal, SearchLevels& levels, const TargetFinder& finder);

}  // namespace evenkeel::balancing
