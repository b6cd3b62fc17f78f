#include "controllers/balancer/policy.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
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

using base::Json;
using base::JsonObject;

constexpr std::array<std::string_view, 3> kSources = {"Requests", "Usage", "Annotation"};
constexpr std::array<std::string_view, 5> kCosts = {"Zero", "Low", "Medium", "High", "VeryHigh"};
/// Of cpu and memory when a policy names no metrics: below it an uneven load disturbs nobody.
constexpr int64_t kQuietCpu = 500;
constexpr int64_t kQuietMemory = int64_t{512} << 20;
constexpr int64_t kCountMax = 1'000'000;

std::unexpected<base::Error> Wrong(std::string_view where, const std::string& what) {
  return base::Fail(base::Code::kInvalid, fmt::format("{}: {}", where, what));
}

/// A member of an object with its path for messages; null where it is absent or null.
struct Place {
  const Json* value = nullptr;
  std::string path;

  Place operator[](std::string_view key) const {
    const Json* found = value != nullptr && value->is_object() ? base::Find(*value, {key}) : nullptr;
    return {found != nullptr && found->is_null() ? nullptr : found, path + "." + std::string(key)};
  }
};

base::Result<double> ReadNumber(const Place& at, double fallback, double least, double most) {
  if (at.value == nullptr) return fallback;
  double number = 0;
  if (at.value->is_int64()) {
    number = static_cast<double>(at.value->get_int64());
  } else if (at.value->is_uint64()) {
    number = static_cast<double>(at.value->get_uint64());
  } else if (at.value->is_double()) {
    number = at.value->get_double();
  } else {
    return Wrong(at.path, "must be a number");
  }
  if (!(number >= least)) return Wrong(at.path, fmt::format("{} is below {}", number, least));
  if (!(number <= most)) return Wrong(at.path, fmt::format("{} is above {}", number, most));
  return number;
}

base::Result<int64_t> ReadCount(const Place& at, int64_t fallback, int64_t least) {
  EVENKEEL_ASSIGN(const double number, ReadNumber(at, static_cast<double>(fallback), static_cast<double>(least), kCountMax));
  if (number != std::floor(number)) return Wrong(at.path, fmt::format("{} is not a whole number", number));
  return static_cast<int64_t>(number);
}

base::Result<std::string> ReadText(const Place& at, std::string_view fallback) {
  if (at.value == nullptr) return std::string(fallback);
  if (!at.value->is_string()) return Wrong(at.path, "must be a string");
  return std::string(at.value->get_string());
}

base::Result<std::string> ReadName(const Place& at) {
  EVENKEEL_ASSIGN(std::string name, ReadText(at, ""));
  if (name.empty()) return Wrong(at.path, "must be given");
  return name;
}

template <size_t N>
base::Result<size_t> ReadWord(const Place& at, const std::array<std::string_view, N>& words, size_t fallback) {
  EVENKEEL_ASSIGN(const std::string word, ReadText(at, words[fallback]));
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) return static_cast<size_t>(found - words.begin());
  std::string all;
  for (const std::string_view each : words) all += (all.empty() ? "" : ", ") + std::string(each);
  return Wrong(at.path, fmt::format("\"{}\" is none of {}", word, all));
}

base::Result<base::Duration> ReadTime(const Place& at, base::Duration fallback) {
  if (at.value == nullptr) return fallback;
  EVENKEEL_ASSIGN(const std::string text, ReadText(at, ""));
  const auto time = base::ParseDuration(text);
  if (!time) return Wrong(at.path, fmt::format("\"{}\" is not a duration as \"1m30s\"", text));
  if (*time < base::Duration{}) return Wrong(at.path, fmt::format("\"{}\" is below 0", text));
  return *time;
}

/// In units of kube::ResourceList.
base::Result<int64_t> ReadAmount(const Place& at, std::string_view resource, int64_t fallback) {
  if (at.value == nullptr) return fallback;
  const auto amount = kube::Quantity::FromJson(*at.value);
  if (!amount) return Wrong(at.path, amount.error().message());
  const int64_t whole = resource == "cpu" ? amount->MilliValue() : amount->Value();
  if (whole < 0) return Wrong(at.path, fmt::format("{} is below 0", amount->ToString()));
  return whole;
}

base::Result<kube::LabelSelector> ReadSelector(const Place& at, kube::LabelSelector fallback) {
  if (at.value == nullptr) return fallback;
  auto selector = kube::LabelSelector::FromJson(*at.value);
  if (!selector) return Wrong(at.path, selector.error().message());
  return selector;
}

template <typename List, typename Value, typename Field>
bool Has(const List& list, const Value& value, Field field) {
  return std::ranges::find(list, value, field) != list.end();
}

/// visit(item) of each item.
template <typename Visit>
base::Status ForEach(const Place& at, const Visit& visit) {
  if (at.value == nullptr) return {};
  if (!at.value->is_array()) return Wrong(at.path, "must be a list");
  for (size_t i = 0; i < at.value->get_array().size(); ++i) {
    EVENKEEL_TRY(visit(Place{&at.value->get_array()[i], fmt::format("{}[{}]", at.path, i)}));
  }
  return {};
}

base::Status ReadTexts(const Place& at, std::vector<std::string>& texts) {
  if (at.value == nullptr) return {};
  texts.clear();
  return ForEach(at, [&](const Place& item) -> base::Status {
    EVENKEEL_ASSIGN(std::string text, ReadName(item));
    texts.push_back(std::move(text));
    return {};
  });
}

/// 0 switches a metric's trigger off; between 0 and 1 every placement would be uneven.
base::Result<double> ReadThreshold(const Place& at, double fallback) {
  EVENKEEL_ASSIGN(const double threshold, ReadNumber(at, fallback, 0, 1e12));
  if (threshold > 0 && threshold < 1) return Wrong(at.path, fmt::format("{} is between 0 (never) and 1 (always)", threshold));
  return threshold;
}

base::Result<MetricRule> ReadMetricRule(const Place& at) {
  MetricRule rule;
  EVENKEEL_ASSIGN(rule.name, ReadName(at["name"]));
  EVENKEEL_ASSIGN(const size_t source, ReadWord(at["source"], kSources, 0));
  rule.source = static_cast<LoadSource>(source);
  EVENKEEL_ASSIGN(rule.resource, ReadText(at["resource"], rule.source == LoadSource::kAnnotation ? "" : rule.name));
  EVENKEEL_ASSIGN(rule.weight, ReadNumber(at["weight"], 1, 0, 1e6));
  EVENKEEL_ASSIGN(rule.balancing_threshold, ReadThreshold(at["balancingThreshold"], rule.balancing_threshold));
  EVENKEEL_ASSIGN(rule.activity_threshold, ReadAmount(at["activityThreshold"], rule.resource, 0));
  EVENKEEL_ASSIGN(rule.node_buffer, ReadNumber(at["nodeBuffer"], 0, 0, 1));
  if (BuiltIn(rule.name) != BuiltInMetric::kNo)
    return Wrong(at["name"].path, "\"" + rule.name + "\" counts replicas; choose another name");
  return rule;
}

base::Status ReadMetricRules(const Place& at, Policy& policy) {
  EVENKEEL_TRY(ForEach(at, [&](const Place& item) -> base::Status {
    EVENKEEL_ASSIGN(MetricRule rule, ReadMetricRule(item));
    if (Has(policy.metrics, rule.name, &MetricRule::name)) {
      return Wrong(item["name"].path, "another metric is called \"" + rule.name + "\"");
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

base::Status ReadNodeTypes(const Place& at, Policy& policy) {
  return ForEach(at, [&](const Place& item) -> base::Status {
    NodeTypeRule rule;
    EVENKEEL_ASSIGN(rule.name, ReadName(item["name"]));
    if (policy.node_type_label.empty()) return Wrong(item.path, "needs spec.nodeTypeLabel, which says what a node's type is");
    if (Has(policy.node_types, rule.name, &NodeTypeRule::name)) {
      return Wrong(item["name"].path, "another node type is called \"" + rule.name + "\"");
    }
    if (const Place interval = item["balancingInterval"]; interval.value != nullptr) {
      EVENKEEL_ASSIGN(rule.balancing_interval, ReadTime(interval, {}));
    }
    EVENKEEL_TRY(ForEach(item["metrics"], [&](const Place& entry) -> base::Status {
      EVENKEEL_ASSIGN(const std::string name, ReadName(entry["name"]));
      const auto metric = std::ranges::find(policy.metrics, name, &MetricRule::name);
      if (metric == policy.metrics.end()) return Wrong(entry["name"].path, "there is no metric \"" + name + "\"");
      if (const Place threshold = entry["balancingThreshold"]; threshold.value != nullptr) {
        EVENKEEL_ASSIGN(rule.balancing_thresholds[name], ReadThreshold(threshold, 0));
      }
      if (const Place threshold = entry["activityThreshold"]; threshold.value != nullptr) {
        EVENKEEL_ASSIGN(rule.activity_thresholds[name], ReadAmount(threshold, metric->resource, 0));
      }
      return {};
    }));
    policy.node_types.push_back(std::move(rule));
    return {};
  });
}

base::Status ReadPace(const Place& spec, Policy& policy) {
  const Place intervals = spec["intervals"];
  EVENKEEL_ASSIGN(policy.balancing_interval, ReadTime(intervals["balancing"], policy.balancing_interval));
  EVENKEEL_ASSIGN(policy.constraint_check_interval, ReadTime(intervals["constraintCheck"], policy.constraint_check_interval));
  EVENKEEL_ASSIGN(policy.delay_after_new_node, ReadTime(intervals["afterNewNode"], policy.delay_after_new_node));
  EVENKEEL_ASSIGN(policy.delay_after_node_down, ReadTime(intervals["afterNodeDown"], policy.delay_after_node_down));
  const Place throttles = spec["throttles"];
  EVENKEEL_ASSIGN(policy.throttle_window, ReadTime(throttles["window"], policy.throttle_window));
  EVENKEEL_ASSIGN(policy.movements, ReadCount(throttles["movements"], policy.movements, 0));
  EVENKEEL_ASSIGN(policy.movements_per_pod, ReadCount(throttles["movementsPerPod"], policy.movements_per_pod, 0));
  EVENKEEL_ASSIGN(policy.max_share, ReadNumber(throttles["maxShare"], policy.max_share, 0, 1));
  EVENKEEL_ASSIGN(policy.in_flight, ReadCount(throttles["inFlight"], policy.in_flight, 1));
  return {};
}

base::Status ReadMoveCosts(const Place& at, Policy& policy) {
  return ForEach(at, [&](const Place& item) -> base::Status {
    MoveCostRule rule;
    EVENKEEL_ASSIGN(rule.selector, ReadSelector(item["selector"], kube::LabelSelector()));
    EVENKEEL_ASSIGN(const size_t cost, ReadWord(item["cost"], kCosts, 2));
    rule.cost = static_cast<MoveCost>(cost);
    policy.move_costs.push_back(std::move(rule));
    return {};
  });
}

double Seconds(base::Duration time) { return std::chrono::duration<double>(time).count(); }

int64_t WholeSeconds(base::Duration time) { return std::chrono::ceil<std::chrono::seconds>(time).count(); }

}  // namespace

std::string_view Name(LoadSource source) { return kSources[static_cast<size_t>(source)]; }

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
  const Json* found = base::Find(object, {"spec"});
  const Place spec{found != nullptr && found->is_null() ? nullptr : found, "spec"};
  if (spec.value != nullptr && !spec.value->is_object()) return Wrong(spec.path, "must be an object");
  if (spec.value != nullptr) policy.version = base::Blake2b64(base::CanonicalText(*spec.value));
  EVENKEEL_TRY(ReadMetricRules(spec["metrics"], policy));
  EVENKEEL_ASSIGN(policy.node_type_label, ReadText(spec["nodeTypeLabel"], ""));
  EVENKEEL_TRY(ReadNodeTypes(spec["nodeTypes"], policy));
  EVENKEEL_TRY(ReadPace(spec, policy));
  EVENKEEL_TRY(ReadMoveCosts(spec["moveCosts"], policy));
  const Place exclude = spec["exclude"];
  EVENKEEL_TRY(ReadTexts(exclude["namespaces"], policy.excluded_namespaces));
  EVENKEEL_ASSIGN(policy.excluded_namespace_labels, ReadSelector(exclude["namespaceSelector"], kube::LabelSelector::Nothing()));
  EVENKEEL_ASSIGN(policy.excluded_pods, ReadSelector(exclude["podSelector"], kube::LabelSelector::Nothing()));
  EVENKEEL_TRY(ReadTexts(spec["faultDomainKeys"], policy.fault_domain_keys));
  const Place dry_run = spec["dryRun"];
  if (dry_run.value != nullptr && !dry_run.value->is_bool()) return Wrong(dry_run.path, "must be true or false");
  policy.dry_run = dry_run.value != nullptr && dry_run.value->get_bool();
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
