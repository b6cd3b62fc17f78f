// The balancer of one member cluster, alive: reads the member through informers, asks the planner when a phase is due
// (planning.h), writes what it decides as a BalancingPlan, and carries that out (execution.h) on the member's strand.
// Conditions on the policy, events on pods and policy, and metrics say what it does and why it does not.
//
// Without a BalancingPolicy nothing is decided and nothing is written but the definitions of the two kinds. One plan at a time:
// while it waits for approval, or is under way, no other is made. All memory is in the plans' objects, which
// are deleted when what they moved does not count any more, but for the last ones.
#pragma once

#include <memory>
#include <string>

#include "base/executor.h"
#include "base/random.h"
#include "controllers/balancer/balancer_metrics.h"
#include "controllers/runtime/member.h"

namespace evenkeel::controllers::balancer {

struct MemberBalancerContext {
  base::Clock& clock;
  base::Random random;
  std::shared_ptr<BalancerMetrics> metrics;
  std::string host;  ///< for events: which replica
};

runtime::MemberControllerFactory NewMemberBalancer(MemberBalancerContext context);

}  // namespace evenkeel::controllers::balancer
