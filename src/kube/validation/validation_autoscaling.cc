// Rules of autoscalers (kubernetes@1.36:pkg/apis/autoscaling/validation), whichever version they are written in.
#include <algorithm>

#include "kube/autoscaling.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

const Json& Part(const Json& parent, std::string_view key) {
  static const Json kNothing = JsonObject{};
  const Json* part = Member(parent, key);
  return part == nullptr ? kNothing : *part;
}

void Named(const Json& parent, std::string_view key, const FieldPath& path, std::string_view missing, Causes& causes) {
  const std::string_view text = Text(parent, key);
  if (text.empty()) return causes.push_back(RequiredValue(path.Field(key), missing));
  if (const std::string problem = CheckPathSegment(text); !problem.empty()) {
    causes.push_back(InvalidText(path.Field(key), text, problem));
  }
}

void Reference(const Json& reference, const FieldPath& path, Causes& causes) {
  Named(reference, "kind", path, "", causes);
  Named(reference, "name", path, "", causes);
  const std::string_view version = Text(reference, "apiVersion");
  if (std::ranges::count(version, '/') > 1) {
    causes.push_back(InvalidText(path.Field("apiVersion"), version, "unexpected GroupVersion string: " + std::string(version)));
  }
}

void Target(const Json& target, const FieldPath& path, Causes& causes) {
  const std::string_view type = Text(target, "type");
  if (type.empty()) causes.push_back(RequiredValue(path.Field("type"), "must specify a metric target type"));
  if (type != "Utilization" && type != "Value" && type != "AverageValue") {
    causes.push_back(InvalidText(path.Field("type"), type, "must be either Utilization, Value, or AverageValue"));
  }
  for (const char* key : {"value", "averageValue"}) {
    if (!Has(target, key)) continue;
    const Json& amount = target.get_object().at(key);
    const auto quantity = Quantity::FromJson(amount);
    if (quantity && *quantity <= Quantity()) causes.push_back(InvalidValue(path.Field(key), amount, "must be positive"));
  }
  if (Has(target, "averageUtilization") && Number(target, "averageUtilization") < 1) {
    causes.push_back(
        InvalidValue(path.Field("averageUtilization"), Json(Number(target, "averageUtilization")), "must be greater than 0"));
  }
}

// Of resources: a share or an amount, not both.
void ShareOrAmount(const Json& target, const FieldPath& path, Causes& causes) {
  const bool share = Has(target, "averageUtilization"), amount = Has(target, "averageValue");
  if (!share && !amount) {
    causes.push_back(
        RequiredValue(path.Field("averageUtilization"), "must set either a target raw value or a target utilization"));
  } else if (share && amount) {
    causes.push_back(
        ForbiddenValue(path.Field("averageValue"), "may not set both a target raw value and a target utilization"));
  }
}

void Source(std::string_view field, const Json& source, const FieldPath& path, Causes& causes) {
  const FieldPath target_path = path.Field("target"), metric_path = path.Field("metric");
  const Json& target = Part(source, "target");
  if (field == "object") Reference(Part(source, "describedObject"), path.Field("describedObject"), causes);
  if (field == "resource" || field == "containerResource") {
    if (Text(source, "name").empty()) causes.push_back(RequiredValue(path.Field("name"), "must specify a resource name"));
  } else {
    Named(Part(source, "metric"), "name", metric_path, "must specify a metric name", causes);
  }
  if (field == "containerResource") {
    const std::string_view container = Text(source, "container");
    if (container.empty()) {
      causes.push_back(RequiredValue(path.Field("container"), "must specify a container"));
    } else if (const std::string problem = CheckDnsLabel(container); !problem.empty()) {
      causes.push_back(InvalidText(path.Field("container"), container, problem));
    }
  }
  Target(target, target_path, causes);
  const bool value = Has(target, "value"), average = Has(target, "averageValue");
  if (field == "resource" || field == "containerResource") {
    ShareOrAmount(target, target_path, causes);
  } else if (field == "pods") {
    if (!average) {
      causes.push_back(RequiredValue(target_path.Field("averageValue"), "must specify a positive target averageValue"));
    }
  } else if (!value && !average) {
    causes.push_back(RequiredValue(target_path.Field("averageValue"),
                                   field == "object" ? "must set either a target value or averageValue"
                                                     : "must set either a target value for metric or a per-pod target"));
  } else if (value && average && field == "external") {
    causes.push_back(
        ForbiddenValue(target_path.Field("value"), "may not set both a target value for metric and a per-pod target"));
  }
}

void Metric(const Json& metric, const FieldPath& path, Causes& causes) {
  constexpr std::pair<std::string_view, std::string_view> kSources[] = {{"Object", "object"},
                                                                        {"External", "external"},
                                                                        {"Pods", "pods"},
                                                                        {"Resource", "resource"},
                                                                        {"ContainerResource", "containerResource"}};
  const std::string_view type = Text(metric, "type");
  if (type.empty()) causes.push_back(RequiredValue(path.Field("type"), "must specify a metric source type"));
  const auto* const known = std::ranges::find(kSources, type, [](const auto& source) { return source.first; });
  if (known == std::end(kSources)) {
    causes.push_back(
        UnsupportedText(path.Field("type"), type, {"ContainerResource", "External", "Object", "Pods", "Resource"}));
  } else if (Member(metric, known->second) == nullptr) {
    causes.push_back(RequiredValue(path.Field(known->second), "must populate information for the given metric source"));
  }
  bool first = true;
  for (const auto& [other, field] : kSources) {
    const Json* source = Member(metric, field);
    if (source == nullptr) continue;
    if (first) Source(field, *source, path.Field(field), causes);
    first = false;
    if (other != type) causes.push_back(ForbiddenValue(path.Field(field), "must populate the given metric source only"));
  }
}

void ScalingPolicy(const Json& policy, const FieldPath& path, Causes& causes) {
  constexpr int64_t kPeriodMax = 1'800;
  const std::string_view type = Text(policy, "type");
  if (type != "Pods" && type != "Percent") {
    causes.push_back(UnsupportedText(path.Field("type"), type, {"Percent", "Pods"}));
  }
  for (const char* key : {"value", "periodSeconds"}) {
    if (Number(policy, key) > 0) continue;
    causes.push_back(InvalidValue(path.Field(key), Json(Number(policy, key)), "must be greater than zero"));
  }
  if (Number(policy, "periodSeconds") > kPeriodMax) {
    causes.push_back(
        InvalidValue(path.Field("periodSeconds"), Json(Number(policy, "periodSeconds")), "must be less than or equal to 1800"));
  }
}

void ScalingRules(const Json& rules, const FieldPath& path, Causes& causes) {
  constexpr int64_t kWindowMax = 3'600;
  if (const int64_t window = Number(rules, "stabilizationWindowSeconds"); window < 0) {
    causes.push_back(
        InvalidValue(path.Field("stabilizationWindowSeconds"), Json(window), "must be greater than or equal to zero"));
  } else if (window > kWindowMax) {
    causes.push_back(
        InvalidValue(path.Field("stabilizationWindowSeconds"), Json(window), "must be less than or equal to 3600"));
  }
  if (Has(rules, "selectPolicy")) {
    const std::string_view chosen = Text(rules, "selectPolicy");
    if (chosen != "Max" && chosen != "Min" && chosen != "Disabled") {
      causes.push_back(UnsupportedText(path.Field("selectPolicy"), chosen, {"Disabled", "Max", "Min"}));
    }
  }
  const JsonArray& policies = List(rules, "policies");
  const FieldPath list = path.Field("policies");
  if (policies.empty()) causes.push_back(RequiredValue(list, "must specify at least one Policy"));
  for (size_t i = 0; i < policies.size(); ++i) ScalingPolicy(policies[i], list.Index(i), causes);
}

}  // namespace

void Autoscaler(const Resource& resource, const Json& object, Causes& causes) {
  Json as_v2;
  if (resource.version == "v1") AutoscalerToV2(as_v2 = object);
  const Json& spec = Part(resource.version == "v1" ? as_v2 : object, "spec");
  const FieldPath root("spec");
  const bool has_least = Has(spec, "minReplicas");
  const int64_t least = Number(spec, "minReplicas"), most = Number(spec, "maxReplicas");
  if (has_least && least < 1) {
    causes.push_back(InvalidValue(root.Field("minReplicas"), Json(least), "must be greater than or equal to 1"));
  }
  if (most < 1) causes.push_back(InvalidValue(root.Field("maxReplicas"), Json(most), "must be greater than 0"));
  if (has_least && most < least) {
    causes.push_back(InvalidValue(root.Field("maxReplicas"), Json(most), "must be greater than or equal to `minReplicas`"));
  }
  Reference(Part(spec, "scaleTargetRef"), root.Field("scaleTargetRef"), causes);
  const JsonArray& metrics = List(spec, "metrics");
  const FieldPath list = root.Field("metrics");
  for (size_t i = 0; i < metrics.size(); ++i) Metric(metrics[i], list.Index(i), causes);
  const FieldPath behavior = root.Field("behavior");
  for (const char* direction : {"scaleUp", "scaleDown"}) {
    const Json* rules = Member(Part(spec, "behavior"), direction);
    if (rules != nullptr) ScalingRules(*rules, behavior.Field(direction), causes);
  }
}

}  // namespace evenkeel::kube::validation
