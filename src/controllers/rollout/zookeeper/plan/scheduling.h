// Karmada schedules an ensemble once, and again only when somebody asks: not when a cluster becomes ready, loses a taint or
// joins again, and not when a binding was deleted. A cluster that is wanted, ready and nevertheless missing in the schedule is
// asked for again, by a number in the template and in the placement that changes nothing else.
#pragma once

#include <set>
#include <string>

#include "base/json.h"
#include "base/time.h"
#include "controllers/rollout/zookeeper/reading/fleet_reading.h"
#include "controllers/rollout/zookeeper/spec/ensemble_state.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// The first time after so long, then after twice as long each time.
inline constexpr base::Duration kAskAgainAfter = std::chrono::minutes(1);
inline constexpr base::Duration kAskAgainMax = std::chrono::minutes(30);

/// Clusters that are not in the schedule.
struct Unscheduled {
  std::set<std::string> missing;  ///< nothing keeps them out
  std::string kept_out;           ///< the others, and what keeps each out, for people
};

/// `policy`: that of the servers, as it is; null: there is none, and nothing is missing before there is one.
Unscheduled FindUnscheduled(const std::set<std::string>& clusters, const FleetReading& reading, const FleetObjects& fleet,
                            const base::Json* policy);

/// Notes since when clusters are missing; true when it is time to ask again, which is counted.
bool AskAgain(const std::set<std::string>& missing, base::Time now, Scheduling& scheduling);

/// What is waited for, since when, and how often it was asked for, for people; "": nothing.
std::string DescribeWait(const Unscheduled& unscheduled, const Scheduling& scheduling);

}  // namespace evenkeel::controllers::rollout::zookeeper
