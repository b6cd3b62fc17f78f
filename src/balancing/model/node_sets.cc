#include "balancing/model/node_sets.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace evenkeel::balancing {
namespace {

NodeSet UnsuitableNodes(const Cluster& cluster, const Expression& constraint, ConstraintPart part) {
  NodeSet unsuitable(cluster.nodes.size());
  for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
    if (!constraint.Suits(NodeProperties(cluster, node), part)) unsuitable.set(node);
  }
  return unsuitable;
}

std::string_view SegmentAt(const std::vector<std::string_view>& path, size_t level) {
  return level < path.size() ? path[level] : std::string_view();
}

// Of paths that are not empty.
uint32_t FirstLevelWithDifferences(std::span<const std::vector<std::string_view>> paths) {
  size_t depth = 0;
  for (const auto& path : paths) depth = std::max(depth, path.size());
  for (size_t level = 0; level < depth; ++level) {
    for (const auto& path : paths) {
      if (SegmentAt(path, level) != SegmentAt(paths[0], level)) return static_cast<uint32_t>(level);
    }
  }
  return 0;
}

LeafDomains LeavesOf(const Cluster& cluster, DomainKind kind) {
  LeafDomains domains;
  domains.of_node.reserve(cluster.nodes.size());
  std::map<std::vector<std::string_view>, uint32_t> ids;
  std::vector<std::vector<std::string_view>> paths;
  size_t up = 0;
  for (const Node& node : cluster.nodes) {
    std::vector<std::string_view> path = DomainPath(node, kind);
    domains.of_node.push_back(ids.try_emplace(path, static_cast<uint32_t>(ids.size())).first->second);
    if (!node.up) continue;
    ++up;
    if (!path.empty()) paths.push_back(std::move(path));
  }
  domains.count = static_cast<uint32_t>(ids.size());
  domains.top_level = FirstLevelWithDifferences(paths);
  std::set<std::string_view> tops;
  for (const auto& path : paths) tops.insert(path[0]);
  const size_t without = paths.size() < up ? 1 : 0;
  domains.binding = tops.size() + without < up;
  return domains;
}

}  // namespace

std::vector<std::string_view> DomainPath(const Node& node, DomainKind kind) {
  if (kind == DomainKind::kFault) return {node.fault_domain.begin(), node.fault_domain.end()};
  if (node.upgrade_domain.empty()) return {};
  return {node.upgrade_domain};
}

NodeSets::NodeSets(const Cluster& cluster) : available_(cluster.nodes.size()), of_type_(cluster.node_types.size()) {
  for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
    available_[node] = cluster.nodes[node].Available();
    of_type_[cluster.nodes[node].type].push_back(node);
    all_.push_back(node);
  }
  fault_domains_ = LeavesOf(cluster, DomainKind::kFault);
  upgrade_domains_ = LeavesOf(cluster, DomainKind::kUpgrade);
  EvaluateServices(cluster);
  FindValidNodes(cluster);
}

void NodeSets::EvaluateServices(const Cluster& cluster) {
  NodeSet up(cluster.nodes.size());
  for (NodeId node = 0; node < cluster.nodes.size(); ++node) up[node] = cluster.nodes[node].up;
  // Of each constraint: what any replica cannot use, and what a primary cannot.
  std::map<uint32_t, std::pair<NodeSet, NodeSet>> evaluated;
  std::map<std::pair<uint32_t, ServiceTypeId>, uint32_t> shared;
  of_service_.reserve(cluster.services.size());
  for (const Service& service : cluster.services) {
    const auto [found, added] =
        shared.try_emplace(std::pair(service.constraint, service.type), static_cast<uint32_t>(pool_.size()));
    of_service_.push_back(found->second);
    if (!added) continue;
    const auto [parts, unseen] = evaluated.try_emplace(service.constraint);
    if (unseen) {
      const Expression& constraint = cluster.ConstraintOf(service);
      parts->second.first = UnsuitableNodes(cluster, constraint, ConstraintPart::kEveryReplica);
      NodeSet primary(cluster.nodes.size());
      if (constraint.HasPrimaryPart()) primary = UnsuitableNodes(cluster, constraint, ConstraintPart::kPrimaryOnly);
      if (up.is_subset_of(primary)) primary.reset();
      parts->second.second = std::move(primary);
    }
    Sets sets{.blocked = parts->second.first, .blocked_for_primary = {}, .valid = {}};
    if (service.type != kNoId) {
      for (const NodeId node : cluster.service_types[service.type].blocked_nodes) sets.blocked.set(node);
    }
    sets.blocked_for_primary = sets.blocked | parts->second.second;
    sets.valid = available_ - sets.blocked;
    sets.valid_count = static_cast<int64_t>(sets.valid.count());
    pool_.push_back(std::move(sets));
  }
}

void NodeSets::FindValidNodes(const Cluster& cluster) {
  valid_.assign(cluster.metrics.size(), NodeSet(cluster.nodes.size()));
  std::set<std::pair<MetricId, uint32_t>> seen;
  for (ServiceId id = 0; id < cluster.services.size(); ++id) {
    const Service& service = cluster.services[id];
    if (service.on_every_node) continue;
    for (const ServiceMetric& metric : service.metrics) {
      if (seen.emplace(metric.metric, of_service_[id]).second) valid_[metric.metric] |= pool_[of_service_[id]].valid;
    }
  }
}

}  // namespace evenkeel::balancing
