// EndpointSlices of Endpoints that people write for Services without a selector, for whoever reads slices only.
// Follows: kubernetes@1.36 pkg/controller/endpointslicemirroring
#pragma once

#include "embedded/workloads/pods/reconciler.h"

namespace evenkeel::embedded::workloads {

/// addressType, endpoints and ports of the slices that show what the Endpoints say: for each list of ports and family of
/// addresses those of at most 1,000 endpoints. Of each subset the first 1,000 addresses count. Pure.
std::vector<base::Json> MirroredSlices(const base::Json& endpoints);
/// Whether Endpoints are to be mirrored, as far as they themselves say.
bool IsMirrored(const kube::ObjectMeta& endpoints);

class EndpointMirroring final : public Reconciler {
 public:
  explicit EndpointMirroring(Context& context);

 private:
  base::Result<Again> Reconcile(const std::string& key) override;
  std::vector<ObjectPointer> MirrorsOf(const std::string& key);
  base::Status Write(const kube::Object& endpoints, const base::Json& wanted, const ObjectPointer& existing);

  std::map<std::string, std::map<std::string, ObjectPointer>> mirrors_;  // by key of the Endpoints, then by their own
};

}  // namespace evenkeel::embedded::workloads
