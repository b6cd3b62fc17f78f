// Which objects and which clusters a policy means.
#pragma once

#include <vector>

#include "base/json.h"

namespace evenkeel::embedded::federation {

/// How precisely a selector means an object: a name goes over labels, labels over everything of a kind.
enum class SelectorMatch { kNone, kAll, kLabels, kName };

/// One entry of resourceSelectors. A name makes labels irrelevant.
SelectorMatch MatchResource(const base::Json& selector, const base::Json& object);
/// The most precise of spec.resourceSelectors. `optional`: no selectors mean everything, as in override policies.
SelectorMatch MatchResources(const base::Json& policy, const base::Json& object, bool optional);

/// Whether an affinity (clusterNames, exclude, labelSelector, fieldSelector on provider, region and zone) means the Cluster.
/// All parts must; `exclude` goes over everything. Null or empty means every cluster.
bool MatchesCluster(const base::Json* affinity, const base::Json& cluster);

/// The affinities to try, in order: clusterAffinity, or the groups of clusterAffinities; one null when there are none.
std::vector<const base::Json*> AffinitiesOf(const base::Json& placement);

/// The first of the placement's tolerations that fits a taint of a Cluster, which alone counts; null: none.
const base::Json* TolerationOf(const base::Json& placement, const base::Json& taint);

/// Whether the placement tolerates the Cluster's taints NoSchedule and NoExecute.
bool ToleratesCluster(const base::Json& placement, const base::Json& cluster);

}  // namespace evenkeel::embedded::federation
