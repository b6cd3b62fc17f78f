// Why a service is balanced or not, what the plan does with its replicas, and why the others stay: as values for programs,
// which the command line prints.
//
//   {"service", "kind", "group": ["SERVICE"], "phase", "why",
//    "metrics": [{"metric", "nodeType", "balanced", "ofService", "why"}],
//    "replicas": [{"partition", "role", "node", "moves", "to", "why",
//                  "eliminated": [{"constraint", "priority", "count", "nodes", "detail"}], "remaining"}],
//    "replicasLeftOut",
//    "eliminated": [{"constraint", "priority", "count"}],      of all these replicas together
//    "skipped": [{"why", "what"}], "hints": ["TEXT"]}
//
// A replica to be placed has no node. "eliminated" tells constraint by constraint which nodes it rules out for the replica, as
// things are when the plan has been carried out; "remaining" how many nodes are left.
#pragma once

#include <string_view>

#include "balancing/plan/plan.h"
#include "base/json.h"
#include "base/result.h"

namespace evenkeel::balancing {

/// Replicas that are explained one by one; of larger services the rest is counted.
inline constexpr size_t kExplainedReplicas = 100;

/// `plan` is that of the cluster as it is, `memory` what the planner remembered before it, at `now`. kNotFound: there is no
/// such service; the message names the nearest. O(explained replicas * nodes), besides what an Arrangement takes.
base::Result<base::Json> ExplainService(const Cluster& cluster, const Settings& settings, const Plan& plan,
                                        const PlannerMemory& memory, double now, std::string_view name);

}  // namespace evenkeel::balancing
