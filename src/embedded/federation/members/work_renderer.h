// Turns a scheduled binding into Works: the template with this cluster's replicas and overrides. What fails for one cluster
// stops no other. Works of clusters that are targets no more go first.
// Follows: karmada@1.16 pkg/controllers/binding/common.go
#pragma once

#include "controllers/runtime/controller.h"
#include "embedded/federation/policies/division.h"
#include "embedded/federation/policies/hub.h"

namespace evenkeel::embedded::federation {

class WorkRenderer {
 public:
  explicit WorkRenderer(Hub& hub);
  void Start() { controller_.Start(); }

 private:
  using Done = base::Result<controllers::runtime::ReconcileResult>;

  void EnqueueAll(const std::string& ns);
  Done Reconcile(const std::string& key);
  Done Finish(const kube::Object& binding);
  /// False: some are still there.
  base::Result<bool> DeleteWorks(const std::vector<const base::Json*>& works);
  base::Status RenderFor(const kube::Object& binding, const kube::Object& object, const Share& target);
  base::Status Write(base::Json work);

  Hub& hub_;
  controllers::runtime::Controller controller_;
};

}  // namespace evenkeel::embedded::federation
