#include "balancing/plan/cluster_load.h"

#include <algorithm>

#include "balancing/model/buffered_capacity.h"
#include "base/time.h"

namespace evenkeel::balancing {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

std::optional<int64_t> ClusterCapacity(const Cluster& cluster, MetricId metric) {
  int64_t sum = 0;
  for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
    if (!cluster.nodes[node].CountsForClusterCapacity()) continue;
    const int64_t* capacity = cluster.CapacityOf(node, metric);
    if (capacity == nullptr || __builtin_add_overflow(sum, *capacity, &sum)) return std::nullopt;
  }
  return sum;
}

int64_t ClusterLoad(const Cluster& cluster, const NodeLoads& loads, MetricId metric) {
  int64_t sum = 0;
  for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
    if (cluster.nodes[node].CountsForClusterCapacity()) sum += loads.Of(metric, node);
  }
  return sum;
}

MetricLoad MakeMetricLoad(const Cluster& cluster, const Settings& settings, const NodeLoads& loads,
                          const MetricChange& change) {
  const std::string& name = cluster.metrics[change.metric].name;
  MetricLoad metric{.metric = change.metric, .change = change};
  metric.balancing_threshold = BalancingThreshold(settings, name);
  metric.activity_threshold = ActivityThreshold(settings, name);
  metric.load = ClusterLoad(cluster, loads, change.metric);
  metric.capacity = ClusterCapacity(cluster, change.metric);
  metric.nodes = loads.Summary(change.metric);
  const auto buffer = settings.node_buffer_percentage.find(name);
  if (!metric.capacity) return metric;
  if (buffer != settings.node_buffer_percentage.end()) metric.buffer = buffer->second;
  metric.buffered_capacity = LessBuffer(*metric.capacity, metric.buffer);
  return metric;
}

// Seconds of a clock that counts from 1970.
Json TimeText(double seconds) {
  constexpr double kLastInstant = 9e9;  // what fits into nanoseconds
  if (seconds <= kLongAgo || seconds > kLastInstant) return {};
  return Json(base::FormatTime(base::Time(std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds)))));
}

Json NodeText(const Cluster& cluster, NodeId node) { return node == kNoId ? Json() : Json(cluster.nodes[node].name); }

JsonObject NodeTypeJson(const Cluster& cluster, const MetricBalance& balance) {
  return JsonObject{{"NodeType", cluster.node_types[balance.node_type]},
                    {"IsBalancedBefore", balance.balanced()},
                    {"BalancingThreshold", balance.threshold},
                    {"ActivityThreshold", balance.activity_threshold},
                    {"MinNodeLoadValue", balance.min},
                    {"MinNodeLoadNodeId", NodeText(cluster, balance.min_node)},
                    {"MaxNodeLoadValue", balance.max},
                    {"MaxNodeLoadNodeId", NodeText(cluster, balance.max_node)}};
}

JsonObject MetricJson(const Cluster& cluster, const MetricLoad& metric) {
  const int64_t capacity = metric.capacity.value_or(0);
  JsonObject json{
      {"LoadMetricName", cluster.metrics[metric.metric].name},
      {"IsBalancedBefore", metric.change.balanced_before},
      {"IsBalancedAfter", metric.change.balanced_after},
      {"DeviationBefore", metric.change.deviation_before},
      {"DeviationAfter", metric.change.deviation_after},
      {"BalancingThreshold", metric.balancing_threshold},
      {"Action", metric.action},
      {"ActivityThreshold", metric.activity_threshold},
      {"ClusterCapacity", capacity},
      {"ClusterLoad", metric.load},
      {"ClusterRemainingCapacity", metric.capacity ? std::max<int64_t>(capacity - metric.load, 0) : 0},
      {"NodeBufferPercentage", metric.buffer * 100},
      {"ClusterBufferedCapacity", metric.buffered_capacity},
      {"ClusterRemainingBufferedCapacity", metric.capacity ? std::max<int64_t>(metric.buffered_capacity - metric.load, 0) : 0},
      {"ClusterCapacityViolation", metric.capacity && metric.load > capacity},
      {"MinNodeLoadValue", metric.nodes.min},
      {"MinNodeLoadNodeId", NodeText(cluster, metric.nodes.min_node)},
      {"MaxNodeLoadValue", metric.nodes.max},
      {"MaxNodeLoadNodeId", NodeText(cluster, metric.nodes.max_node)}};
  if (metric.node_types.empty()) return json;
  JsonArray types;
  for (const MetricBalance& balance : metric.node_types) types.push_back(NodeTypeJson(cluster, balance));
  json["NodeTypes"] = std::move(types);
  return json;
}

bool IsThrottled(const PhaseSkip& skip) {
  switch (skip.reason) {
    case SkipReason::kNodeChange:
    case SkipReason::kMovementThrottle:
    case SkipReason::kNothingMayMove:
    case SkipReason::kPartitionsThrottled:
    case SkipReason::kNodeTypesPaused:
      return skip.stage == Stage::kBalancing;
    default:
      return false;
  }
}

}  // namespace

std::string_view ActionText(const PhaseDecision& decision) {
  switch (decision.phase) {
    case Phase::kPlacement:
      return "NewReplicaPlacement";
    case Phase::kPlacementWithMove:
      return "NewReplicaPlacementWithMove";
    case Phase::kConstraintCheck:
      return "ConstraintCheck";
    case Phase::kQuickBalancing:
    case Phase::kBalancing:
      return "LoadBalancing";
    case Phase::kNoActionNeeded:
      break;
  }
  return std::ranges::any_of(decision.skipped, IsThrottled) ? "ActionSkipped" : "NoActionNeeded";
}

ClusterLoads MakeClusterLoads(const Cluster& cluster, const Settings& settings, const Plan& plan, const PlannerMemory& memory) {
  ClusterLoads all;
  for (const GroupPhase& group : memory.groups) {
    all.last_balancing = std::max(all.last_balancing, group.phase.last_balancing);
  }
  const NodeSets sets(cluster);
  const NodeLoads loads(cluster, sets);
  for (const GroupPlan& group : plan.of_groups) {
    for (const MetricChange& change : group.metrics) {
      MetricLoad metric = MakeMetricLoad(cluster, settings, loads, change);
      metric.action = ActionText(group.decision);
      for (const MetricBalance& balance : group.balance.metrics) {
        if (balance.metric == change.metric && balance.node_type != kNoId) metric.node_types.push_back(balance);
      }
      all.metrics.push_back(std::move(metric));
    }
  }
  std::ranges::sort(all.metrics, {},
                    [&](const MetricLoad& metric) -> const std::string& { return cluster.metrics[metric.metric].name; });
  return all;
}

Json ToJson(const Cluster& cluster, const ClusterLoads& loads) {
  JsonArray metrics;
  for (const MetricLoad& metric : loads.metrics) metrics.push_back(MetricJson(cluster, metric));
  const Json last = TimeText(loads.last_balancing);
  return JsonObject{
      {"LastBalancingStartTimeUtc", last}, {"LastBalancingEndTimeUtc", last}, {"LoadMetricInformation", std::move(metrics)}};
}

}  // namespace evenkeel::balancing
