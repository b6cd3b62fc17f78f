// Namespaces of the hub come to every member, as Karmada's namespace-sync-controller brings them: by a Work each, so that a
// member loses them, with all that is in them, when the hub's namespace or the member's Cluster is deleted
// (Habits::syncs_namespaces).
#pragma once

#include <string>

#include "controllers/runtime/controller.h"
#include "embedded/federation/policies/hub.h"

namespace evenkeel::embedded::federation {

/// Not reserved ones (`default`, kube-*, karmada-*), nor those that kube::karmada::kSkipPropagation keeps out.
bool IsPropagated(const base::Json& ns);

class NamespaceSync {
 public:
  explicit NamespaceSync(Hub& hub);
  /// Does nothing without the habit.
  void Start();

 private:
  using Done = base::Result<controllers::runtime::ReconcileResult>;
  Done Reconcile(const std::string& name);
  base::Status Bring(const kube::Object& ns, const std::string& cluster, const std::string& work);

  Hub& hub_;
  ObjectInformer namespaces_;
  controllers::runtime::Controller controller_;
};

}  // namespace evenkeel::embedded::federation
