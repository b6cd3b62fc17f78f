// The scheduler: binds pods without a node, the most important first, each to the least allocated of the nodes that
// kube-scheduler's filters (scheduling/snapshot.h) let it on. What fits nowhere is told why in upstream's words and tried again
// when something has changed that could help (scheduler_queue.h).
//
// Nothing is preempted; a pod that somebody has nominated for a node counts there for pods that are less important. Claims
// whose class waits for the first consumer are told the node, and the pod is bound once they are. Devices that the snapshot has
// chosen for a pod are written to its claims before it is bound (device_claims.h). Where a BalancingPlan is
// being carried out, room is kept for the successors of the pods that it evicts (reservation_book.h).
//
// It listens to the ClusterMirror whose snapshot it asks, and is called when it has work to do; who feeds the mirror and who
// calls is member_scheduler.h for a member cluster, embedded/workloads/cluster/scheduler.h for the embedded fleet. Pods that it
// is binding and room that it keeps lie on that snapshot as what is not told (scheduling/snapshot.h). Follows: kubernetes@1.36
// pkg/scheduler/schedule_one.go
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "client/client.h"
#include "client/event_recorder.h"
#include "controllers/scheduler/device_claims.h"
#include "controllers/scheduler/reservation_book.h"
#include "controllers/scheduler/scheduler_queue.h"
#include "kube/types.h"
#include "scheduling/cluster_mirror.h"

namespace evenkeel::controllers::scheduler {

/// The name by which pods ask for this scheduler, where it is not the cluster's default.
inline constexpr char kSchedulerName[] = "evenkeel";
/// How a volume binder is told of the node that has been chosen: an annotation of the claim.
inline constexpr char kSelectedNode[] = "volume.kubernetes.io/selected-node";

struct SchedulerOptions {
  /// Pods with one of these at spec.schedulerName are bound; "" are those that name none.
  std::set<std::string> names{kSchedulerName};
};

struct SchedulerContext {
  /// Its writes have preconditions, so it may be a fenced one.
  client::Client& client;
  base::Clock& clock;
  client::EventRecorder& events;
  /// Outlives the scheduler's last event.
  scheduling::ClusterMirror& mirror;
  /// Asks for a Turn, at once (zero) or that much later. Several calls may be answered by one turn.
  std::function<void(base::Duration)> call;
  base::Random random;
};

using PodPointer = std::shared_ptr<const kube::Pod>;

/// Lives on the mirror's strand. Keeps of pods those that it serves and that have no node.
///
/// Cost of binding one pod: O(nodes), a few ns each; of one that fits nowhere and whose like has just been tried: O(1).
class Scheduler final : public scheduling::ClusterListener {
 public:
  Scheduler(SchedulerContext context, SchedulerOptions options);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Of pods, nodes, namespaces, volumes and BalancingPlans; other kinds are passed over.
  void BeforeChange(const scheduling::ObjectEvent& event) override;
  void AfterChange(const scheduling::ObjectEvent& event) override;

  /// Tries one pod, so that others on the strand have their turn. When the next turn is due without another call; nullopt:
  /// never. Not before everything that is there has been told once.
  std::optional<base::Duration> Turn();

 private:
  /// What a pod that has been given a node waits for: its claims to be bound, or to hear what became of the binding. A binding
  /// without an answer may take effect long after; until that is known the room stays the pod's and no other node is tried.
  struct Binding {
    std::string node;
    std::vector<std::string> claims;  ///< keys
    base::Instant deadline{};
    bool asked = false;  ///< for the binding
  };
  struct Choice {
    scheduling::NodeId node = scheduling::kNone;
    std::string message;  ///< why there is none
  };
  struct Claim {
    std::string uid;
    bool bound = false;
  };

  // scheduler_events.cc: what is there.
  void OnPod(const scheduling::ObjectEvent& event);
  void OnWaitingPod(const scheduling::ObjectEvent& event, bool changed);
  void OnNode(const scheduling::ObjectEvent& event);
  /// One without labels is as good as none.
  void OnNamespace(const std::string& name, const kube::Labels& labels);
  void OnVolume(const scheduling::ObjectEvent& event);
  void OnClaim(const scheduling::ObjectEvent& event);
  void OnPlan(const std::string& name, const base::Json* after);

  // scheduler.cc: who is to be tried.
  /// Room, or a reason, has gone from the node.
  void PodLeft(scheduling::NodeId node);
  void NodesFreed(const ReservationBook::Nodes& nodes);
  /// Tries the pods again that may have room on the node which is kept from others.
  void WakePromised(scheduling::NodeId node);
  /// Tries those again whose class `concerned` says could be helped.
  void Wake(const std::function<bool(scheduling::ClassId, const scheduling::PodClass&)>& concerned);
  void Try(const std::string& key);
  bool Wants(const kube::Pod& pod) const;
  base::Instant Monotonic() const { return context_.clock.Monotonic(); }
  void Run() { context_.call({}); }

  // scheduler_choice.cc
  Choice Choose(const kube::Pod& pod, scheduling::PodId id);
  Choice ChooseNow(const kube::Pod& pod, scheduling::PodId id, const std::vector<ReservationBook::Key>& reserved);
  /// Whether the choice depends on more than the snapshot as it is.
  bool HasPromises(const kube::Pod& pod, const std::vector<ReservationBook::Key>& reserved) const;
  scheduling::NodeId BestNode(scheduling::ClassId pod_class);
  int64_t Score(scheduling::NodeId node, int64_t cpu, int64_t memory) const;

  // scheduler_binding.cc
  void Assign(const kube::Pod& pod, scheduling::PodId id, scheduling::NodeId node);
  base::Status SelectNode(const std::vector<std::string>& claims, const std::string& node);
  void FinishBinding(const kube::Pod& pod, const Binding& binding);
  void Bind(const kube::Pod& pod, const std::string& node);
  /// Tells the API which devices the pod gets on the node where it was put. False: it could not, and the pod was given up; or
  /// nobody knows yet, and it keeps node and devices until it is tried again.
  bool WriteDevices(const kube::Pod& pod, const std::string& node);
  /// Asks again for a binding nobody knows about.
  void AskAgain(const kube::Pod& pod, const Binding& binding);
  /// Frees what the pod would have had. Its claims are given back where nobody can have bound it.
  void GiveUp(const std::string& key);
  void MarkUnschedulable(const kube::Pod& pod, scheduling::PodId id, const std::string& message);
  void MarkGated(const kube::Pod& pod);
  /// PodScheduled=False; true when it says so already. Nothing is written then.
  base::Result<bool> WriteCondition(const kube::Pod& pod, const char* reason, const std::string& message);

  SchedulerContext context_;
  const SchedulerOptions options_;
  scheduling::Snapshot& snapshot_;
  SchedulerQueue queue_;
  ReservationBook book_;
  DeviceClaims devices_;
  std::map<std::string, PodPointer> waiting_;       // pods that are ours and have no node
  std::map<std::string, kube::Labels> namespaces_;  // those with labels
  std::map<std::string, Claim> claims_;             // by key
  std::map<std::string, std::string> nominated_;    // node by pod
  std::map<std::string, Binding> binding_;          // by pod
  bool told_ = false;                               // the first Turn has come
  /// Of the pod that is about to change.
  scheduling::NodeId node_before_ = scheduling::kNone;
  scheduling::ClassId class_before_ = scheduling::kNone;
  /// Messages of the classes and priorities that have been found to fit nowhere since the last change.
  std::map<std::pair<scheduling::ClassId, int32_t>, std::string> messages_;
};

/// More pods elsewhere can let it in.
bool WantsCompany(const scheduling::PodClass& pod_class);
/// Pods elsewhere can let it in or keep it out.
bool LooksAround(const scheduling::PodClass& pod_class);

}  // namespace evenkeel::controllers::scheduler
