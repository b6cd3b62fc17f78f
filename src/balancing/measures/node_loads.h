// What the nodes of a cluster carry: per metric and node the sum of its replicas' loads, and over the nodes whose loads count
// (NodeSets::Valid) count, sum, sum of squares, largest and smallest, for all nodes and for each node type. Services with local
// domains have the same of their own loads. Everything is kept up to date by changes of single replicas, exactly: whole numbers
// throughout, so any order of changes gives the same sums.
//
// Which replica is where is the caller's knowledge: changes are told with the loads that go and come.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "balancing/model/cluster.h"
#include "balancing/model/node_sets.h"

namespace evenkeel::balancing {

using WideLoad = unsigned __int128;

/// What changes on one node: the rows of loads that go and come, empty for none.
struct NodeChange {
  NodeId node = kNoId;
  std::span<const int64_t> removed, added;
};

struct LoadSums {
  int64_t nodes = 0;
  int64_t sum = 0;
  WideLoad squares = 0;

  void Replace(int64_t before, int64_t after) {
    sum += after - before;
    squares += static_cast<WideLoad>(after) * static_cast<WideLoad>(after);
    squares -= static_cast<WideLoad>(before) * static_cast<WideLoad>(before);
  }
  bool operator==(const LoadSums&) const = default;
};

/// `max` and `min` are 0, and their nodes kNoId, when no node counts; of several nodes the one with the smallest id is named.
struct LoadSummary {
  LoadSums sums;
  int64_t max = 0, min = 0;
  NodeId max_node = kNoId, min_node = kNoId;

  void Add(NodeId node, int64_t load);
  bool operator==(const LoadSummary&) const = default;
};

/// Has a local domain: at least two partitions, and a metric with a weight.
bool HasLocalDomain(const Service& service);

/// One service's own loads; rows only for nodes that carry, or carried, some of it.
class ServiceLoads {
 public:
  ServiceLoads(const Service& service, const NodeSet& valid, int64_t valid_count);

  /// Its loads there, by metric; null: none, and never any. Valid until the next change. O(log rows).
  const int64_t* RowAt(NodeId node) const;
  /// The same of every node that has a row, ascending.
  template <typename Visit>
  void ForEachRow(Visit&& visit) const {
    for (size_t row = 0; row < nodes_.size(); ++row) visit(nodes_[row], &rows_[row * metrics_]);
  }
  /// Over the nodes of NodeSets::ValidForService.
  const LoadSums& Sums(size_t metric_index) const { return sums_[metric_index]; }
  /// Of each of the service's metrics, over those of `nodes` (ascending) that count. O(nodes + rows).
  std::vector<LoadSummary> Summaries(std::span<const NodeId> nodes) const;
  /// O(metrics), and O(rows) when the node is new to the service.
  void Change(NodeId node, std::span<const int64_t> removed, std::span<const int64_t> added);

 private:
  int64_t* Row(NodeId node);

  const NodeSet* valid_;
  size_t metrics_;
  std::vector<NodeId> nodes_;  // ascending
  std::vector<int64_t> rows_;
  std::vector<LoadSums> sums_;
};

class NodeLoads {
 public:
  /// With the replicas as the cluster has them, without those that leave. Both outlive this. O(replicas * metrics + nodes *
  /// metrics of the cluster).
  NodeLoads(const Cluster& cluster, const NodeSets& sets);

  int64_t Of(MetricId metric, NodeId node) const { return columns_[metric * node_count_ + node]; }
  /// By node id, also of nodes that do not count.
  std::span<const int64_t> Column(MetricId metric) const {
    return std::span(columns_).subspan(metric * node_count_, node_count_);
  }
  const LoadSummary& Summary(MetricId metric) const { return summaries_[metric]; }
  const LoadSummary& Summary(MetricId metric, NodeTypeId type) const { return of_types_[metric * type_count_ + type]; }
  /// Null when the service has no local domain.
  const ServiceLoads* Local(ServiceId service) const { return local_[service].get(); }

  /// Loads are a row as long as the service's metrics. O(metrics of the service); O(nodes) when the node was the largest or
  /// smallest of a metric and is no more.
  void Add(ServiceId service, NodeId node, std::span<const int64_t> loads) { Change(service, node, {}, loads); }
  void Remove(ServiceId service, NodeId node, std::span<const int64_t> loads) { Change(service, node, loads, {}); }
  void Move(ServiceId service, NodeId from, NodeId to, std::span<const int64_t> loads);
  /// A primary and a secondary exchange their roles, and so their loads.
  void Swap(ServiceId service, NodeId primary, std::span<const int64_t> primary_loads, NodeId secondary,
            std::span<const int64_t> secondary_loads);
  /// What one replica loads its node with becomes something else; empty: nothing.
  void Change(ServiceId service, NodeId node, std::span<const int64_t> before, std::span<const int64_t> after);

 private:
  void ChangeColumn(MetricId metric, NodeId node, int64_t difference);
  void Rescan(MetricId metric);
  void Update(LoadSummary& summary, MetricId metric, std::span<const NodeId> nodes, NodeId node, int64_t before);

  const Cluster& cluster_;
  const NodeSets& sets_;
  const size_t node_count_, type_count_;
  std::vector<int64_t> columns_;  // by metric, then node
  std::vector<LoadSummary> summaries_;
  std::vector<LoadSummary> of_types_;  // by metric, then node type
  std::vector<std::unique_ptr<ServiceLoads>> local_;
};

}  // namespace evenkeel::balancing
