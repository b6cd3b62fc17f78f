// Rules of the kinds by which a cluster is set up: webhooks, API services, runtime classes, classes and levels of priority
// (kubernetes@1.36:pkg/apis/{admissionregistration,node,flowcontrol,certificates,scheduling}/validation, kube-aggregator).
#include <algorithm>

#include "kube/object.h"
#include "kube/validation_rules.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;

void Client(const Json& hook, const FieldPath& path, Causes& causes) {
  const FieldPath at = path.Field("clientConfig");
  const Json* config = Member(hook, "clientConfig");
  const bool url = config != nullptr && Has(*config, "url");
  const bool service = config != nullptr && Member(*config, "service") != nullptr;
  if (url == service) {
    return causes.push_back(RequiredValue(at, "exactly one of url or service is required"));
  }
  if (url) {
    const std::string_view text = Text(*config, "url");
    if (!text.starts_with("https://")) {
      causes.push_back(
          InvalidText(at.Field("url"), text, "'https' is the only allowed URL scheme; desired format: https://host[/path]"));
    }
  }
}

void Webhook(const Json& hook, const FieldPath& path, Causes& causes) {
  const std::string_view name = Text(hook, "name");
  if (const std::string problem = CheckDnsSubdomain(name); !name.empty() && !problem.empty()) {
    causes.push_back(InvalidText(path.Field("name"), name, problem));
  } else if (std::ranges::count(name, '.') < 2 && !name.empty()) {
    causes.push_back(
        InvalidText(path.Field("name"), name, "should be a domain with at least three segments separated by dots"));
  }
  const int64_t seconds = Number(hook, "timeoutSeconds", 10);
  if (seconds < 1 || seconds > 30) {
    causes.push_back(
        InvalidValue(path.Field("timeoutSeconds"), Json(seconds), "the timeout value must be between 1 and 30 seconds"));
  }
  for (const char* selector : {"namespaceSelector", "objectSelector"}) {
    if (const Json* present = Member(hook, selector)) LabelSelector(*present, path.Field(selector), causes);
  }
  Client(hook, path, causes);
  if (!List(hook, "matchConditions").empty()) {
    causes.push_back(ForbiddenValue(path.Field("matchConditions"), "this API server does not evaluate conditions in CEL"));
  }
  const JsonArray& rules = List(hook, "rules");
  const FieldPath list = path.Field("rules");
  for (size_t i = 0; i < rules.size(); ++i) {
    const FieldPath at = list.Index(i);
    for (const char* field : {"operations", "apiGroups", "apiVersions", "resources"}) {
      if (List(rules[i], field).empty()) causes.push_back(RequiredValue(at.Field(field)));
    }
    for (const Json& operation : List(rules[i], "operations")) {
      const std::string_view text = operation.is_string() ? std::string_view(operation.get_string()) : "";
      if (text == "*" || text == "CREATE" || text == "UPDATE" || text == "DELETE" || text == "CONNECT") continue;
      causes.push_back(UnsupportedText(at.Field("operations"), text, {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"}));
    }
  }
}

void WebhookConfiguration(const Json& object, Causes& causes) {
  const JsonArray& hooks = List(object, "webhooks");
  const FieldPath root("webhooks");
  std::set<std::string_view> names;
  for (size_t i = 0; i < hooks.size(); ++i) {
    const FieldPath at = root.Index(i);
    Webhook(hooks[i], at, causes);
    const std::string_view name = Text(hooks[i], "name");
    if (!name.empty() && !names.insert(name).second) causes.push_back(DuplicateText(at.Field("name"), name));
  }
}

void ApiService(const Json& object, Causes& causes) {
  const Json* spec = Member(object, "spec");
  if (spec == nullptr) return;
  const FieldPath root("spec");
  const std::string group(Text(*spec, "group")), version(Text(*spec, "version"));
  const std::string expected = version + "." + group;
  if (NameOf(object) != expected) {
    causes.push_back(InvalidText(FieldPath("metadata").Field("name"), NameOf(object),
                                 "must be `spec.version+\".\"+spec.group`: \"" + expected + "\""));
  }
  const int64_t least = Number(*spec, "groupPriorityMinimum"), priority = Number(*spec, "versionPriority");
  if (least <= 0 || least > 20'000) {
    causes.push_back(InvalidValue(root.Field("groupPriorityMinimum"), Json(least), "must be positive and less than 20000"));
  }
  if (priority <= 0 || priority > 1000) {
    causes.push_back(InvalidValue(root.Field("versionPriority"), Json(priority), "must be positive and less than 1000"));
  }
  const bool service = Member(*spec, "service") != nullptr;
  if (!service && Flag(*spec, "insecureSkipTLSVerify")) {
    causes.push_back(
        InvalidValue(root.Field("insecureSkipTLSVerify"), Json(true), "local APIServices may not have insecureSkipTLSVerify"));
  }
  if (Flag(*spec, "insecureSkipTLSVerify") && !Text(*spec, "caBundle").empty()) {
    causes.push_back(InvalidValue(root.Field("insecureSkipTLSVerify"), Json(true), "may not be true if caBundle is present"));
  }
}

void Runtime(const Json& object, Causes& causes) {
  const std::string_view handler = Text(object, "handler");
  if (const std::string problem = CheckDnsLabel(handler); !handler.empty() && !problem.empty()) {
    causes.push_back(InvalidText(FieldPath("handler"), handler, problem));
  }
}

void PriorityLevel(const Json& object, Causes& causes) {
  const Json* spec = Member(object, "spec");
  if (spec == nullptr) return;
  const FieldPath root("spec");
  const std::string_view type = Text(*spec, "type");
  const bool limited = Member(*spec, "limited") != nullptr;
  if (type == "Limited" && !limited)
    causes.push_back(RequiredValue(root.Field("limited"), "must not be empty when type is Limited"));
  if (type == "Exempt" && limited)
    causes.push_back(ForbiddenValue(root.Field("limited"), "must be nil if the type is not Limited"));
}

void PriorityClass(const Json& object, Causes& causes) {
  constexpr int64_t kUserMax = 1'000'000'000;
  constexpr std::pair<std::string_view, int64_t> kSystems[] = {{"system-node-critical", 2'000'001'000},
                                                               {"system-cluster-critical", 2'000'000'000}};
  const std::string name(NameOf(object));
  const int64_t value = Number(object, "value");
  if (!name.starts_with("system-")) {
    if (value <= kUserMax) return;
    return causes.push_back(
        ForbiddenValue(FieldPath("value"), "maximum allowed value of a user defined priority is " + std::to_string(kUserMax)));
  }
  std::string why = name + " is not a known system priority class";
  for (const auto& [known, wanted] : kSystems) {
    if (name != known) continue;
    if (value == wanted && !Flag(object, "globalDefault")) return;
    why = value == wanted ? "globalDefault of " + name + " PriorityClass must be false"
                          : "value of " + name + " PriorityClass must be " + std::to_string(wanted);
  }
  causes.push_back(
      ForbiddenValue(FieldPath("metadata.name"),
                     "priority class names with 'system-' prefix are reserved for system use only. error: " + why));
}

}  // namespace

void PlatformKind(const Resource& resource, const Json& object, Causes& causes) {
  const std::string& kind = resource.kind;
  if (resource.group == "autoscaling") return Autoscaler(resource, object, causes);
  if (resource.group == "scheduling.k8s.io") return PriorityClass(object, causes);
  if (resource.group == "admissionregistration.k8s.io") return WebhookConfiguration(object, causes);
  if (resource.group == "apiregistration.k8s.io") return ApiService(object, causes);
  if (resource.group == "node.k8s.io") return Runtime(object, causes);
  if (resource.group == "flowcontrol.apiserver.k8s.io" && kind == "PriorityLevelConfiguration") PriorityLevel(object, causes);
}

}  // namespace evenkeel::kube::validation
