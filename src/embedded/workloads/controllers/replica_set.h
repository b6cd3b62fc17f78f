// ReplicaSet: keeps the number of pods that spec.replicas says, as kube-controller-manager does.
// Follows: kubernetes@1.36 pkg/controller/replicaset/replica_set.go
#pragma once

#include "embedded/workloads/pods/expectations.h"
#include "embedded/workloads/pods/pods.h"
#include "embedded/workloads/pods/reconciler.h"

namespace evenkeel::embedded::workloads {

/// What a ReplicaSet needs: so many new pods, or these (by the order of SortForDeletion) deleted. At most 500 at a time.
struct ReplicaSetPlan {
  int64_t create = 0;
  std::vector<PodPointer> remove;
};
/// `pods` are those claimed; `related` those of all ReplicaSets with the same controller, for spreading deletions over nodes.
/// Pure.
ReplicaSetPlan PlanReplicaSet(const base::Json& replica_set, const std::vector<PodPointer>& pods,
                              const std::vector<PodPointer>& related, base::Time now);
/// The status after those pods; `failure` is the error of creating or deleting, if any, and its reason. Pure.
base::Json ReplicaSetStatus(const base::Json& replica_set, const std::vector<PodPointer>& pods,
                            const std::string& failure_reason, const std::string& failure, base::Time now);

class ReplicaSetController final : public Reconciler {
 public:
  explicit ReplicaSetController(Context& context);

 private:
  base::Result<Again> Reconcile(const std::string& key) override;
  base::Status Create(const kube::Object& set, int64_t count);
  base::Status Remove(const kube::Object& set, const std::vector<PodPointer>& pods);
  std::vector<PodPointer> Related(const kube::Object& set);

  Expectations expectations_;
};

}  // namespace evenkeel::embedded::workloads
