// Pending pods by equivalence: pods of one controller that are alike fit alike, so one of them is asked for all. The rules of
// cluster-autoscaler: a pod without controller, or of a DaemonSet, stands alone; a controller has at most ten groups, and the
// pods beyond them stand alone too. Claims of devices that were made for each pod alike make no difference. Pods that would
// stand alone and can be told apart by nothing but their names are counted as one group here, because every answer about them
// is the same. Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/core/scaleup/equivalence/groups.go
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "controllers/autoscaler/facts/cluster_view.h"
#include "scheduling/snapshot.h"

namespace evenkeel::controllers::autoscaler {

struct PodGroup {
  scheduling::ClassId pod_class = scheduling::kNone;  ///< of the first; the others' are like it (Snapshot::Likeness)
  std::vector<scheduling::PodId> pods;                ///< in the order in which they were given; the first speaks for all
  /// Only resources and labels and taints of the node decide: no affinity, spread, ports, volumes, devices.
  bool plain = false;
  bool hostname_spread = false;  ///< has a topologySpreadConstraint by host name
};

struct PodGroups {
  std::vector<PodGroup> groups;        ///< in the order of their first pods
  size_t overflowing_controllers = 0;  ///< with more than ten kinds of pods
};

/// Whether nothing but room, and what a node is like, decides about pods of the class.
bool IsPlain(scheduling::Snapshot& snapshot, scheduling::ClassId pod_class);

/// O(pods).
PodGroups GroupPods(scheduling::Snapshot& snapshot, const std::deque<PodFacts>& facts, std::span<const scheduling::PodId> pods);

}  // namespace evenkeel::controllers::autoscaler
