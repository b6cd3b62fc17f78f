// Decides which of several nodes takes or loses a replica where the deviation is equal: replicas without load, metrics without
// weight, nodes that are alike. The node with fewer replicas comes first, then the one with less load, then a draw from the
// seed. So names do not matter.
#pragma once

#include <compare>
#include <cstdint>

#include "balancing/measures/arrangement.h"
#include "balancing/model/service_groups.h"

namespace evenkeel::balancing {

/// Smaller is the better target.
struct NodeTie {
  int64_t replicas = 0;   ///< on the node
  int64_t primaries = 0;  ///< of these; 0 where the role makes no difference
  double load = 0;        ///< the node's shares of all loads of the group's metrics, added up
  uint64_t draw = 0;
  auto operator<=>(const NodeTie&) const = default;
};

class NodeTies {
 public:
  /// Both outlive this.
  NodeTies(const Arrangement& arrangement, const ServiceGroup& group, uint64_t seed)
      : arrangement_(arrangement), group_(group), seed_(seed) {}

  /// Of a node as it is now, for a replica in that role. O(metrics of the group).
  NodeTie Of(NodeId node, Role role) const;

 private:
  const Arrangement& arrangement_;
  const ServiceGroup& group_;
  const uint64_t seed_;
};

}  // namespace evenkeel::balancing
