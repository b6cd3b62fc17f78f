// The first step of a placement: replicas that leave.
#pragma once

#include "balancing/measures/node_ties.h"
#include "balancing/search/search_levels.h"
#include "balancing/search/step_journal.h"

namespace evenkeel::balancing {

/// Drops what is too much, followers of affinity first. O(replicas of the partitions concerned, squared).
void DropReplicas(StepJournal& journal, const Constraints& constraints, const NodeTies& ties);

}  // namespace evenkeel::balancing
