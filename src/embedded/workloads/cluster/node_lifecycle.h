// Node lifecycle: a node whose kubelet has been silent for 40 s becomes Ready Unknown; conditions become taints.
// Follows: kubernetes@1.36 pkg/controller/nodelifecycle/node_lifecycle_controller.go
#pragma once

#include <map>
#include <string>

#include "embedded/workloads/pods/reconciler.h"

namespace evenkeel::embedded::workloads {

/// The taints that a node's conditions and its `unschedulable` call for, beside those that are not ours. NoExecute ones carry
/// timeAdded, kept while they stay. `all_down`: every node is silent or not ready, so it is rather the network, and nothing is
/// evicted. Pure.
base::JsonArray TaintsOf(const base::Json& node, bool all_down, base::Time now);
/// The node's status with its conditions set to Unknown. Pure.
base::Json SilentStatus(const base::Json& node, base::Time now);

class NodeLifecycleController final : public Reconciler {
 public:
  /// How long a node may be silent; upstream's default.
  static constexpr base::Duration kGrace = std::chrono::seconds(40);

  explicit NodeLifecycleController(Context& context);

 private:
  struct Heard {
    std::string sign;  ///< renewTime of the Lease and heartbeat of the condition: any change is a sign of life
    base::Instant at;
  };
  base::Result<Again> Reconcile(const std::string& key) override;
  void Listen(const std::string& node);
  bool AllDown();
  base::Status MarkPodsNotReady(const std::string& node);

  std::map<std::string, Heard> heard_;
  bool were_all_down_ = false;
};

/// Deletes pods from nodes with NoExecute taints that they do not tolerate, or no longer (tolerationSeconds since the taint was
/// added).
class TaintEviction final : public Reconciler {
 public:
  explicit TaintEviction(Context& context);

 private:
  /// Keys are pods.
  base::Result<Again> Reconcile(const std::string& key) override;
};

}  // namespace evenkeel::embedded::workloads
