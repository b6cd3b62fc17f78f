// How even the load of a member is, as its balancer judges it, and what its plans are about: entries of balance/NAME.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "controllers/balancer/member_cluster.h"
#include "controllers/balancer/plan_object.h"
#include "controllers/balancer/policy.h"

namespace evenkeel::dashboard {

/// Ratios beyond it, also those to a smallest load of 0, are said to be this, so that they can be drawn.
inline constexpr double kRatioMax = 100;
/// Plans that are shown.
inline constexpr size_t kPlansShown = 20;

/// The plan that is shown as the next one: the one under way, else the oldest that waits, else the last; null: there is none.
const base::Json* PlanToShow(const std::map<std::string, base::Json>& plans);

/// {"mode": "DryRun" or "Auto", "message"}
base::Json PolicyEntry(const base::Json& policy);
/// "plan": with an entry for each movement, and the hash by which it is approved (approval.h).
base::Json PlanDocument(const base::Json& plan);
/// An entry of "plans".
base::Json PlanLine(const base::Json& plan);

struct BalanceInput {
  controllers::balancer::MemberObjects& objects;
  const controllers::balancer::Policy& policy;
  bool in_force = false;  ///< false: the policy is only an example, and nothing is imbalanced by it
  const controllers::balancer::PodUsage& usage;
  const base::Json* plan = nullptr;  ///< PlanToShow
  base::Time now{};
};
struct Balance {
  base::JsonObject metrics, nodes;  ///< entries of the fields
  base::JsonObject ratios;          ///< by metric, for the history
};
/// O(pods * metrics + classes of pods * nodes), as the balancer's own look.
Balance MeasureBalance(const BalanceInput& input);

}  // namespace evenkeel::dashboard
