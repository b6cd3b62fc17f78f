#include "controllers/balancer/node_sets.h"

#include <map>
#include <set>
#include <utility>

namespace evenkeel::controllers::balancer {
namespace {

NodeSet UnsuitableNodes(const Cluster& cluster, const Expression& constraint, ConstraintPart part) {
  NodeSet unsuitable(cluster.nodes.size());
  for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
    if (!constraint.Suits(NodeProperties(cluster, node), part)) unsuitable.set(node);
  }
  return unsuitable;
}

template <typename Leaf, typename Top>
LeafDomains LeavesOf(const Cluster& cluster, Leaf leaf_of, Top top_of) {
  LeafDomains domains;
  domains.of_node.reserve(cluster.nodes.size());
  std::map<decltype(leaf_of(cluster.nodes[0])), uint32_t> ids;
  std::set<std::string_view> tops;
  size_t up = 0;
  for (const Node& node : cluster.nodes) {
    domains.of_node.push_back(ids.try_emplace(leaf_of(node), static_cast<uint32_t>(ids.size())).first->second);
    if (!node.up) continue;
    ++up;
    tops.insert(top_of(node));
  }
  domains.count = static_cast<uint32_t>(ids.size());
  domains.binding = tops.size() < up;
  return domains;
}

}  // namespace

NodeSets::NodeSets(const Cluster& cluster) : available_(cluster.nodes.size()), of_type_(cluster.node_types.size()) {
  for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
    available_[node] = cluster.nodes[node].Available();
    of_type_[cluster.nodes[node].type].push_back(node);
    all_.push_back(node);
  }
  fault_domains_ = LeavesOf(
      cluster, [](const Node& node) { return node.fault_domain; },
      [](const Node& node) { return node.fault_domain.empty() ? std::string_view() : std::string_view(node.fault_domain[0]); });
  const auto upgrade_domain = [](const Node& node) { return std::string_view(node.upgrade_domain); };
  upgrade_domains_ = LeavesOf(cluster, upgrade_domain, upgrade_domain);
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

}  // namespace evenkeel::controllers::balancer
