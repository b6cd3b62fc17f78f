// Whether a group of services is balanced, metric by metric, and why. This is the trigger of balancing, not its aim: an
// imbalance starts a search, which may find nothing to move. Decided on whole loads, also of metrics whose score is by
// percentage. With ThresholdsByPercentage such a metric is decided on loads by capacity where the capacities differ: the
// largest and the smallest are those of the fullest and the emptiest node, and a difference of 1 is one that a load of 1 less
// on the fullest node would make good. Activity thresholds are about whole loads always.
//
// A metric that is spread is balanced when it has no weight, when its threshold is 0, when its largest load exceeds the
// smallest by 1 at most, when the largest load is not above the activity threshold, or when their ratio is not above the
// balancing threshold (ExceedsThreshold says what above means). A smallest load of 0 is an infinite ratio. Defragmentation
// metrics reverse it: they are balanced when enough nodes are empty or, with no number given, when within every fault and
// upgrade domain the ratio is above the threshold.
//
// With balancing per node type (PerNodeType) each type is tested by itself: its nodes, its thresholds. A service's own loads
// of metrics that are spread are tested as well where LocalBalancingThreshold is not 0.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "balancing/measures/node_loads.h"
#include "balancing/measures/packing.h"
#include "balancing/model/cluster.h"
#include "balancing/model/node_sets.h"
#include "balancing/model/service_groups.h"
#include "balancing/model/settings.h"

namespace evenkeel::balancing {

enum class BalanceReason {
  // Balanced:
  kNoWeight,
  kThresholdOff,
  kNoNode,
  kDifferenceOfOne,
  kNotActive,
  kWithinThreshold,
  kEnoughEmptyNodes,  ///< these three: defragmentation
  kPacked,            ///< the ratio is above the threshold in every domain
  kNothingToPack,     ///< no load, or no domains
  // Imbalanced:
  kAboveThreshold,
  kEmptyNode,         ///< the smallest load is 0
  kTooFewEmptyNodes,  ///< these three: defragmentation
  kUnevenEmptyNodes,  ///< enough, but not spread over domains
  kNotPacked,         ///< the ratio within a domain is not above the threshold
};
bool IsBalanced(BalanceReason reason);

struct MetricBalance {
  MetricId metric = kNoId;
  NodeTypeId node_type = kNoId;  ///< kNoId: of all nodes
  ServiceId service = kNoId;     ///< kNoId: of all loads; else of this service's own
  Aim aim = Aim::kSpread;
  int64_t max = 0, min = 0;  ///< kNotPacked: within that domain
  NodeId max_node = kNoId, min_node = kNoId;
  int64_t max_capacity = 0, min_capacity = 0;  ///< of these nodes, where loads by capacity are compared; else 0
  double ratio = 1;                            ///< max / min, or of their shares; infinite when only min is 0
  double compared = 1;  ///< the ratio as it was compared with the threshold (ComparedRatio); kWithin- and kAboveThreshold
  double threshold = 1;
  int64_t activity_threshold = 0;
  int64_t empty_nodes = 0, wanted_empty_nodes = 0;  ///< defragmentation, with a number given
  BalanceReason reason = BalanceReason::kNoNode;

  bool balanced() const { return IsBalanced(reason); }
};

/// One clause for people: "ratio 2.5 (5 on n0, 2 on n3) is not above the threshold 3".
std::string Text(const Cluster& cluster, const MetricBalance& balance);

struct GroupBalance {
  /// Of each metric of the group in its order; per node type: of each type that has a node for it, in the order of their ids.
  std::vector<MetricBalance> metrics;
  /// Services' own loads: only what is imbalanced.
  std::vector<MetricBalance> local;

  bool balanced() const { return imbalanced_metrics_.empty() && imbalanced_services_.empty(); }
  /// Ids, ascending; empty unless balancing is per node type.
  std::vector<NodeTypeId> ImbalancedNodeTypes() const;
  /// Whether replicas of the service on nodes of that type may move because of the imbalance. (What else keeps a replica in
  /// place, and whether a node type is paused, is not known here.)
  bool MayMove(const Cluster& cluster, ServiceId service, NodeTypeId node_type) const;

 private:
  friend class BalanceTest;
  bool per_node_type_ = false;
  std::set<std::pair<MetricId, NodeTypeId>> imbalanced_metrics_;
  std::set<std::pair<ServiceId, NodeTypeId>> imbalanced_services_;
};

/// O(metrics * node types), but O(nodes) for each defragmentation metric and, with LocalBalancingThreshold, for each service.
GroupBalance CheckBalance(const Cluster& cluster, const Settings& settings, const NodeSets& sets, const NodeLoads& loads,
                          const ServiceGroup& group);

}  // namespace evenkeel::balancing
