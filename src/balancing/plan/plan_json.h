// A plan as programs read it. Keys are stable:
//
//   {"phase", "groups": [["SERVICE"]],
//    "imbalanced": [{"metric", "nodeType", "max", "min", "ratio", "threshold", "activityThreshold"}],
//    "violations": [{"constraint", "node", "metric", "detail"}],
//    "actions": [{"partition", "action", "from", "to", "reason"}],
//    "deviation": {"before", "after"}, "skipped": [{"why", "what"}], "milliseconds"}
//
// and what is said besides:
//
//   imbalanced   "service" (of a service's own loads), "maxNode", "minNode", "why"
//   violations   "partition", "priority", "excess"
//   actions      "metric" (that triggered it), "loads": [{"metric", "source": {"before", "after"}, "target": {...}}],
//                "energyGain", "constraints" (all that were looked at, with their priorities), "version" (of the partition)
//   "groupPlans" for each of `groups`: "phase", "why", "deviation", "energy", "metrics" with what the plan makes of each, how
//                many "movements" were allowed (null: as many as needed) and planned, "nodeTypes" and "pausedNodeTypes"
//   "evaluations" steps that the searches looked at
//
// What is not said of something is null: a node type where all nodes count, the source of a new replica. A ratio is null when
// the smallest load is 0, because JSON has no infinity. The deviation of several groups is their average.
#pragma once

#include "balancing/plan/plan.h"
#include "base/json.h"

namespace evenkeel::balancing {

base::Json PlanToJson(const Cluster& cluster, const Settings& settings, const Plan& plan, double milliseconds);

}  // namespace evenkeel::balancing
