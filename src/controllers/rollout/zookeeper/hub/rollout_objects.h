// The objects of one ensemble, picked from files.
#pragma once

#include <vector>

#include "base/time.h"
#include "controllers/rollout/zookeeper/plan/plan.h"
#include "kube/manifest.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// There has to be exactly one MultiClusterZooKeeper; what belongs to it by name and namespace (none is "default") is its
/// ZooKeeper on the hub, that one's ResourceBinding, ServiceExports and policies, and Karmada's Clusters. A ZooKeeper with the
/// label evenkeel.dev/cluster is that member's own, and its status counts before the ResourceBinding's. Of several with one
/// name the last counts; other kinds do not count. The input borrows the objects. kBadRequest: one line with file, line,
/// object, field.
base::Result<PlanInput> PickObjects(const std::vector<kube::ManifestObject>& objects, base::Time now);

}  // namespace evenkeel::controllers::rollout::zookeeper
