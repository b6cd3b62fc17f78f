// A live member as `plan balance`, `get loads` and `explain service` see it: read once, nothing written.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "client/client.h"
#include "controllers/balancer/planning.h"

namespace evenkeel::cli {

struct LiveBalance {
  controllers::balancer::Policy policy;
  controllers::balancer::Outlook outlook;  ///< what the member's balancer would see, had it just begun
  balancing::PlannerMemory memory;         ///< before the plan
  std::vector<std::string> warnings;
};

/// `policy`: its name; "": the one in force, the first valid one by name. kNotFound: there is none, or none of that name;
/// kInvalid: it is not valid.
base::Result<LiveBalance> ReadLiveBalance(client::Client& cluster, const std::string& policy, base::Time now);

/// Puts into an explanation of a service (balancing/plan/explain_service.h) what the planner does not know: why a pod never
/// moves, and which rule of Kubernetes a pod breaks that stays. `fixed`: MemberCluster::fixed.
void AddReasonsOfMember(const std::map<std::string, std::string>& fixed,
                        const std::vector<controllers::balancer::BrokenPod>& broken, base::Json& explanation);

}  // namespace evenkeel::cli
