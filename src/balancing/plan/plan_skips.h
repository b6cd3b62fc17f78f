// Why something that a plan might be expected to do is not in it, in sentences.
#pragma once

#include <string>
#include <vector>

#include "balancing/measures/arrangement.h"
#include "balancing/placement/upgrade_families.h"
#include "balancing/plan/plan.h"
#include "balancing/rules/constraints.h"

namespace evenkeel::balancing {

/// Of an imbalanced group of which nothing moves: how many replicas may move because of it, what keeps them in place, which
/// constraints rule out how many targets. Looks at no more than some ten thousand pairs of replica and node.
std::string WhyNothingMoves(const Arrangement& arrangement, const ServiceGroup& group, const GroupPlan& plan);

/// Of an upgrade that replaces nothing of a family.
SkippedItem SkippedFamily(const Cluster& cluster, const WaitingFamily& family);

/// The stages that did not run, node types that are paused, and in balancing `throttled` partitions.
std::vector<SkippedItem> SkippedPhases(const Settings& settings, const GroupPlan& plan);

}  // namespace evenkeel::balancing
