// Brings back what members report: from Works into the binding's status, and from there into the template's.
#pragma once

#include "controllers/runtime/controller.h"
#include "embedded/federation/policies/hub.h"

namespace evenkeel::embedded::federation {

class StatusCollector {
 public:
  explicit StatusCollector(Hub& hub);
  void Start() { controller_.Start(); }

 private:
  using Done = base::Result<controllers::runtime::ReconcileResult>;

  Done Reconcile(const std::string& key);
  base::Status WriteTemplate(const base::Json& binding, const base::JsonArray& items);

  Hub& hub_;
  controllers::runtime::Controller controller_;
};

}  // namespace evenkeel::embedded::federation
