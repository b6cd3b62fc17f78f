// The part of the placement phase for few replicas on few nodes (kRebuildableReplicas): what is missing and what is in its way
// goes off and is put back together (rebuild_step.h), as long as that places more or moves less.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "balancing/placement/placement_demands.h"
#include "balancing/search/mover.h"
#include "balancing/search/search_levels.h"

namespace evenkeel::balancing {

class PlacementRebuild {
 public:
  /// What has been done until now stays. All arguments outlive this. `evaluations`: of each level at most.
  PlacementRebuild(Mover& mover, SearchLevels& levels, std::span<const Demand> demands, int64_t evaluations, uint64_t seed);

  /// Keeps each step whose outcome is better and that makes no constraint worse.
  void Run();

 private:
  std::vector<ReplicaId> Concerned();
  int64_t Misplaced(const Constraints& constraints);

  Mover& mover_;
  StepJournal& journal_;
  TargetFinder& finder_;
  const Arrangement& arrangement_;
  SearchLevels& levels_;
  const std::span<const Demand> demands_;
  const int64_t evaluations_;
  const uint64_t seed_;
  std::vector<bool> kept_;  // by replica: it stays where it is
};

}  // namespace evenkeel::balancing
