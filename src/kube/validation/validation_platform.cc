// Rules of the kinds by which a cluster is set up: webhooks, API services, runtime classes, classes and levels of priority
// (kubernetes@1.36:pkg/apis/{admissionregistration,node,flowcontrol,certificates,scheduling}/validation, kube-aggregator).
#include <algorithm>
#include <set>

#include "kube/object.h"
#include "kube/rules/admission.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;

// What of a webhook's URL is not asked for: who asks, and questions beyond the path.
void ClientUrl(std::string_view url, const FieldPath& path, Causes& causes) {
  constexpr std::string_view kScheme = "https://";
  if (!url.starts_with(kScheme)) {
    causes.push_back(InvalidText(path, url, "'https' is the only allowed URL scheme; desired format: https://host[/path]"));
    return;
  }
  const std::string_view rest = url.substr(kScheme.size());
  const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  if (host.empty()) causes.push_back(InvalidText(path, "", "host must be specified; desired format: https://host[/path]"));
  if (const size_t at = host.rfind('@'); at != host.npos) {
    causes.push_back(InvalidText(path, host.substr(0, at), "user information is not permitted in the URL"));
  }
  if (const size_t at = rest.find('#'); at != rest.npos) {
    causes.push_back(InvalidText(path, rest.substr(at + 1), "fragments are not permitted in the URL"));
  }
  const std::string_view question = rest.substr(0, rest.find('#'));
  if (const size_t at = question.find('?'); at != question.npos) {
    causes.push_back(InvalidText(path, question.substr(at + 1), "query parameters are not permitted in the URL"));
  }
}

void ServicePort(const Json& service, const FieldPath& path, Causes& causes) {
  const int64_t port = Number(service, "port", 443);
  if (port >= 1 && port <= 65535) return;
  causes.push_back(InvalidValue(path.Field("port"), Json(port), "port is not valid: must be between 1 and 65535, inclusive"));
}

void ClientService(const Json& service, const FieldPath& path, Causes& causes) {
  ServicePort(service, path, causes);
  const std::string_view where = Text(service, "path");
  if (where.empty() || where == "/") return;
  if (!where.starts_with('/')) causes.push_back(InvalidText(path.Field("path"), where, "must start with a '/'"));
  if (where.contains("//")) causes.push_back(InvalidText(path.Field("path"), where, "segment[0] may not be empty"));
}

// "*" stands alone, but for subresources beside all resources.
void Wildcards(const Json& rule, const FieldPath& path, Causes& causes) {
  const auto has = [&](const char* field, std::string_view text) {
    return std::ranges::any_of(List(rule, field), [&](const Json& one) { return one.is_string() && one.get_string() == text; });
  };
  for (const auto& [field, what] : {std::pair("operations", "operations"), std::pair("apiGroups", "API groups"),
                                    std::pair("apiVersions", "API versions")}) {
    if (!has(field, "*") || List(rule, field).size() < 2) continue;
    causes.push_back(InvalidValue(path.Field(field), *Member(rule, field),
                                  std::string("if '*' is present, must not specify other ") + what));
  }
  const FieldPath versions = path.Field("apiVersions");
  const JsonArray& named = List(rule, "apiVersions");
  for (size_t i = 0; i < named.size(); ++i) {
    if (named[i].is_string() && named[i].get_string().empty()) causes.push_back(RequiredValue(versions.Index(i)));
  }
  const FieldPath resources = path.Field("resources");
  const JsonArray& list = List(rule, "resources");
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_string()) continue;
    const std::string_view text = list[i].get_string();
    const size_t slash = text.find('/');
    if (slash == text.npos) continue;
    const std::string all(text.substr(0, slash + 1));
    if (text.substr(slash) != "/*" && has("resources", all + "*")) {
      causes.push_back(
          InvalidText(resources.Index(i), text, "if '" + all + "*' is present, must not specify " + std::string(text)));
    }
  }
  const bool whole = std::ranges::any_of(list, [](const Json& one) {
    return one.is_string() && one.get_string() != "*" && !std::string_view(one.get_string()).contains('/');
  });
  if (has("resources", "*") && whole) {
    causes.push_back(InvalidValue(resources, *Member(rule, "resources"),
                                  "if '*' is present, must not specify other resources without subresources"));
  }
}

void ReviewVersions(const Json& hook, const FieldPath& path, Causes& causes) {
  const JsonArray& versions = List(hook, "admissionReviewVersions");
  std::set<std::string_view> seen;
  for (size_t i = 0; i < versions.size(); ++i) {
    if (!versions[i].is_string()) continue;
    const std::string_view version = versions[i].get_string();
    if (const std::string problem = CheckDns1035Label(version); !problem.empty()) {
      causes.push_back(InvalidText(path.Index(i), version, problem));
    } else if (!seen.insert(version).second) {
      causes.push_back(InvalidText(path.Index(i), version, "duplicate version"));
    }
  }
  if (versions.empty() || seen.contains("v1") || seen.contains("v1beta1")) return;
  causes.push_back(InvalidValue(path, *Member(hook, "admissionReviewVersions"), "must include at least one of v1, v1beta1"));
}

void Client(const Json& hook, const FieldPath& path, Causes& causes) {
  const FieldPath at = path.Field("clientConfig");
  const Json* config = Member(hook, "clientConfig");
  const bool url = config != nullptr && Has(*config, "url");
  const bool service = config != nullptr && Member(*config, "service") != nullptr;
  if (url == service) {
    return causes.push_back(RequiredValue(at, "exactly one of url or service is required"));
  }
  if (url) ClientUrl(Text(*config, "url"), at.Field("url"), causes);
  if (service) ClientService(*Member(*config, "service"), at.Field("service"), causes);
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
  ReviewVersions(hook, path.Field("admissionReviewVersions"), causes);
  std::ranges::move(cel::CheckMatchConditions(List(hook, "matchConditions"), path.Field("matchConditions")),
                    std::back_inserter(causes));
  WriteRules(List(hook, "rules"), path.Field("rules"), causes);
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
  if (service) ServicePort(*Member(*spec, "service"), root.Field("service"), causes);
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

void WriteRules(const JsonArray& rules, const FieldPath& path, Causes& causes) {
  for (size_t i = 0; i < rules.size(); ++i) {
    const FieldPath at = path.Index(i);
    Wildcards(rules[i], at, causes);
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

void PlatformKind(const Resource& resource, const Json& object, Causes& causes) {
  const std::string& kind = resource.kind;
  if (resource.group == "autoscaling") return Autoscaler(resource, object, causes);
  if (resource.group == "scheduling.k8s.io") return PriorityClass(object, causes);
  if (kind.starts_with("ValidatingAdmissionPolicy")) return AdmissionPolicyKind(resource, object, causes);
  if (resource.group == "admissionregistration.k8s.io") return WebhookConfiguration(object, causes);
  if (resource.group == "apiregistration.k8s.io") return ApiService(object, causes);
  if (resource.group == "node.k8s.io") return Runtime(object, causes);
  if (resource.group == "flowcontrol.apiserver.k8s.io" && kind == "PriorityLevelConfiguration") PriorityLevel(object, causes);
}

}  // namespace evenkeel::kube::validation
