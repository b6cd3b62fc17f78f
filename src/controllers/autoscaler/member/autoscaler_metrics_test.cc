#include "controllers/autoscaler/member/autoscaler_metrics.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/member/loop_metrics.h"

namespace evenkeel::controllers::autoscaler::autoscaler_metrics_test {
namespace {

/// What cluster-autoscaler 1.37 has, without the prefix: name, type, labels.
constexpr const char* kUpstreams = R"(
cluster_safe_to_autoscale gauge
nodes_count gauge state
node_groups_count gauge node_group_type
unschedulable_pods_count gauge type
max_nodes_count gauge
cluster_cpu_current_cores gauge
cpu_limits_cores gauge direction
cluster_memory_current_bytes gauge
memory_limits_bytes gauge direction
node_group_min_count gauge node_group
node_group_max_count gauge node_group
node_group_target_count gauge node_group
node_group_healthiness gauge node_group
node_group_backoff_status gauge node_group reason
last_activity gauge activity
function_duration_seconds histogram function
pending_node_deletions gauge
errors_total counter type
scaled_up_nodes_total counter dra_drivers gpu_name gpu_resource_name
scaled_up_gpu_nodes_total counter gpu_name gpu_resource_name
failed_scale_ups_total counter dra_drivers gpu_name gpu_resource_name reason
failed_gpu_scale_ups_total counter gpu_name gpu_resource_name reason
failed_node_creations_total counter reason
scaled_down_nodes_total counter dra_drivers gpu_name gpu_resource_name reason
scaled_down_gpu_nodes_total counter gpu_name gpu_resource_name reason
evicted_pods_total counter eviction_result
unneeded_nodes_count gauge
unremovable_nodes_count gauge reason
scale_down_in_cooldown gauge
old_unregistered_nodes_removed_count counter
overflowing_controllers_count gauge
skipped_scale_events_count counter direction reason
created_node_groups_total counter group_type
deleted_node_groups_total counter group_type
node_taints_count gauge type
inconsistent_instances_migs_count gauge
max_node_skip_eval_duration_seconds gauge
)";
/// Not here; docs/COMPATIBILITY.md says why: function_duration_quantile_seconds, function_aggregated_duration_seconds,
/// binpacking_heterogeneity, node_removal_latency_seconds, skipped_pods_count, dra_node_template_resources_mismatch.

TEST(AutoscalerMetricsTest, FamiliesAreUpstreams) {
  std::map<std::string, std::string> upstreams, ours;
  std::istringstream lines(kUpstreams);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) upstreams["cluster_autoscaler_" + line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
  }
  for (const base::MetricFamily& family : AutoscalerMetrics::Families()) {
    std::string described = Name(family.type);
    std::istringstream labels(family.labels);
    for (std::string label; labels >> label;) described += label == "cluster" ? "" : " " + label;
    ours[family.name] = described;
  }
  EXPECT_EQ(ours, upstreams);
}

TEST(AutoscalerMetricsTest, NodesWithGpusCountUnderBothNames) {
  base::MetricRegistry registry;
  AutoscalerMetrics metrics(registry);
  metrics.Begin("m");
  const auto counts = [&](const std::string& line) { return registry.Render().contains("cluster_autoscaler_" + line + "\n"); };
  EXPECT_TRUE(counts(R"(scaled_up_nodes_total{cluster="m",dra_drivers="",gpu_name="",gpu_resource_name=""} 0)"));
  EXPECT_TRUE(counts(R"(created_node_groups_total{cluster="m",group_type="autoprovisioned"} 0)"));
  EXPECT_TRUE(counts(R"(skipped_scale_events_count{cluster="m",direction="down",reason="MemoryResourceLimit"} 0)"));
  const Gpus gpus{"t4", "nvidia.com/gpu", 2};
  CountByKind(metrics, "m", {gpus, ""}, "scaled_down_nodes_total", "scaled_down_gpu_nodes_total", {{"reason", "empty"}}, 3);
  CountByKind(metrics, "m", {}, "scaled_down_nodes_total", "scaled_down_gpu_nodes_total", {{"reason", "empty"}}, 1);
  EXPECT_TRUE(counts(
      R"(scaled_down_nodes_total{cluster="m",dra_drivers="",gpu_name="t4",gpu_resource_name="nvidia.com/gpu",reason="empty"} 3)"));
  EXPECT_TRUE(
      counts(R"(scaled_down_nodes_total{cluster="m",dra_drivers="",gpu_name="",gpu_resource_name="",reason="empty"} 1)"));
  CountByKind(metrics, "m", {{}, "gpu.org,nic.org"}, "scaled_down_nodes_total", "scaled_down_gpu_nodes_total",
              {{"reason", "empty"}}, 1);
  EXPECT_TRUE(counts(
      R"(scaled_down_nodes_total{cluster="m",dra_drivers="gpu.org,nic.org",gpu_name="",gpu_resource_name="",reason="empty"} 1)"));
  EXPECT_TRUE(
      counts(R"(scaled_down_gpu_nodes_total{cluster="m",gpu_name="t4",gpu_resource_name="nvidia.com/gpu",reason="empty"} 3)"));
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::autoscaler_metrics_test
