// What application groups have where: replicas and loads per node and altogether, and what they have reserved on their nodes
// and do not use. Kept up to date by changes of single replicas, for groups that have limits, capacities or reservations; of
// the others nothing is kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "balancing/model/cluster.h"

namespace evenkeel::balancing {

class ApplicationLoads {
 public:
  /// Without replicas. `cluster` outlives this.
  explicit ApplicationLoads(const Cluster& cluster);

  /// All of them 0 for a group without limits. Stand-by replicas have loads and hold reservations, but the limit of nodes is
  /// one of active replicas.
  int64_t Replicas(ApplicationId application, NodeId node) const;
  int64_t ActiveReplicas(ApplicationId application, NodeId node) const;
  int64_t Load(ApplicationId application, size_t metric_index, NodeId node) const;
  int64_t Nodes(ApplicationId application) const { return groups_[application].used_nodes; }
  int64_t Load(ApplicationId application, size_t metric_index) const;
  /// Ascending; also nodes that it has left.
  std::span<const NodeId> NodesOf(ApplicationId application) const { return groups_[application].nodes; }
  /// The sum over the groups with a replica on the node of reservations less loads, where these are smaller.
  int64_t Unused(MetricId metric, NodeId node) const { return unused_[metric].empty() ? 0 : unused_[metric][node]; }

  bool Concerns(ServiceId service) const { return !index_of_metric_[service].empty(); }
  /// Which of the application's metrics each of the service's is; kNoId: none. Empty: nothing is kept of the service.
  std::span<const uint32_t> IndexOfMetrics(ServiceId service) const { return index_of_metric_[service]; }
  /// What one replica, active or not, loads its node with becomes something else; empty: it is not there. O(metrics), and
  /// O(nodes of the application) when the node is new to it.
  void Change(ServiceId service, NodeId node, bool active, std::span<const int64_t> before, std::span<const int64_t> after);

 private:
  struct Group {
    bool kept = false;
    std::vector<NodeId> nodes;   // ascending
    std::vector<int64_t> rows;   // replicas, then the loads of the application's metrics, then active replicas; a row per node
    std::vector<int64_t> total;  // a row, too
    int64_t used_nodes = 0;      // by active replicas
  };
  const int64_t* FindRow(ApplicationId application, NodeId node) const;
  int64_t* Row(Group& group, NodeId node);

  const Cluster& cluster_;
  std::vector<Group> groups_;
  std::vector<std::vector<uint32_t>> index_of_metric_;  // by service
  std::vector<std::vector<int64_t>> unused_;            // by metric
};

}  // namespace evenkeel::balancing
