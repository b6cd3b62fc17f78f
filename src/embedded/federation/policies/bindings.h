// From a ResourceBinding to Works: which clusters, what is in them, what is left over; and from Works back to the binding's
// status. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "embedded/federation/policies/division.h"
#include "embedded/federation/policies/overrides.h"
#include "kube/karmada.h"

namespace evenkeel::embedded::federation {

// Labels and annotations, as Karmada has them.
using kube::karmada::kManagedLabel;
inline constexpr char kPolicyId[] = "propagationpolicy.karmada.io/permanent-id";
inline constexpr char kPolicyName[] = "propagationpolicy.karmada.io/name";
inline constexpr char kPolicyNamespace[] = "propagationpolicy.karmada.io/namespace";
inline constexpr char kClusterPolicyId[] = "clusterpropagationpolicy.karmada.io/permanent-id";
inline constexpr char kClusterPolicyName[] = "clusterpropagationpolicy.karmada.io/name";
inline constexpr char kBindingId[] = "resourcebinding.karmada.io/permanent-id";
inline constexpr char kClusterBindingId[] = "clusterresourcebinding.karmada.io/permanent-id";
inline constexpr char kTemplateUid[] = "resourcetemplate.karmada.io/uid";
inline constexpr char kTemplateGeneration[] = "resourcetemplate.karmada.io/generation";
inline constexpr char kManagedLabels[] = "resourcetemplate.karmada.io/managed-labels";
inline constexpr char kManagedAnnotations[] = "resourcetemplate.karmada.io/managed-annotations";
inline constexpr char kWorkName[] = "work.karmada.io/name";
inline constexpr char kWorkNamespace[] = "work.karmada.io/namespace";
inline constexpr char kConflictResolution[] = "work.karmada.io/conflict-resolution";
inline constexpr char kAppliedPlacement[] = "policy.karmada.io/applied-placement";
inline constexpr char kAppliedOverrides[] = "policy.karmada.io/applied-overrides";
inline constexpr char kAppliedClusterOverrides[] = "policy.karmada.io/applied-cluster-overrides";
inline constexpr char kBindingFinalizer[] = "karmada.io/binding-controller";
inline constexpr char kClusterBindingFinalizer[] = "karmada.io/cluster-resource-binding-controller";
inline constexpr char kExecutionFinalizer[] = "karmada.io/execution-controller";

/// The label of a binding or a Work that says which binding it is; "" without one.
std::string BindingIdOf(const base::Json& object);
/// spec.clusters and what others require (requiredBy), once each, in this order.
std::vector<Share> TargetsOf(const base::Json& binding);
/// Whether its object has replicas that are divided.
bool IsWorkload(const base::Json& binding);
/// Of what is in a member already: "overwrite" or "abort". The template's annotation goes over the binding's field.
std::string_view ConflictResolutionOf(const base::Json& binding, const base::Json& object);
/// Whether nothing is to reach the cluster for now.
bool SuspendsDispatching(const base::Json& binding, std::string_view cluster);
/// Those of the binding's Works that are for none of `clusters`, by namespace and name. kBadRequest: one is in a namespace that
/// belongs to no cluster.
base::Result<std::vector<const base::Json*>> OrphanWorks(const std::vector<const base::Json*>& works,
                                                         std::string_view binding_id, const std::set<std::string>& clusters);

/// The template without what belongs to the hub: status, uid, versions, owners, finalizers, what the API server assigned.
base::Json PrunedManifest(const base::Json& object);

struct WorkInput {
  const base::Json* binding = nullptr;
  const base::Json* object = nullptr;  ///< the template as it is on the hub
  base::Json manifest;                 ///< of this cluster: pruned, revised, overridden
  std::string cluster;
  std::vector<MatchedOverriders> overriders;  ///< that have been applied
};
/// The Work as it should be.
base::Json MakeWork(WorkInput input);

/// status.aggregatedStatus: one entry per Work, by cluster.
base::JsonArray AggregatedStatusOf(const std::vector<const base::Json*>& works);

}  // namespace evenkeel::embedded::federation
