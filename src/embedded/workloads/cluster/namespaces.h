// Namespace lifecycle: empties a namespace that is being deleted, of all kinds there are, then lets it go through /finalize.
// Also keeps the ServiceAccount "default" in each living one.
// Follows: kubernetes@1.36 pkg/controller/namespace/deletion/namespaced_resources_deleter.go
#pragma once

#include "embedded/workloads/pods/reconciler.h"

namespace evenkeel::embedded::workloads {

class NamespaceController final : public Reconciler {
 public:
  explicit NamespaceController(Context& context);

 private:
  struct Remaining {
    int64_t objects = 0;
    std::map<std::string, int64_t> by_kind, by_finalizer;
  };
  base::Result<Again> Reconcile(const std::string& key) override;
  base::Status Empty(const std::string& ns, const kube::Resource& kind, Remaining& remaining);
  base::Status WriteConditions(const kube::Object& ns, const Remaining& remaining);
};

class ServiceAccountController final : public Reconciler {
 public:
  explicit ServiceAccountController(Context& context);

 private:
  base::Result<Again> Reconcile(const std::string& key) override;
};

}  // namespace evenkeel::embedded::workloads
