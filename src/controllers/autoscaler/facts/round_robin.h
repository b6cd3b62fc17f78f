// Upstream's search for a node: the nodes in the order of their list, from the one after the last hit around. With --compat.
// Lists of a cluster are by name, so that the next process has the same ones; lists in files are as people wrote them.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/simulator/clustersnapshot/predicate/plugin_runner.go
#pragma once

#include <vector>

#include "controllers/autoscaler/facts/cluster_view.h"

namespace evenkeel::controllers::autoscaler {

enum class ListOrder : uint8_t { kByName, kAsTold };

struct Turn {
  uint32_t* next = nullptr;  ///< where the search begins, an index into the list; lives as long as whoever goes on searching
  ListOrder order = ListOrder::kByName;
};

class RoundRobin {
 public:
  /// The nodes that are present now: first those of the cluster, then those that are on their way.
  RoundRobin(const ClusterView& view, Turn turn);

  /// kNone: no node fits, and the next search begins where this one did. `only`: others are passed over; cordoned nodes always
  /// are. O(nodes).
  scheduling::NodeId Find(scheduling::ClassId pod_class, const scheduling::NodeSet* only = nullptr);
  /// The node is not in the list any more.
  void Drop(scheduling::NodeId node);

 private:
  scheduling::Snapshot& snapshot_;
  uint32_t* next_;
  std::vector<scheduling::NodeId> nodes_;
};

}  // namespace evenkeel::controllers::autoscaler
