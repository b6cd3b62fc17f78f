// On the hub: EndpointSlices that were collected from members, and the Services that ServiceImports stand for.
#pragma once

#include <string>

#include "controllers/runtime/controller.h"
#include "embedded/federation/policies/hub.h"

namespace evenkeel::embedded::federation {

class ServiceImporter {
 public:
  explicit ServiceImporter(Hub& hub);
  void Start();

 private:
  using Done = base::Result<controllers::runtime::ReconcileResult>;

  Done ReconcileWork(const std::string& key);
  Done Release(const kube::Object& work);
  Done ReconcileImport(const std::string& key);

  Hub& hub_;
  ObjectInformer imports_;
  controllers::runtime::Controller slices_, services_;
};

}  // namespace evenkeel::embedded::federation
