#include "embedded/apiserver/objects/scale.h"

#include "embedded/apiserver/requests/errors.h"
#include "kube/object.h"
#include "kube/selector.h"

namespace evenkeel::embedded::apiserver {
namespace {

constexpr int64_t kReplicasMax = 2'147'483'647;

base::Json& EnsureDotted(base::Json& object, std::string_view path) {
  base::Json* value = &object;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    if (!value->is_object()) *value = base::JsonObject();
    value = &value->get_object()[path.substr(0, dot)];
    path = dot == path.npos ? "" : path.substr(dot + 1);
  }
  return *value;
}

int64_t IntegerAt(const base::Json& object, std::string_view path) {
  const base::Json* value = path.empty() ? nullptr : FindDotted(object, path);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

}  // namespace

const base::Json* FindDotted(const base::Json& object, std::string_view path) {
  const base::Json* value = &object;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    if (!value->is_object()) return nullptr;
    value = value->get_object().if_contains(path.substr(0, dot));
    if (value == nullptr) return nullptr;
    path = dot == path.npos ? "" : path.substr(dot + 1);
  }
  return value;
}

base::Json ScaleOf(const Served& served, const base::Json& object) {
  base::JsonObject metadata{{"name", kube::NameOf(object)}};
  for (const std::string_view field : {"namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const base::Json* value = base::Find(object, {"metadata", field})) metadata[field] = *value;
  }
  base::JsonObject status{{"replicas", IntegerAt(object, served.status_replicas)}};
  const base::Json* selector = served.label_selector.empty() ? nullptr : FindDotted(object, served.label_selector);
  if (selector != nullptr && selector->is_string()) {
    status["selector"] = *selector;
  } else if (selector != nullptr) {
    if (const auto parsed = kube::LabelSelector::FromJson(*selector)) status["selector"] = parsed->ToString();
  }
  return base::JsonObject{{"kind", "Scale"},
                          {"apiVersion", "autoscaling/v1"},
                          {"metadata", std::move(metadata)},
                          {"spec", base::JsonObject{{"replicas", IntegerAt(object, served.spec_replicas)}}},
                          {"status", std::move(status)}};
}

base::Status SetScale(const Served& served, base::Json& object, const base::Json& scale) {
  const base::Json* replicas = base::Find(scale, {"spec", "replicas"});
  const base::Json zero = 0;
  if (replicas == nullptr) replicas = &zero;
  const bool valid = replicas->is_int64() && replicas->get_int64() >= 0 && replicas->get_int64() <= kReplicasMax;
  if (!valid) {
    const kube::Resource kind = NamedKind("autoscaling", "Scale", "scales");
    return base::Fail(
        InvalidError(kind, kube::NameOf(object),
                     {{.reason = "FieldValueInvalid",
                       .message = "Invalid value: " + base::ToText(*replicas) + ": must be greater than or equal to 0",
                       .field = "spec.replicas"}}));
  }
  EnsureDotted(object, served.spec_replicas) = *replicas;
  return {};
}

}  // namespace evenkeel::embedded::apiserver
