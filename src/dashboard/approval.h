// Approving one BalancingPlan: exactly the one that was looked at.
#pragma once

#include <string>

#include "client/client.h"

namespace evenkeel::dashboard {

struct ApprovalRequest {
  std::string cluster, plan, uid, hash;
  /// kBadRequest names what is missing.
  static base::Result<ApprovalRequest> Parse(std::string_view body);
};

/// Of what the plan would do: another one when its spec is another, but for the approval itself.
std::string PlanHash(const base::Json& plan);

/// Sets spec.approved. kNotFound; kConflict when it is another plan by now, or does not wait for approval any more.
base::Status ApprovePlan(client::Client& member, const ApprovalRequest& request);

}  // namespace evenkeel::dashboard
