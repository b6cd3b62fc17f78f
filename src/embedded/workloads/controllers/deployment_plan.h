// What a Deployment does next, as kube-controller-manager decides it: which ReplicaSet to make, which to scale to what, which
// to delete, and what its status says. Pure.
// Follows: kubernetes@1.36 pkg/controller/deployment/{sync,rolling,recreate}.go
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "kube/object.h"

namespace evenkeel::embedded::workloads {

struct DeploymentEvent {
  bool warning = false;
  std::string reason, message;
};

struct DeploymentPlan {
  /// The ReplicaSet to create, whole; null when none. When its name is taken by something else: raise status.collisionCount.
  base::Json create;
  /// ReplicaSets with changed replicas or annotations, whole, with their resource version.
  std::vector<base::Json> update;
  /// Names of old ReplicaSets beyond the history limit.
  std::vector<std::string> remove;
  /// deployment.kubernetes.io/revision of the Deployment; empty when it stays.
  std::string revision;
  base::Json status;
  std::vector<DeploymentEvent> events;
  /// When to look again: for minReadySeconds the ReplicaSets tell, so this is the progress deadline.
  std::optional<base::Duration> again;
};

/// `replica_sets` are those claimed, in the order of their names; `old_pods` whether pods of old ReplicaSets are still there
/// (Recreate).
DeploymentPlan PlanDeployment(const base::Json& deployment, const std::vector<base::Json>& replica_sets, bool old_pods,
                              base::Time now);

/// The ReplicaSet with the Deployment's template; of several the oldest. Index into `replica_sets`.
std::optional<size_t> FindNewReplicaSet(const base::Json& deployment, const std::vector<base::Json>& replica_sets);

}  // namespace evenkeel::embedded::workloads
