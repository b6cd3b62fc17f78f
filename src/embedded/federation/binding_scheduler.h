// Decides for each binding which clusters get its object and how many replicas: affinities, taints, then division.
#pragma once

#include "controllers/runtime/controller.h"
#include "embedded/federation/division.h"
#include "embedded/federation/hub.h"

namespace evenkeel::embedded::federation {

/// The schedule of a binding for these Clusters. Pure. Affinity groups are tried in their order. Room in clusters is not known
/// here: dynamic division takes it to be enough.
base::Result<std::vector<Share>> ScheduleBinding(const base::Json& binding, const std::vector<const base::Json*>& clusters);

/// Whether a binding is due to be scheduled where that is done once (Habits): it never was, its placement or the number of its
/// replicas is another one since, or somebody has asked. Pure.
bool IsDue(const base::Json& binding);

/// The binding's targets without those that have to go (Habits::evicts). Pure.
std::vector<Share> WithoutEvicted(const base::Json& binding, const std::vector<const base::Json*>& clusters);

class BindingScheduler {
 public:
  explicit BindingScheduler(Hub& hub);
  void Start() { controller_.Start(); }

 private:
  base::Result<controllers::runtime::ReconcileResult> Reconcile(const std::string& key);
  base::Result<std::vector<Share>> Schedule(const base::Json& binding, std::vector<const base::Json*> clusters) const;

  Hub& hub_;
  controllers::runtime::Controller controller_;
};

}  // namespace evenkeel::embedded::federation
