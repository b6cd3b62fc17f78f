// The largest cluster that Service Fabric's authors tested with, 3,000 nodes and 100,000 partitions of three replicas with
// three metrics, and the same in other sizes: for benchmarks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "balancing/model/cluster_testing.h"

namespace evenkeel::balancing::testing {

struct LargeClusterOptions {
  NodeId nodes = 3000;
  int partitions = 100'000;
  uint32_t fault_domains = 10;   ///< of equally many nodes each; the replicas of a partition are in three of them
  uint32_t upgrade_domains = 5;  ///< 5 of any 50 nodes that are neighbours
  double capacity = 0;           ///< of each node and metric, in units of the average load; 0: unlimited
  uint64_t seed = 1;
};

inline Cluster LargeCluster(const LargeClusterOptions& options) {
  constexpr int kPartitionsOfService = 100;
  ClusterBuilder builder;
  base::Random random(options.seed);
  Cluster& cluster = builder.cluster();
  for (NodeId node = 0; node < options.nodes; ++node) {
    builder.Node("T" + std::to_string(node % 3), "fd:/" + std::to_string(node % options.fault_domains),
                 "ud" + std::to_string(node / options.fault_domains % options.upgrade_domains));
  }
  const int services = std::max(1, options.partitions / kPartitionsOfService);
  for (int i = 0; i < services; ++i) {
    const ServiceId service = builder.Service("s" + std::to_string(i), {{"Memory", 1}, {"Cpu", 0.3}, {"Count", 0.1}});
    cluster.services[service].target_replicas = 3;
  }
  std::vector<int64_t> sums(cluster.metrics.size());
  for (int i = 0; i < options.partitions; ++i) {
    const NodeId first = static_cast<NodeId>(random.Below(options.nodes));
    std::vector<ReplicaAt> replicas;
    for (NodeId j = 0; j < 3; ++j) {
      // 11 nodes further is the next fault domain and, mostly, another upgrade domain.
      replicas.push_back({(first + j * 11) % options.nodes,
                          j == 0 ? Role::kPrimary : Role::kSecondary,
                          {static_cast<int64_t>(random.Below(100)), static_cast<int64_t>(random.Below(64)), 1}});
      for (size_t metric = 0; metric < sums.size(); ++metric) sums[metric] += replicas.back().loads[metric];
    }
    builder.Partition(static_cast<ServiceId>(i % services), replicas);
  }
  for (Node& node : cluster.nodes) {
    if (options.capacity <= 0) continue;
    for (MetricId metric = 0; metric < sums.size(); ++metric) {
      const double average = static_cast<double>(sums[metric]) / static_cast<double>(options.nodes);
      node.capacities.push_back({metric, static_cast<int64_t>(average * options.capacity)});
    }
  }
  return std::move(builder.cluster());
}

}  // namespace evenkeel::balancing::testing
