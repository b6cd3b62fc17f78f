// Events with upstream's reasons and texts, in the member: about the cluster (on the status ConfigMap), nodes and pods. The
// same event again within 5 minutes is not written unless --record-duplicated-events asks for it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "client/event_recorder.h"
#include "controllers/autoscaler/loop/run_once.h"
#include "controllers/autoscaler/member/cluster_cache.h"

namespace evenkeel::controllers::autoscaler {

class AutoscalerEvents {
 public:
  AutoscalerEvents(client::Client& client, std::shared_ptr<base::Strand> strand, base::Clock& clock, base::Random random,
                   std::string host, const Options& options);

  void OnCluster(const ClusterEvent& event);
  void OnNode(std::string_view name, std::string_view uid, const ClusterEvent& event);
  /// `key`: namespace/name.
  void OnPod(std::string_view key, std::string_view uid, const ClusterEvent& event);
  /// What the loop has found out, and for which pods nodes come and for which they do not. O(pending pods).
  void OfLoop(const LoopPlan& plan, const ClusterCache& cache);

 private:
  void Write(const base::Json& about, const ClusterEvent& event);
  bool Repeats(const base::Json& about, const ClusterEvent& event);
  void OfScaleUp(const LoopPlan& plan, const ClusterCache& cache);
  void OfPodsWithout(const LoopPlan& plan, const ClusterCache& cache);

  base::Clock& clock_;
  std::string ns_, config_map_;
  bool duplicates_;
  std::unordered_map<uint64_t, base::Instant> written_;  // by a hash of the event
  base::Instant pruned_{};
  client::EventRecorder recorder_;
};

/// "2 Insufficient cpu, 1 max node group size reached": why pods of a pod group got no node, over all node groups.
std::string CountReasons(const ScaleUpPlan& plan, size_t pod_group);

}  // namespace evenkeel::controllers::autoscaler
