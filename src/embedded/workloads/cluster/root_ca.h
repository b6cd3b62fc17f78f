// The ConfigMap kube-root-ca.crt of each namespace: the certificate by which pods know their API server.
#pragma once

#include "embedded/workloads/pods/reconciler.h"

namespace evenkeel::embedded::workloads {

/// Keeps it in every living namespace, also when somebody changes or deletes it. Does nothing without Context::root_ca_pem.
class RootCaPublisher final : public Reconciler {
 public:
  explicit RootCaPublisher(Context& context);

 private:
  /// The namespace's name.
  base::Result<Again> Reconcile(const std::string& key) override;
};

}  // namespace evenkeel::embedded::workloads
