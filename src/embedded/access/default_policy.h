// The roles and bindings that a Kubernetes API server makes when it starts, and how those that are there are brought up to
// date. Facts: kubernetes@1.36:plugin/pkg/auth/authorizer/rbac/bootstrappolicy, component-helpers/auth/rbac/reconciliation.
#pragma once

#include <vector>

#include "base/json.h"

namespace evenkeel::embedded::access {

/// Complete objects but for what a server fills in (uid, creationTimestamp): roles first, then bindings. ClusterRoles that are
/// aggregated have no rules: whoever serves them gathers those (Authorizer::StaleAggregates). Read on the first call.
const std::vector<base::Json>& DefaultPolicy();

/// Adds to `object` what the default of that name has and it lacks: labels, rules that are not covered, subjects, selectors.
/// What else it has stays. False: nothing lacks, or the annotation rbac.authorization.kubernetes.io/autoupdate is "false".
bool AddMissing(base::Json& object, const base::Json& wanted);

}  // namespace evenkeel::embedded::access
