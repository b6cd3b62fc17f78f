#include "balancing/plan/service_hints.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace evenkeel::balancing {
namespace {

bool ReportsNothing(const Cluster& cluster, const Service& service, size_t metric) {
  const ServiceMetric& declared = service.metrics[metric];
  return std::ranges::all_of(service.partitions, [&](PartitionId partition) {
    return std::ranges::all_of(cluster.ReplicasOf(cluster.partitions[partition]), [&](const Replica& replica) {
      const int64_t by_default = replica.role == Role::kPrimary ? declared.primary_load : declared.secondary_load;
      return !replica.Exists() || cluster.LoadsOf(replica)[metric] == by_default;
    });
  });
}

void AddMetricHints(const Cluster& cluster, const Settings& settings, const Service& service, std::vector<std::string>& hints) {
  bool own = false;
  for (size_t i = 0; i < service.metrics.size(); ++i) {
    const Metric& metric = cluster.metrics[service.metrics[i].metric];
    if (metric.built_in != BuiltInMetric::kNo) continue;
    own = true;
    const ServiceMetric& declared = service.metrics[i];
    if (ReportsNothing(cluster, service, i) && !service.partitions.empty()) {
      hints.push_back(
          declared.primary_load == 0 && declared.secondary_load == 0
              ? fmt::format("{}: no replica of the service has a load of it; report loads or declare defaults, else "
                            "there is nothing to balance",
                            metric.name)
              : fmt::format("{}: every replica has the declared default load; what they really use is not reported",
                            metric.name));
    }
    const bool set = settings.metric_balancing_thresholds.contains(metric.name) ||
                     std::ranges::any_of(settings.node_types, [&](const auto& type) {
                       return type.second.balancing_thresholds.contains(metric.name);
                     });
    if (!set) {
      hints.push_back(
          fmt::format("{}: no balancing threshold is set, so 1 holds: any difference of 2 or more is imbalanced", metric.name));
    }
  }
  if (!own) hints.push_back("it has no metric of its own: replicas are counted, however much work each of them does");
}

// As if services' own loads were a trigger.
void AddLocalHint(const Arrangement& arrangement, const ServiceGroup& group, ServiceId service,
                  std::vector<std::string>& hints) {
  Settings settings = arrangement.settings();
  if (settings.local_balancing_threshold > 0) return;
  settings.local_balancing_threshold = 1;
  const ServiceGroup alone{{service}, group.metrics};
  const GroupBalance balance = CheckBalance(arrangement.cluster(), settings, arrangement.sets(), arrangement.loads(), alone);
  for (const MetricBalance& local : balance.local) {
    hints.push_back(fmt::format(
        "the service's own load of {} is uneven ({} on {}, {} on {}), but that triggers nothing while "
        "LocalBalancingThreshold is 0: only the loads of all services together do",
        arrangement.cluster().metrics[local.metric].name, local.max, arrangement.cluster().nodes[local.max_node].name,
        local.min, arrangement.cluster().nodes[local.min_node].name));
    return;
  }
}

}  // namespace

std::vector<std::string> ServiceHints(const Arrangement& arrangement, const ServiceGroup& group, ServiceId id) {
  const Cluster& cluster = arrangement.cluster();
  const Service& service = cluster.services[id];
  std::vector<std::string> hints;
  AddMetricHints(cluster, arrangement.settings(), service, hints);
  AddLocalHint(arrangement, group, id, hints);
  if (std::string hyphen = HyphenHint(cluster.ConstraintOf(service)); !hyphen.empty()) hints.push_back(std::move(hyphen));
  if (service.partitions.empty()) hints.push_back("it has no partition");
  if (service.on_every_node) hints.push_back("it runs on every node: its instances never move");
  return hints;
}

}  // namespace evenkeel::balancing
