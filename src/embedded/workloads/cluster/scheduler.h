// The scheduler of the embedded fleet: the one that also binds pods of other clusters (controllers/balancer/scheduler), told by
// the informers that all controllers of the cluster share. It binds pods that name no scheduler, "default-scheduler" or
// "evenkeel".
#pragma once

#include <string>

#include "controllers/runtime/defined_kind.h"
#include "controllers/scheduler/scheduler.h"
#include "embedded/workloads/pods/reconciler.h"

namespace evenkeel::embedded::workloads {

class SchedulerController final : public Reconciler {
 public:
  explicit SchedulerController(Context& context);

 private:
  /// The only key: one turn.
  base::Result<Again> Reconcile(const std::string& key) override;
  void Call(base::Duration delay);

  void Put(const kube::Resource& resource, const std::string& key, const base::Json* object);

  scheduling::ClusterMirror mirror_;
  controllers::scheduler::Scheduler scheduler_;
  controllers::runtime::DefinedKind plans_;
  bool begun_ = false;  // the plans that there were at the start are known
};

}  // namespace evenkeel::embedded::workloads
