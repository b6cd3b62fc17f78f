// Which nodes count for what, as far as it follows from nodes, placement constraints and service types alone: no loads here.
// Services with the same constraint text and the same type share their sets.
#pragma once

#include <boost/dynamic_bitset.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "balancing/model/cluster.h"

namespace evenkeel::balancing {

enum class DomainKind : uint8_t { kFault, kUpgrade };
/// The segments of a node's path in a tree of domains, top first; empty when it names no domain there.
std::vector<std::string_view> DomainPath(const Node& node, DomainKind kind);

/// One bit per node id.
using NodeSet = boost::dynamic_bitset<uint64_t>;

/// The leaves of one tree of domains, and which one each node is in.
struct LeafDomains {
  std::vector<uint32_t> of_node;
  uint32_t count = 0;
  /// The first level on which nodes that are up and name a domain differ: a level above it has one domain, which says nothing
  /// about spreading. 0 when they do not differ.
  uint32_t top_level = 0;
  /// Whether the tree says anything: not when every node that is up is a domain of its own. Nodes that name no domain are
  /// together in one.
  bool binding = false;
};

class NodeSets {
 public:
  /// Evaluates each constraint once per node. `cluster` outlives this.
  explicit NodeSets(const Cluster& cluster);

  /// Up and not deactivated.
  const NodeSet& available() const { return available_; }
  /// Where no replica of the service may be: its placement constraint does not suit, or its type is blocked.
  const NodeSet& Blocked(ServiceId service) const { return pool_[of_service_[service]].blocked; }
  /// Where no primary of it may be; the constraint's terms for primaries alone do not count when no node that is up suits them.
  const NodeSet& BlockedForPrimary(ServiceId service) const { return pool_[of_service_[service]].blocked_for_primary; }
  /// Available and not blocked for the service: the nodes of its local domain.
  const NodeSet& ValidForService(ServiceId service) const { return pool_[of_service_[service]].valid; }
  int64_t ValidCountForService(ServiceId service) const { return pool_[of_service_[service]].valid_count; }
  /// The nodes whose loads count for a metric: available and not blocked for all services that report it. Services on every
  /// node make no node valid, so a metric that no other service reports has none.
  const NodeSet& Valid(MetricId metric) const { return valid_[metric]; }

  /// Ascending.
  std::span<const NodeId> OfType(NodeTypeId type) const { return of_type_[type]; }
  std::span<const NodeId> all() const { return all_; }
  const LeafDomains& fault_domains() const { return fault_domains_; }
  const LeafDomains& upgrade_domains() const { return upgrade_domains_; }

 private:
  struct Sets {
    NodeSet blocked, blocked_for_primary, valid;
    int64_t valid_count = 0;
  };
  void EvaluateServices(const Cluster& cluster);
  void FindValidNodes(const Cluster& cluster);

  NodeSet available_;
  std::vector<Sets> pool_;
  std::vector<uint32_t> of_service_;  // indexes in pool_
  std::vector<NodeSet> valid_;        // by metric
  std::vector<std::vector<NodeId>> of_type_;
  std::vector<NodeId> all_;
  LeafDomains fault_domains_, upgrade_domains_;
};

}  // namespace evenkeel::balancing
