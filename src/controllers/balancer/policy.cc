#include "controllers/balancer/policy.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "kube/object.h"
#include "kube/quantity.h"

namespace evenkeel::controllers::balancer {
namespace {

using balancing::BuiltIn;
using balancing::BuiltInMetric;
using balancing::MoveCost;
using balancing::NodeTypeOverrides;
using balancing::Settings;
using base::Field;
using base::Json;

constexpr std::pair<std::string_view, LoadSource> kSources[] = {
    {"Requests", LoadSource::kRequests}, {"Usage", LoadSource::kUsage}, {"Annotation", LoadSource::kAnnotation}};
constexpr std::pair<std::string_view, MoveCost> kCosts[] = {{"Zero", MoveCost::kZero},
                                                            {"Low", MoveCost::kLow},
                                                            {"Medium", MoveCost::kMedium},
                                                            {"High", MoveCost::kHigh},
                                                            {"VeryHigh", MoveCost::kVeryHigh}};
/// Of cpu and memory when a policy names no metrics: below it an uneven load disturbs nobody.
constexpr int64_t kQuietCpu = 500;
constexpr int64_t kQuietMemory = int64_t{512} << 20;
constexpr int64_t kCountMax = 1'000'000;

base::Status ReadName(const Field& field, std::string& name) {
  EVENKEEL_TRY(field.Text(name));
  if (name.empty()) return field.Wrong("missing");
  return {};
}

/// In units of kube::ResourceList.
base::Status ReadAmount(const Field& field, std::string_view resource, int64_t& into) {
  kube::Quantity amount;
  EVENKEEL_TRY(kube::ReadQuantity(field, amount));
  if (field) into = resource == "cpu" ? amount.MilliValue() : amount.Value();
  return {};
}

template <typename List, typename Value, typename Member>
bool Has(const List& list, const Value& value, Member member) {
  return std::ranges::find(list, value, member) != list.end();
}

base::Status ReadTexts(const Field& field, std::vector<std::string>& texts) {
  if (field) texts.clear();
  return field.ForEach([&](const Field& item) { return ReadName(item, texts.emplace_back()); });
}

/// 0 switches a metric's trigger off; between 0 and 1 every placement would be uneven.
base::Status ReadThreshold(const Field& field, double& threshold) {
  double read = threshold;
  EVENKEEL_TRY(field.Number(read, 0, 1e12));
  if (read > 0 && read < 1) return field.Wrong(fmt::format("{} is between 0 (never) and 1 (always)", read));
  threshold = read;
  return {};
}

base::Status ReadMetricRule(const Field& field, MetricRule& rule) {
  EVENKEEL_TRY(ReadName(field["name"], rule.name));
  EVENKEEL_TRY(field["source"].Word<LoadSource>(rule.source, kSources));
  if (rule.source != LoadSource::kAnnotation) rule.resource = rule.name;
  EVENKEEL_TRY(field["resource"].Text(rule.resource));
  EVENKEEL_TRY(field["weight"].Number(rule.weight, 0, 1e6));
  EVENKEEL_TRY(ReadThreshold(field["balancingThreshold"], rule.balancing_threshold));
  EVENKEEL_TRY(ReadAmount(field["activityThreshold"], rule.resource, rule.activity_threshold));
  EVENKEEL_TRY(field["nodeBuffer"].Number(rule.node_buffer, 0, 1));
  if (BuiltIn(rule.name) == BuiltInMetric::kNo) return {};
  return field["name"].Wrong("\"" + rule.name + "\" counts replicas; choose another name");
}

base::Status ReadMetricRules(const Field& field, Policy& policy) {
  EVENKEEL_TRY(field.ForEach([&](const Field& item) -> base::Status {
    MetricRule rule;
    EVENKEEL_TRY(ReadMetricRule(item, rule));
    if (Has(policy.metrics, rule.name, &MetricRule::name)) {
      return item["name"].Wrong("another metric is called \"" + rule.name + "\"");
    }
    policy.metrics.push_back(std::move(rule));
    return {};
  }));
  if (!policy.metrics.empty()) return {};
  for (const auto& [resource, quiet] : {std::pair{"cpu", kQuietCpu}, std::pair{"memory", kQuietMemory}}) {
    MetricRule& rule = policy.metrics.emplace_back();
    rule.name = rule.resource = resource;
    rule.activity_threshold = quiet;
  }
  return {};
}

base::Status ReadNodeTypeMetric(const Field& field, const Policy& policy, NodeTypeRule& rule) {
  const Field balancing = field["balancingThreshold"], activity = field["activityThreshold"];
  std::string name;
  EVENKEEL_TRY(ReadName(field["name"], name));
  const auto metric = std::ranges::find(policy.metrics, name, &MetricRule::name);
  if (metric == policy.metrics.end()) return field["name"].Wrong("there is no metric \"" + name + "\"");
  if (balancing) EVENKEEL_TRY(ReadThreshold(balancing, rule.balancing_thresholds[name]));
  if (activity) EVENKEEL_TRY(ReadAmount(activity, metric->resource, rule.activity_thresholds[name]));
  return {};
}

base::Status ReadNodeTypes(const Field& field, Policy& policy) {
  return field.ForEach([&](const Field& item) -> base::Status {
    NodeTypeRule rule;
    EVENKEEL_TRY(ReadName(item["name"], rule.name));
    if (policy.node_type_label.empty()) return item.Wrong("needs spec.nodeTypeLabel, which says what a node's type is");
    if (Has(policy.node_types, rule.name, &NodeTypeRule::name)) {
      return item["name"].Wrong("another node type is called \"" + rule.name + "\"");
    }
    EVENKEEL_TRY(item["balancingInterval"].Wait(rule.balancing_interval));
    EVENKEEL_TRY(item["metrics"].ForEach([&](const Field& entry) { return ReadNodeTypeMetric(entry, policy, rule); }));
    policy.node_types.push_back(std::move(rule));
    return {};
  });
}

base::Status ReadPace(const Field& spec, Policy& policy) {
  const Field intervals = spec["intervals"], throttles = spec["throttles"];
  EVENKEEL_TRY(intervals["balancing"].Wait(policy.balancing_interval));
  EVENKEEL_TRY(intervals["constraintCheck"].Wait(policy.constraint_check_interval));
  EVENKEEL_TRY(intervals["afterNewNode"].Wait(policy.delay_after_new_node));
  EVENKEEL_TRY(intervals["afterNodeDown"].Wait(policy.delay_after_node_down));
  EVENKEEL_TRY(throttles["window"].Wait(policy.throttle_window));
  EVENKEEL_TRY(throttles["movements"].Whole(policy.movements, 0, kCountMax));
  EVENKEEL_TRY(throttles["movementsPerPod"].Whole(policy.movements_per_pod, 0, kCountMax));
  EVENKEEL_TRY(throttles["maxShare"].Number(policy.max_share, 0, 1));
  return throttles["inFlight"].Whole(policy.in_flight, 1, kCountMax);
}

base::Status ReadMoveCosts(const Field& field, Policy& policy) {
  return field.ForEach([&](const Field& item) -> base::Status {
    MoveCostRule& rule = policy.move_costs.emplace_back();
    EVENKEEL_TRY(kube::ReadSelector(item["selector"], rule.selector));
    return item["cost"].Word<MoveCost>(rule.cost, kCosts);
  });
}

base::Status ReadKeptRules(const Field& field, KeptRules& rules) {
  EVENKEEL_TRY(field["nodeAffinity"].Flag(rules.node_affinity));
  EVENKEEL_TRY(field["podAffinity"].Flag(rules.pod_affinity));
  EVENKEEL_TRY(field["topologySpread"].Flag(rules.topology_spread));
  return field["nodeTaints"].Flag(rules.node_taints);
}

double Seconds(base::Duration time) { return std::chrono::duration<double>(time).count(); }

int64_t WholeSeconds(base::Duration time) { return std::chrono::ceil<std::chrono::seconds>(time).count(); }

}  // namespace

std::string_view Name(LoadSource source) { return kSources[static_cast<size_t>(source)].first; }

MoveCost Policy::CostOf(const kube::Labels& labels) const {
  for (const MoveCostRule& rule : move_costs) {
    if (rule.selector.Matches(labels)) return rule.cost;
  }
  return MoveCost::kMedium;
}

bool Policy::UsesUsage() const { return Has(metrics, LoadSource::kUsage, &MetricRule::source); }

base::Result<Policy> ParsePolicy(const Json& object) {
  Policy policy;
  policy.name = kube::NameOf(object);
  policy.uid = kube::UidOf(object);
  const Field spec = Field(&object, "", "", base::Code::kInvalid)["spec"], exclude = spec["exclude"];
  if (spec) EVENKEEL_TRY(spec.IsObject());
  if (spec) policy.version = base::Blake2b64(base::CanonicalText(spec.value()));
  policy.excluded_namespace_labels = policy.excluded_pods = kube::LabelSelector::Nothing();
  EVENKEEL_TRY(ReadMetricRules(spec["metrics"], policy));
  EVENKEEL_TRY(spec["nodeTypeLabel"].Text(policy.node_type_label));
  EVENKEEL_TRY(ReadNodeTypes(spec["nodeTypes"], policy));
  EVENKEEL_TRY(ReadPace(spec, policy));
  EVENKEEL_TRY(ReadKeptRules(spec["rules"], policy.rules));
  EVENKEEL_TRY(ReadMoveWindows(spec["windows"], policy.windows));
  EVENKEEL_TRY(ReadMoveCosts(spec["moveCosts"], policy));
  EVENKEEL_TRY(ReadTexts(exclude["namespaces"], policy.excluded_namespaces));
  EVENKEEL_TRY(kube::ReadSelector(exclude["namespaceSelector"], policy.excluded_namespace_labels));
  EVENKEEL_TRY(kube::ReadSelector(exclude["podSelector"], policy.excluded_pods));
  EVENKEEL_TRY(ReadTexts(spec["faultDomainKeys"], policy.fault_domain_keys));
  EVENKEEL_TRY(spec["dryRun"].Flag(policy.dry_run));
  return policy;
}

Settings SettingsOf(const Policy& policy, const std::vector<int64_t>& scale) {
  Settings settings;
  settings.min_load_balancing_interval = Seconds(policy.balancing_interval);
  settings.min_constraint_check_interval = Seconds(policy.constraint_check_interval);
  // Schedulers place pods; the planner has nothing to look for there.
  settings.min_placement_interval = Seconds(policy.constraint_check_interval);
  settings.balancing_delay_after_new_node = Seconds(policy.delay_after_new_node);
  settings.balancing_delay_after_node_down = Seconds(policy.delay_after_node_down);
  settings.global_movement_throttle_threshold = 0;
  settings.global_movement_throttle_threshold_for_balancing = policy.movements;
  settings.global_movement_throttle_counting_interval = Seconds(policy.throttle_window);
  settings.movement_per_partition_throttle_threshold = policy.movements_per_pod;
  settings.movement_per_partition_throttle_counting_interval = Seconds(policy.throttle_window);
  settings.max_percentage_to_move = policy.max_share;
  settings.use_move_cost_reports = true;
  settings.thresholds_by_percentage = true;
  for (size_t i = 0; i < policy.metrics.size(); ++i) {
    const MetricRule& rule = policy.metrics[i];
    settings.metric_balancing_thresholds[rule.name] = rule.balancing_threshold;
    settings.metric_activity_thresholds[rule.name] = rule.activity_threshold / scale[i];
    // Nodes may be of different sizes: an even share of each is what is aimed at.
    if (!rule.resource.empty()) settings.balancing_by_percentage[rule.name] = true;
    if (rule.node_buffer > 0) settings.node_buffer_percentage[rule.name] = rule.node_buffer;
  }
  if (policy.node_type_label.empty()) return settings;
  settings.separate_balancing_strategy_per_node_type = true;
  settings.comparison = balancing::Comparison::kPerMode;  // a threshold of 1.5 shall tell 1.6 from 1.4
  settings.subclustering_enabled = true;
  for (const NodeTypeRule& rule : policy.node_types) {
    NodeTypeOverrides& overrides = settings.node_types[rule.name];
    overrides.balancing_thresholds = rule.balancing_thresholds;
    for (size_t i = 0; i < policy.metrics.size(); ++i) {
      const auto activity = rule.activity_thresholds.find(policy.metrics[i].name);
      if (activity != rule.activity_thresholds.end()) {
        overrides.activity_thresholds[activity->first] = activity->second / scale[i];
      }
    }
    if (rule.balancing_interval) overrides.min_load_balancing_interval = WholeSeconds(*rule.balancing_interval);
  }
  return settings;
}

}  // namespace evenkeel::controllers::balancer
