// The objects that an ensemble consists of on the hub.
//
//   ZooKeeper NAME              the template that Karmada copies to the members; inert, since every override replaces its spec
//   ServiceExport NAME-headless, NAME-client   (naming mode clusterset) the members' Services, known in all clusters
//   PropagationPolicy NAME-zk, NAME-svc        where the above go, with a weight per cluster that leaves a scheduler no choice
//   OverridePolicy NAME-CLUSTER                one per cluster: its whole spec at the revision that it is pinned to
//
// All carry the label evenkeel.dev/multiclusterzookeeper with the name of their owner. They have no ownerReferences: a
// garbage collector would delete them in any order, and an override that goes before its object stops the servers.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "controllers/rollout/zookeeper/reading/fleet_reading.h"
#include "controllers/rollout/zookeeper/reading/needs.h"
#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"
#include "controllers/rollout/zookeeper/spec/ensemble_state.h"

namespace evenkeel::controllers::rollout::zookeeper {

inline constexpr char kOwnerLabel[] = "evenkeel.dev/multiclusterzookeeper";
/// Of a member's own ZooKeeper among files: in which cluster it is.
inline constexpr char kClusterLabel[] = "evenkeel.dev/cluster";
/// Of a template, for Karmada: "overwrite" or "abort" where a member has an object of that name that Karmada has not brought.
inline constexpr char kConflictAnnotation[] = "work.karmada.io/conflict-resolution";
/// Of a template, and as the key of a toleration that no taint has: the number of the question to Karmada's scheduler.
inline constexpr char kAttemptAnnotation[] = "evenkeel.dev/scheduling-attempt";
/// What a cluster's override says instead of a revision as long as its turn has not come; it has no servers then.
inline constexpr char kNoRevision[] = "pending";

/// `clusters`: all that shall have a copy, those that are being emptied included; each is given at least one replica in the
/// schedule, because Karmada drops clusters with none, and with them their objects. `needs`: of all clusters (NeedsInForce).
base::Json RenderZooKeeper(const EnsembleSpec& spec, const std::set<std::string>& clusters, const Needs& needs);
std::vector<base::Json> RenderServiceExports(const EnsembleSpec& spec);
std::vector<base::Json> RenderPropagationPolicies(const EnsembleSpec& spec, const std::set<std::string>& clusters,
                                                  const Needs& needs);
/// Of the template and of all revisions that servers may still run: a cluster whose turn has not come keeps its Secrets.
Needs NeedsInForce(const EnsembleSpec& spec, const EnsembleState& state);
/// `revision`: what the cluster has been given; without that it is kept at no replicas.
base::Json RenderOverride(const EnsembleSpec& spec, const EnsembleState& state, const std::string& cluster,
                          const Revision& revision);
std::string OverrideName(const EnsembleSpec& spec, const std::string& cluster);
/// Of the policy that brings the ZooKeeper to the members.
std::string ServersPolicyName(const EnsembleSpec& spec);
/// Lets copies stay in clusters with any taint NoExecute for as long as it is there: whoever comes back from an outage finds
/// its servers. What people have put into the policy beside it (`present`; null: there is none) stays. Fields that the hub's
/// API has dropped from `present` before are left out.
/// `attempt`: which question to Karmada's scheduler this is; 0: none was asked again.
void Complete(base::Json& policy, const base::Json* present, int64_t attempt = 0);
/// The value that an override sets at a path; null when it does not.
const base::Json* OverriddenBy(const base::Json& override_policy, std::string_view path);

/// Karmada divides the template's replicas by the policy's weights anew when either changes, and a cluster that is left with
/// none loses its copy, servers and all. So there are never fewer replicas than weights: more replicas come before their
/// weights, and fewer go after theirs, each once the binding says that Karmada has seen the other.
struct PlacementTurn {
  int64_t replicas = 0;       ///< for the template
  bool policy_waits = false;  ///< stays as it is
};
/// `wanted`: replicas, which are as many as the weights of `policy`, which is to take the place of `present` (null:
/// there is none).
PlacementTurn NextPlacement(const FleetObjects& fleet, const base::Json* present, const base::Json& policy, int64_t wanted);

/// Whether `existing` says all that `desired` says; it may say more, such as what an API server filled in. The rules of an
/// override have to be exactly the same.
bool Says(const base::Json& existing, const base::Json& desired);

}  // namespace evenkeel::controllers::rollout::zookeeper
