// Which pending pods a scale-up is for. Steps N and O of the loop, after the health gate and the size fixes and before the
// scale-up itself; all of them change the snapshot, so they belong into the fork that lasts for the loop:
//
//   AddUpcomingNodes          nodes that were asked for but are not there yet
//   DropExpendable            pods whose priority says that no node is worth buying for them
//   AddRecreatable            pods of nodes that are being drained: they need a new place soon
//   FilterOutSchedulable      pods that fit on what is there or on its way; they take their places
//   DropDaemonPods            pods that come with their nodes
//   DropYoung                 pods that are too new to react to
//   DecideScaleUp             whether to go on at all
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/core/podlistprocessor
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "controllers/autoscaler/facts/cluster_view.h"
#include "controllers/autoscaler/facts/node_templates.h"
#include "controllers/autoscaler/facts/round_robin.h"
#include "controllers/autoscaler/options/options.h"

namespace evenkeel::controllers::autoscaler {

using PodIds = std::vector<scheduling::PodId>;

/// Why a pod without a node is none that a scale-up is for.
enum class PassedOver : uint8_t {
  kDeleted,
  kNominated,
  kOtherScheduler,  ///< not among --allowed-scheduler-names
  kGated,
  kUnprocessed,     ///< its scheduler has not looked at it
  kSchedulerError,  ///< its scheduler says something else than Unschedulable
  kExpendable,
  kHasRoom,  ///< on a node that is there or on its way; AutoscalerState::hints say on which
  kDaemon,
  kYoung,
};

/// Why the pod does not wait for a node; none: it does. `count_unprocessed`: also where its scheduler has not looked at it.
std::optional<PassedOver> WhyNotWaiting(const PodFacts& facts, const Options& options, bool count_unprocessed);

struct UpcomingNode {
  scheduling::NodeId node = scheduling::kNone;
  std::string group;
};

/// Adds `upcoming` nodes per group, each as the group's template, and takes away registered nodes that have not started yet:
/// their stand-ins are among the upcoming ones. Groups without a template are left out. Only in a fork.
std::vector<UpcomingNode> AddUpcomingNodes(scheduling::Snapshot& snapshot, const NodeTemplates& templates,
                                           const std::map<std::string, int64_t>& upcoming,
                                           std::span<const scheduling::NodeId> not_started);

/// Priority below --expendable-pods-priority-cutoff; without a priority a pod is not expendable.
bool IsExpendable(const PodFacts& facts, const Options& options);
void DropExpendable(const ClusterView& view, const Options& options, PodIds& pods);

/// Pods of `drained` nodes that will be made anew: not static ones, not those of DaemonSets, not those already on their way
/// out. They leave their nodes in the snapshot, which must be in a fork.
void AddRecreatable(const ClusterView& view, std::span<const scheduling::NodeId> drained, PodIds& pods);

/// Where pods were found to fit in the last loop, tried first in the next. By name: numbers change.
class PodHints {
 public:
  /// The name of the node, which may be one that is on its way (AddUpcomingNodes); "" when there is none.
  std::string_view NameFor(const scheduling::Snapshot& snapshot, scheduling::PodId pod) const;
  /// kNone when there is none, or the node is gone.
  scheduling::NodeId Find(const scheduling::Snapshot& snapshot, scheduling::PodId pod) const;
  void Set(const scheduling::Snapshot& snapshot, scheduling::PodId pod, scheduling::NodeId node);
  /// Forgets what was not set since the last call.
  void EndPass();
  bool operator==(const PodHints&) const = default;
  /// Grows when a pass ends with other hints than the one before.
  uint64_t changes() const { return changes_; }

  /// {"namespace/name": "NODE"}, as of the end of the last pass.
  base::Json ToJson() const;
  /// What ToJson wrote; kBadRequest names what cannot be read.
  base::Status Restore(const base::Field& hints);

 private:
  std::unordered_map<std::string, std::string> nodes_, next_;
  uint64_t changes_ = 0;
};

/// Places what fits, highest priority first, and keeps the rest in `pods`, by priority and name. Answers the placed ones.
/// O(pods + classes x nodes) for pods without affinity and spread.
PodIds FilterOutSchedulable(const ClusterView& view, PodHints& hints, PodIds& pods);
/// The same as upstream does: pods of one priority in the order of their list, one by one, each on the next node that fits.
PodIds FilterOutSchedulableInTurn(const ClusterView& view, PodHints& hints, Turn turn, PodIds& pods);

void DropDaemonPods(const ClusterView& view, PodIds& pods);

/// When the pod is old enough for DropYoung: after this instant.
base::Time YoungUntil(const ClusterView& view, const Options& options, scheduling::PodId pod);
/// Keeps pods that are older than --new-pod-scale-up-delay, or than their annotation says if that is longer. Answers one line
/// for each annotation that cannot be used.
std::vector<std::string> DropYoung(const ClusterView& view, const Options& options, PodIds& pods);

/// The oldest pod came less than 2 s ago, or the oldest one that wants a GPU less than 30 s ago.
bool AllNew(const ClusterView& view, const PodIds& pods);
/// From when on that does not hold any more, if nothing changes.
base::Time AllNewUntil(const ClusterView& view, const PodIds& pods);

enum class ScaleUpDecision {
  kNotNeeded,
  kLimitedByMaxNodesTotal,  ///< event MaxNodesTotalReached; the pods stay unschedulable
  kInCooldown,              ///< all pods are new; no scale-down in this loop either
  kGo,
};
ScaleUpDecision DecideScaleUp(const ClusterView& view, const Options& options, const PodIds& pods, int64_t ready_nodes);

}  // namespace evenkeel::controllers::autoscaler
