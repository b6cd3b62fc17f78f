#include "controllers/rollout/zookeeper/reading/copies.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "kube/karmada.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {

using base::FindArray;
using base::FindString;
using base::Json;

std::set<std::string> BoundClusters(const FleetObjects& fleet) {
  std::set<std::string> bound;
  if (fleet.binding == nullptr) return bound;
  for (const Json& cluster : FindArray(*fleet.binding, {"spec", "clusters"})) bound.emplace(FindString(cluster, {"name"}));
  for (const Json& item : FindArray(*fleet.binding, {"status", "aggregatedStatus"})) {
    bound.emplace(FindString(item, {"clusterName"}));
  }
  return bound;
}

namespace {

/// "" while it is not known, or there is none.
std::string_view ClusterUid(const FleetObjects& fleet, const std::string& name) {
  const auto found = std::ranges::find(fleet.clusters, name, [](const Json* cluster) { return kube::NameOf(*cluster); });
  return found == fleet.clusters.end() ? std::string_view() : kube::UidOf(**found);
}

/// Whether a note of EnsembleState::bound is of another binding, or of another Cluster of that name: Karmada leaves its copy
/// behind when either goes.
bool IsOfAnother(std::string_view note, std::string_view binding, std::string_view cluster) {
  const size_t slash = note.find('/');
  if (note.substr(0, slash) != binding) return true;
  return slash != std::string_view::npos && !cluster.empty() && note.substr(slash + 1) != cluster;
}

}  // namespace

void NoteCopies(const FleetObjects& fleet, const FleetReading& reading, EnsembleState& state) {
  if (fleet.zookeeper == nullptr || fleet.binding == nullptr) return;
  if (FindString(*fleet.binding, {"spec", "resource", "uid"}) != kube::UidOf(*fleet.zookeeper)) return;
  const std::string uid(kube::UidOf(*fleet.binding));
  for (const std::string& cluster : BoundClusters(fleet)) {
    const auto member = reading.members.find(cluster);
    if (member == reading.members.end() || state.copied.contains(cluster)) continue;
    if (member->second.applied) {
      state.copied.insert(cluster);
      state.bound.erase(cluster);
      continue;
    }
    // As Karmada says it of what somebody else has brought there.
    const bool met = member->second.message.find("already exist") != std::string::npos;
    const std::string_view joined = ClusterUid(fleet, cluster);
    const auto bound = state.bound.find(cluster);
    const bool noted = bound != state.bound.end();
    if (met && noted && !IsOfAnother(bound->second, uid, joined)) state.bound.erase(bound);
    if (met || uid.empty() || (noted && bound->second != uid)) continue;
    state.bound[cluster] = joined.empty() ? uid : fmt::format("{}/{}", uid, joined);
  }
}

bool TakesBack(const std::set<std::string>& clusters, const FleetObjects& fleet, const FleetReading& reading,
               const EnsembleState& state) {
  const std::string_view uid = fleet.binding == nullptr ? std::string_view() : kube::UidOf(*fleet.binding);
  const auto ours = [&](const std::string& cluster) {
    const auto bound = state.bound.find(cluster);
    return state.copied.contains(cluster) ||
           (bound != state.bound.end() && IsOfAnother(bound->second, uid, ClusterUid(fleet, cluster)));
  };
  return std::ranges::all_of(clusters, ours) &&
         std::ranges::any_of(clusters, [&](const std::string& cluster) { return !reading.Of(cluster).applied; });
}

std::set<std::string> LeavingClusters(const FleetObjects& fleet, const Json* policy, const std::set<std::string>& clusters) {
  std::set<std::string> known = BoundClusters(fleet);
  if (policy != nullptr) {
    for (std::string& name : base::FindTexts(*policy, {"spec", "placement", "clusterAffinity", "clusterNames"})) {
      known.insert(std::move(name));
    }
  }
  std::erase_if(known, [&](const std::string& name) { return clusters.contains(name); });
  return known;
}

bool KeepsCopies(const FleetObjects& fleet, const std::set<std::string>& clusters) {
  if (fleet.binding != nullptr && base::FindBool(*fleet.binding, {"spec", kKeepsField})) return true;
  return std::ranges::any_of(fleet.works, [&](const Json* work) {
    const auto cluster = kube::karmada::ClusterOfExecutionNamespace(kube::NamespaceOf(*work));
    return cluster && clusters.contains(*cluster) && base::FindBool(*work, {"spec", kKeepsField});
  });
}

}  // namespace evenkeel::controllers::rollout::zookeeper
