#include "controllers/autoscaler/facts/resource_limits.h"

#include "controllers/autoscaler/facts/node_templates.h"

namespace evenkeel::controllers::autoscaler {
namespace {

constexpr int64_t kLimitGibibyte = int64_t{1} << 30;
constexpr int64_t kMilliPerCore = 1000;

std::string Join(const std::vector<std::string>& texts, const char* between) {
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : between) + text;
  return joined;
}

}  // namespace

Quota ClusterWideQuota(const Options& options) {
  Quota quota{kClusterWideQuota, {}, {}};
  quota.limits["cpu"] = options.cores_total.max;
  quota.limits["memory"] = options.memory_total.max * kLimitGibibyte;
  for (const auto& [type, range] : options.gpu_total) quota.limits[type] = range.max;
  return quota;
}

std::string Describe(const std::vector<QuotaExcess>& excesses) {
  std::vector<std::string> texts;
  for (const QuotaExcess& excess : excesses) {
    texts.push_back("exceeded quota: \"" + excess.quota + "\", resources: " + Join(excess.resources, ", "));
  }
  return Join(texts, "; ");
}

ResourceLimits::ResourceLimits(std::vector<Quota> quotas, std::string gpu_label) : gpu_label_(std::move(gpu_label)) {
  for (Quota& quota : quotas) {
    std::map<std::string, int64_t> left = quota.limits;
    quotas_.push_back({std::move(quota), std::move(left)});
  }
}

bool ResourceLimits::Counts(const Usage& usage, const kube::Node& node) {
  const auto type = node.meta.labels.find("type");
  if (type != node.meta.labels.end() && type->second == "virtual-kubelet") return false;
  return usage.quota.nodes.Matches(node.meta.labels);
}

int64_t ResourceLimits::AmountOf(const kube::Node& node, const std::string& resource) const {
  if (resource == "nodes") return 1;
  const auto found = node.capacity.find(resource);
  const int64_t amount = found == node.capacity.end() ? 0 : found->second;
  if (resource == "cpu") return (amount + kMilliPerCore - 1) / kMilliPerCore;
  if (found != node.capacity.end()) return amount;
  const Gpus gpus = GpusOf(node, gpu_label_);
  return gpus.type == resource ? gpus.count : 0;
}

void ResourceLimits::Consume(const kube::Node& node, int64_t nodes) {
  for (Usage& usage : quotas_) {
    if (!Counts(usage, node)) continue;
    for (auto& [resource, left] : usage.left) left -= nodes * AmountOf(node, resource);
  }
}

std::vector<QuotaExcess> ResourceLimits::Check(const kube::Node& node, int64_t nodes) const {
  std::vector<QuotaExcess> excesses;
  for (const Usage& usage : quotas_) {
    if (!Counts(usage, node)) continue;
    QuotaExcess excess{usage.quota.id, {}};
    for (const auto& [resource, left] : usage.left) {
      if (nodes * AmountOf(node, resource) > std::max<int64_t>(0, left)) excess.resources.push_back(resource);
    }
    if (!excess.resources.empty()) excesses.push_back(std::move(excess));
  }
  return excesses;
}

int64_t ResourceLimits::Fitting(const kube::Node& node, int64_t nodes) const {
  for (const Usage& usage : quotas_) {
    if (!Counts(usage, node)) continue;
    for (const auto& [resource, left] : usage.left) {
      const int64_t amount = AmountOf(node, resource);
      if (amount > 0) nodes = std::min(nodes, std::max<int64_t>(0, left) / amount);
    }
  }
  return nodes;
}

}  // namespace evenkeel::controllers::autoscaler
