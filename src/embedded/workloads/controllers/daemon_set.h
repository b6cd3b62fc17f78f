// DaemonSet: one pod on every node that its template fits, as kube-controller-manager does: the pods are pinned to their nodes
// by affinity and bound by the scheduler.
// Follows: kubernetes@1.36 pkg/controller/daemon/daemon_controller.go
#pragma once

#include "embedded/workloads/pods/reconciler.h"
#include "embedded/workloads/pods/revisions.h"

namespace evenkeel::embedded::workloads {

struct DaemonSetPlan {
  std::vector<std::string> create;  ///< nodes
  std::vector<PodPointer> remove;
  std::vector<PodPointer> failed;  ///< those of `remove` that are replaced because they failed
  base::Json status;
  std::optional<base::Duration> again;
};

/// `hash` is that of the current template's revision (label controller-revision-hash of its pods). maxSurge: a new pod is made
/// beside the old one, which goes when the new one is available. Pure.
DaemonSetPlan PlanDaemonSet(const base::Json& set, const std::vector<PodPointer>& pods, const std::vector<NodePointer>& nodes,
                            const std::string& hash, base::Time now);
/// The pod for one node.
base::Json DaemonPodJson(const base::Json& set, const std::string& node, const std::string& hash);

class DaemonSetController final : public Reconciler {
 public:
  explicit DaemonSetController(Context& context);

 private:
  base::Result<Again> Reconcile(const std::string& key) override;
  base::Status Carry(const kube::Object& set, const DaemonSetPlan& plan, const std::string& hash);

  Expectations expectations_;
};

}  // namespace evenkeel::embedded::workloads
