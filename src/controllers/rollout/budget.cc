#include "controllers/rollout/budget.h"

#include <spdlog/fmt/fmt.h>

namespace evenkeel::controllers::rollout {

std::string CheckBudget(const Budget& budget) {
  constexpr int64_t kSmallestRedundant = 3;
  if (budget.down_outside > 0 && !budget.allow_degraded) {
    return fmt::format("{} of {} members are down outside of the cluster whose turn it is", budget.down_outside,
                       budget.members);
  }
  const int64_t left = budget.ready - budget.takes_down;
  if (left >= Majority(budget.members)) return "";
  if (budget.members < kSmallestRedundant) {
    if (budget.allow_degraded) return "";
    return fmt::format("of {} members none can restart without a pause; spec.rollout.allowDegraded accepts it", budget.members);
  }
  return fmt::format("{} of {} members are ready and the step stops {}, but a majority is {}", budget.ready, budget.members,
                     budget.takes_down, Majority(budget.members));
}

}  // namespace evenkeel::controllers::rollout
