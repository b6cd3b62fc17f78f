#include "balancing/model/cluster_order.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace evenkeel::balancing {
namespace {

using Ids = std::vector<uint32_t>;

/// Sorts by `name_of`; answers the new id of each old one.
template <typename T, typename NameOf>
Ids SortItems(std::vector<T>& items, NameOf name_of) {
  Ids order(items.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](uint32_t id) -> const std::string& { return name_of(items[id]); });
  Ids new_ids(items.size());
  std::vector<T> sorted;
  sorted.reserve(items.size());
  for (const uint32_t id : order) {
    new_ids[id] = static_cast<uint32_t>(sorted.size());
    sorted.push_back(std::move(items[id]));
  }
  items = std::move(sorted);
  return new_ids;
}

void Renumber(uint32_t& id, const Ids& new_ids) {
  if (id != kNoId) id = new_ids[id];
}

class ClusterSort {
 public:
  explicit ClusterSort(Cluster& cluster) : cluster_(cluster) {}

  void Sort() {
    const auto name = [](const auto& item) -> const std::string& { return item.name; };
    node_types_ = SortItems(cluster_.node_types, std::identity{});
    metrics_ = SortItems(cluster_.metrics, name);
    nodes_ = SortItems(cluster_.nodes, name);
    service_types_ = SortItems(cluster_.service_types, name);
    applications_ = SortItems(cluster_.applications, name);
    services_ = SortItems(cluster_.services, name);
    partitions_ = SortItems(cluster_.partitions, name);
    RenumberNodes();
    RenumberApplications();
    SortServiceMetrics();
    RenumberServices();
    SortReplicas();
    for (Movement& movement : cluster_.history.movements) Renumber(movement.partition, partitions_);
  }

 private:
  void RenumberNodes() {
    for (Node& node : cluster_.nodes) {
      Renumber(node.type, node_types_);
      for (Capacity& capacity : node.capacities) Renumber(capacity.metric, metrics_);
      std::ranges::sort(node.capacities, {}, &Capacity::metric);
    }
    for (ServiceType& type : cluster_.service_types) {
      for (NodeId& node : type.blocked_nodes) Renumber(node, nodes_);
      std::ranges::sort(type.blocked_nodes);
    }
  }

  void RenumberApplications() {
    for (Application& application : cluster_.applications) {
      for (ApplicationMetric& metric : application.metrics) Renumber(metric.metric, metrics_);
      std::ranges::sort(application.metrics, {}, &ApplicationMetric::metric);
      std::ranges::sort(application.upgraded_domains);
    }
  }

  void SortServiceMetrics() {
    // Sums of weights depend on the order in their last digits.
    for (Metric& metric : cluster_.metrics) metric.weight_sum = 0;
    for (Service& service : cluster_.services) {
      for (ServiceMetric& metric : service.metrics) Renumber(metric.metric, metrics_);
      Ids& columns = columns_.emplace_back(service.metrics.size());
      std::iota(columns.begin(), columns.end(), 0u);
      std::ranges::sort(columns, {}, [&](uint32_t column) { return service.metrics[column].metric; });
      std::ranges::sort(service.metrics, {}, &ServiceMetric::metric);
      for (const ServiceMetric& metric : service.metrics) cluster_.metrics[metric.metric].weight_sum += metric.weight;
    }
  }

  void RenumberServices() {
    for (Service& service : cluster_.services) {
      Renumber(service.type, service_types_);
      Renumber(service.application, applications_);
      Renumber(service.affinity_to, services_);
      for (PartitionId& partition : service.partitions) Renumber(partition, partitions_);
      std::ranges::sort(service.partitions);
    }
  }

  uint32_t CopyRow(uint32_t from, const Ids& columns, std::vector<int64_t>& loads) const {
    const auto first = static_cast<uint32_t>(loads.size());
    for (const uint32_t column : columns) loads.push_back(cluster_.loads[from + column]);
    return first;
  }

  void SortReplicas() {
    std::vector<Replica> replicas;
    std::vector<int64_t> loads;
    replicas.reserve(cluster_.replicas.size());
    loads.reserve(cluster_.loads.size());
    for (PartitionId id = 0; id < cluster_.partitions.size(); ++id) {
      Partition& partition = cluster_.partitions[id];
      Renumber(partition.service, services_);
      const Ids& columns = columns_[partition.service];
      const auto first = static_cast<ReplicaId>(replicas.size());
      for (uint32_t i = 0; i < partition.replica_count; ++i) {
        Replica replica = cluster_.replicas[partition.first_replica + i];
        Renumber(replica.node, nodes_);
        replica.partition = id;
        replicas.push_back(replica);
      }
      std::ranges::stable_sort(replicas.begin() + first, replicas.end(), {}, &Replica::node);
      for (auto replica = replicas.begin() + first; replica != replicas.end(); ++replica) {
        replica->first_load = CopyRow(replica->first_load, columns, loads);
      }
      partition.first_replica = first;
      const uint32_t new_loads = CopyRow(partition.new_loads, columns, loads);
      CopyRow(partition.new_loads + static_cast<uint32_t>(columns.size()), columns, loads);
      partition.new_loads = new_loads;
    }
    cluster_.replicas = std::move(replicas);
    cluster_.loads = std::move(loads);
  }

  Cluster& cluster_;
  Ids node_types_, metrics_, nodes_, service_types_, applications_, services_, partitions_;  // new ids
  std::vector<Ids> columns_;  // by new service id: where each of its metrics was in a row
};

}  // namespace

void SortByName(Cluster& cluster) { ClusterSort(cluster).Sort(); }

}  // namespace evenkeel::balancing
