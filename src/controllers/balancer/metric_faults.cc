#include "controllers/balancer/metric_faults.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <set>

namespace evenkeel::controllers::balancer {
namespace {

bool Has(const kube::ResourceList& list, const std::string& resource) {
  const auto found = list.find(resource);
  return found != list.end() && found->second > 0;
}

/// "cpu, memory, pods".
std::string ResourcesOfNodes(const MemberObjects& objects) {
  constexpr size_t kNamed = 8;
  std::set<std::string> names;
  for (const auto& [name, node] : objects.nodes()) {
    for (const auto& [resource, amount] : node.allocatable) {
      if (amount > 0) names.insert(resource);
    }
  }
  const size_t more = names.size() > kNamed ? names.size() - kNamed : 0;
  while (names.size() > kNamed) names.erase(std::prev(names.end()));
  return fmt::format("{}{}", fmt::join(names, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

MetricFault FaultOf(const MetricRule& rule, const MemberObjects& objects, const PodUsage& usage,
                    const std::string& usage_error) {
  const auto any_pod = [&](const auto& has) {
    return std::ranges::any_of(objects.pods(), [&](const auto& entry) { return has(entry.second); });
  };
  if (rule.source == LoadSource::kAnnotation) {
    if (any_pod([&](const SeenPod& pod) { return pod.declared.contains(rule.name); })) return {};
    return {"NotDeclared", fmt::format("no pod has \"{}\" in its annotation {}", rule.name, kLoadAnnotation)};
  }
  const bool node_has =
      std::ranges::any_of(objects.nodes(), [&](const auto& entry) { return Has(entry.second.allocatable, rule.resource); });
  if (!node_has && !any_pod([&](const SeenPod& pod) { return Has(pod.requests, rule.resource); })) {
    return {"NoSuchResource", fmt::format("no node has the resource \"{}\", and no pod requests it; nodes have {}",
                                          rule.resource, ResourcesOfNodes(objects))};
  }
  if (rule.source != LoadSource::kUsage) return {};
  if (!usage_error.empty()) {
    return {"NoUsage", "the metrics API does not answer, and requests count meanwhile: " + usage_error};
  }
  if (usage.empty()) {
    const bool runs = any_pod([](const SeenPod& pod) { return !pod.node.empty() && pod.ready; });
    return runs ? MetricFault{"NoUsage", "the metrics API tells of no pod, and requests count meanwhile"} : MetricFault{};
  }
  const auto tells = [&](const auto& entry) { return entry.second.contains(rule.resource); };
  if (std::ranges::any_of(usage, tells)) return {};
  return {"NoUsage", fmt::format("the metrics API tells of no pod how much {} it uses, which counts as 0", rule.resource)};
}

}  // namespace

MetricFault FindMetricFault(const Policy& policy, const MemberObjects& objects, const PodUsage& usage,
                            const std::string& usage_error) {
  MetricFault all;
  if (objects.nodes().empty()) return all;
  for (size_t i = 0; i < policy.metrics.size(); ++i) {
    const MetricFault fault = FaultOf(policy.metrics[i], objects, usage, usage_error);
    if (fault.reason.empty()) continue;
    if (all.reason.empty()) all.reason = fault.reason;
    all.text += fmt::format("{}spec.metrics[{}]: {}", all.text.empty() ? "" : "; ", i, fault.text);
  }
  return all;
}

}  // namespace evenkeel::controllers::balancer
