// Deployment: the thin half around PlanDeployment.
#pragma once

#include "embedded/workloads/controllers/deployment_plan.h"
#include "embedded/workloads/pods/reconciler.h"

namespace evenkeel::embedded::workloads {

class DeploymentController final : public Reconciler {
 public:
  explicit DeploymentController(Context& context);

 private:
  base::Result<Again> Reconcile(const std::string& key) override;
  base::Status CreateReplicaSet(const kube::Object& deployment, DeploymentPlan& plan);
  void EnqueueForReplicaSet(const ObjectPointer& set);
  bool OldPodsRemain(const base::Json& deployment, const std::vector<base::Json>& sets);
};

}  // namespace evenkeel::embedded::workloads
