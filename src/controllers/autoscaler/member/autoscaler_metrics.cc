#include "controllers/autoscaler/member/autoscaler_metrics.h"

#include <algorithm>
#include <string_view>

#include "base/result.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::MetricType;

constexpr std::string_view kMetricPrefix = "cluster_autoscaler_";

/// Upstream's texts.
constexpr base::MetricFamily kFamilies[] = {
    {"cluster_autoscaler_cluster_safe_to_autoscale", MetricType::kGauge,
     "Whether or not cluster is healthy enough for autoscaling. 1 if it is, 0 otherwise.", "cluster"},
    {"cluster_autoscaler_nodes_count", MetricType::kGauge, "Number of nodes in cluster.", "cluster state"},
    {"cluster_autoscaler_node_groups_count", MetricType::kGauge, "Number of node groups managed by CA.",
     "cluster node_group_type"},
    {"cluster_autoscaler_unschedulable_pods_count", MetricType::kGauge, "Number of unschedulable pods in the cluster.",
     "cluster type"},
    {"cluster_autoscaler_max_nodes_count", MetricType::kGauge, "Maximum number of nodes in all node groups.", "cluster"},
    {"cluster_autoscaler_cluster_cpu_current_cores", MetricType::kGauge,
     "Current number of cores in the cluster, minus deleting nodes.", "cluster"},
    {"cluster_autoscaler_cpu_limits_cores", MetricType::kGauge, "Minimum and maximum number of cores in the cluster.",
     "cluster direction"},
    {"cluster_autoscaler_cluster_memory_current_bytes", MetricType::kGauge,
     "Current number of bytes of memory in the cluster, minus deleting nodes.", "cluster"},
    {"cluster_autoscaler_memory_limits_bytes", MetricType::kGauge, "Minimum and maximum number of bytes of memory in cluster.",
     "cluster direction"},
    {"cluster_autoscaler_last_activity", MetricType::kGauge, "Last time certain part of CA logic executed.",
     "activity cluster"},
    {"cluster_autoscaler_function_duration_seconds", MetricType::kHistogram, "Time taken by various parts of CA main loop.",
     "cluster function"},
    {"cluster_autoscaler_errors_total", MetricType::kCounter, "The number of CA loops failed due to an error.", "cluster type",
     "type=apiCallError type=cloudProviderError type=configurationError type=internalError type=nodeGroupDoesNotExistError "
     "type=transientError type=unexpectedScaleDownStateError"},
    {"cluster_autoscaler_scaled_up_nodes_total", MetricType::kCounter, "Number of nodes added by CA.",
     "cluster dra_drivers gpu_name gpu_resource_name", "dra_drivers=,gpu_name=,gpu_resource_name="},
    {"cluster_autoscaler_scaled_up_gpu_nodes_total", MetricType::kCounter, "Number of GPU nodes added by CA, by GPU name.",
     "cluster gpu_name gpu_resource_name"},
    {"cluster_autoscaler_failed_scale_ups_total", MetricType::kCounter, "Number of times scale-up operation has failed.",
     // Besides these a provider's own codes of errors.
     "cluster dra_drivers gpu_name gpu_resource_name reason",
     "dra_drivers=,gpu_name=,gpu_resource_name=,reason=apiCallError "
     "dra_drivers=,gpu_name=,gpu_resource_name=,reason=cloudProviderError "
     "dra_drivers=,gpu_name=,gpu_resource_name=,reason=timeout"},
    {"cluster_autoscaler_failed_gpu_scale_ups_total", MetricType::kCounter, "Number of times scale-up operation has failed.",
     "cluster gpu_name gpu_resource_name reason"},
    {"cluster_autoscaler_failed_node_creations_total", MetricType::kCounter, "Number of nodes that failed to be created.",
     "cluster reason"},
    {"cluster_autoscaler_scaled_down_nodes_total", MetricType::kCounter, "Number of nodes removed by CA.",
     "cluster dra_drivers gpu_name gpu_resource_name reason",
     "dra_drivers=,gpu_name=,gpu_resource_name=,reason=empty dra_drivers=,gpu_name=,gpu_resource_name=,reason=underutilized "
     "dra_drivers=,gpu_name=,gpu_resource_name=,reason=unready"},
    {"cluster_autoscaler_scaled_down_gpu_nodes_total", MetricType::kCounter,
     "Number of GPU nodes removed by CA, by reason and GPU name.", "cluster gpu_name gpu_resource_name reason"},
    {"cluster_autoscaler_evicted_pods_total", MetricType::kCounter, "Number of pods evicted by CA.", "cluster eviction_result",
     "eviction_result=failed eviction_result=succeeded"},
    {"cluster_autoscaler_unneeded_nodes_count", MetricType::kGauge, "Number of nodes currently considered unneeded by CA.",
     "cluster"},
    {"cluster_autoscaler_unremovable_nodes_count", MetricType::kGauge,
     "Number of nodes currently considered unremovable by CA.", "cluster reason"},
    {"cluster_autoscaler_scale_down_in_cooldown", MetricType::kGauge,
     "Whether or not the scale down is in cooldown. 1 if it is, 0 otherwise.", "cluster"},
    {"cluster_autoscaler_old_unregistered_nodes_removed_count", MetricType::kCounter,
     "Number of unregistered nodes removed by CA.", "cluster"},
    {"cluster_autoscaler_overflowing_controllers_count", MetricType::kGauge,
     "Number of controllers that own a large set of heterogenous pods, preventing CA from treating these pods as equivalent.",
     "cluster"},
    {"cluster_autoscaler_skipped_scale_events_count", MetricType::kCounter,
     "Count of scaling events that the CA has chosen to skip.", "cluster direction reason",
     "direction=down,reason=CpuResourceLimit direction=down,reason=MemoryResourceLimit direction=up,reason=CpuResourceLimit "
     "direction=up,reason=MemoryResourceLimit"},
    {"cluster_autoscaler_created_node_groups_total", MetricType::kCounter,
     "Number of node groups created by Node Autoprovisioning, which is not offered: 0.", "cluster group_type",
     "group_type=autoprovisioned"},
    {"cluster_autoscaler_deleted_node_groups_total", MetricType::kCounter,
     "Number of node groups deleted by Node Autoprovisioning, which is not offered: 0.", "cluster group_type",
     "group_type=autoprovisioned"},
    {"cluster_autoscaler_node_group_min_count", MetricType::kGauge,
     "Minimum number of nodes in the node group; with --emit-per-nodegroup-metrics.", "cluster node_group"},
    {"cluster_autoscaler_node_group_max_count", MetricType::kGauge,
     "Maximum number of nodes in the node group; with --emit-per-nodegroup-metrics.", "cluster node_group"},
    {"cluster_autoscaler_node_group_target_count", MetricType::kGauge,
     "Target number of nodes in the node group; with --emit-per-nodegroup-metrics.", "cluster node_group"},
    {"cluster_autoscaler_node_group_healthiness", MetricType::kGauge,
     "Whether or not node group is healthy enough for autoscaling. 1 if it is, 0 otherwise; with --emit-per-nodegroup-metrics.",
     "cluster node_group"},
    {"cluster_autoscaler_node_group_backoff_status", MetricType::kGauge,
     "Whether or not node group is backoff for not autoscaling. 1 if it is, 0 otherwise; with --emit-per-nodegroup-metrics.",
     "cluster node_group reason"},
    {"cluster_autoscaler_node_taints_count", MetricType::kGauge, "Number of taints per type used in the cluster.",
     "cluster type"},
    {"cluster_autoscaler_pending_node_deletions", MetricType::kGauge,
     "Number of nodes that haven't been removed or aborted after finished scale-down phase.", "cluster"},
    {"cluster_autoscaler_inconsistent_instances_migs_count", MetricType::kGauge,
     "Number of migs whose instances GCE lists in two ways, which is not asked: 0.", "cluster"},
    {"cluster_autoscaler_max_node_skip_eval_duration_seconds", MetricType::kGauge,
     "Maximum evaluation time of a node being skipped during ScaleDown, which is not tracked: 0.", "cluster"}};

/// `name`: without the prefix.
const base::MetricFamily& FamilyOf(std::string_view name) {
  const auto* const found = std::ranges::find(kFamilies, name, [](const base::MetricFamily& family) {
    return std::string_view(family.name).substr(kMetricPrefix.size());
  });
  EVENKEEL_CHECK(found != std::end(kFamilies));
  return *found;
}

}  // namespace

void AutoscalerMetrics::Begin(const std::string& cluster) {
  for (const base::MetricFamily& family : kFamilies) base::CountFromZero(registry_, family, {{"cluster", cluster}});
}

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
  base::CounterOf(registry_, FamilyOf(name), labels).Add(amount);
}

void AutoscalerMetrics::Took(const std::string& cluster, const std::string& function, base::Duration time) {
  const base::MetricLabels labels{{"cluster", cluster}, {"function", function}};
  base::HistogramOf(registry_, FamilyOf("function_duration_seconds"), labels)
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
  for (const auto& [name, values] : gauges) base::ReplaceGaugesOf(registry_, FamilyOf(name), values);
}

std::vector<base::MetricFamily> AutoscalerMetrics::Families() { return {std::begin(kFamilies), std::end(kFamilies)}; }

}  // namespace evenkeel::controllers::autoscaler
