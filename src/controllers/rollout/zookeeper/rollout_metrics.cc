#include "controllers/rollout/zookeeper/rollout_metrics.h"

#include <vector>

#include "controllers/rollout/budget.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {

struct RolloutMetrics::Row {
  const char* name;
  const char* help;
  double State::* value;
};

const RolloutMetrics::Row RolloutMetrics::kRows[] = {
    {"evenkeel_rollout_voters", "Voters that an ensemble's clusters are pinned to have.", &State::voters},
    {"evenkeel_rollout_ready_voters", "Voters that are ready.", &State::ready},
    {"evenkeel_rollout_quorum_margin", "Ready voters beyond a majority; below 0 there is no quorum.", &State::margin},
    {"evenkeel_rollout_quorum_healthy", "Whether a majority is in sync with one leader.", &State::healthy},
    {"evenkeel_rollout_degraded", "Whether a rollout has stopped on its way.", &State::degraded},
    {"evenkeel_rollout_deploying", "Whether a rollout is under way.", &State::deploying}};

void RolloutMetrics::SetState(const std::string& ensemble, const base::Json& object) {
  const auto holds = [&](std::string_view type) {
    const base::Json* condition = kube::FindCondition(object, type);
    return condition != nullptr && base::FindString(*condition, {"status"}) == "True" ? 1.0 : 0.0;
  };
  const int64_t voters = base::FindInt(object, {"status", "replicas"});
  const int64_t ready = base::FindInt(object, {"status", "readyReplicas"});
  const std::string_view phase = base::FindString(object, {"status", "phase"});
  const std::lock_guard lock(mutex_);
  states_[ensemble] = {.voters = static_cast<double>(voters),
                       .ready = static_cast<double>(ready),
                       .margin = static_cast<double>(ready - Majority(voters)),
                       .healthy = holds("QuorumHealthy"),
                       .degraded = holds("Degraded"),
                       .deploying = phase == "Deploying" || phase == "RollingBack" ? 1.0 : 0.0};
}

void RolloutMetrics::Forget(const std::string& ensemble) {
  const std::lock_guard lock(mutex_);
  states_.erase(ensemble);
}

void RolloutMetrics::ForgetAll() {
  const std::lock_guard lock(mutex_);
  states_.clear();
}

void RolloutMetrics::CountTransition(const std::string& ensemble, const std::string& reason) {
  registry_
      .GetCounter("evenkeel_rollout_transitions_total", "Transitions of rollouts that have been taken.",
                  {{"ensemble", ensemble}, {"reason", reason}})
      .Add();
}

void RolloutMetrics::SetLeading(bool leading) {
  registry_.GetGauge("evenkeel_rollout_leading", "Whether this replica carries rollouts out.").Set(leading ? 1 : 0);
}

void RolloutMetrics::Publish() {
  const std::lock_guard lock(mutex_);
  for (const Row& row : kRows) {
    std::vector<std::pair<base::MetricLabels, double>> values;
    for (const auto& [ensemble, state] : states_) {
      values.emplace_back(base::MetricLabels{{"ensemble", ensemble}}, state.*row.value);
    }
    registry_.ReplaceGauges(row.name, row.help, values);
  }
}

}  // namespace evenkeel::controllers::rollout::zookeeper
