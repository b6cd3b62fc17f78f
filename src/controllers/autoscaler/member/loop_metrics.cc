#include "controllers/autoscaler/member/loop_metrics.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using Sample = AutoscalerMetrics::Sample;
using scheduling::NodeId;

constexpr double kGibibyte = 1024.0 * 1024 * 1024;

double Seconds(base::Time time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

class Samples {
 public:
  void Add(std::string name, double value, base::MetricLabels labels = {}) {
    samples_.push_back({std::move(name), std::move(labels), value});
  }
  void Count(std::string name, size_t value, base::MetricLabels labels = {}) {
    Add(std::move(name), static_cast<double>(value), std::move(labels));
  }
  std::vector<Sample> Take() { return std::move(samples_); }

 private:
  std::vector<Sample> samples_;
};

void AddNodes(const LoopPlan& plan, const AutoscalerState& state, Samples& samples) {
  const Readiness& total = state.cluster.total();
  const auto nodes = [&](const char* name, int64_t count) {
    samples.Add("nodes_count", static_cast<double>(count), {{"state", name}});
  };
  nodes("ready", total.ready);
  nodes("unready", total.unready);
  nodes("notStarted", static_cast<int64_t>(total.not_started.size()));
  nodes("suspended", total.suspended);
  nodes("unregistered", total.unregistered);
  nodes("longUnregistered", total.long_unregistered);
  double cores = 0, memory = 0;
  size_t deleting = 0, candidates = 0;
  scheduling::Snapshot& snapshot = *plan.view.snapshot;
  for (const NodeId node : snapshot.order()) {
    if (node == scheduling::kNone || node >= plan.view.nodes->size()) continue;
    const NodeFacts& facts = (*plan.view.nodes)[node];
    deleting += facts.to_be_deleted ? 1 : 0;
    candidates += facts.deletion_candidate ? 1 : 0;
    if (facts.to_be_deleted) continue;
    cores += static_cast<double>(snapshot.Allocatable(node, scheduling::kCpu)) / 1000;
    memory += static_cast<double>(snapshot.Allocatable(node, scheduling::kMemory));
  }
  samples.Add("cluster_cpu_current_cores", cores);
  samples.Add("cluster_memory_current_bytes", memory);
  samples.Count("node_taints_count", deleting, {{"type", "ToBeDeleted"}});
  samples.Count("node_taints_count", candidates, {{"type", "DeletionCandidate"}});
}

void AddLimits(const Options& options, Samples& samples) {
  samples.Add("max_nodes_count", static_cast<double>(options.max_nodes_total));
  const auto limits = [&](const char* name, const ResourceRange& range, double unit) {
    samples.Add(name, static_cast<double>(range.min) * unit, {{"direction", "minimum"}});
    samples.Add(name, static_cast<double>(range.max) * unit, {{"direction", "maximum"}});
  };
  limits("cpu_limits_cores", options.cores_total, 1);
  limits("memory_limits_bytes", options.memory_total, kGibibyte);
}

void AddGroups(const LoopPlan& plan, const AutoscalerState& state, const Options& options, Samples& samples) {
  samples.Count("node_groups_count", plan.view.groups.groups.size(), {{"node_group_type", "autoscaled"}});
  if (!options.emit_per_nodegroup_metrics) return;
  for (const providers::NodeGroup& group : plan.view.groups.groups) {
    const base::MetricLabels labels{{"node_group", group.id}};
    samples.Add("node_group_min_count", static_cast<double>(group.min_size), labels);
    samples.Add("node_group_max_count", static_cast<double>(group.max_size), labels);
    samples.Add("node_group_target_count", static_cast<double>(group.target_size), labels);
    samples.Add("node_group_healthiness", state.cluster.IsGroupHealthy(group.id) ? 1 : 0, labels);
    const Backoff::Entry* backoff = state.cluster.backoff().Find(group.id, plan.view.now);
    samples.Add("node_group_backoff_status", backoff == nullptr ? 0 : 1,
                {{"node_group", group.id}, {"reason", backoff == nullptr ? "" : backoff->error.code}});
  }
}

void AddScaleDown(const LoopPlan& plan, Samples& samples) {
  samples.Count("unneeded_nodes_count", plan.scale_down.unneeded.size());
  samples.Add("scale_down_in_cooldown", plan.scale_down.in_cool_down() ? 1 : 0);
  std::map<std::string, size_t> reasons;
  for (const Unremovable& node : plan.scale_down.unremovable) {
    std::string reason(node.blocking.reason == BlockingReason::kNoReason ? Name(node.reason) : Name(node.blocking.reason));
    ++reasons[std::move(reason)];
  }
  for (const auto& [reason, count] : reasons) samples.Count("unremovable_nodes_count", count, {{"reason", reason}});
}

}  // namespace

std::vector<Sample> SamplesOf(const LoopPlan& plan, const AutoscalerState& state, const Options& options,
                              size_t pending_deletions, const LastActivity& last) {
  Samples samples;
  samples.Add("cluster_safe_to_autoscale", state.cluster.IsClusterHealthy() ? 1 : 0);
  samples.Count("unschedulable_pods_count", plan.unschedulable.size(), {{"type", "unschedulable"}});
  samples.Count("pending_node_deletions", pending_deletions);
  samples.Count("overflowing_controllers_count", plan.scale_up.overflowing_controllers);
  AddNodes(plan, state, samples);
  AddLimits(options, samples);
  AddGroups(plan, state, options, samples);
  if (plan.scale_down_looked) AddScaleDown(plan, samples);
  samples.Add("last_activity", Seconds(last.main), {{"activity", "main"}});
  samples.Add("last_activity", Seconds(last.autoscaling), {{"activity", "autoscaling"}});
  samples.Add("last_activity", Seconds(last.scale_up), {{"activity", "scaleUp"}});
  samples.Add("last_activity", Seconds(last.scale_down), {{"activity", "scaleDown"}});
  return samples.Take();
}

void CountLoop(const LoopPlan& plan, const AutoscalerState& state, const NodeTemplates& templates, const std::string& cluster,
               AutoscalerMetrics& metrics) {
  for (const ScaleUpStep& step : plan.scale_ups) {
    for (const GroupDelta& delta : step.changes) {
      const auto nodes = static_cast<double>(delta.to - delta.from);
      metrics.Count(cluster, "scaled_up_nodes_total", {}, nodes);
      const NodeTemplate* made = templates.Find(delta.group);
      const Gpus gpus = made == nullptr ? Gpus{} : GpusOf(made->node, plan.view.groups.gpu_label);
      if (gpus.count == 0) continue;
      metrics.Count(cluster, "scaled_up_gpu_nodes_total", {{"gpu_resource_name", gpus.resource}, {"gpu_name", gpus.type}},
                    nodes);
    }
  }
  for (const auto& [function, time] : plan.durations) metrics.Took(cluster, function, time);
  for (const ScaleUpPlan::Skipped& skipped : plan.scale_up.skipped) {
    if (skipped.reason.starts_with("exceeded quota")) {
      metrics.Count(cluster, "skipped_scale_events_count", {{"direction", "up"}, {"reason", "QuotaExceeded"}});
    }
  }
  if (plan.stopped_at == "CheckActionable") return;
  for (const ScaleUpFailure& failure : state.cluster.failures()) {
    metrics.Count(cluster, "failed_scale_ups_total", {{"reason", failure.error.code}});
  }
  for (const GroupChange& change : plan.changes) {
    if (change.kind != GroupChange::Kind::kDeleteNodes) continue;
    for (const auto& [reason, nodes] : change.failed_creations) {
      metrics.Count(cluster, "failed_node_creations_total", {{"reason", reason}}, static_cast<double>(nodes));
    }
    if (!change.failed_creations.empty()) continue;
    metrics.Count(cluster, "old_unregistered_nodes_removed_count", {}, static_cast<double>(change.nodes.size()));
  }
}

}  // namespace evenkeel::controllers::autoscaler
