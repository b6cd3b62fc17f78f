// The objects of one ensemble as the hub's API has them now. Read anew for every decision, never from a cache: an override
// that was seen too early, or a binding that is older than the record, would be decided upon as if it were the truth.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "client/client.h"
#include "controllers/rollout/zookeeper/reading/fleet_reading.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// The kinds of what an ensemble owns on the hub: overrides, policies, exports.
const std::vector<const kube::Resource*>& ChildKinds();
/// The kind of something that a plan applies or removes; null when it is none of the ensemble's.
const kube::Resource* FindKind(std::string_view kind);

/// Owns what FleetObjects borrows.
struct HubReading {
  base::Json zookeeper, binding;  ///< null: not there
  std::vector<base::Json> children, clusters, cluster_overrides;
  std::vector<base::Json> works;                ///< of the binding; read only while copies are to go (copies.h)
  std::optional<base::Error> clusters_error{};  ///< why nobody knows which Clusters there are
  bool serves_overrides = true;
  /// "overridepolicies.policy.karmada.io": a kind that the hub does not serve and the ensemble needs; "": none.
  std::string missing_kind;

  FleetObjects Objects() const;
  /// The ZooKeeper, or the child of that kind and name; null when it is not there.
  const base::Json* Find(std::string_view kind, std::string_view name) const;
};

/// Get and List of the most recent version: six to seven calls, and one more for each cluster while copies are to go. What
/// belongs to the ensemble by name and namespace, the children of others in its namespace included.
base::Result<HubReading> ReadHub(client::Client& hub, const base::Json& ensemble);

}  // namespace evenkeel::controllers::rollout::zookeeper
