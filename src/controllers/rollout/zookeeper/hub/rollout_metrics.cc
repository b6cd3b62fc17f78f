#include "controllers/rollout/zookeeper/hub/rollout_metrics.h"

#include "controllers/rollout/budget.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::MetricType;

constexpr base::MetricFamily kTransitions{"evenkeel_rollout_transitions_total", MetricType::kCounter,
                                          "Transitions of rollouts that have been taken.", "ensemble reason",
                                          // What is rare: those that stop a rollout, or go back.
                                          "reason=ClusterHeld reason=ClusterPostponed reason=DriftRepaired "
                                          "reason=RecordSuperseded reason=RolledBack reason=RollingBack"};
constexpr base::MetricFamily kLeading{"evenkeel_rollout_leading", MetricType::kGauge,
                                      "Whether this replica carries rollouts out."};

}  // namespace

struct RolloutMetrics::Row {
  base::MetricFamily family;
  double State::* value;
};

const RolloutMetrics::Row RolloutMetrics::kRows[] = {
    {{"evenkeel_rollout_voters", MetricType::kGauge, "Voters that an ensemble's clusters are pinned to have.", "ensemble"},
     &State::voters},
    {{"evenkeel_rollout_ready_voters", MetricType::kGauge, "Voters that are ready.", "ensemble"}, &State::ready},
    {{"evenkeel_rollout_quorum_margin", MetricType::kGauge, "Ready voters beyond a majority; below 0 there is no quorum.",
      "ensemble"},
     &State::margin},
    {{"evenkeel_rollout_quorum_healthy", MetricType::kGauge, "Whether a majority is in sync with one leader.", "ensemble"},
     &State::healthy},
    {{"evenkeel_rollout_degraded", MetricType::kGauge, "Whether a rollout has stopped on its way.", "ensemble"},
     &State::degraded},
    {{"evenkeel_rollout_deploying", MetricType::kGauge, "Whether a rollout is under way.", "ensemble"}, &State::deploying}};

void RolloutMetrics::SetState(const std::string& ensemble, const base::Json& object) {
  const auto holds = [&](std::string_view type) { return kube::ConditionStatus(object, type) == "True" ? 1.0 : 0.0; };
  const int64_t voters = base::FindInt(object, {"status", "replicas"});
  const int64_t ready = base::FindInt(object, {"status", "readyReplicas"});
  const std::string_view phase = base::FindString(object, {"status", "phase"});
  base::CountFromZero(registry_, kTransitions, {{"ensemble", ensemble}});
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
  base::CounterOf(registry_, kTransitions, {{"ensemble", ensemble}, {"reason", reason}}).Add();
}

void RolloutMetrics::SetLeading(bool leading) { base::GaugeOf(registry_, kLeading).Set(leading ? 1 : 0); }

void RolloutMetrics::Publish() {
  const std::lock_guard lock(mutex_);
  for (const Row& row : kRows) {
    std::vector<std::pair<base::MetricLabels, double>> values;
    for (const auto& [ensemble, state] : states_) {
      values.emplace_back(base::MetricLabels{{"ensemble", ensemble}}, state.*row.value);
    }
    base::ReplaceGaugesOf(registry_, row.family, values);
  }
}

std::vector<base::MetricFamily> RolloutMetrics::Families() {
  std::vector<base::MetricFamily> families{kTransitions, kLeading};
  for (const Row& row : kRows) families.push_back(row.family);
  return families;
}

}  // namespace evenkeel::controllers::rollout::zookeeper
