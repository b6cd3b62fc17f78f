#include "controllers/balancer/member/balancer_metrics.h"

#include <utility>
#include <vector>

namespace evenkeel::controllers::balancer::member {
namespace {

struct GaugeRow {
  const char* name;
  const char* help;
  double (*value)(const BalancerMetrics::State&);
};

constexpr GaugeRow kGauges[] = {
    {"evenkeel_balancer_policy", "Whether a BalancingPolicy is in force.", [](const auto& s) { return s.policy ? 1.0 : 0.0; }},
    {"evenkeel_balancer_balanced", "Whether every metric is within its thresholds.",
     [](const auto& s) { return s.balanced ? 1.0 : 0.0; }},
    {"evenkeel_balancer_deviation", "Average deviation of node loads in the least even group of services, 0 is even.",
     [](const auto& s) { return s.deviation; }},
    {"evenkeel_balancer_nodes", "Nodes that give and get pods.", [](const auto& s) { return s.nodes; }},
    {"evenkeel_balancer_pods", "Pods on these nodes.", [](const auto& s) { return s.pods; }},
    {"evenkeel_balancer_movable_pods", "Pods that may be moved.", [](const auto& s) { return s.movable_pods; }},
    {"evenkeel_balancer_moves_in_flight", "Moves that have begun and not ended.",
     [](const auto& s) { return s.moves_in_flight; }}};

}  // namespace

void BalancerMetrics::SetState(const std::string& cluster, const State& state) {
  const std::lock_guard lock(mutex_);
  states_[cluster] = state;
}

void BalancerMetrics::Forget(const std::string& cluster) {
  const std::lock_guard lock(mutex_);
  states_.erase(cluster);
}

void BalancerMetrics::CountPlan(const std::string& cluster, const std::string& phase) {
  registry_
      .GetCounter("evenkeel_balancer_plans_total", "Balancing plans that have ended.", {{"cluster", cluster}, {"phase", phase}})
      .Add();
}

void BalancerMetrics::CountMove(const std::string& cluster, const std::string& state) {
  registry_
      .GetCounter("evenkeel_balancer_moves_total", "Moves of pods that have ended.", {{"cluster", cluster}, {"state", state}})
      .Add();
}

void BalancerMetrics::CountEviction(const std::string& cluster, const std::string& result) {
  registry_
      .GetCounter("evenkeel_balancer_evictions_total", "Evictions that were asked for.",
                  {{"cluster", cluster}, {"result", result}})
      .Add();
}

void BalancerMetrics::Publish() {
  const std::lock_guard lock(mutex_);
  for (const GaugeRow& gauge : kGauges) {
    std::vector<std::pair<base::MetricLabels, double>> values;
    for (const auto& [cluster, state] : states_) {
      values.emplace_back(base::MetricLabels{{"cluster", cluster}}, gauge.value(state));
    }
    registry_.ReplaceGauges(gauge.name, gauge.help, values);
  }
}

}  // namespace evenkeel::controllers::balancer::member
