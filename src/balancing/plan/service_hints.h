// What people stumble over when a service is not balanced as they expect.
#pragma once

#include <string>
#include <vector>

#include "balancing/measures/arrangement.h"
#include "balancing/plan/plan.h"

namespace evenkeel::balancing {

/// One sentence each: loads that nobody reports, metrics that only count replicas, thresholds that are not set, unevenness of
/// the service's own loads (which triggers nothing by default), constraints that never match.
std::vector<std::string> ServiceHints(const Arrangement& arrangement, const ServiceGroup& group, ServiceId service);

}  // namespace evenkeel::balancing
