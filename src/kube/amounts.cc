#include "kube/amounts.h"

#include <algorithm>

#include "kube/object.h"

namespace evenkeel::kube {
namespace {

using base::Json;

void RaiseTo(Amounts& to, const Amounts& least) {
  for (const auto& [name, amount] : least) {
    const auto [found, added] = to.try_emplace(name, amount);
    if (!added) found->second = std::max(found->second, amount);
  }
}

Amounts PodAmounts(const Json& pod, std::string_view which) {
  Amounts total;
  for (const Json& container : base::FindArray(pod, {"spec", "containers"})) {
    AddAmounts(total, AmountsOf(base::Find(container, {"resources", which})));
  }
  Amounts sidecars, starting;
  for (const Json& container : base::FindArray(pod, {"spec", "initContainers"})) {
    Amounts now = AmountsOf(base::Find(container, {"resources", which}));
    if (base::FindString(container, {"restartPolicy"}) == "Always") {
      AddAmounts(total, now);
      AddAmounts(sidecars, now);
      now = sidecars;
    } else {
      AddAmounts(now, sidecars);
    }
    RaiseTo(starting, now);
  }
  RaiseTo(total, starting);
  for (const auto& [name, amount] : AmountsOf(base::Find(pod, {"spec", "resources", which}))) {
    if (IsPodLevelResourceName(name)) total.insert_or_assign(name, amount);
  }
  return total;
}

}  // namespace

Amounts AmountsOf(const Json* quantities) {
  Amounts amounts;
  if (quantities == nullptr || !quantities->is_object()) return amounts;
  for (const auto& [name, value] : quantities->get_object()) {
    if (const auto amount = Quantity::FromJson(value)) amounts.emplace(name, *amount);
  }
  return amounts;
}

void AddAmounts(Amounts& to, const Amounts& more) {
  for (const auto& [name, amount] : more) {
    const auto [found, added] = to.try_emplace(name, amount);
    if (!added) found->second += amount;
  }
}

const Quantity* FindAmount(const Amounts& amounts, std::string_view name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? nullptr : &found->second;
}

Amounts PodRequests(const Json& pod, PodOverhead overhead) {
  Amounts total = PodAmounts(pod, "requests");
  if (overhead == PodOverhead::kCounted) AddAmounts(total, AmountsOf(base::Find(pod, {"spec", "overhead"})));
  return total;
}

Amounts PodLimits(const Json& pod, PodOverhead overhead) {
  Amounts total = PodAmounts(pod, "limits");
  if (overhead == PodOverhead::kLeftOut) return total;
  for (const auto& [name, amount] : AmountsOf(base::Find(pod, {"spec", "overhead"}))) {
    if (const auto found = total.find(name); found != total.end()) found->second += amount;
  }
  return total;
}

bool IsPodLevelResourceName(std::string_view name) { return name == "cpu" || name == "memory" || IsHugePagesName(name); }

bool HasPodLevelResources(const Json& pod) {
  for (const char* which : {"requests", "limits"}) {
    for (const auto& amount : base::FindObject(pod, {"spec", "resources", which})) {
      if (IsPodLevelResourceName(amount.key())) return true;
    }
  }
  return false;
}

bool IsNativeResourceName(std::string_view name) { return !name.contains('/') || name.contains("kubernetes.io/"); }

bool IsExtendedResourceName(std::string_view name) {
  if (IsNativeResourceName(name) || name.starts_with("requests.")) return false;
  return CheckQualifiedName("requests." + std::string(name)).empty();
}

bool IsHugePagesName(std::string_view name) { return name.starts_with("hugepages-"); }

}  // namespace evenkeel::kube
