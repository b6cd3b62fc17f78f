#include "controllers/rollout/zookeeper/plan/other_overrides.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "controllers/rollout/zookeeper/reading/ownership.h"
#include "controllers/rollout/zookeeper/reading/render.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::FindArray;
using base::FindObject;
using base::FindString;
using base::Json;

constexpr size_t kNamesMax = 5;

bool IsOrAbsent(const Json& selector, std::string_view field, std::string_view wanted) {
  const std::string_view text = FindString(selector, {field});
  return text.empty() || text == wanted;
}

/// How a policy means the ZooKeeper.
enum class Means { kNot, kByKind, kByName };

Means MeansOf(const Json& policy, const EnsembleSpec& spec, const Json* zookeeper) {
  const auto& selectors = FindArray(policy, {"spec", "resourceSelectors"});
  if (selectors.empty()) return Means::kByKind;
  Means means = Means::kNot;
  for (const Json& selector : selectors) {
    if (FindString(selector, {"kind"}) != ZooKeepers().kind ||
        !FindString(selector, {"apiVersion"}).starts_with(ZooKeepers().group))
      continue;
    if (!IsOrAbsent(selector, "namespace", spec.ns) || !IsOrAbsent(selector, "name", spec.name)) continue;
    if (!FindString(selector, {"name"}).empty()) return Means::kByName;
    const auto& labels = FindObject(selector, {"labelSelector", "matchLabels"});
    const bool fits = std::ranges::all_of(labels, [&](const auto& item) {
      return zookeeper != nullptr && item.value().is_string() &&
             FindString(*zookeeper, {"metadata", "labels", std::string_view(item.key())}) == item.value().get_string();
    });
    if (fits) means = Means::kByKind;
  }
  return means;
}

/// Those of the ensemble's clusters that the policy changes, as far as it names clusters.
std::vector<std::string> ClustersOf(const Json& policy, const EnsembleState& state) {
  std::vector<std::string> clusters;
  for (const auto& [cluster, identity] : state.identities) {
    const bool changed = std::ranges::any_of(FindArray(policy, {"spec", "overrideRules"}), [&](const Json& rule) {
      const auto& names = FindArray(rule, {"targetCluster", "clusterNames"});
      return names.empty() || std::ranges::any_of(names, [&](const Json& name) { return name == Json(cluster); });
    });
    if (changed) clusters.push_back(cluster);
  }
  return clusters;
}

}  // namespace

std::string DescribeOtherOverrides(const EnsembleSpec& spec, const EnsembleState& state, const FleetObjects& fleet) {
  std::string lost, past;
  size_t named = 0;
  const auto note = [&](const Json& policy, bool by_name_counts) {
    const Means means = MeansOf(policy, spec, fleet.zookeeper);
    if (means == Means::kNot) return;
    for (const std::string& cluster : ClustersOf(policy, state)) {
      // Later ones go over earlier ones: names before kinds, then by their own names.
      const bool later = by_name_counts && means == Means::kByName && kube::NameOf(policy) > OverrideName(spec, cluster);
      if (++named > kNamesMax) return;
      std::string& text = later ? past : lost;
      text +=
          fmt::format("{}{} {} in {}", text.empty() ? "" : ", ", FindString(policy, {"kind"}), kube::NameOf(policy), cluster);
    }
  };
  for (const Json* policy : fleet.cluster_overrides) note(*policy, false);
  for (const Json* child : fleet.children) {
    if (FindString(*child, {"kind"}) == "OverridePolicy" && OwnerOf(*child) != spec.name) note(*child, true);
  }
  std::string text;
  if (!lost.empty())
    text = "not honoured, since each cluster's revision replaces the whole: " + lost + "; say it in spec.template";
  if (past.empty()) return text;
  return text + (text.empty() ? "" : "; ") + "changes servers past the rollout: " + past + "; remove it";
}

}  // namespace evenkeel::controllers::rollout::zookeeper
