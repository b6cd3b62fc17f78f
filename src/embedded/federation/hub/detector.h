// Finds the objects that a policy means and makes their bindings: which object, how many replicas, placed how. A binding is
// owned by its object, so the garbage collector removes it with the object; a policy that goes leaves both as they are.
// Follows: karmada@1.16 pkg/detector/detector.go
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "controllers/runtime/controller.h"
#include "embedded/federation/policies/hub.h"

namespace evenkeel::embedded::federation {

/// Which objects of the hub are templates: claimed by a policy, or meant by one. Thread-safe, since the hub's own workload
/// controllers ask: they leave templates alone.
class TemplateBook {
 public:
  void SetPolicies(std::vector<ObjectPointer> policies);
  bool IsTemplate(const base::Json& object) const;

 private:
  mutable std::mutex mutex_;
  std::vector<ObjectPointer> policies_;
};

class Detector {
 public:
  Detector(Hub& hub, TemplateBook& book);
  void Start();

 private:
  using Done = base::Result<controllers::runtime::ReconcileResult>;

  void SeePolicies();
  /// Watches the kinds that the policy names, and looks at their objects again.
  Done ReconcilePolicy(const std::string& key);
  void EnqueueTemplates();
  Done ReconcileTemplate(const std::string& key);
  /// Null when no policy means the object.
  ObjectPointer ChoosePolicy(const kube::Object& object) const;
  ObjectPointer ChooseAmong(const kube::Object& object, const ObjectInformer& policies) const;
  base::Status Claim(const kube::Resource& resource, const kube::Object& object, const kube::Object& policy);
  base::Status WriteBinding(const kube::Object& object, const kube::Object& policy);
  bool OverridesAreThere(const kube::Object& policy) const;

  Hub& hub_;
  TemplateBook& book_;
  base::Random random_;
  std::map<std::string, uint64_t> seen_;  // what of a template counts, by template key
  controllers::runtime::Controller policies_, templates_;
};

}  // namespace evenkeel::embedded::federation
