#include "controllers/autoscaler/autoscaler_metrics.h"

#include <set>

namespace evenkeel::controllers::autoscaler {
namespace {

constexpr const char* kPrefix = "cluster_autoscaler_";

/// Upstream's texts, where a dashboard shows them; the names say the rest.
std::string HelpOf(const std::string& name) {
  static const std::map<std::string, std::string> kTexts = {
      {"cluster_safe_to_autoscale", "Whether or not cluster is healthy enough for autoscaling. 1 if it is, 0 otherwise."},
      {"nodes_count", "Number of nodes in cluster."},
      {"unschedulable_pods_count", "Number of unschedulable pods in the cluster."},
      {"unneeded_nodes_count", "Number of nodes currently considered unneeded by CA."},
      {"unremovable_nodes_count", "Number of nodes currently considered unremovable by CA."},
      {"scaled_up_nodes_total", "Number of nodes added by CA."},
      {"scaled_down_nodes_total", "Number of nodes removed by CA."},
      {"failed_scale_ups_total", "Number of times scale-up operation has failed."},
      {"evicted_pods_total", "Number of pods evicted by CA."},
      {"errors_total", "The number of CA loops failed due to an error."},
      {"last_activity", "Last time certain part of CA logic executed."},
      {"function_duration_seconds", "Time taken by various parts of CA main loop."}};
  const auto found = kTexts.find(name);
  return found == kTexts.end() ? "As cluster-autoscaler's metric of that name." : found->second;
}

}  // namespace

void AutoscalerMetrics::SetState(const std::string& cluster, std::vector<Sample> samples) {
  const std::lock_guard lock(mutex_);
  states_[cluster] = std::move(samples);
}

void AutoscalerMetrics::Forget(const std::string& cluster) {
  const std::lock_guard lock(mutex_);
  states_.erase(cluster);
}

void AutoscalerMetrics::Count(const std::string& cluster, const std::string& name, base::MetricLabels labels, double amount) {
  labels["cluster"] = cluster;
  registry_.GetCounter(kPrefix + name, HelpOf(name), labels).Add(amount);
}

void AutoscalerMetrics::Took(const std::string& cluster, const std::string& function, base::Duration time) {
  const base::MetricLabels labels{{"cluster", cluster}, {"function", function}};
  registry_.GetHistogram(std::string(kPrefix) + "function_duration_seconds", HelpOf("function_duration_seconds"), labels)
      .Observe(std::chrono::duration<double>(time).count());
}

void AutoscalerMetrics::Publish() {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::vector<std::pair<base::MetricLabels, double>>> gauges;
  for (const std::string& name : published_) gauges[name];
  for (const auto& [cluster, samples] : states_) {
    for (const Sample& sample : samples) {
      base::MetricLabels labels = sample.labels;
      labels["cluster"] = cluster;
      gauges[sample.name].emplace_back(std::move(labels), sample.value);
      published_.insert(sample.name);
    }
  }
  for (const auto& [name, values] : gauges) registry_.ReplaceGauges(kPrefix + name, HelpOf(name), values);
}

}  // namespace evenkeel::controllers::autoscaler
