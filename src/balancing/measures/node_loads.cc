#include "balancing/measures/node_loads.h"

#include <algorithm>

#include "base/result.h"

namespace evenkeel::balancing {
namespace {

int64_t DifferenceAt(std::span<const int64_t> before, std::span<const int64_t> after, size_t index) {
  return (after.empty() ? 0 : after[index]) - (before.empty() ? 0 : before[index]);
}

}  // namespace

void LoadSummary::Add(NodeId node, int64_t load) {
  if (sums.nodes == 0 || load > max) {
    max = load;
    max_node = node;
  }
  if (sums.nodes == 0 || load < min) {
    min = load;
    min_node = node;
  }
  ++sums.nodes;
  sums.Replace(0, load);
}

bool HasLocalDomain(const Service& service) {
  if (service.partitions.size() < 2) return false;
  return std::ranges::any_of(service.metrics, [](const ServiceMetric& metric) { return metric.weight > 0; });
}

ServiceLoads::ServiceLoads(const Service& service, const NodeSet& valid, int64_t valid_count)
    : valid_(&valid), metrics_(service.metrics.size()), sums_(metrics_, LoadSums{.nodes = valid_count}) {}

const int64_t* ServiceLoads::RowAt(NodeId node) const {
  // The last one up to `node`, without branches that nobody can predict.
  size_t row = 0;
  for (size_t left = nodes_.size(); left > 1; left -= left / 2) row += nodes_[row + left / 2] <= node ? left / 2 : 0;
  return nodes_.empty() || nodes_[row] != node ? nullptr : &rows_[row * metrics_];
}

std::vector<LoadSummary> ServiceLoads::Summaries(std::span<const NodeId> nodes) const {
  std::vector<LoadSummary> summaries(metrics_);
  size_t row = 0;
  for (const NodeId node : nodes) {
    while (row < nodes_.size() && nodes_[row] < node) ++row;
    if (!valid_->test(node)) continue;
    const bool carries = row < nodes_.size() && nodes_[row] == node;
    for (size_t i = 0; i < metrics_; ++i) summaries[i].Add(node, carries ? rows_[row * metrics_ + i] : 0);
  }
  return summaries;
}

int64_t* ServiceLoads::Row(NodeId node) {
  const auto found = std::ranges::lower_bound(nodes_, node);
  const size_t row = static_cast<size_t>(found - nodes_.begin());
  if (found == nodes_.end() || *found != node) {
    nodes_.insert(found, node);
    rows_.insert(rows_.begin() + static_cast<ptrdiff_t>(row * metrics_), metrics_, 0);
  }
  return &rows_[row * metrics_];
}

void ServiceLoads::Change(NodeId node, std::span<const int64_t> removed, std::span<const int64_t> added) {
  int64_t* row = Row(node);
  const bool counts = valid_->test(node);
  for (size_t i = 0; i < metrics_; ++i) {
    const int64_t before = row[i];
    row[i] += DifferenceAt(removed, added, i);
    if (counts) sums_[i].Replace(before, row[i]);
  }
}

NodeLoads::NodeLoads(const Cluster& cluster, const NodeSets& sets)
    : cluster_(cluster),
      sets_(sets),
      node_count_(cluster.nodes.size()),
      type_count_(cluster.node_types.size()),
      columns_(cluster.metrics.size() * node_count_),
      summaries_(cluster.metrics.size()),
      of_types_(cluster.metrics.size() * type_count_),
      local_(cluster.services.size()) {
  for (ServiceId id = 0; id < cluster.services.size(); ++id) {
    const Service& service = cluster.services[id];
    if (!HasLocalDomain(service)) continue;
    local_[id] = std::make_unique<ServiceLoads>(service, sets.ValidForService(id), sets.ValidCountForService(id));
  }
  // Service by service and by node: rows of one service stay in the cache, and each new one is the last.
  std::vector<std::pair<NodeId, const Replica*>> replicas;
  for (ServiceId id = 0; id < cluster.services.size(); ++id) {
    const std::vector<ServiceMetric>& metrics = cluster.services[id].metrics;
    replicas.clear();
    for (const PartitionId partition : cluster.services[id].partitions) {
      for (const Replica& replica : cluster.ReplicasOf(cluster.partitions[partition])) {
        if (replica.Exists() && !replica.Leaves()) replicas.emplace_back(replica.node, &replica);
      }
    }
    if (local_[id]) std::ranges::sort(replicas);
    for (const auto& [node, replica] : replicas) {
      const std::span<const int64_t> loads = cluster.LoadsOf(*replica);
      for (size_t i = 0; i < metrics.size(); ++i) columns_[metrics[i].metric * node_count_ + node] += loads[i];
      if (local_[id]) local_[id]->Change(node, {}, loads);
    }
  }
  for (MetricId metric = 0; metric < cluster.metrics.size(); ++metric) Rescan(metric);
}

void NodeLoads::Rescan(MetricId metric) {
  const NodeSet& valid = sets_.Valid(metric);
  for (size_t node = valid.find_first(); node != NodeSet::npos; node = valid.find_next(node)) {
    const NodeId id = static_cast<NodeId>(node);
    summaries_[metric].Add(id, Of(metric, id));
    of_types_[metric * type_count_ + cluster_.nodes[node].type].Add(id, Of(metric, id));
  }
}

void NodeLoads::Move(ServiceId service, NodeId from, NodeId to, std::span<const int64_t> loads) {
  Change(service, from, loads, {});
  Change(service, to, {}, loads);
}

void NodeLoads::Swap(ServiceId service, NodeId primary, std::span<const int64_t> primary_loads, NodeId secondary,
                     std::span<const int64_t> secondary_loads) {
  Change(service, primary, primary_loads, secondary_loads);
  Change(service, secondary, secondary_loads, primary_loads);
}

void NodeLoads::Change(ServiceId service, NodeId node, std::span<const int64_t> before, std::span<const int64_t> after) {
  const std::vector<ServiceMetric>& metrics = cluster_.services[service].metrics;
  EVENKEEL_CHECK((before.empty() || before.size() == metrics.size()) && (after.empty() || after.size() == metrics.size()));
  for (size_t i = 0; i < metrics.size(); ++i) ChangeColumn(metrics[i].metric, node, DifferenceAt(before, after, i));
  if (local_[service]) local_[service]->Change(node, before, after);
}

void NodeLoads::ChangeColumn(MetricId metric, NodeId node, int64_t difference) {
  if (difference == 0) return;
  int64_t& load = columns_[metric * node_count_ + node];
  const int64_t before = load;
  load += difference;
  if (!sets_.Valid(metric).test(node)) return;
  const NodeTypeId type = cluster_.nodes[node].type;
  Update(summaries_[metric], metric, sets_.all(), node, before);
  Update(of_types_[metric * type_count_ + type], metric, sets_.OfType(type), node, before);
}

void NodeLoads::Update(LoadSummary& summary, MetricId metric, std::span<const NodeId> nodes, NodeId node, int64_t before) {
  const int64_t load = Of(metric, node);
  summary.sums.Replace(before, load);
  // Only the recorded extremes can be lost; then all nodes are looked at again, a few microseconds for thousands.
  if ((node == summary.max_node && load < before) || (node == summary.min_node && load > before)) {
    const NodeSet& valid = sets_.Valid(metric);
    LoadSummary scanned;
    for (const NodeId other : nodes) {
      if (valid.test(other)) scanned.Add(other, Of(metric, other));
    }
    summary = scanned;
    return;
  }
  if (load > summary.max || (load == summary.max && node < summary.max_node)) {
    summary.max = load;
    summary.max_node = node;
  }
  if (load < summary.min || (load == summary.min && node < summary.min_node)) {
    summary.min = load;
    summary.min_node = node;
  }
}

}  // namespace evenkeel::balancing
