// What happens to the members' copies when the hub does not want them any more. Karmada keeps copies
// (preserveResourcesOnDeletion). So a user who deletes the template by hand stops no server, and the controller makes the
// template again and takes the copies back. Before the controller removes copies, it changes the policy. It takes clusters from
// the policy only when the Works, by which Karmada deletes, say the same.
#pragma once

#include <set>
#include <string>

#include "base/json.h"
#include "controllers/rollout/zookeeper/reading/fleet_reading.h"
#include "controllers/rollout/zookeeper/spec/ensemble_state.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// In a policy's spec, a binding's and a Work's.
inline constexpr char kKeepsField[] = "preserveResourcesOnDeletion";

/// Clusters that Karmada has been told of, or still knows, and that are none of `clusters`.
std::set<std::string> LeavingClusters(const FleetObjects& fleet, const base::Json* policy,
                                      const std::set<std::string>& clusters);

/// Whether Karmada would leave a copy behind in any of these clusters if it were to go now.
bool KeepsCopies(const FleetObjects& fleet, const std::set<std::string>& clusters);

/// Notes where Karmada has brought a copy, or was about to, as the binding tells.
void NoteCopies(const FleetObjects& fleet, const FleetReading& reading, EnsembleState& state);

/// Copies that were left behind, when somebody deleted the template or its binding, are nobody's to Karmada until it may write
/// over them. It may where all that it could meet in these clusters are ours, and as long as one is missing.
bool TakesBack(const std::set<std::string>& clusters, const FleetObjects& fleet, const FleetReading& reading,
               const EnsembleState& state);

/// Clusters of the binding: scheduled, or with a copy.
std::set<std::string> BoundClusters(const FleetObjects& fleet);

}  // namespace evenkeel::controllers::rollout::zookeeper
