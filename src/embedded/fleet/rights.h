// What the parts of an embedded fleet may do. The replicas have an account on the hub and one in each member, with the rights
// that deploy/ gives them on clusters of somebody's own, and what only embedded clusters have (hub_rights.yaml,
// member_rights.yaml). What stands in for Karmada has one in each member.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "embedded/fleet/cluster.h"

namespace evenkeel::embedded::fleet {

/// Objects in the order in which they are to be made: an account and a Secret for its token, in kNamespace; roles and bindings.
struct Rights {
  std::vector<base::Json> objects;
  std::string token_secret;  ///< of type kubernetes.io/service-account-token
};
/// For the hub's account, evenkeel-controller. Read on the first call.
const Rights& HubRights();
/// For the account in a member, evenkeel-member.
const Rights& MemberRights();
/// For Karmada's in a member, karmada.
const Rights& KarmadaRights();

/// Makes the objects and their namespaces, or brings those that are there up to date. What people gave the accounts by roles of
/// their own stays. A Secret whose token the cluster does not accept (its key is a new one) is made anew.
base::Status Grant(Cluster& cluster, const Rights& rights);

/// The token of the account, which the cluster fills in some time after Grant; "": not yet.
base::Result<std::string> TokenOf(Cluster& cluster, const Rights& rights);

}  // namespace evenkeel::embedded::fleet
