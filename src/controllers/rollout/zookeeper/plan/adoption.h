// What an ensemble's status remembered, made out again after it was lost (emptied by hand, or the object made anew) while
// servers run: what every cluster is pinned to stands in its override, and what it runs in its member's report.
#pragma once

#include "controllers/rollout/zookeeper/reading/fleet_reading.h"
#include "controllers/rollout/zookeeper/spec/ensemble_state.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// Whether the state, which knew of no record, has become that of what runs: the clusters' identities, what each is pinned to,
/// and one record, which is Ready when all are pinned to the same. Otherwise there is nothing that runs, and the state is as it
/// was. kBadRequest: servers run of which it cannot be made out what they are; nothing may be written for them. Indices of
/// clusters that had left before are not known any more.
base::Result<bool> AdoptRunning(const kube::ManifestObject& object, const EnsembleSpec& spec, const FleetObjects& objects,
                                base::Time now, EnsembleState& state);

}  // namespace evenkeel::controllers::rollout::zookeeper
