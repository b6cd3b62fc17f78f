// What the page of a report shows of a plan (dashboard/page/src/report/data.ts): what is and what would be, side by side, what
// moves and why, what stays as it is and why. From the plans as programs read them. Pure.
#pragma once

#include "balancing/model/cluster.h"
#include "balancing/plan/plan.h"
#include "base/json.h"

namespace evenkeel::cli {

/// `current`: the plan before, or {}.
base::JsonObject ShardsReport(const base::Json& plan, const base::Json& current);
base::JsonObject ScaleReport(const base::Json& plan);
/// `plan` as it was decided, `json` as programs read it.
base::JsonObject BalanceReport(const balancing::Cluster& cluster, const balancing::Plan& plan, const base::Json& json);
base::JsonObject RolloutReport(const base::Json& plan);

}  // namespace evenkeel::cli
