// Limits that cut a plan after it has been found: how many replicas may be built, and how many primaries may be on their way,
// at the same time in the whole cluster (InBuildThrottling..., SwapPrimaryThrottling...). What does not fit waits for a later
// plan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "balancing/measures/arrangement.h"
#include "balancing/plan/plan.h"
#include "balancing/plan/plan_actions.h"

namespace evenkeel::balancing {

class PlanLimits {
 public:
  /// Counts what is under way already. `cluster` and `settings` outlive this.
  PlanLimits(const Cluster& cluster, const Settings& settings);

  /// Takes the actions of one group that lead to `planned`. Where they are too many, the last ones are left out together with
  /// what they made room for; `planned` and `actions` become what remains, `skipped` says so. What remains counts for the
  /// groups after it.
  void Cut(Arrangement& planned, const ActionContext& context, std::vector<Action>& actions, std::vector<SkippedItem>& skipped);
  /// These actions of the last Cut are not carried out after all.
  void GiveBack(const std::vector<Action>& actions) { Count(actions, -1); }

 private:
  struct Limit {
    std::string_view name{};
    bool counts_builds = false;  ///< else movements of primaries
    std::string metric{};        ///< only of services that report it; empty: of all
    int64_t max = 0;
    int64_t under_way = 0;
    std::string_view what{};
  };
  static bool Counts(const Cluster& cluster, const Limit& limit, const Action& action);
  void AddLimit(Limit limit);
  bool Fits(const std::vector<Action>& actions) const;
  void Count(const std::vector<Action>& actions, int64_t sign = 1);

  const Cluster& cluster_;
  std::vector<Limit> limits_;  // only those that hold
};

}  // namespace evenkeel::balancing
