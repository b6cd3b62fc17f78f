#include "controllers/balancer/balancer_metrics.h"

#include <utility>

namespace evenkeel::controllers::balancer {
namespace {

using base::MetricType;

constexpr base::MetricFamily kPlans{"evenkeel_balancer_plans_total", MetricType::kCounter, "Balancing plans that have ended.",
                                    "cluster phase", "phase=Done phase=Failed phase=Refused"};
constexpr base::MetricFamily kMoves{"evenkeel_balancer_moves_total", MetricType::kCounter, "Moves of pods that have ended.",
                                    "cluster state", "state=Elsewhere state=Failed state=Landed"};
constexpr base::MetricFamily kEvictions{"evenkeel_balancer_evictions_total", MetricType::kCounter,
                                        "Evictions that were asked for.", "cluster result",
                                        "result=failed result=refused result=succeeded"};

struct GaugeRow {
  base::MetricFamily family;
  double (*value)(const BalancerMetrics::State&);
};

constexpr GaugeRow kGauges[] = {
    {{"evenkeel_balancer_policy", MetricType::kGauge, "Whether a BalancingPolicy is in force.", "cluster"},
     [](const auto& s) { return s.policy ? 1.0 : 0.0; }},
    {{"evenkeel_balancer_balanced", MetricType::kGauge, "Whether every metric is within its thresholds.", "cluster"},
     [](const auto& s) { return s.balanced ? 1.0 : 0.0; }},
    {{"evenkeel_balancer_deviation", MetricType::kGauge,
      "Average deviation of node loads in the least even group of services, 0 is even.", "cluster"},
     [](const auto& s) { return s.deviation; }},
    {{"evenkeel_balancer_nodes", MetricType::kGauge, "Nodes that give and get pods.", "cluster"},
     [](const auto& s) { return s.nodes; }},
    {{"evenkeel_balancer_pods", MetricType::kGauge, "Pods on these nodes.", "cluster"}, [](const auto& s) { return s.pods; }},
    {{"evenkeel_balancer_movable_pods", MetricType::kGauge, "Pods that may be moved.", "cluster"},
     [](const auto& s) { return s.movable_pods; }},
    {{"evenkeel_balancer_moves_in_flight", MetricType::kGauge, "Moves that have begun and not ended.", "cluster"},
     [](const auto& s) { return s.moves_in_flight; }}};

}  // namespace

void BalancerMetrics::Begin(const std::string& cluster) {
  for (const base::MetricFamily& family : {kPlans, kMoves, kEvictions}) {
    base::CountFromZero(registry_, family, {{"cluster", cluster}});
  }
}

void BalancerMetrics::SetState(const std::string& cluster, const State& state) {
  const std::lock_guard lock(mutex_);
  states_[cluster] = state;
}

void BalancerMetrics::Forget(const std::string& cluster) {
  const std::lock_guard lock(mutex_);
  states_.erase(cluster);
}

void BalancerMetrics::CountPlan(const std::string& cluster, const std::string& phase) {
  base::CounterOf(registry_, kPlans, {{"cluster", cluster}, {"phase", phase}}).Add();
}

void BalancerMetrics::CountMove(const std::string& cluster, const std::string& state) {
  base::CounterOf(registry_, kMoves, {{"cluster", cluster}, {"state", state}}).Add();
}

void BalancerMetrics::CountEviction(const std::string& cluster, const std::string& result) {
  base::CounterOf(registry_, kEvictions, {{"cluster", cluster}, {"result", result}}).Add();
}

void BalancerMetrics::Publish() {
  const std::lock_guard lock(mutex_);
  for (const GaugeRow& gauge : kGauges) {
    std::vector<std::pair<base::MetricLabels, double>> values;
    for (const auto& [cluster, state] : states_) {
      values.emplace_back(base::MetricLabels{{"cluster", cluster}}, gauge.value(state));
    }
    base::ReplaceGaugesOf(registry_, gauge.family, values);
  }
}

std::vector<base::MetricFamily> BalancerMetrics::Families() {
  std::vector<base::MetricFamily> families{kPlans, kMoves, kEvictions};
  for (const GaugeRow& gauge : kGauges) families.push_back(gauge.family);
  return families;
}

}  // namespace evenkeel::controllers::balancer
