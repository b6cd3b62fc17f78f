#include "balancing/measures/node_ties.h"

#include <algorithm>

namespace evenkeel::balancing {

NodeTie NodeTies::Of(NodeId node, Role role) const {
  NodeTie tie{.replicas = static_cast<int64_t>(arrangement_.On(node).size()),
              .primaries = role == Role::kPrimary ? arrangement_.PrimariesOn(node) : 0};
  for (const MetricId metric : group_.metrics) {
    const int64_t load = arrangement_.loads().Of(metric, node);
    if (load == 0) continue;
    const int64_t all = std::max<int64_t>(arrangement_.loads().Summary(metric).sums.sum, 1);
    tie.load += static_cast<double>(load) / static_cast<double>(all);
  }
  // Nodes in their order, from one that is drawn: who names nodes after their domains gets neighbours from different ones,
  // which leaves more choice for what comes next than nodes drawn one by one.
  const uint64_t nodes = arrangement_.cluster().nodes.size();
  tie.draw = (node + nodes - seed_ % nodes) % nodes;
  return tie;
}

}  // namespace evenkeel::balancing
