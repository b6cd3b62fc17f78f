// Finds override policies of other users that select an ensemble's ZooKeeper. The rollout gives each cluster one whole
// revision. So what such a policy changes is either lost, or reaches the servers without the rollout. The user is told of both.
#pragma once

#include <string>

#include "controllers/rollout/zookeeper/reading/fleet_reading.h"
#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"
#include "controllers/rollout/zookeeper/spec/ensemble_state.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// Which ones, what becomes of them, and what to do, for people; "": there are none.
std::string DescribeOtherOverrides(const EnsembleSpec& spec, const EnsembleState& state, const FleetObjects& fleet);

}  // namespace evenkeel::controllers::rollout::zookeeper
