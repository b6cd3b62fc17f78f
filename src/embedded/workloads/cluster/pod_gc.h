// Pods that nobody else ends: those of nodes that are gone, those being deleted that were never bound, and the oldest finished
// ones beyond a bound.
// Follows: kubernetes@1.36 pkg/controller/podgc/gc_controller.go
#pragma once

#include <set>

#include "embedded/workloads/pods/reconciler.h"

namespace evenkeel::embedded::workloads {

class PodGarbageCollector final : public Reconciler {
 public:
  /// How many finished pods a cluster keeps, and how long a missing node may take to come (back); upstream's defaults.
  static constexpr size_t kFinishedPods = 12500;
  static constexpr base::Duration kQuarantine = std::chrono::seconds(40);

  explicit PodGarbageCollector(Context& context);

 private:
  /// Keys: "pod/NAMESPACE/NAME", "node/NAME", "finished".
  base::Result<Again> Reconcile(const std::string& key) override;
  base::Status CollectNode(const std::string& node);
  base::Status CollectFinished();
  base::Status ForceDelete(const kube::Pod& pod);

  std::set<std::string> finished_;  // keys
};

}  // namespace evenkeel::embedded::workloads
