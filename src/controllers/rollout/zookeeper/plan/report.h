// The status of an ensemble for people and for the next plan.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "controllers/rollout/zookeeper/plan/safety.h"
#include "controllers/rollout/zookeeper/reading/fleet_reading.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// The whole status: what stood there, with observedGeneration, records, the state, phase, replicas, readyReplicas, leader and
/// the conditions Scheduled, PlacementSafe, Progressing, QuorumHealthy, Degraded and Ready, and Recovering where that was asked
/// for, as they are now. The same as before when nothing has changed. `up_to_date`: the last record brings what is wanted;
/// `reason`, `message`: what the plan does or waits for; `others`: what DescribeOtherOverrides says, the condition
/// OverridesHonoured.
base::Json Report(const base::Json& object, const Passage& passage, const Schedule& schedule, bool up_to_date,
                  std::string_view reason, std::string_view message, const std::string& others, base::Time now);

}  // namespace evenkeel::controllers::rollout::zookeeper
