// The rollouts of all ensembles of a hub, carried out by one of several replicas: whoever holds the Lease
// "evenkeel-rollout". Watches MultiClusterZooKeepers and, once there is one, their ZooKeepers, ResourceBindings, policies and
// exports, and Karmada's Clusters; each change makes the ensemble be looked at again (ensemble_reconciler.h). The caches keep
// names only: decisions are made from what the API says at that moment.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "base/metrics.h"
#include "base/random.h"
#include "client/client.h"
#include "controllers/rollout/zookeeper/hub/rollout_metrics.h"
#include "controllers/rollout/zookeeper/spec/forms.h"

namespace evenkeel::controllers::rollout::zookeeper {

struct HubControllerContext {
  /// Its request time-out must not exceed 5 s (client/leader_election.h).
  client::Client& hub;
  base::Executor& executor;
  base::Random random;
  base::MetricRegistry& metrics;
  std::string ns = "evenkeel";  ///< of the Lease
  std::string host;             ///< this replica in Events; its identity in the Lease begins with it
  /// Called on the controller's strand each time this replica becomes leader, for what the leader installs. The controller
  /// does nothing else until `proceed` is called, from any thread: a webhook that still names the leader before would be asked
  /// about the first write. May be empty.
  std::function<void(std::function<void()> proceed)> prepare = {};
  Forms forms{};  ///< in which it writes, and up to which it reads
};

class HubController {
 public:
  virtual ~HubController() = default;  ///< Ends without giving the Lease up.
  virtual void Start() = 0;
  /// Gives the Lease up, then calls `done`.
  virtual void Stop(std::function<void()> done) = 0;
  /// From any thread.
  virtual bool leading() const = 0;
  virtual RolloutMetrics& metrics() = 0;
};

inline constexpr char kLeaseName[] = "evenkeel-rollout";

std::unique_ptr<HubController> NewHubController(HubControllerContext context);

}  // namespace evenkeel::controllers::rollout::zookeeper
