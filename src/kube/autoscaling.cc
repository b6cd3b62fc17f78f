#include "kube/autoscaling.h"

namespace evenkeel::kube {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr int64_t kDefaultUtilization = 80;
constexpr std::string_view kPrefix = "autoscaling.alpha.kubernetes.io/";

// What v1 keeps in annotations: the part of the object, its field, the annotation's name behind the prefix.
struct Kept {
  std::string_view part, field, annotation;
};
constexpr Kept kKept[] = {{"spec", "metrics", "metrics"},
                          {"spec", "behavior", "behavior"},
                          {"status", "currentMetrics", "current-metrics"},
                          {"status", "conditions", "conditions"}};

bool IsCpu(const Json& metric) {
  return base::FindString(metric, {"type"}) == "Resource" && base::FindString(metric, {"resource", "name"}) == "cpu";
}

Json CpuMetric(std::string_view where, int64_t percent) {
  JsonObject value{{"averageUtilization", percent}};
  if (where == "target") value["type"] = "Utilization";
  return JsonObject{{"type", "Resource"}, {"resource", JsonObject{{"name", "cpu"}, {where, std::move(value)}}}};
}

// The one metric that v1 has a field for, taken out of the list: {field of v1, list of v2, where the number is}.
void TakeCpu(Json& object, std::string_view part, std::string_view list, std::string_view where, std::string_view field) {
  Json* const metrics = base::Find(object, {part, list});
  if (metrics == nullptr || !metrics->is_array()) return;
  JsonArray& all = metrics->get_array();
  for (size_t i = 0; i < all.size(); ++i) {
    const Json* const percent = base::Find(all[i], {"resource", where, "averageUtilization"});
    // A second one, or an amount beside the share, stays with the others.
    if (!IsCpu(all[i]) || percent == nullptr || !percent->is_int64()) continue;
    if (base::Find(all[i], {"resource", where, "averageValue"}) != nullptr) continue;
    base::Ensure(object, {part, field}) = percent->get_int64();
    JsonArray& rest = base::Find(object, {part, list})->get_array();
    rest.erase(rest.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
}

void PutCpu(Json& object, std::string_view part, std::string_view list, std::string_view where, std::string_view field) {
  const Json* const percent = base::Find(object, {part, field});
  if (percent == nullptr) return;
  const int64_t number = percent->is_int64() ? percent->get_int64() : 0;
  base::Erase(object, {part, field});
  Json& metrics = base::Ensure(object, {part, list});
  if (!metrics.is_array()) metrics = JsonArray();
  metrics.get_array().push_back(CpuMetric(where, number));
}

JsonObject Policy(std::string_view type, int64_t value, int64_t seconds) {
  return {{"type", type}, {"value", value}, {"periodSeconds", seconds}};
}

void SetIfAbsent(JsonObject& object, std::string_view key, Json value) {
  if (const Json* present = object.if_contains(key); present == nullptr || present->is_null()) object[key] = std::move(value);
}

void DefaultRules(JsonObject& behavior, std::string_view direction, bool up) {
  Json& rules = behavior[direction];
  if (rules.is_null()) rules = JsonObject();
  if (!rules.is_object()) return;
  JsonObject& fields = rules.get_object();
  SetIfAbsent(fields, "selectPolicy", "Max");
  if (up) SetIfAbsent(fields, "stabilizationWindowSeconds", 0);
  JsonArray policies;
  if (up) policies.push_back(Policy("Pods", 4, 15));
  policies.push_back(Policy("Percent", 100, 15));
  SetIfAbsent(fields, "policies", std::move(policies));
}

}  // namespace

void DefaultAutoscaler(Json& object) {
  if (base::FindString(object, {"apiVersion"}) != "autoscaling/v2") return;
  Json* const spec = base::Find(object, {"spec"});
  if (spec == nullptr || !spec->is_object()) return;
  JsonObject& fields = spec->get_object();
  const Json* const metrics = fields.if_contains("metrics");
  if (metrics == nullptr || metrics->is_null() || (metrics->is_array() && metrics->get_array().empty())) {
    fields["metrics"] = JsonArray{CpuMetric("target", kDefaultUtilization)};
  }
  Json* const behavior = fields.if_contains("behavior");
  if (behavior == nullptr || !behavior->is_object()) return;
  DefaultRules(behavior->get_object(), "scaleUp", true);
  DefaultRules(behavior->get_object(), "scaleDown", false);
}

void AutoscalerToV2(Json& object) {
  if (!object.is_object()) return;
  for (const Kept& kept : kKept) {
    const std::string name = std::string(kPrefix) + std::string(kept.annotation);
    const std::string text(base::FindString(object, {"metadata", "annotations", name}));
    if (text.empty()) continue;
    base::Erase(object, {"metadata", "annotations", name});
    // One that cannot be read is dropped.
    if (auto value = base::ParseJson(text, "annotation"); value && value->is_structured()) {
      base::Ensure(object, {kept.part, kept.field}) = *std::move(value);
    }
  }
  if (base::FindObject(object, {"metadata", "annotations"}).empty()) base::Erase(object, {"metadata", "annotations"});
  PutCpu(object, "spec", "metrics", "target", "targetCPUUtilizationPercentage");
  PutCpu(object, "status", "currentMetrics", "current", "currentCPUUtilizationPercentage");
  if (base::FindArray(object, {"spec", "metrics"}).empty() && base::Find(object, {"spec"}) != nullptr) {
    base::Ensure(object, {"spec", "metrics"}) = JsonArray{CpuMetric("target", kDefaultUtilization)};
  }
}

void AutoscalerFromV2(Json& object) {
  if (!object.is_object()) return;
  TakeCpu(object, "spec", "metrics", "target", "targetCPUUtilizationPercentage");
  TakeCpu(object, "status", "currentMetrics", "current", "currentCPUUtilizationPercentage");
  for (const Kept& kept : kKept) {
    const Json* const value = base::Find(object, {kept.part, kept.field});
    if (value == nullptr) continue;
    const bool empty = !value->is_structured() || (value->is_array() && value->get_array().empty());
    const std::string text = empty ? "" : base::ToText(*value);
    base::Erase(object, {kept.part, kept.field});
    if (empty) continue;
    base::Ensure(object, {"metadata", "annotations", std::string(kPrefix) + std::string(kept.annotation)}) = text;
  }
}

}  // namespace evenkeel::kube
