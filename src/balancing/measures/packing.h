// What the balancing of a metric aims at. Most metrics are spread over the nodes; a defragmentation metric is packed instead,
// so that nodes, or parts of them, stay empty for what is large: either as many as possible (the classic way), or a given
// number of nodes with a given reservation (the scoped way), with the rest spread, packed or left as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "balancing/model/cluster.h"
#include "balancing/model/node_sets.h"
#include "balancing/model/settings.h"

namespace evenkeel::balancing {

enum class Aim : uint8_t {
  kSpread,
  kPack,
  kReserve,  ///< the last three: scoped
  kReserveAndSpread,
  kReserveAndPack,
};
inline bool IsScoped(Aim aim) { return aim != Aim::kSpread && aim != Aim::kPack; }
Aim AimOf(const Settings& settings, std::string_view metric);

/// How much empty nodes, and the balance of the others, count in a scoped metric's score.
struct PackingWeights {
  double empty = 0, others = 0;
};
PackingWeights PackingWeightsOf(const Settings& settings, std::string_view metric, Aim aim);

/// Which nodes are empty in one metric.
class Emptiness {
 public:
  /// `cluster` outlives this. O(nodes).
  Emptiness(const Cluster& cluster, const Settings& settings, MetricId metric, Aim aim);

  /// Classic: the load is not above the metric's activity threshold. Scoped: the reservation still fits the node; it is
  /// ReservedLoadPerNode, else what the largest node has above MetricEmptyNodeThresholds. On a node of unlimited capacity a
  /// given reservation always fits; without any capacity the load is compared with that threshold.
  bool IsEmpty(NodeId node, int64_t load) const { return aim_ == Aim::kPack ? load <= most_ : Occupied(node, load) <= 0; }
  /// Scoped: the share of the reservation that is taken, 0 to 1; all of it on a node that is too small.
  double Occupied(NodeId node, int64_t load) const;
  /// How many of `nodes` nodes should be empty. Absent when nothing is said; scoped: 0 then.
  std::optional<int64_t> Target(int64_t nodes) const;

 private:
  const Cluster& cluster_;
  const MetricId metric_;
  const Aim aim_;
  int64_t most_ = 0;  // up to this load a node is empty, where no reservation says better
  std::optional<int64_t> reservation_;
  std::optional<double> target_;
};

/// Whether empty nodes are spread over domains: of `target` each leaf with any of `nodes` has its share, rounded down, and as
/// many as the rest one more. Where every node is a domain of its own it is enough that there are as many.
bool SpreadOverDomains(const LeafDomains& domains, std::span<const NodeId> nodes, std::span<const NodeId> empty_nodes,
                       int64_t target);

}  // namespace evenkeel::balancing
