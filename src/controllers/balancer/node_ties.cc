#include "controllers/balancer/node_ties.h"

#include <algorithm>
#include <array>

#include "base/hash.h"

namespace evenkeel::controllers::balancer {

NodeTie NodeTies::Of(NodeId node, ReplicaId replica, Role role) const {
  NodeTie tie{.replicas = static_cast<int64_t>(arrangement_.On(node).size()),
              .primaries = role == Role::kPrimary ? arrangement_.PrimariesOn(node) : 0};
  for (const MetricId metric : group_.metrics) {
    const int64_t all = std::max<int64_t>(arrangement_.loads().Summary(metric).sums.sum, 1);
    tie.load += static_cast<double>(arrangement_.loads().Of(metric, node)) / static_cast<double>(all);
  }
  const std::array<char, 8> ids{static_cast<char>(node),          static_cast<char>(node >> 8),
                                static_cast<char>(node >> 16),    static_cast<char>(node >> 24),
                                static_cast<char>(replica),       static_cast<char>(replica >> 8),
                                static_cast<char>(replica >> 16), static_cast<char>(replica >> 24)};
  tie.draw = base::XxHash64({ids.data(), ids.size()}, seed_);
  return tie;
}

}  // namespace evenkeel::controllers::balancer
