// The first steps of a placement: replicas that leave, and primaries that change.
#pragma once

#include "balancing/measures/node_ties.h"
#include "balancing/search/search_levels.h"
#include "balancing/search/step_journal.h"

namespace evenkeel::balancing {

/// Drops what is too much, followers of affinity first. O(replicas of the partitions concerned, squared).
void DropReplicas(StepJournal& journal, const Constraints& constraints, const NodeTies& ties);

/// Gives partitions without a primary one of their secondaries, and moves primaries for upgrades. `levels` are tried one
/// after the other.
void ChangePrimaries(StepJournal& journal, SearchLevels& levels, const NodeTies& ties);

}  // namespace evenkeel::balancing
