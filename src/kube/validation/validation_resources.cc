// Rules of amounts of resources: which names there are, and what containers and pods may ask for
// (kubernetes@1.36:pkg/apis/core/validation, ValidateContainerResourceRequirements).
#include <set>

#include "kube/amounts.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "kube/validation/validation_pod.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

using NameSet = std::set<std::string_view>;

bool IsStandardName(std::string_view name) { return name == "storage" || IsQuotaResourceName(name); }

bool CountsWhole(std::string_view name) {
  static const NameSet kNames{"pods",       "resourcequotas",         "services",           "replicationcontrollers", "secrets",
                              "configmaps", "persistentvolumeclaims", "services.nodeports", "services.loadbalancers"};
  return kNames.contains(name) || IsExtendedResourceName(name);
}

/// What may be promised to more than there is of it.
bool MayBeOvercommitted(std::string_view name) { return IsNativeResourceName(name) && !IsHugePagesName(name); }

void HugePages(std::string_view name, const Quantity& amount, const FieldPath& path, Causes& causes) {
  const auto size = Quantity::Parse(name.substr(name.find('-') + 1));
  const bool whole = size && *size > Quantity() && size->MilliValue() % 1000 == 0;
  if (whole && amount.Value() % size->Value() == 0) return;
  causes.push_back(
      InvalidText(path, amount.ToString(), amount.ToString() + " is not positive integer multiple of " + std::string(name)));
}

using NameRule = void (*)(std::string_view name, const FieldPath& path, Causes& causes);

void RequestOfLimit(std::string_view name, const Quantity& amount, const Quantity* limit, const FieldPath& path,
                    Causes& causes) {
  const bool overcommitted = MayBeOvercommitted(name);
  if (limit == nullptr) {
    if (!overcommitted) {
      causes.push_back(RequiredValue(path.Field("limits"), "Limit must be set for non overcommitable resources"));
    }
  } else if (!overcommitted && amount != *limit) {
    causes.push_back(InvalidText(path.Field("requests"), amount.ToString(),
                                 "must be equal to " + std::string(name) + " limit of " + limit->ToString()));
  } else if (amount > *limit) {
    causes.push_back(InvalidText(path.Field("requests"), amount.ToString(),
                                 "must be less than or equal to " + std::string(name) + " limit of " + limit->ToString()));
  }
}

void Resources(const Json& resources, NameRule name_rule, const FieldPath& path, Causes& causes) {
  const Amounts limits = AmountsOf(Member(resources, "limits"));
  bool huge = false, computes = false;
  for (const char* which : {"limits", "requests"}) {
    const FieldPath list = path.Field(which);
    for (const auto& [name, value] : Fields(resources, which)) {
      const FieldPath here = list.Key(name);
      name_rule(name, here, causes);
      computes = computes || name == "cpu" || name == "memory";
      huge = huge || IsHugePagesName(name);
      const auto amount = Quantity::FromJson(value);
      if (!amount) continue;  // of a wrong shape, which is told
      ResourceAmount(name, *amount, here, causes);
      if (which == std::string_view("requests")) RequestOfLimit(name, *amount, FindAmount(limits, name), path, causes);
      if (IsHugePagesName(name)) HugePages(name, *amount, here, causes);
    }
  }
  if (huge && !computes) causes.push_back(ForbiddenValue(path, "HugePages require cpu or memory"));
}

void PodResourceName(std::string_view name, const FieldPath& path, Causes& causes) {
  if (IsPodLevelResourceName(name)) return;
  causes.push_back(UnsupportedText(path, name, {"cpu", "hugepages-", "memory"}));
}

}  // namespace

bool IsQuotaResourceName(std::string_view name) {
  static const NameSet kNames{"cpu",
                              "memory",
                              "ephemeral-storage",
                              "requests.cpu",
                              "requests.memory",
                              "requests.storage",
                              "requests.ephemeral-storage",
                              "limits.cpu",
                              "limits.memory",
                              "limits.ephemeral-storage",
                              "pods",
                              "resourcequotas",
                              "services",
                              "replicationcontrollers",
                              "secrets",
                              "configmaps",
                              "persistentvolumeclaims",
                              "services.nodeports",
                              "services.loadbalancers"};
  return kNames.contains(name) || IsHugePagesName(name) || name.starts_with("requests.hugepages-");
}

bool ResourceName(std::string_view name, const FieldPath& path, Causes& causes) {
  if (std::string problem = CheckQualifiedName(name); !problem.empty()) {
    causes.push_back(InvalidText(path, name, problem));
    return false;
  }
  if (name.contains('/') || IsStandardName(name)) return true;
  causes.push_back(InvalidText(path, name, "must be a standard resource type or fully qualified"));
  return true;
}

void ContainerResourceName(std::string_view name, const FieldPath& path, Causes& causes) {
  ResourceName(name, path, causes);
  if (!name.contains('/')) {
    const bool known = name == "cpu" || name == "memory" || name == "ephemeral-storage" || IsHugePagesName(name);
    if (!known) causes.push_back(InvalidText(path, name, "must be a standard resource for containers"));
  } else if (!IsNativeResourceName(name) && !IsExtendedResourceName(name)) {
    causes.push_back(InvalidText(path, name, "doesn't follow extended resource name standard"));
  }
}

void ResourceAmount(std::string_view name, const Quantity& amount, const FieldPath& path, Causes& causes) {
  if (amount < Quantity()) {
    causes.push_back(InvalidText(path, amount.ToString(), "must be greater than or equal to 0"));
  }
  if (CountsWhole(name) && amount.MilliValue() % 1000 != 0) {
    causes.push_back(InvalidText(path, amount.ToString(), "must be an integer"));
  }
}

void ContainerResources(const Json& resources, const FieldPath& path, Causes& causes) {
  Resources(resources, ContainerResourceName, path, causes);
}

void PodResources(const Json& spec, const Json& resources, const FieldPath& path, Causes& causes) {
  const FieldPath here = path.Field("resources");
  if (!List(resources, "claims").empty()) {
    causes.push_back(ForbiddenValue(here.Field("claims"), "claims may not be set for Resources at pod-level"));
  }
  Resources(resources, PodResourceName, here, causes);
  Json parts = spec;
  parts.get_object().erase("resources");
  const Amounts requests = AmountsOf(Member(resources, "requests")), limits = AmountsOf(Member(resources, "limits"));
  for (const auto& [name, amount] : PodRequests(JsonObject{{"spec", std::move(parts)}}, PodOverhead::kLeftOut)) {
    const Quantity* whole = FindAmount(requests, name);
    if (whole == nullptr || !IsPodLevelResourceName(name) || amount <= *whole) continue;
    causes.push_back(InvalidText(here.Field("requests").Key(name), whole->ToString(),
                                 "must be greater than or equal to aggregate container requests of " + amount.ToString()));
  }
  const JsonArray& containers = List(spec, "containers");
  for (size_t i = 0; i < containers.size(); ++i) {
    for (const auto& [name, amount] : AmountsOf(base::Find(containers[i], {"resources", "limits"}))) {
      const Quantity* whole = FindAmount(limits, name);
      if (whole == nullptr || !IsPodLevelResourceName(name) || amount <= *whole) continue;
      causes.push_back(InvalidText(path.Field("containers").Index(i).Field("resources").Field("limits").Key(name),
                                   amount.ToString(), "must be less than or equal to pod limits of " + whole->ToString()));
    }
  }
}

}  // namespace evenkeel::kube::validation
