// The scheduler: binds pods without a node, the most important first, each to the least allocated of the nodes that
// kube-scheduler's filters (scheduling/snapshot.h) let it on. What fits nowhere is told why in upstream's words and tried again
// when something has changed that could help (scheduler_queue.h).
//
// Nothing is preempted; a pod that somebody has nominated for a node counts there for pods that are less important. Claims
// whose class waits for the first consumer are told the node, and the pod is bound once they are.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "embedded/workloads/reconciler.h"
#include "embedded/workloads/scheduler_queue.h"
#include "scheduling/snapshot.h"

namespace evenkeel::embedded::workloads {

/// Cost of binding one pod: O(nodes), a few ns each; of one that fits nowhere and whose like has just been tried: O(1).
class Scheduler final : public Reconciler {
 public:
  explicit Scheduler(Context& context);

 private:
  /// What a pod waits for between the choice of its node and the binding.
  struct Binding {
    std::string node;
    std::vector<std::string> claims;  ///< keys
    base::Instant deadline{};
  };
  struct Choice {
    scheduling::NodeId node = scheduling::kNone;
    std::string message;  ///< why there is none
  };

  /// The only key: one pod is tried, then others on the strand have their turn.
  base::Result<Again> Reconcile(const std::string& key) override;

  // Events.
  void OnPod(const PodPointer& after, const std::string& key);
  void OnNode(const NodePointer& before, const NodePointer& after);
  void WatchVolumes();
  void OnVolume(scheduling::VolumeKind kind, const ObjectPointer& before, const ObjectPointer& after);
  void DropPod(const std::string& key);
  /// Room, or a reason, has gone from the node.
  void PodLeft(scheduling::NodeId node);
  /// Tries those again whose class `concerned` says could be helped.
  template <typename Concerned>
  void Wake(const Concerned& concerned);

  // One pod.
  void Try(const std::string& key);
  Choice Choose(const kube::Pod& pod, scheduling::PodId id);
  Choice ChooseNow(const kube::Pod& pod, scheduling::PodId id);
  scheduling::NodeId BestNode(scheduling::ClassId pod_class);
  int64_t Score(scheduling::NodeId node, int64_t cpu, int64_t memory) const;
  void Assign(const kube::Pod& pod, scheduling::PodId id, scheduling::NodeId node);
  base::Status SelectNode(const std::vector<std::string>& claims, const std::string& node);
  bool Bound(const std::string& claim);
  void FinishBinding(const kube::Pod& pod, const Binding& binding);
  void Bind(const kube::Pod& pod, const std::string& node);
  void GiveUp(const std::string& key);
  void MarkUnschedulable(const kube::Pod& pod, scheduling::PodId id, const std::string& message);
  /// PodScheduled=False; true when it says so already. Nothing is written then.
  base::Result<bool> WriteCondition(const kube::Pod& pod, const char* reason, const std::string& message);

  base::Instant Monotonic() const { return context_.clock.Monotonic(); }
  bool Wants(const kube::Pod& pod) const;
  void Run() { Enqueue("pods"); }

  scheduling::Snapshot snapshot_;
  SchedulerQueue queue_;
  std::map<std::string, std::string> nominated_;  // node by pod
  std::map<std::string, Binding> binding_;        // by pod
  /// Messages of the classes and priorities that have been found to fit nowhere since the last change.
  std::map<std::pair<scheduling::ClassId, int32_t>, std::string> messages_;
};

}  // namespace evenkeel::embedded::workloads
