// Collects the EndpointSlices of what one member exports: a Work on the hub for each, which goes with the slice, with its
// Service and with the export. Watches the member's slices from its first export on. On the member's strand.
#pragma once

#include <memory>
#include <string>

#include "base/random.h"
#include "controllers/runtime/controller.h"
#include "embedded/federation/policies/hub.h"

namespace evenkeel::embedded::federation {

class EndpointCollector {
 public:
  /// `works`: of the member's namespace on the hub; not started yet.
  EndpointCollector(std::string cluster, client::Client& hub, client::Client& member, ObjectInformer& works,
                    std::shared_ptr<base::Strand> strand, base::Clock& clock, const base::Random& random);
  void Start() { controller_.Start(); }

 private:
  using Done = base::Result<controllers::runtime::ReconcileResult>;

  bool Exports(const std::string& service) const;
  Done Reconcile(const std::string& service);
  base::Status Write(const base::Json& work);

  const std::string cluster_;
  client::Client& hub_;
  ObjectInformer& works_;
  ObjectInformer slices_;
  controllers::runtime::Controller controller_;  // by key of a Service
  bool watching_ = false;
};

}  // namespace evenkeel::embedded::federation
