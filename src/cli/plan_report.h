// What the page of a report shows of a plan (dashboard/page/src/report/data.ts): what is and what would be, side by side, what
// moves and why, what stays as it is and why. From the plans as programs read them. Pure.
#pragma once

#include "base/json.h"
#include "controllers/balancer/cluster.h"
#include "controllers/balancer/plan.h"

namespace evenkeel::cli {

/// `current`: the plan before, or {}.
base::JsonObject ShardsReport(const base::Json& plan, const base::Json& current);
base::JsonObject ScaleReport(const base::Json& plan);
/// `plan` as it was decided, `json` as programs read it.
base::JsonObject BalanceReport(const controllers::balancer::Cluster& cluster, const controllers::balancer::Plan& plan,
                               const base::Json& json);
base::JsonObject RolloutReport(const base::Json& plan);

}  // namespace evenkeel::cli
