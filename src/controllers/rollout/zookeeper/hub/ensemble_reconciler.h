// Carries one step of an ensemble's rollout out: reads everything anew, plans, writes the status, and only then acts.
//
// The status is written with the resourceVersion that the plan was made from. So of two controllers that decide at the same
// time (one may have been leader and not know yet that it is none) one fails, and a second cluster is never begun from a
// record that is out of date. What follows is written only over the very versions that were read: a controller that hangs
// between the two and comes back late cannot take back what its successor has applied. A crash in between costs nothing: what
// is missing is in the next plan.
//
// What may still be out of date, and what it costs: the members' word in the ResourceBinding (Karmada may be 70 seconds late
// with it). A cluster that has begun confirms by the revision that it echoes, so an old status cannot pass for a finished
// change; but a server that died a moment ago may still count as ready when the next cluster begins. That is why the members'
// operators look at their peers themselves before each restart.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "client/client.h"
#include "client/event_recorder.h"
#include "controllers/rollout/zookeeper/hub/hub_reading.h"
#include "controllers/rollout/zookeeper/hub/rollout_metrics.h"
#include "controllers/rollout/zookeeper/plan/plan.h"
#include "controllers/runtime/controller.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// Keeps an ensemble until everything that belongs to it is gone, in order.
inline constexpr char kFinalizer[] = "evenkeel.dev/rollout";

struct ReconcilerContext {
  client::Client& hub;
  base::Clock& clock;
  /// Asked before each write: whether this replica leads. An error ends the reconcile.
  std::function<base::Status()> may_write;
  client::EventRecorder& events;
  RolloutMetrics& metrics;
  Forms forms{};  ///< in which it writes, and up to which it reads
};

class EnsembleReconciler {
 public:
  explicit EnsembleReconciler(ReconcilerContext context) : context_(std::move(context)) {}

  /// A term as leader begins: what another replica has written until now has its times by another clock.
  void BeginTerm() {
    watched_since_.clear();
    blind_since_.clear();
  }

  /// Of the MultiClusterZooKeeper with this key: at most one transition. Bad input becomes the condition Degraded and changes
  /// nothing else. kConflict: somebody wrote in between.
  base::Result<runtime::ReconcileResult> Reconcile(const std::string& key);

 private:
  base::Status KeepFinalizer(const base::Json& ensemble, bool keep);
  base::Result<runtime::ReconcileResult> CarryOut(const std::string& key, base::Json ensemble);
  /// The template as the hub's API would take it, without writing it: it must not be refused half-way through a plan.
  base::Status TryTemplate(const Plan& plan, const HubReading& reading);
  /// Of the overrides, while nothing can be planned: without its override a cluster would lose its servers.
  base::Status Repair(const std::string& key, const base::Json& ensemble, const HubReading& reading);
  /// While the hub does not say which Clusters there are: nothing is planned, but overrides come back.
  base::Result<runtime::ReconcileResult> WithoutClusters(const std::string& key, base::Json ensemble,
                                                         const HubReading& reading);
  /// Newer Karmadas have a kind for it, which clears up by itself; the other placement of the plan has to do where there is
  /// none.
  void AskScheduler(const base::Json& ensemble);
  base::Status Apply(const base::Json& desired, const HubReading& reading, bool dry_run);
  base::Status Remove(const ObjectRef& item, const HubReading& reading);
  base::Result<runtime::ReconcileResult> Refuse(base::Json ensemble, const std::string& reason, const std::string& message);
  base::Result<base::Json> WriteStatus(base::Json ensemble, const base::Json& status);
  void Record(const std::string& key, const base::Json& ensemble, const Plan& plan);

  ReconcilerContext context_;
  std::map<std::string, base::Time> watched_since_;  ///< by key: its first reconcile in this term
  std::map<std::string, base::Time> blind_since_;    ///< by key: nobody knows which Clusters there are
};

}  // namespace evenkeel::controllers::rollout::zookeeper
