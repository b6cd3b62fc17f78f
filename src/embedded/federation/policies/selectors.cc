#include "embedded/federation/policies/selectors.h"

#include <algorithm>

#include "kube/object.h"
#include "kube/selector.h"
#include "kube/types.h"

namespace evenkeel::embedded::federation {
namespace {

using base::Find;
using base::FindArray;
using base::FindString;
using base::Json;

bool Contains(const base::JsonArray& list, std::string_view text) {
  return std::ranges::any_of(list, [&](const Json& item) { return item.is_string() && item.get_string() == text; });
}

/// A selector that cannot be read selects nothing.
bool LabelsMatch(const Json* selector, const Json& object) {
  const auto parsed = kube::LabelSelector::FromJson(*selector);
  return parsed && parsed->Matches(base::FindObject(object, {"metadata", "labels"}));
}

std::vector<std::string> FieldValues(const Json& cluster, std::string_view field) {
  std::vector<std::string> values;
  if (field == "zone") values = base::FindTexts(cluster, {"spec", "zones"});
  if (values.empty()) {
    const std::string_view value = FindString(cluster, {"spec", field});
    if (!value.empty()) values.emplace_back(value);
  }
  return values;
}

bool FieldMatches(const Json& requirement, const Json& cluster) {
  const auto values = FieldValues(cluster, FindString(requirement, {"key"}));
  const auto& wanted = FindArray(requirement, {"values"});
  const bool overlap = std::ranges::any_of(values, [&](const std::string& value) { return Contains(wanted, value); });
  const std::string_view op = FindString(requirement, {"operator"});
  if (op == "In") return overlap;
  if (op == "NotIn") return !overlap;
  return false;
}

}  // namespace

SelectorMatch MatchResource(const Json& selector, const Json& object) {
  for (const char* field : {"apiVersion", "kind"}) {
    if (FindString(selector, {field}) != FindString(object, {field})) return SelectorMatch::kNone;
  }
  const std::string_view ns = FindString(selector, {"namespace"});
  if (!ns.empty() && ns != kube::NamespaceOf(object)) return SelectorMatch::kNone;
  const std::string_view name = FindString(selector, {"name"});
  if (!name.empty()) return name == kube::NameOf(object) ? SelectorMatch::kName : SelectorMatch::kNone;
  const Json* labels = Find(selector, {"labelSelector"});
  if (labels == nullptr || labels->is_null()) return SelectorMatch::kAll;
  return LabelsMatch(labels, object) ? SelectorMatch::kLabels : SelectorMatch::kNone;
}

SelectorMatch MatchResources(const Json& policy, const Json& object, bool optional) {
  const auto& selectors = FindArray(policy, {"spec", "resourceSelectors"});
  if (selectors.empty()) return optional ? SelectorMatch::kAll : SelectorMatch::kNone;
  auto best = SelectorMatch::kNone;
  for (const Json& selector : selectors) best = std::max(best, MatchResource(selector, object));
  return best;
}

bool MatchesCluster(const Json* affinity, const Json& cluster) {
  if (affinity == nullptr || !affinity->is_object()) return true;
  const std::string_view name = kube::NameOf(cluster);
  if (Contains(FindArray(*affinity, {"exclude"}), name)) return false;
  if (const Json* labels = Find(*affinity, {"labelSelector"}); labels != nullptr && !labels->is_null()) {
    if (!LabelsMatch(labels, cluster)) return false;
  }
  for (const Json& requirement : FindArray(*affinity, {"fieldSelector", "matchExpressions"})) {
    if (!FieldMatches(requirement, cluster)) return false;
  }
  const auto& names = FindArray(*affinity, {"clusterNames"});
  return names.empty() || Contains(names, name);
}

std::vector<const Json*> AffinitiesOf(const Json& placement) {
  std::vector<const Json*> affinities;
  for (const Json& group : FindArray(placement, {"clusterAffinities"})) affinities.push_back(&group);
  if (affinities.empty()) affinities.push_back(Find(placement, {"clusterAffinity"}));
  return affinities;
}

const Json* TolerationOf(const Json& placement, const Json& taint) {
  const kube::Taint wanted{std::string(FindString(taint, {"key"})), std::string(FindString(taint, {"value"})),
                           std::string(FindString(taint, {"effect"}))};
  for (const Json& entry : FindArray(placement, {"clusterTolerations"})) {
    const kube::Toleration toleration{std::string(FindString(entry, {"key"})), std::string(FindString(entry, {"operator"})),
                                      std::string(FindString(entry, {"value"})), std::string(FindString(entry, {"effect"})),
                                      std::nullopt};
    if (toleration.Tolerates(wanted)) return &entry;
  }
  return nullptr;
}

bool ToleratesCluster(const Json& placement, const Json& cluster) {
  return std::ranges::all_of(FindArray(cluster, {"spec", "taints"}), [&](const Json& taint) {
    return FindString(taint, {"effect"}) == "PreferNoSchedule" || TolerationOf(placement, taint) != nullptr;
  });
}

}  // namespace evenkeel::embedded::federation
