#include "balancing/model/service_groups.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

namespace evenkeel::balancing {
namespace {

// Union by the smaller id, with path halving.
class ConnectedMetrics {
 public:
  explicit ConnectedMetrics(size_t metrics) : parents_(metrics) { std::iota(parents_.begin(), parents_.end(), 0u); }

  MetricId Root(MetricId metric) {
    while (parents_[metric] != metric) metric = parents_[metric] = parents_[parents_[metric]];
    return metric;
  }
  void Connect(MetricId a, MetricId b) {
    a = Root(a);
    b = Root(b);
    parents_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<MetricId> parents_;
};

bool IsLimited(const ApplicationMetric& metric) {
  return metric.total_capacity > 0 || metric.max_node_capacity > 0 || metric.node_reservation > 0;
}

// Without any limit an application's services have nothing in common.
bool IsLimited(const Application& application) {
  return application.max_nodes > 0 ||
         std::ranges::any_of(application.metrics, [](const ApplicationMetric& metric) { return IsLimited(metric); });
}

ConnectedMetrics Connect(const Cluster& cluster) {
  ConnectedMetrics connected(cluster.metrics.size());
  std::vector<MetricId> of_application(cluster.applications.size(), kNoId);
  for (const Service& service : cluster.services) {
    const MetricId first = service.metrics.front().metric;
    for (const ServiceMetric& metric : service.metrics) connected.Connect(first, metric.metric);
    if (service.affinity_to != kNoId) {
      connected.Connect(first, cluster.services[service.affinity_to].metrics.front().metric);
    }
    if (service.application == kNoId || !IsLimited(cluster.applications[service.application])) continue;
    MetricId& other = of_application[service.application];
    if (other == kNoId) other = first;
    connected.Connect(first, other);
  }
  // What an application limits ties its services to all that report it, even while it has none itself.
  for (ApplicationId id = 0; id < cluster.applications.size(); ++id) {
    for (const ApplicationMetric& metric : cluster.applications[id].metrics) {
      if (!IsLimited(metric)) continue;
      if (of_application[id] == kNoId) of_application[id] = metric.metric;
      connected.Connect(of_application[id], metric.metric);
    }
  }
  return connected;
}

}  // namespace

ServiceGroups GroupServices(const Cluster& cluster) {
  ConnectedMetrics connected = Connect(cluster);
  std::vector<ServiceId> by_name(cluster.services.size());
  std::iota(by_name.begin(), by_name.end(), 0u);
  std::ranges::sort(by_name, {}, [&](ServiceId id) -> const std::string& { return cluster.services[id].name; });

  ServiceGroups all;
  all.group_of_service.assign(cluster.services.size(), kNoId);
  all.group_of_metric.assign(cluster.metrics.size(), kNoId);
  std::vector<uint32_t> of_root(cluster.metrics.size(), kNoId);
  for (const ServiceId id : by_name) {
    const Service& service = cluster.services[id];
    uint32_t& group = of_root[connected.Root(service.metrics.front().metric)];
    if (group == kNoId) {
      group = static_cast<uint32_t>(all.groups.size());
      all.groups.emplace_back();
    }
    all.group_of_service[id] = group;
    all.groups[group].services.push_back(id);
    for (const ServiceMetric& metric : service.metrics) {
      if (all.group_of_metric[metric.metric] != kNoId) continue;
      all.group_of_metric[metric.metric] = group;
      all.groups[group].metrics.push_back(metric.metric);
    }
  }
  for (ServiceGroup& group : all.groups) {
    std::ranges::sort(group.metrics, {}, [&](MetricId id) -> const std::string& { return cluster.metrics[id].name; });
  }
  return all;
}

std::vector<GroupPhase> Regroup(const std::vector<GroupPhase>& before, const Cluster& cluster, const ServiceGroups& groups,
                                double now) {
  std::unordered_map<std::string_view, size_t> was_in;
  for (size_t i = 0; i < before.size(); ++i) {
    for (const std::string& service : before[i].services) was_in.emplace(service, i);
  }
  std::vector<GroupPhase> after;
  for (const ServiceGroup& group : groups.groups) {
    GroupPhase& phase = after.emplace_back();
    std::set<size_t> origins;
    for (const ServiceId id : group.services) {
      phase.services.push_back(cluster.services[id].name);
      const auto found = was_in.find(phase.services.back());
      if (found != was_in.end()) origins.insert(found->second);
    }
    if (origins.empty()) {
      phase.phase.last_state_change = now;
      continue;
    }
    phase.phase = before[*origins.begin()].phase;
    for (auto other = std::next(origins.begin()); other != origins.end(); ++other) {
      phase.phase = MergePhases(phase.phase, before[*other].phase, now);
    }
  }
  return after;
}

}  // namespace evenkeel::balancing
