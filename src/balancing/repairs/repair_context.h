// What the repairs of the constraint check have in common (constraint_fixes.h): the arrangement and the ways to change it.
#pragma once

#include <cstdint>

#include "balancing/measures/arrangement.h"
#include "balancing/model/service_groups.h"
#include "balancing/search/mover.h"
#include "balancing/search/search_levels.h"

namespace evenkeel::balancing {

/// Everything outlives the repairs.
struct RepairContext {
  const Arrangement& arrangement;
  const ServiceGroup& group;
  SearchLevels& levels;
  StepJournal& journal;
  TargetFinder& finder;
  Mover& mover;
  int64_t budget = 0;  ///< evaluations beyond which nobody makes room for others
};

/// Targets of one replica that are tried.
inline constexpr size_t kRepairTargets = 16;

inline bool IsDomain(Constraint constraint) {
  return constraint == Constraint::kFaultDomain || constraint == Constraint::kUpgradeDomain;
}

}  // namespace evenkeel::balancing
