#include "controllers/rollout/zookeeper/copies.h"

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

std::set<std::string> LeavingClusters(const FleetObjects& fleet, const Json* policy, const std::set<std::string>& clusters) {
  std::set<std::string> known = BoundClusters(fleet);
  if (policy != nullptr) {
    for (const Json& name : FindArray(*policy, {"spec", "placement", "clusterAffinity", "clusterNames"})) {
      if (name.is_string()) known.emplace(name.get_string());
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
