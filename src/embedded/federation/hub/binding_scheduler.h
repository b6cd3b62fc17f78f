// Decides for each binding which clusters get its object and how many replicas: affinities, taints, then division.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controllers/runtime/controller.h"
#include "embedded/federation/policies/division.h"
#include "embedded/federation/policies/hub.h"

namespace evenkeel::embedded::federation {

/// The schedule of a binding for these Clusters. Pure. Affinity groups are tried in their order. Room in clusters is not known
/// here: dynamic division takes it to be enough.
base::Result<std::vector<Share>> ScheduleBinding(const base::Json& binding, const std::vector<const base::Json*>& clusters);

/// Whether a binding is due to be scheduled where that is done once (Habits): it never was, its placement or the number of its
/// replicas is another one since, or somebody has asked. Pure.
bool IsDue(const base::Json& binding);

/// Since when a taint has been there whose timeAdded does not say so, by TaintKey.
using TaintsSeen = std::map<std::string, base::Time>;
std::string TaintKey(const base::Json& cluster, const base::Json& taint);
/// Taints by which a Cluster's copies go: NoExecute; one that is not ready has such a taint.
base::JsonArray EvictingTaints(const base::Json& cluster);

/// The binding's targets without those that have to go (Habits::evicts), and when the next one has to: where a taint is
/// tolerated for some seconds, after those. Pure.
struct Remaining {
  std::vector<Share> targets;
  std::optional<base::Time> next;
};
Remaining WithoutEvicted(const base::Json& binding, const std::vector<const base::Json*>& clusters, base::Time now,
                         const TaintsSeen& seen);

class BindingScheduler {
 public:
  explicit BindingScheduler(Hub& hub);
  void Start() { controller_.Start(); }

 private:
  base::Result<controllers::runtime::ReconcileResult> Reconcile(const std::string& key);
  base::Result<std::vector<Share>> Schedule(const base::Json& binding, std::vector<const base::Json*> clusters) const;

  /// What the Clusters have now, each since when it was first seen.
  void SeeTaints(const std::vector<const base::Json*>& clusters);

  Hub& hub_;
  TaintsSeen taints_;
  controllers::runtime::Controller controller_;
};

}  // namespace evenkeel::embedded::federation
