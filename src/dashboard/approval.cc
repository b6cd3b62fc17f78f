#include "dashboard/approval.h"

#include <spdlog/fmt/fmt.h>

#include "base/hash.h"
#include "controllers/balancer/kinds.h"
#include "controllers/balancer/plan_object.h"

namespace evenkeel::dashboard {

namespace on_member = controllers::balancer;
using base::Code;
using base::Json;

base::Result<ApprovalRequest> ApprovalRequest::Parse(std::string_view body) {
  EVENKEEL_ASSIGN(const Json json, base::ParseJson(body, "request body"));
  ApprovalRequest request;
  for (const auto& [field, target] : {std::pair("cluster", &request.cluster), std::pair("plan", &request.plan),
                                      std::pair("uid", &request.uid), std::pair("hash", &request.hash)}) {
    *target = base::FindString(json, {field});
    if (target->empty()) return base::Fail(Code::kBadRequest, fmt::format("request body: {}: a text is missing", field));
  }
  return request;
}

std::string PlanHash(const Json& plan) {
  const Json* spec = base::Find(plan, {"spec"});
  Json counted = spec == nullptr ? Json() : *spec;
  base::Erase(counted, {"approved"});
  return fmt::format("{:016x}", base::Blake2b64(base::CanonicalText(counted)));
}

base::Status ApprovePlan(client::Client& member, const ApprovalRequest& request) {
  const auto approve = [&](Json& plan) -> base::Result<bool> {
    const on_member::PlanObject present = on_member::PlanObject::Decode(plan);
    if (present.uid != request.uid || PlanHash(plan) != request.hash) {
      return base::Fail(Code::kConflict, "BalancingPlan " + request.plan + " is another one by now: look at it again");
    }
    if (present.approved) return false;
    if (present.state != on_member::PlanPhase::kPending) {
      return base::Fail(Code::kConflict, fmt::format("BalancingPlan {} is {}: it does not wait for approval", request.plan,
                                                     Name(present.state)));
    }
    base::Ensure(plan, {"spec", "approved"}) = true;
    return true;
  };
  // ReadModifyWrite tries again on conflicts of the API, with the plan as it is then; ours it hands through.
  EVENKEEL_TRY(client::ReadModifyWrite(member, on_member::BalancingPlans(), "", request.plan, approve));
  return {};
}

}  // namespace evenkeel::dashboard
