// Endpoints and EndpointSlices of Services with selectors.
#pragma once

#include "embedded/workloads/pods/reconciler.h"

namespace evenkeel::embedded::workloads {

/// subsets of an Endpoints object: ready addresses and, apart, those not ready. Pure.
base::JsonArray EndpointSubsets(const base::Json& service, const std::vector<PodPointer>& pods);
/// endpoints and ports of the service's slice, at most 100 endpoints each. Pure.
std::vector<base::Json> EndpointSlicesOf(const base::Json& service, const std::vector<PodPointer>& pods);

class EndpointsController final : public Reconciler {
 public:
  explicit EndpointsController(Context& context);

 private:
  base::Result<Again> Reconcile(const std::string& key) override;
  base::Status SyncEndpoints(const kube::Object& service, const std::vector<PodPointer>& pods);
  base::Status SyncSlices(const kube::Object& service, const std::vector<PodPointer>& pods);
};

}  // namespace evenkeel::embedded::workloads
