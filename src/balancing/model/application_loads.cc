#include "balancing/model/application_loads.h"

#include <algorithm>

namespace evenkeel::balancing {
namespace {

int64_t UnusedReservation(const ApplicationMetric& metric, int64_t replicas, int64_t load) {
  return replicas == 0 ? 0 : std::max<int64_t>(0, metric.node_reservation - load);
}

}  // namespace

ApplicationLoads::ApplicationLoads(const Cluster& cluster)
    : cluster_(cluster),
      groups_(cluster.applications.size()),
      index_of_metric_(cluster.services.size()),
      unused_(cluster.metrics.size()) {
  for (ApplicationId id = 0; id < cluster.applications.size(); ++id) {
    const Application& application = cluster.applications[id];
    groups_[id].kept = application.min_nodes > 0 || application.max_nodes > 0 || !application.metrics.empty();
    groups_[id].total.resize(2 + application.metrics.size());
    for (const ApplicationMetric& metric : application.metrics) {
      if (metric.node_reservation > 0) unused_[metric.metric].resize(cluster.nodes.size());
    }
  }
  for (ServiceId id = 0; id < cluster.services.size(); ++id) {
    const Service& service = cluster.services[id];
    if (service.application == kNoId || !groups_[service.application].kept) continue;
    const std::vector<ApplicationMetric>& known = cluster.applications[service.application].metrics;
    for (const ServiceMetric& metric : service.metrics) {
      const auto found = std::ranges::find(known, metric.metric, &ApplicationMetric::metric);
      index_of_metric_[id].push_back(found == known.end() ? kNoId : static_cast<uint32_t>(found - known.begin()));
    }
  }
}

const int64_t* ApplicationLoads::FindRow(ApplicationId application, NodeId node) const {
  const Group& group = groups_[application];
  const auto found = std::ranges::lower_bound(group.nodes, node);
  if (found == group.nodes.end() || *found != node) return nullptr;
  return &group.rows[static_cast<size_t>(found - group.nodes.begin()) * group.total.size()];
}

int64_t ApplicationLoads::Replicas(ApplicationId application, NodeId node) const {
  const int64_t* row = FindRow(application, node);
  return row == nullptr ? 0 : row[0];
}

int64_t ApplicationLoads::ActiveReplicas(ApplicationId application, NodeId node) const {
  const int64_t* row = FindRow(application, node);
  return row == nullptr ? 0 : row[groups_[application].total.size() - 1];
}

int64_t ApplicationLoads::Load(ApplicationId application, size_t metric_index, NodeId node) const {
  const int64_t* row = FindRow(application, node);
  return row == nullptr ? 0 : row[1 + metric_index];
}

int64_t ApplicationLoads::Load(ApplicationId application, size_t metric_index) const {
  return groups_[application].total[1 + metric_index];
}

int64_t* ApplicationLoads::Row(Group& group, NodeId node) {
  const size_t width = group.total.size();
  const auto found = std::ranges::lower_bound(group.nodes, node);
  const size_t row = static_cast<size_t>(found - group.nodes.begin());
  if (found == group.nodes.end() || *found != node) {
    group.nodes.insert(found, node);
    group.rows.insert(group.rows.begin() + static_cast<ptrdiff_t>(row * width), width, 0);
  }
  return &group.rows[row * width];
}

void ApplicationLoads::Change(ServiceId service, NodeId node, bool active, std::span<const int64_t> before,
                              std::span<const int64_t> after) {
  const std::vector<uint32_t>& index_of_metric = index_of_metric_[service];
  if (index_of_metric.empty()) return;
  const ApplicationId id = cluster_.services[service].application;
  const std::vector<ApplicationMetric>& metrics = cluster_.applications[id].metrics;
  Group& group = groups_[id];
  int64_t* row = Row(group, node);
  const auto count_unused = [&](int64_t sign) {
    for (size_t i = 0; i < metrics.size(); ++i) {
      if (metrics[i].node_reservation == 0) continue;
      unused_[metrics[i].metric][node] += sign * UnusedReservation(metrics[i], row[0], row[1 + i]);
    }
  };
  count_unused(-1);
  const auto add = [&](size_t i, int64_t difference) {
    row[i] += difference;
    group.total[i] += difference;
  };
  const size_t of_active = group.total.size() - 1;
  const bool was_used = row[of_active] > 0;
  const int64_t more = (after.empty() ? 0 : 1) - (before.empty() ? 0 : 1);
  add(0, more);
  if (active) add(of_active, more);
  group.used_nodes += (row[of_active] > 0 ? 1 : 0) - (was_used ? 1 : 0);
  for (size_t i = 0; i < index_of_metric.size(); ++i) {
    if (index_of_metric[i] == kNoId) continue;
    add(1 + index_of_metric[i], (after.empty() ? 0 : after[i]) - (before.empty() ? 0 : before[i]));
  }
  count_unused(1);
}

}  // namespace evenkeel::balancing
