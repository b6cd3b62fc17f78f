// Balances whole clusters for tests and tells what was done, action by action, in the notation of Service Fabric's own tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "balancing/measures/deviation.h"
#include "balancing/model/cluster_testing.h"
#include "balancing/plan/plan_actions.h"
#include "balancing/search/balancing_search.h"

namespace evenkeel::balancing::testing {

struct Balanced {
  bool needed = false;  ///< a group was imbalanced
  std::vector<Action> actions;
  std::vector<SkippedItem> skipped;
  std::vector<BalancingResult> results;  ///< of the imbalanced groups
  std::vector<NodeId> nodes;             ///< of each replica in the end
  std::vector<int64_t> loads;            ///< of the first metric on each node in the end

  /// "move primary 0=>1" and how often.
  int64_t Count(std::string_view kind, NodeId from, NodeId to) const;
  std::vector<std::string> texts;  ///< "PARTITION move primary 0=>1", "PARTITION swap primary 0<=>1"
};

inline std::string TextOf(const Action& action) {
  std::string kind;
  switch (action.kind) {
    case ActionKind::kMovePrimary:
      kind = "move primary";
      break;
    case ActionKind::kMoveSecondary:
      kind = "move secondary";
      break;
    case ActionKind::kMoveInstance:
      kind = "move instance";
      break;
    case ActionKind::kSwapPrimarySecondary:
      return "swap primary " + std::to_string(action.from) + "<=>" + std::to_string(action.to);
    default:
      return std::string(Name(action.kind));
  }
  return kind + " " + std::to_string(action.from) + "=>" + std::to_string(action.to);
}

inline int64_t Balanced::Count(std::string_view kind, NodeId from, NodeId to) const {
  return std::ranges::count_if(actions, [&](const Action& action) {
    const bool fits = (from == kNoId || action.from == from) && (to == kNoId || action.to == to);
    return fits && TextOf(action).starts_with(kind);
  });
}

/// Each group that is imbalanced, one after the other.
inline Balanced BalanceAll(const Cluster& cluster, const Settings& settings, const BalancingOptions& options = {}) {
  Balanced balanced;
  const NodeSets sets(cluster);
  Arrangement arrangement(cluster, settings, sets);
  for (const ServiceGroup& group : GroupServices(cluster).groups) {
    const GroupBalance balance = CheckBalance(cluster, settings, sets, arrangement.loads(), group);
    if (balance.balanced()) continue;
    balanced.needed = true;
    BalancingOptions of_group = options;
    if (of_group.node_types.empty()) of_group.node_types = balance.ImbalancedNodeTypes();
    balanced.results.push_back(Balance(arrangement, group, balance, of_group));
    const ActionContext context{.group = group, .purpose = Purpose::kBalancing, .balance = &balance};
    for (Action& action : ActionsOf(arrangement, context, balanced.skipped)) {
      balanced.texts.push_back(std::to_string(action.partition) + " " + TextOf(action));
      balanced.actions.push_back(std::move(action));
    }
  }
  for (ReplicaId replica = 0; replica < arrangement.replica_count(); ++replica) {
    balanced.nodes.push_back(arrangement.NodeOf(replica));
  }
  if (!cluster.metrics.empty()) {
    const std::span<const int64_t> column = arrangement.loads().Column(0);
    balanced.loads.assign(column.begin(), column.end());
  }
  return balanced;
}

inline void SetCapacity(Cluster& cluster, NodeId node, std::string_view metric, int64_t amount) {
  cluster.nodes[node].capacities.push_back({cluster.FindMetric(metric), amount});
}

inline void AddNodes(ClusterBuilder& builder, int count) {
  for (int i = 0; i < count; ++i) builder.Node();
}

/// With the three metrics that a service has which names none.
inline ServiceId DefaultService(ClusterBuilder& builder, const std::string& name) {
  return builder.Service(name, {{"PrimaryCount", 1.0}, {"ReplicaCount", 0.3}, {"Count", 0.1}});
}
inline ReplicaAt DefaultPrimary(NodeId node) { return {node, Role::kPrimary, {1, 1, 1}}; }
inline ReplicaAt DefaultSecondary(NodeId node) { return {node, Role::kSecondary, {0, 1, 1}}; }
inline ReplicaAt PrimaryOn(NodeId node, int64_t load) { return {node, Role::kPrimary, {load}}; }
inline ReplicaAt SecondaryOn(NodeId node, int64_t load) { return {node, Role::kSecondary, {load}}; }
inline ReplicaAt InstanceOn(NodeId node, int64_t load) { return {node, Role::kInstance, {load}}; }

/// What no arrangement of the replicas can go below: of each metric (of the group, and of each local domain) the spread of its
/// whole loads over the nodes as even as whole numbers can be, or that of its replicas each on a node of its own. Metrics are
/// spread, and not by percentage.
inline double LowestDeviation(const Cluster& cluster, const Settings& settings, const ServiceGroup& group) {
  struct Loads {
    double sum = 0, squares = 0;
  };
  const NodeSets sets(cluster);
  const auto lowest = [](const Loads& loads, double nodes) {
    const double whole = std::floor(loads.sum / nodes), rest = loads.sum - whole * nodes;
    const double even = (nodes - rest) * whole * whole + rest * (whole + 1) * (whole + 1);
    return NormStdDev(nodes, loads.sum, std::max(even, loads.squares));
  };
  std::vector<Loads> of_metric(cluster.metrics.size());
  double local = 0, global = 0, weights = 0;
  int64_t domains = 0;
  for (const ServiceId id : group.services) {
    const Service& service = cluster.services[id];
    std::vector<Loads> own(service.metrics.size());
    for (const PartitionId partition : service.partitions) {
      for (const Replica& replica : cluster.ReplicasOf(cluster.partitions[partition])) {
        if (!replica.Exists()) continue;
        for (size_t i = 0; i < own.size(); ++i) {
          const double load = static_cast<double>(cluster.LoadsOf(replica)[i]);
          for (Loads* loads : {&own[i], &of_metric[service.metrics[i].metric]}) {
            loads->sum += load;
            loads->squares += load * load;
          }
        }
      }
    }
    if (!HasLocalDomain(service)) continue;
    ++domains;
    double weighted = 0, total = 0;
    for (size_t i = 0; i < own.size(); ++i) {
      weighted += service.metrics[i].weight * lowest(own[i], static_cast<double>(sets.ValidCountForService(id)));
      total += service.metrics[i].weight;
    }
    local += total > 0 ? weighted / total : 0;
  }
  for (const MetricId metric : group.metrics) {
    const double weight = GlobalWeight(settings, cluster.metrics[metric]);
    Loads loads = of_metric[metric];
    loads.squares = 0;
    global += weight * lowest(loads, static_cast<double>(sets.Valid(metric).count()));
    weights += weight;
  }
  const double share = settings.local_domain_weight;
  return share * local / static_cast<double>(std::max<int64_t>(domains, 1)) +
         (1 - share) * (weights > 0 ? global / weights : 0);
}

}  // namespace evenkeel::balancing::testing
