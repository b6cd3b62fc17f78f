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

/// Taints that say something about a node at one time are told by their keys, those of a prefix by the prefix.
std::string_view TypeOfTaint(const Options& options, std::string_view key) {
  if (!IsTransientTaint(options, key)) return "other";
  constexpr std::string_view kSuffix = "-taint.cluster-autoscaler.kubernetes.io/";
  const size_t found = key.find(kSuffix);
  return found == std::string_view::npos ? key : key.substr(0, found + kSuffix.size());
}

void AddNodes(const LoopPlan& plan, const AutoscalerState& state, const Options& options, Samples& samples) {
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
  int64_t cores = 0, memory = 0;
  std::map<std::string_view, size_t> taints{{scheduling::kToBeDeletedTaint, 0}, {scheduling::kDeletionCandidateTaint, 0}};
  scheduling::Snapshot& snapshot = *plan.view.snapshot;
  for (const NodeId node : snapshot.order()) {
    if (node == scheduling::kNone || node >= plan.view.nodes->size()) continue;
    const NodeFacts& facts = (*plan.view.nodes)[node];
    for (const kube::Taint& taint : snapshot.TaintsOf(node)) ++taints[TypeOfTaint(options, taint.key)];
    if (facts.to_be_deleted) continue;
    cores += facts.cores;
    memory += facts.memory;
  }
  samples.Add("cluster_cpu_current_cores", static_cast<double>(cores));
  samples.Add("cluster_memory_current_bytes", static_cast<double>(memory));
  for (const auto& [type, count] : taints) samples.Count("node_taints_count", count, {{"type", std::string(type)}});
}

void AddLimits(const LoopPlan& plan, const Options& options, Samples& samples) {
  int64_t most = 0;
  for (const providers::NodeGroup& group : plan.view.groups.groups) most += group.max_size;
  if (options.max_nodes_total > 0) most = std::min(most, options.max_nodes_total);
  samples.Add("max_nodes_count", static_cast<double>(most));
  const auto limits = [&](const char* name, const ResourceRange& range, double unit) {
    samples.Add(name, static_cast<double>(range.min) * unit, {{"direction", "minimum"}});
    samples.Add(name, static_cast<double>(range.max) * unit, {{"direction", "maximum"}});
  };
  limits("cpu_limits_cores", options.cores_total, 1);
  limits("memory_limits_bytes", options.memory_total, kGibibyte);
}

void AddGroups(const LoopPlan& plan, const AutoscalerState& state, const Options& options, Samples& samples) {
  samples.Count("node_groups_count", plan.view.groups.groups.size(), {{"node_group_type", "autoscaled"}});
  samples.Count("node_groups_count", 0, {{"node_group_type", "autoprovisioned"}});
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
  const auto unschedulable = static_cast<size_t>(
      std::ranges::count_if(plan.pending, [&](scheduling::PodId pod) { return (*plan.view.pods)[pod].unschedulable; }));
  samples.Count("unschedulable_pods_count", unschedulable, {{"type", "unschedulable"}});
  samples.Count("unschedulable_pods_count", plan.pending.size() - unschedulable, {{"type", "scheduler_unprocessed"}});
  samples.Add("inconsistent_instances_migs_count", 0);
  samples.Add("max_node_skip_eval_duration_seconds", 0);
  samples.Count("pending_node_deletions", pending_deletions);
  samples.Count("overflowing_controllers_count", plan.scale_up.overflowing_controllers);
  AddNodes(plan, state, options, samples);
  AddLimits(plan, options, samples);
  AddGroups(plan, state, options, samples);
  if (plan.scale_down_looked) AddScaleDown(plan, samples);
  samples.Add("last_activity", Seconds(last.main), {{"activity", "main"}});
  samples.Add("last_activity", Seconds(last.autoscaling), {{"activity", "autoscaling"}});
  samples.Add("last_activity", Seconds(last.scale_up), {{"activity", "scaleUp"}});
  samples.Add("last_activity", Seconds(last.scale_down), {{"activity", "scaleDown"}});
  return samples.Take();
}

void CountByKind(AutoscalerMetrics& metrics, const std::string& cluster, const NodeKind& kind, const char* name,
                 const char* name_of_gpus, const base::MetricLabels& labels, double amount) {
  const Gpus& gpus = kind.gpus;
  base::MetricLabels all = labels;
  all["gpu_name"] = gpus.count == 0 ? "" : gpus.type;
  all["gpu_resource_name"] = gpus.count == 0 ? "" : gpus.resource;
  if (gpus.count > 0) metrics.Count(cluster, name_of_gpus, all, amount);
  all["dra_drivers"] = kind.drivers;
  metrics.Count(cluster, name, std::move(all), amount);
}

void CountLoop(const LoopPlan& plan, const AutoscalerState& state, const NodeTemplates& templates, const std::string& cluster,
               AutoscalerMetrics& metrics) {
  const auto kind_of = [&](const std::string& group) {
    const NodeTemplate* made = templates.Find(group);
    if (made == nullptr) return NodeKind{};
    return NodeKind{GpusOf(made->node, plan.view.groups.gpu_label), DriverNames(made->device_pools)};
  };
  for (const ScaleUpStep& step : plan.scale_ups) {
    for (const GroupDelta& delta : step.changes) {
      CountByKind(metrics, cluster, kind_of(delta.group), "scaled_up_nodes_total", "scaled_up_gpu_nodes_total", {},
                  static_cast<double>(delta.to - delta.from));
    }
  }
  for (const auto& [function, time] : plan.durations) metrics.Took(cluster, function, time);
  for (const ScaleUpPlan::Skipped& skipped : plan.scale_up.skipped) {
    if (!skipped.reason.starts_with("exceeded quota")) continue;
    const std::string_view reason_text = skipped.reason;
    const std::string_view resources = reason_text.substr(std::min(reason_text.find("resources:"), reason_text.size()));
    for (const auto& [resource, reason] : {std::pair("cpu", "CpuResourceLimit"), std::pair("memory", "MemoryResourceLimit")}) {
      if (!resources.contains(resource)) continue;
      metrics.Count(cluster, "skipped_scale_events_count", {{"direction", "up"}, {"reason", reason}});
    }
  }
  if (plan.stopped_at == "CheckActionable") return;
  for (const ScaleUpFailure& failure : state.cluster.failures()) {
    CountByKind(metrics, cluster, kind_of(failure.group), "failed_scale_ups_total", "failed_gpu_scale_ups_total",
                {{"reason", failure.error.code}}, 1);
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
