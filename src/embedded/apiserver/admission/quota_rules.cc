#include "embedded/apiserver/admission/quota_rules.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "embedded/apiserver/objects/strategy.h"
#include "kube/object.h"
#include "kube/types.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Json;
using base::JsonArray;
using kube::Amounts;
using kube::Quantity;

constexpr std::string_view kRequestsOf = "requests.";
constexpr std::string_view kLimitsOf = "limits.";
constexpr std::string_view kOfStorageClass = ".storageclass.storage.k8s.io/";
constexpr std::string_view kDevicesOfClass = ".deviceclass.resource.k8s.io/devices";
constexpr std::string_view kDeviceGroup = "resource.k8s.io";
constexpr int64_t kDevicesMax = 32;  // that a claim can get: what one for all devices of a kind counts as
constexpr const char* kClaimClassAnnotation = "volume.beta.kubernetes.io/storage-class";
constexpr std::array<std::string_view, 3> kComputeNames = {"cpu", "memory", "ephemeral-storage"};

bool IsCoreKind(const kube::Resource& resource, std::string_view plural) {
  return resource.group.empty() && resource.plural == plural;
}

/// Requests and limits under the names that quotas have for them.
Amounts ComputeUsage(const Amounts& requests, const Amounts& limits) {
  Amounts usage;
  for (const std::string_view name : kComputeNames) {
    if (const Quantity* request = kube::FindAmount(requests, name)) {
      usage.emplace(name, *request);
      usage.emplace(std::string(kRequestsOf) + std::string(name), *request);
    }
    if (const Quantity* limit = kube::FindAmount(limits, name)) {
      usage.emplace(std::string(kLimitsOf) + std::string(name), *limit);
    }
  }
  for (const auto& [name, request] : requests) {
    if (kube::IsHugePagesName(name)) usage.emplace(name, request);
    if (kube::IsHugePagesName(name) || kube::IsExtendedResourceName(name)) {
      usage.emplace(std::string(kRequestsOf) + name, request);
    }
  }
  return usage;
}

bool LooksElsewhere(const Json& term) {
  const Json* selector = base::Find(term, {"namespaceSelector"});
  return !base::FindArray(term, {"namespaces"}).empty() || (selector != nullptr && !selector->is_null());
}

bool LooksIntoOtherNamespaces(const Json& pod) {
  for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
    for (const Json& term :
         base::FindArray(pod, {"spec", "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution"})) {
      if (LooksElsewhere(term)) return true;
    }
    for (const Json& weighted :
         base::FindArray(pod, {"spec", "affinity", kind, "preferredDuringSchedulingIgnoredDuringExecution"})) {
      const Json* term = base::Find(weighted, {"podAffinityTerm"});
      if (term != nullptr && LooksElsewhere(*term)) return true;
    }
  }
  return false;
}

/// When a pod that is being deleted should be gone at last; nullopt while nobody deletes it.
std::optional<base::Time> OverdueFrom(const Json& pod) {
  const auto deleted = base::ParseTime(base::FindString(pod, {"metadata", "deletionTimestamp"}));
  if (!deleted || base::Find(pod, {"metadata", "deletionGracePeriodSeconds"}) == nullptr) return std::nullopt;
  return *deleted + std::chrono::seconds(base::FindInt(pod, {"metadata", "deletionGracePeriodSeconds"}));
}

QuotaCharge ChargePod(const Json& pod, base::Time now) {
  QuotaCharge charge;
  charge.traits.pod = true;
  const Json* deadline = base::Find(pod, {"spec", "activeDeadlineSeconds"});
  charge.traits.terminating =
      deadline != nullptr && !deadline->is_null() && base::FindInt(pod, {"spec", "activeDeadlineSeconds"}, -1) >= 0;
  charge.traits.best_effort = QosClass(pod) == "BestEffort";
  charge.traits.across_namespaces = LooksIntoOtherNamespaces(pod);
  charge.traits.priority_class = base::FindString(pod, {"spec", "priorityClassName"});
  if (kube::HasEnded(pod)) return charge;
  charge.until = OverdueFrom(pod);
  if (charge.until && *charge.until < now) {
    charge.until.reset();
    return charge;
  }
  charge.usage =
      ComputeUsage(kube::PodRequests(pod, kube::PodOverhead::kCounted), kube::PodLimits(pod, kube::PodOverhead::kCounted));
  charge.usage.emplace("pods", Quantity::FromInt(1));
  return charge;
}

QuotaCharge ChargeService(const Json& service) {
  QuotaCharge charge;
  const JsonArray& ports = base::FindArray(service, {"spec", "ports"});
  const std::string_view type = base::FindString(service, {"spec", "type"});
  int64_t node_ports = 0;
  if (type == "NodePort" ||
      (type == "LoadBalancer" && base::FindBool(service, {"spec", "allocateLoadBalancerNodePorts"}, true))) {
    node_ports = static_cast<int64_t>(ports.size());
  } else if (type == "LoadBalancer") {
    node_ports = std::ranges::count_if(ports, [](const Json& port) { return base::FindInt(port, {"nodePort"}) != 0; });
  }
  charge.usage.emplace("services", Quantity::FromInt(1));
  charge.usage.emplace("services.nodeports", Quantity::FromInt(node_ports));
  charge.usage.emplace("services.loadbalancers", Quantity::FromInt(type == "LoadBalancer" ? 1 : 0));
  return charge;
}

QuotaCharge ChargeClaim(const Json& claim) {
  QuotaCharge charge;
  charge.traits.claim = true;
  for (const std::string_view name :
       {base::FindString(claim, {"spec", "volumeAttributesClassName"}),
        base::FindString(claim, {"status", "currentVolumeAttributesClassName"}),
        base::FindString(claim, {"status", "modifyVolumeStatus", "targetVolumeAttributesClassName"})}) {
    if (!name.empty()) charge.traits.volume_classes.emplace_back(name);
  }
  // Counted in whole bytes.
  const auto whole = [](const Amounts& amounts) {
    const Quantity* storage = kube::FindAmount(amounts, "storage");
    if (storage == nullptr || storage->MilliValue() % 1000 == 0) return storage == nullptr ? Quantity() : *storage;
    return Quantity::FromInt(storage->Value(), storage->format());
  };
  const Amounts requests = kube::AmountsOf(base::Find(claim, {"spec", "resources", "requests"}));
  const Quantity storage =
      std::max(whole(requests), whole(kube::AmountsOf(base::Find(claim, {"status", "allocatedResources"}))));
  charge.usage.emplace("persistentvolumeclaims", Quantity::FromInt(1));
  if (requests.contains("storage")) charge.usage.emplace("requests.storage", storage);
  std::string_view class_name = base::FindString(claim, {"metadata", "annotations", kClaimClassAnnotation});
  if (class_name.empty()) class_name = base::FindString(claim, {"spec", "storageClassName"});
  if (class_name.empty()) return charge;
  const std::string of_class = std::string(class_name) + std::string(kOfStorageClass);
  charge.usage.emplace(of_class + "persistentvolumeclaims", Quantity::FromInt(1));
  if (requests.contains("storage")) charge.usage.emplace(of_class + "requests.storage", storage);
  return charge;
}

void RaiseDevices(std::map<std::string, int64_t>& devices, const Json& request) {
  const std::string_view of_class = base::FindString(request, {"deviceClassName"});
  const std::string_view mode = base::FindString(request, {"allocationMode"}, "ExactCount");
  if (of_class.empty() || (mode != "All" && mode != "ExactCount")) return;
  int64_t& most = devices[std::string(of_class) + std::string(kDevicesOfClass)];
  most = std::max(most, mode == "All" ? kDevicesMax : base::FindInt(request, {"count"}, 1));
}

/// Of requests with alternatives the most that they may take of each class.
QuotaCharge ChargeDevices(const Json& claim) {
  QuotaCharge charge;
  for (const Json& request : base::FindArray(claim, {"spec", "devices", "requests"})) {
    std::map<std::string, int64_t> devices;
    for (const Json& alternative : base::FindArray(request, {"firstAvailable"})) RaiseDevices(devices, alternative);
    if (const Json* exactly = base::Find(request, {"exactly"}); exactly != nullptr) RaiseDevices(devices, *exactly);
    for (const auto& [name, count] : devices) kube::AddAmounts(charge.usage, {{name, Quantity::FromInt(count)}});
  }
  return charge;
}

bool HoldsOf(const QuotaBounds::Scope& scope, std::span<const std::string> present) {
  const bool among = std::ranges::any_of(
      present, [&](const std::string& one) { return std::ranges::find(scope.values, one) != scope.values.end(); });
  if (scope.op == "In") return among;
  if (scope.op == "NotIn") return !among;
  if (scope.op == "DoesNotExist") return present.empty();
  return !present.empty();
}

}  // namespace

QuotaBounds QuotaBounds::Decode(const Json& quota) {
  QuotaBounds bounds;
  bounds.hard = kube::AmountsOf(base::Find(quota, {"spec", "hard"}));
  for (std::string& scope : base::FindTexts(quota, {"spec", "scopes"})) {
    bounds.scopes.push_back({.name = std::move(scope), .op = "Exists", .values = {}});
  }
  for (const Json& expression : base::FindArray(quota, {"spec", "scopeSelector", "matchExpressions"})) {
    bounds.scopes.push_back({.name = std::string(base::FindString(expression, {"scopeName"})),
                             .op = std::string(base::FindString(expression, {"operator"})),
                             .values = base::FindTexts(expression, {"values"})});
  }
  return bounds;
}

bool QuotaBounds::Covers(const QuotaTraits& traits) const {
  return std::ranges::all_of(scopes, [&](const Scope& scope) {
    if (traits.claim) return scope.name == "VolumeAttributesClass" && HoldsOf(scope, traits.volume_classes);
    if (!traits.pod) return false;
    if (scope.name == "Terminating") return traits.terminating;
    if (scope.name == "NotTerminating") return !traits.terminating;
    if (scope.name == "BestEffort") return traits.best_effort;
    if (scope.name == "NotBestEffort") return !traits.best_effort;
    if (scope.name == "CrossNamespacePodAffinity") return traits.across_namespaces;
    if (scope.name != "PriorityClass") return false;
    const size_t named = traits.priority_class.empty() ? 0 : 1;
    return HoldsOf(scope, std::span(&traits.priority_class, named));
  });
}

bool IsMeasured(const kube::Resource& resource) {
  if (resource.group == kDeviceGroup) return resource.plural == "resourceclaims";
  return resource.group.empty() &&
         (resource.plural == "pods" || resource.plural == "services" || resource.plural == "persistentvolumeclaims");
}

std::string QuotaCountName(const kube::Resource& resource) { return "count/" + resource.QualifiedPlural(); }

QuotaCharge ChargeOf(const kube::Resource& resource, const Json& object, base::Time now) {
  if (IsCoreKind(resource, "pods")) return ChargePod(object, now);
  if (IsCoreKind(resource, "services")) return ChargeService(object);
  if (IsCoreKind(resource, "persistentvolumeclaims")) return ChargeClaim(object);
  if (resource.group == kDeviceGroup && resource.plural == "resourceclaims") return ChargeDevices(object);
  QuotaCharge charge;
  static const std::set<std::string_view> kNamed{"secrets", "configmaps", "replicationcontrollers", "resourcequotas"};
  if (resource.group.empty() && kNamed.contains(resource.plural)) charge.usage.emplace(resource.plural, Quantity::FromInt(1));
  return charge;
}

std::optional<std::pair<std::string, std::string>> KindOfQuotaName(std::string_view name) {
  using Kind = std::pair<std::string, std::string>;
  if (name.starts_with("count/")) {
    const std::string_view kind = name.substr(name.find('/') + 1);
    const size_t dot = kind.find('.');
    return Kind(dot == kind.npos ? "" : kind.substr(dot + 1), kind.substr(0, dot));
  }
  static const std::set<std::string_view> kNamed{
      "pods", "services", "persistentvolumeclaims", "secrets", "configmaps", "replicationcontrollers", "resourcequotas"};
  if (kNamed.contains(name)) return Kind("", name);
  if (name.starts_with("services.")) return Kind("", "services");
  if (name == "requests.storage") return Kind("", "persistentvolumeclaims");
  if (const size_t at = name.find(kOfStorageClass); at != name.npos) {
    const std::string_view what = name.substr(at + kOfStorageClass.size());
    if (what == "persistentvolumeclaims" || what == "requests.storage") return Kind("", "persistentvolumeclaims");
  }
  if (name.size() > kDevicesOfClass.size() && name.ends_with(kDevicesOfClass)) return Kind(kDeviceGroup, "resourceclaims");
  std::string_view compute = name;
  for (const std::string_view prefix : {kRequestsOf, kLimitsOf}) {
    if (name.starts_with(prefix)) compute = name.substr(prefix.size());
  }
  const bool requests = name.starts_with(kRequestsOf);
  const bool known = std::ranges::find(kComputeNames, compute) != kComputeNames.end() ||
                     (!name.starts_with(kLimitsOf) && kube::IsHugePagesName(compute)) ||
                     (requests && !kube::IsNativeResourceName(compute));
  return known ? std::optional(Kind("", "pods")) : std::nullopt;
}

std::string UnspecifiedAmounts(const QuotaBounds& quota, const Json& pod) {
  // A pod that asks for something as a whole need not say what each container takes.
  if (kube::HasPodLevelResources(pod)) return "";
  std::map<std::string_view, std::set<std::string_view>> missing;
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& container : base::FindArray(pod, {"spec", list})) {
      const Amounts said = ComputeUsage(kube::AmountsOf(base::Find(container, {"resources", "requests"})),
                                        kube::AmountsOf(base::Find(container, {"resources", "limits"})));
      for (const char* name : {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}) {
        if (quota.hard.contains(name) && !said.contains(name)) missing[name].insert(base::FindString(container, {"name"}));
      }
    }
  }
  std::string text;
  for (const auto& [name, containers] : missing) {
    text += (text.empty() ? "must specify " : "; ") + std::string(name) + " for: ";
    bool first = true;
    for (const std::string_view container : containers) {
      if (!std::exchange(first, false)) text += ',';
      text += container;
    }
  }
  return text;
}

std::string AmountsText(const Amounts& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts) text += (text.empty() ? "" : ",") + name + "=" + amount.ToString();
  return text;
}

}  // namespace evenkeel::embedded::apiserver
