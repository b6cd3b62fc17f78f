// What a BalancingPolicy's status tells: whether the policy is valid and in force, whether the cluster is balanced by it, and
// what was planned last. Written only when it has changed.
#pragma once

#include <string>

#include "base/result.h"
#include "client/client.h"
#include "controllers/balancer/metric_faults.h"
#include "controllers/balancer/planning.h"
#include "controllers/balancer/policy.h"

namespace evenkeel::controllers::balancer {

class PolicyStatus {
 public:
  PolicyStatus(client::Client& client, base::Clock& clock) : client_(client), clock_(clock) {}

  /// Conditions Valid and InForce. `other`: the policy that is in force instead; "" when none is. Of a policy that is not in
  /// force the other conditions are Unknown.
  base::Status TellValidity(const base::Json& object, const base::Result<Policy>& parsed, bool in_force,
                            const std::string& other);
  /// Condition MetricsAvailable.
  base::Status TellMetrics(const base::Json& object, const MetricFault& fault);
  /// Condition Balanced; with an outlook also RulesKept, lastPlan and the deviation. `reason`: Balanced, Imbalanced, or
  /// Waiting.
  base::Status TellBalance(const base::Json& object, const std::string& reason, const std::string& text,
                           const Outlook* outlook);

 private:
  base::Status Write(const base::Json& object, const std::function<bool(base::Json&)>& change);

  client::Client& client_;
  base::Clock& clock_;
};

}  // namespace evenkeel::controllers::balancer
