#include "controllers/balancer/kinds.h"

#include "client/definitions.h"
#include "kube/own_kinds.h"

namespace evenkeel::controllers::balancer {

const kube::Resource& BalancingPolicies() { return kube::OwnKind("balancingpolicies"); }
const kube::Resource& BalancingPlans() { return kube::OwnKind("balancingplans"); }

base::Status InstallDefinitions(client::Client& client) {
  EVENKEEL_TRY(client::InstallDefinition(client, kube::OwnDefinition("balancingpolicies")));
  return client::InstallDefinition(client, kube::OwnDefinition("balancingplans"));
}

}  // namespace evenkeel::controllers::balancer
