#include "controllers/rollout/zookeeper/member/member_metrics.h"

#include <utility>

#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

using base::MetricType;

constexpr base::MetricFamily kReplacements{"evenkeel_zookeeper_replacements_total", MetricType::kCounter,
                                           "Servers whose pods have been deleted to be made anew.", "cluster ensemble"};
constexpr base::MetricFamily kChanges{"evenkeel_zookeeper_member_changes_total", MetricType::kCounter,
                                      "Changes of its members that an ensemble was asked for.", "cluster ensemble result",
                                      "result=failed result=succeeded"};

}  // namespace

struct MemberMetrics::Row {
  base::MetricFamily family;
  double State::* value;
};

const MemberMetrics::Row MemberMetrics::kRows[] = {
    {{"evenkeel_zookeeper_servers", MetricType::kGauge, "Servers that an ensemble is to have in a cluster.",
      "cluster ensemble"},
     &State::wanted},
    {{"evenkeel_zookeeper_ready_servers", MetricType::kGauge, "Servers there that are ready.", "cluster ensemble"},
     &State::ready},
    {{"evenkeel_zookeeper_updated_servers", MetricType::kGauge, "Servers there that are made from what is wanted now.",
      "cluster ensemble"},
     &State::updated},
    {{"evenkeel_zookeeper_quorum_healthy", MetricType::kGauge,
      "Whether, seen from the cluster, a majority is in sync with one leader.", "cluster ensemble"},
     &State::healthy},
    {{"evenkeel_zookeeper_progressing", MetricType::kGauge,
      "Whether servers there are being replaced, taken in or let go, or that is waited for.", "cluster ensemble"},
     &State::moving},
    {{"evenkeel_zookeeper_valid", MetricType::kGauge, "Whether the spec can be used.", "cluster ensemble"}, &State::valid}};

void MemberMetrics::SetState(const std::string& cluster, const std::string& ensemble, const base::Json& object,
                             const base::Json& status) {
  const base::Json holder = base::JsonObject{{"status", base::Json(status, {})}};
  const auto holds = [&](std::string_view type) { return kube::ConditionStatus(holder, type) == "True" ? 1.0 : 0.0; };
  const auto number = [&](std::string_view field) { return static_cast<double>(base::FindInt(status, {field})); };
  for (const base::MetricFamily& family : {kReplacements, kChanges}) {
    base::CountFromZero(registry_, family, {{"cluster", cluster}, {"ensemble", ensemble}});
  }
  const std::lock_guard lock(mutex_);
  states_[cluster][ensemble] = {.wanted = static_cast<double>(base::FindInt(object, {"spec", "replicas"})),
                                .ready = number("readyReplicas"),
                                .updated = number("updatedReplicas"),
                                .healthy = holds("QuorumHealthy"),
                                .moving = holds("Progressing"),
                                .valid = holds("Valid")};
}

void MemberMetrics::Forget(const std::string& cluster, const std::string& ensemble) {
  const std::lock_guard lock(mutex_);
  if (const auto found = states_.find(cluster); found != states_.end()) found->second.erase(ensemble);
}

void MemberMetrics::Forget(const std::string& cluster) {
  const std::lock_guard lock(mutex_);
  states_.erase(cluster);
}

void MemberMetrics::CountReplacement(const std::string& cluster, const std::string& ensemble) {
  base::CounterOf(registry_, kReplacements, {{"cluster", cluster}, {"ensemble", ensemble}}).Add();
}

void MemberMetrics::CountChange(const std::string& cluster, const std::string& ensemble, const std::string& result) {
  base::CounterOf(registry_, kChanges, {{"cluster", cluster}, {"ensemble", ensemble}, {"result", result}}).Add();
}

void MemberMetrics::Publish() {
  const std::lock_guard lock(mutex_);
  for (const Row& row : kRows) {
    std::vector<std::pair<base::MetricLabels, double>> values;
    for (const auto& [cluster, ensembles] : states_) {
      for (const auto& [ensemble, state] : ensembles) {
        values.emplace_back(base::MetricLabels{{"cluster", cluster}, {"ensemble", ensemble}}, state.*row.value);
      }
    }
    base::ReplaceGaugesOf(registry_, row.family, values);
  }
}

std::vector<base::MetricFamily> MemberMetrics::Families() {
  std::vector<base::MetricFamily> families{kReplacements, kChanges};
  for (const Row& row : kRows) families.push_back(row.family);
  return families;
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member
