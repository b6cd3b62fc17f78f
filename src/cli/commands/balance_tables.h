// What `plan balance`, `get loads` and `explain service` print for people, from what they tell programs.
#pragma once

#include <ostream>

#include "balancing/model/cluster.h"
#include "base/json.h"
#include "cli/terminal/watch_rows.h"

namespace evenkeel::cli {

// `cluster`: the one that it is about, for the units of its metrics.
void PrintBalancePlan(std::ostream& out, const base::Json& plan, const balancing::Cluster& cluster);
/// Metric by metric.
Shown ShowLoads(base::Json loads, const balancing::Cluster& cluster);
/// When it ended, or "-".
std::string LastBalancing(const base::Json& loads);
void PrintLoadsOfNodeTypes(std::ostream& out, const base::Json& loads, const balancing::Cluster& cluster);
void PrintServiceExplanation(std::ostream& out, const base::Json& explanation);

}  // namespace evenkeel::cli
