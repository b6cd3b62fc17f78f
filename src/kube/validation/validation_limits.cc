// Rules of what bounds a namespace: ResourceQuota and LimitRange.
#include <set>

#include "kube/amounts.h"
#include "kube/object.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

using NameSet = std::set<std::string_view>;

void QuotaAmounts(const JsonObject& amounts, const FieldPath& path, Causes& causes) {
  for (const auto& [name, value] : amounts) {
    const FieldPath here = path.Key(name);
    ResourceName(name, here, causes);
    if (!name.contains('/') && !IsQuotaResourceName(name)) {
      causes.push_back(InvalidText(here, name, "must be a standard resource for quota"));
    }
    const auto amount = Quantity::FromJson(value);
    if (!amount) continue;  // of a wrong shape, which is told
    ResourceAmount(name, *amount, here, causes);
  }
}

bool IsScope(std::string_view scope) {
  static const NameSet kScopes{"Terminating",          "NotTerminating", "BestEffort",
                               "NotBestEffort",        "PriorityClass",  "CrossNamespacePodAffinity",
                               "VolumeAttributesClass"};
  return kScopes.contains(scope);
}

bool IsValidForScope(std::string_view scope, std::string_view name) {
  static const NameSet kCompute{"cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"};
  if (scope == "VolumeAttributesClass") return name == "persistentvolumeclaims" || name == "requests.storage";
  if (scope == "BestEffort") return name == "pods";
  return !IsScope(scope) || name == "pods" || kCompute.contains(name);
}

void ScopesFit(const NameSet& scopes, const JsonObject& hard, const FieldPath& path, const Json& value, Causes& causes) {
  for (const std::string_view scope : scopes) {
    for (const auto& [name, amount] : hard) {
      if (!IsQuotaResourceName(name) || IsValidForScope(scope, name)) continue;
      causes.push_back(InvalidValue(path, value, "unsupported scope applied to resource"));
    }
  }
  for (const auto& [one, other] : {std::pair("BestEffort", "NotBestEffort"), std::pair("Terminating", "NotTerminating")}) {
    if (scopes.contains(one) && scopes.contains(other)) causes.push_back(InvalidValue(path, value, "conflicting scopes"));
  }
}

void QuotaScopes(const Json& spec, const FieldPath& path, Causes& causes) {
  const JsonArray& given = List(spec, "scopes");
  if (given.empty()) return;
  const FieldPath scopes = path.Field("scopes");
  NameSet names;
  for (const Json& scope : given) {
    if (!scope.is_string()) return;
    if (!IsScope(scope.get_string())) causes.push_back(InvalidValue(scopes, given, "unsupported scope"));
    names.insert(scope.get_string());
  }
  ScopesFit(names, Fields(spec, "hard"), scopes, given, causes);
}

void ScopeExpression(const Json& expression, const FieldPath& path, Causes& causes) {
  const std::string_view scope = Text(expression, "scopeName"), op = Text(expression, "operator");
  if (!IsScope(scope)) causes.push_back(InvalidText(path.Field("scopeName"), scope, "unsupported scope"));
  static const NameSet kOnlyExist{"BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"};
  if (kOnlyExist.contains(scope) && op != "Exists") {
    causes.push_back(InvalidText(path.Field("operator"), op,
                                 "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, "
                                 "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                                 "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"));
  }
  const JsonArray& values = List(expression, "values");
  if ((op == "In" || op == "NotIn") && values.empty()) {
    causes.push_back(RequiredValue(path.Field("values"),
                                   "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"));
  }
  if ((op == "Exists" || op == "DoesNotExist") && !values.empty()) {
    causes.push_back(InvalidValue(path.Field("values"), values,
                                  "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"));
  }
}

void QuotaSelector(const Json& spec, const FieldPath& path, Causes& causes) {
  const Json* selector = Member(spec, "scopeSelector");
  if (selector == nullptr) return;
  const FieldPath here = path.Field("scopeSelector");
  const FieldPath expressions = here.Field("matchExpressions");
  NameSet names;
  for (const Json& expression : List(*selector, "matchExpressions")) {
    ScopeExpression(expression, expressions, causes);
    names.insert(Text(expression, "scopeName"));
  }
  ScopesFit(names, Fields(spec, "hard"), expressions, *selector, causes);
}

void Quota(const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  if (const Json* spec = Member(object, "spec")) {
    QuotaAmounts(Fields(*spec, "hard"), path.Field("hard"), causes);
    QuotaScopes(*spec, path, causes);
    QuotaSelector(*spec, path, causes);
  }
  const FieldPath status_path = root.Field("status");
  if (const Json* status = Member(object, "status")) {
    QuotaAmounts(Fields(*status, "hard"), status_path.Field("hard"), causes);
    QuotaAmounts(Fields(*status, "used"), status_path.Field("used"), causes);
  }
}

/// The amounts of one entry of a LimitRange.
struct Bounds {
  Amounts max, min, limit, request, ratio;
};

void BoundsOfOne(const std::string& name, const Bounds& bounds, const FieldPath& path, Causes& causes) {
  const Quantity *max = FindAmount(bounds.max, name), *min = FindAmount(bounds.min, name);
  const Quantity *limit = FindAmount(bounds.limit, name), *request = FindAmount(bounds.request, name);
  const Quantity* ratio = FindAmount(bounds.ratio, name);
  const auto at_most = [&](const Quantity* low, const char* low_text, const Quantity* high, const char* high_text,
                           const char* field, const Quantity* shown) {
    if (low == nullptr || high == nullptr || *low <= *high) return;
    const FieldPath here = path.Field(field);
    causes.push_back(InvalidText(
        here.Key(name), shown->ToString(),
        std::string(low_text) + " value " + low->ToString() + " is greater than " + high_text + " value " + high->ToString()));
  };
  at_most(min, "min", max, "max", "min", min);
  at_most(min, "min", request, "default request", "defaultRequest", request);
  at_most(request, "default request", max, "max", "defaultRequest", request);
  at_most(request, "default request", limit, "default limit", "defaultRequest", request);
  at_most(min, "min", limit, "default", "default", min);
  at_most(limit, "default", max, "max", "default", max);
  if (ratio != nullptr) {
    const FieldPath ratios = path.Field("maxLimitRequestRatio");
    if (*ratio < Quantity::FromInt(1)) {
      causes.push_back(InvalidText(ratios.Key(name), ratio->ToString(), "ratio " + ratio->ToString() + " is less than 1"));
    }
    if (min != nullptr && max != nullptr && !min->IsZero()) {
      const double most = static_cast<double>(max->MilliValue()) / static_cast<double>(min->MilliValue());
      if (static_cast<double>(ratio->MilliValue()) / 1000 > most) {
        causes.push_back(InvalidText(ratios.Key(name), ratio->ToString(),
                                     "ratio " + ratio->ToString() + " is greater than max/min = " + std::to_string(most)));
      }
    }
  }
  const bool may_differ = IsNativeResourceName(name) && !IsHugePagesName(name);
  if (!may_differ && limit != nullptr && request != nullptr && *limit != *request) {
    const FieldPath here = path.Field("defaultRequest");
    causes.push_back(InvalidText(
        here.Key(name), request->ToString(),
        "default value " + limit->ToString() + " must equal to defaultRequest value " + request->ToString() + " in " + name));
  }
}

void LimitItem(const Json& item, const FieldPath& path, Causes& causes) {
  const std::string_view type = Text(item, "type");
  if (std::string problem = CheckQualifiedName(type); !problem.empty()) {
    causes.push_back(InvalidText(path.Field("type"), type, problem));
  } else if (!type.contains('/') && type != "Pod" && type != "Container" && type != "PersistentVolumeClaim") {
    causes.push_back(InvalidText(path.Field("type"), type, "must be a standard limit type or fully qualified"));
  }
  Bounds bounds;
  std::set<std::string> names;
  for (const auto& [field, into] :
       {std::pair("max", &bounds.max), std::pair("min", &bounds.min), std::pair("default", &bounds.limit),
        std::pair("defaultRequest", &bounds.request), std::pair("maxLimitRequestRatio", &bounds.ratio)}) {
    const FieldPath here = path.Field(field);
    const bool is_default = into == &bounds.limit || into == &bounds.request;
    if (type == "Pod" && is_default) {
      if (!Fields(item, field).empty()) causes.push_back(ForbiddenValue(here, "may not be specified when `type` is 'Pod'"));
      continue;
    }
    *into = AmountsOf(Member(item, field));
    for (const auto& [name, amount] : *into) {
      const FieldPath key = here.Key(name);
      if (type == "Pod" || type == "Container") {
        ContainerResourceName(name, key, causes);
      } else {
        ResourceName(name, key, causes);
      }
      names.insert(name);
    }
  }
  if (type == "PersistentVolumeClaim" && !bounds.min.contains("storage") && !bounds.max.contains("storage")) {
    causes.push_back(
        RequiredValue(path.Field("limits"), "either minimum or maximum storage value is required, but neither was provided"));
  }
  for (const std::string& name : names) BoundsOfOne(name, bounds, path, causes);
}

void Limits(const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath spec_path = root.Field("spec");
  const FieldPath path = spec_path.Field("limits");
  const Json* spec = Member(object, "spec");
  if (spec == nullptr) return;
  NameSet types;
  size_t index = 0;
  for (const Json& item : List(*spec, "limits")) {
    const FieldPath here = path.Index(index++);
    const std::string_view type = Text(item, "type");
    if (!types.insert(type).second) causes.push_back(DuplicateText(here.Field("type"), type));
    LimitItem(item, here, causes);
  }
}

}  // namespace

void BoundsKind(const Resource& resource, const Json& object, Causes& causes) {
  if (!resource.group.empty()) return;
  if (resource.kind == "ResourceQuota") Quota(object, causes);
  if (resource.kind == "LimitRange") Limits(object, causes);
}

}  // namespace evenkeel::kube::validation
