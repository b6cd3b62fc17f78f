// The kinds through which a member's balancer is told what to do and tells what it does, both evenkeel.dev/v1alpha1 and of the
// whole cluster:
//   BalancingPolicy  what is to be even, from when on, how fast (policy.h)
//   BalancingPlan    movements that were decided together, whether they may be carried out, and how far that is (plan_object.h)
#pragma once

#include "client/client.h"
#include "kube/resource.h"

namespace evenkeel::controllers::balancer {

const kube::Resource& BalancingPolicies();
const kube::Resource& BalancingPlans();

/// Puts both definitions into the API, or brings those that are there up to date. Nothing is written when they are.
base::Status InstallDefinitions(client::Client& client);

}  // namespace evenkeel::controllers::balancer
