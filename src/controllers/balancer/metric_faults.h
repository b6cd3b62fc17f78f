// Whether the metrics of a policy can be known in this member at all. A policy whose metric nobody has is valid and balances
// nothing, which looks like an even load; so its status says what is missing.
#pragma once

#include <string>

#include "controllers/balancer/member_cluster.h"

namespace evenkeel::controllers::balancer {

struct MetricFault {
  std::string reason;  ///< of a condition: "NoSuchResource", "NotDeclared", "NoUsage"; "": nothing is missing
  std::string text;    ///< one line that begins with the field; of several faults all
};

/// `usage_error`: why the metrics API did not answer; "": it did, or was not asked. O(metrics * (nodes + pods)).
MetricFault FindMetricFault(const Policy& policy, const MemberObjects& objects, const PodUsage& usage,
                            const std::string& usage_error);

}  // namespace evenkeel::controllers::balancer
