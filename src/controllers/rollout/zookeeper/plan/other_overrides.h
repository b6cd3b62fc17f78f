// Override policies of others that are about an ensemble's ZooKeeper, too. What a cluster runs is one revision as a whole, so
// whatever such a policy says is either lost or comes to the servers past the rollout; either is to be said.
#pragma once

#include <string>

#include "controllers/rollout/zookeeper/reading/fleet_reading.h"
#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"
#include "controllers/rollout/zookeeper/spec/ensemble_state.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// Which ones, what becomes of them, and what to do, for people; "": there are none.
std::string DescribeOtherOverrides(const EnsembleSpec& spec, const EnsembleState& state, const FleetObjects& fleet);

}  // namespace evenkeel::controllers::rollout::zookeeper
