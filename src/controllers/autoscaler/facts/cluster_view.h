// What one loop of the autoscaler looks at: the snapshot, the provider's node groups, and what the filters do not need but the
// rules do (ages, owners, annotations, budgets). Kept up to date by whoever owns it; the planner only reads it, and changes the
// snapshot inside forks.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/shared_text.h"
#include "base/time.h"
#include "controllers/autoscaler/facts/loop_time.h"
#include "kube/selector.h"
#include "providers/provider.h"
#include "scheduling/snapshot.h"

namespace evenkeel::controllers::autoscaler {

/// A pod beyond what scheduling needs. By PodId.
struct PodFacts {
  bool present = false;
  std::string key;  ///< namespace/name
  /// Of the controlling owner reference; "" without.
  base::SharedText owner_kind, owner_name, owner_uid;
  base::SharedText phase, restart_policy, scheduler_name;
  base::SharedText nominated_node;
  base::Time created{};
  std::optional<base::Time> deleted;  ///< metadata.deletionTimestamp
  int64_t grace_seconds = 30;         ///< spec.terminationGracePeriodSeconds
  std::optional<int32_t> priority;
  bool mirror = false;
  bool daemon = false;  ///< owner DaemonSet, or annotation cluster-autoscaler.kubernetes.io/daemonset-pod=true
  bool requests_gpu = false;
  bool unschedulable = false;       ///< PodScheduled=False, reason Unschedulable
  bool unprocessed = false;         ///< no PodScheduled condition, or without a reason: its scheduler has not looked yet
  base::SharedText gate;            ///< the first of spec.schedulingGates; "": none
  base::SharedText scheduler_says;  ///< the reason of PodScheduled=False where it is neither Unschedulable nor empty
  base::SharedText safe_to_evict;   ///< annotation: "", "true", "false", "on-completion"
  base::SharedText scale_up_delay;  ///< annotation pod-scale-up-delay
  base::SharedText ds_eviction;     ///< annotation enable-ds-eviction
  bool local_storage = false;       ///< a hostPath, or an emptyDir not in memory, that is not listed as safe to evict
  uint64_t spec_hash = 0;           ///< of labels and spec as pod equivalence groups compare them
};

/// A node beyond what scheduling needs. By NodeId; what-if nodes have none.
struct NodeFacts {
  bool present = false;
  std::string name, provider_id;
  base::Time created{};
  bool ready = false, suspended = false;
  bool resource_unready = false;  ///< its GPUs or devices have not appeared yet
  bool lacks_devices = false;     ///< likewise, of devices that drivers publish
  base::Time last_transition{};   ///< of the conditions that readiness looks at
  bool virtual_kubelet = false;
  bool scale_down_disabled = false;              ///< annotation
  std::optional<base::Time> to_be_deleted;       ///< value of the taint
  std::optional<base::Time> deletion_candidate;  ///< value of the soft taint
  std::string gpu;                               ///< value of the provider's GPU label
  bool gpus_by_driver = false;                   ///< which a driver of devices tells of, not the node's capacity
  int64_t cores = 0, memory = 0;                 ///< capacity: whole cores, rounded up, and bytes
  std::map<std::string, int64_t> gpus;           ///< capacity of GPU resources, by name; without those of 0
  base::SharedText group;                        ///< id; "" when not managed
  bool operator==(const NodeFacts&) const = default;
};

struct Budget {
  std::string ns, name;
  kube::LabelSelector selector;  ///< of spec.selector; selects nothing when that is absent
  int64_t allowed = 0;           ///< status.disruptionsAllowed
};

struct Owner {
  std::string kind, ns, name, uid;  ///< ReplicaSet, ReplicationController, StatefulSet, Job, DaemonSet
  int64_t replicas = 1;
};

/// Why nodes and instances of the group are not to go now; "": they may. Valid as long as the group.
inline const std::string& WhyKept(const providers::NodeGroup& group) {
  return group.set_aside.empty() ? group.keeps_nodes : group.set_aside;
}

class NodeDigests;

struct ClusterView {
  scheduling::Snapshot* snapshot = nullptr;
  const std::deque<PodFacts>* pods = nullptr;    ///< by PodId
  const std::deque<NodeFacts>* nodes = nullptr;  ///< by NodeId
  const std::vector<Budget>* budgets = nullptr;
  const std::unordered_map<std::string, Owner>* owners = nullptr;  ///< by uid; null: owners are not looked up
  const std::vector<base::Json>* daemon_sets = nullptr;            ///< apps/v1 DaemonSets, for templates
  /// Counts up with every change of `nodes`, and when one is cordoned; 0: not known.
  uint64_t nodes_revision = 0;
  /// Of `nodes`, kept from loop to loop (node_digests.h); null: who needs some makes them.
  const NodeDigests* digests = nullptr;
  providers::NodeGroups groups;  ///< changed by the planner as it decides, so that later stages see earlier ones
  LoopTime now;
};

}  // namespace evenkeel::controllers::autoscaler
