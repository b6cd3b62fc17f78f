// Clusters for tests, without text: by hand, and small ones at random with everything that decides which loads count.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "balancing/model/cluster.h"
#include "base/random.h"

namespace evenkeel::balancing::testing {

struct ReplicaAt {
  NodeId node;
  Role role;
  std::vector<int64_t> loads;
};

class ClusterBuilder {
 public:
  ClusterBuilder() {
    cluster_.constraints.emplace_back();
    cluster_.constraint_texts.emplace_back();
  }

  NodeId Node(const std::string& type = "", const std::string& fault_domain = "", const std::string& upgrade_domain = "") {
    balancing::Node node;
    node.name = "n" + std::to_string(cluster_.nodes.size());
    node.type = Intern(cluster_.node_types, type);
    node.fault_domain_uri = fault_domain;
    node.fault_domain = DomainSegments(fault_domain);
    node.upgrade_domain = upgrade_domain;
    cluster_.nodes.push_back(node);
    return static_cast<NodeId>(cluster_.nodes.size() - 1);
  }

  MetricId Metric(std::string_view name) {
    const MetricId known = cluster_.FindMetric(name);
    if (known != kNoId) return known;
    cluster_.metrics.push_back({.name = std::string(name), .built_in = BuiltIn(name)});
    return static_cast<MetricId>(cluster_.metrics.size() - 1);
  }

  ServiceId Service(const std::string& name, std::initializer_list<std::pair<std::string_view, double>> metrics) {
    balancing::Service service;
    service.name = name;
    for (const auto& [metric, weight] : metrics) {
      service.metrics.push_back({.metric = Metric(metric), .weight = weight});
      ++cluster_.metrics[service.metrics.back().metric].services;
      cluster_.metrics[service.metrics.back().metric].weight_sum += weight;
    }
    cluster_.services.push_back(service);
    return static_cast<ServiceId>(cluster_.services.size() - 1);
  }

  void Constrain(ServiceId service, const std::string& text) {
    const auto expression = Expression::Parse(text);
    EVENKEEL_CHECK(expression.has_value());
    cluster_.services[service].constraint = static_cast<uint32_t>(cluster_.constraints.size());
    cluster_.constraints.push_back(*expression);
    cluster_.constraint_texts.push_back(text);
  }

  PartitionId Partition(ServiceId service, const std::vector<ReplicaAt>& replicas) {
    const PartitionId id = static_cast<PartitionId>(cluster_.partitions.size());
    balancing::Partition partition;
    partition.name = cluster_.services[service].name + "/" + std::to_string(cluster_.services[service].partitions.size());
    partition.service = service;
    partition.first_replica = static_cast<ReplicaId>(cluster_.replicas.size());
    partition.replica_count = static_cast<uint32_t>(replicas.size());
    for (const ReplicaAt& replica : replicas) {
      EVENKEEL_CHECK(replica.loads.size() == cluster_.services[service].metrics.size());
      cluster_.replicas.push_back({.node = replica.node,
                                   .partition = id,
                                   .first_load = static_cast<uint32_t>(cluster_.loads.size()),
                                   .role = replica.role});
      cluster_.loads.insert(cluster_.loads.end(), replica.loads.begin(), replica.loads.end());
      if (replica.role == Role::kPrimary) cluster_.services[service].stateful = true;
    }
    // What new replicas weigh: as much as the first primary, and as the first that is none.
    partition.new_loads = static_cast<uint32_t>(cluster_.loads.size());
    for (const bool primary : {true, false}) {
      const auto like =
          std::ranges::find_if(replicas, [&](const ReplicaAt& replica) { return (replica.role == Role::kPrimary) == primary; });
      for (size_t i = 0; i < cluster_.services[service].metrics.size(); ++i) {
        cluster_.loads.push_back(like == replicas.end() ? 0 : like->loads[i]);
      }
    }
    cluster_.partitions.push_back(partition);
    cluster_.services[service].partitions.push_back(id);
    return id;
  }

  /// So many replicas of the partition are to be placed, with these loads.
  void Missing(PartitionId partition, int32_t count, const std::vector<int64_t>& primary, const std::vector<int64_t>& other) {
    cluster_.partitions[partition].missing = count;
    const auto first = cluster_.loads.begin() + cluster_.partitions[partition].new_loads;
    std::ranges::copy(other, std::ranges::copy(primary, first).out);
  }

  /// A service of one partition per load; the first one's on node `first`, and so on.
  ServiceId Loads(const std::string& name, std::string_view metric, const std::vector<int64_t>& loads, NodeId first = 0) {
    const ServiceId service = Service(name, {{metric, 1.0}});
    for (size_t i = 0; i < loads.size(); ++i) {
      Partition(service, {{first + static_cast<NodeId>(i), Role::kInstance, {loads[i]}}});
    }
    return service;
  }

  Cluster& cluster() { return cluster_; }

 private:
  static uint32_t Intern(std::vector<std::string>& names, const std::string& name) {
    for (uint32_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return i;
    }
    names.push_back(name);
    return static_cast<uint32_t>(names.size() - 1);
  }

  Cluster cluster_;
};

/// Some nodes down, paused or unlimited; services with constraints, blocked types, zero weights or on every node.
inline Cluster RandomCluster(base::Random& random) {
  constexpr std::string_view kMetrics[] = {"A", "B", "C", "D", "E"};
  ClusterBuilder builder;
  Cluster& cluster = builder.cluster();
  const uint64_t nodes = 2 + random.Below(10);
  for (uint64_t i = 0; i < nodes; ++i) {
    const NodeId node = builder.Node("T" + std::to_string(random.Below(3)),
                                     "fd:/dc" + std::to_string(random.Below(2)) + "/r" + std::to_string(random.Below(2)),
                                     "ud" + std::to_string(random.Below(3)));
    cluster.nodes[node].up = !random.Chance(0.1);
    if (random.Chance(0.1)) cluster.nodes[node].intent = DeactivationIntent::kPause;
  }
  cluster.service_types.push_back({.name = "blocked", .blocked_nodes = {static_cast<NodeId>(random.Below(nodes))}});
  const uint64_t services = 1 + random.Below(6);
  for (uint64_t i = 0; i < services; ++i) {
    const ServiceId id = builder.Service("s" + std::to_string(i), {});
    for (const std::string_view metric : kMetrics) {
      if (!random.Chance(0.4) && !(metric == "E" && cluster.services[id].metrics.empty())) continue;
      const double weight = random.Chance(0.1) ? 0 : static_cast<double>(1 + random.Below(10)) / 10;
      const MetricId metric_id = builder.Metric(metric);
      ++cluster.metrics[metric_id].services;
      cluster.metrics[metric_id].weight_sum += weight;
      cluster.services[id].metrics.push_back({.metric = metric_id, .weight = weight});
    }
    if (random.Chance(0.3)) builder.Constrain(id, "NodeType != T" + std::to_string(random.Below(3)));
    if (random.Chance(0.2)) cluster.services[id].type = 0;
    cluster.services[id].on_every_node = random.Chance(0.1);
    const uint64_t partitions = random.Below(5);
    for (uint64_t partition = 0; partition < partitions; ++partition) {
      std::vector<ReplicaAt> replicas;
      for (NodeId node = 0; node < nodes; ++node) {
        if (!random.Chance(0.4)) continue;
        ReplicaAt replica{node, replicas.empty() ? Role::kPrimary : Role::kSecondary, {}};
        for (size_t metric = 0; metric < cluster.services[id].metrics.size(); ++metric) {
          replica.loads.push_back(static_cast<int64_t>(random.Below(20)));
        }
        replicas.push_back(replica);
      }
      builder.Partition(id, replicas);
    }
  }
  for (balancing::Node& node : cluster.nodes) {
    for (MetricId metric = 0; metric < cluster.metrics.size(); ++metric) {
      if (metric < 2 || random.Chance(0.9)) {
        node.capacities.push_back({metric, static_cast<int64_t>(50 + random.Below(100))});
      }
    }
  }
  return std::move(builder.cluster());
}

}  // namespace evenkeel::balancing::testing
