#include "controllers/autoscaler/scale_up/similar_groups.h"

#include "controllers/autoscaler/facts/node_group_object.h"

namespace evenkeel::controllers::autoscaler {
namespace {

/// By which providers say which group a node belongs to: each group has a value of its own.
constexpr std::string_view kNamesOfGroups[] = {kNodeGroupLabel,
                                               "kops.k8s.io/instancegroup",
                                               "eks.amazonaws.com/nodegroup",
                                               "alpha.eksctl.io/nodegroup-name",
                                               "alpha.eksctl.io/instance-id",
                                               "cloud.google.com/gke-nodepool",
                                               "agentpool",
                                               "kubernetes.azure.com/agentpool",
                                               "karpenter.sh/nodepool",
                                               "karpenter.sh/provisioner-name",
                                               "cluster.x-k8s.io/deployment-name",
                                               "cluster.x-k8s.io/set-name",
                                               "topology.cluster.x-k8s.io/deployment-name",
                                               "node.cluster.x-k8s.io/machine-pool"};
/// The zone once more, as drivers of volumes write it.
constexpr std::string_view kZonesOfDrivers[] = {"topology.ebs.csi.aws.com/zone", "topology.gke.io/zone",
                                                "topology.disk.csi.azure.com/zone", "topology.cinder.csi.openstack.org/zone",
                                                "topology.diskplugin.csi.alibabacloud.com/zone"};

bool Within(int64_t a, int64_t b, double ratio) {
  const auto larger = static_cast<double>(std::max(a, b));
  return larger - static_cast<double>(std::min(a, b)) <= larger * ratio;
}

bool AllWithin(const kube::ResourceList& a, const kube::ResourceList& b, double ratio) {
  return a.size() == b.size() && std::ranges::all_of(a, [&](const auto& entry) {
           const auto other = b.find(entry.first);
           return other != b.end() && Within(entry.second, other->second, ratio);
         });
}

/// What the template's own pods leave, for the resources that every pod is counted in and those that its pods ask for.
kube::ResourceList FreeOf(const NodeTemplate& node_template) {
  kube::ResourceList requested = node_template.requested;
  for (const char* name : {"cpu", "memory", "ephemeral-storage"}) requested.try_emplace(name, 0);
  kube::ResourceList free;
  for (const auto& [name, amount] : requested) {
    const auto there = node_template.node.allocatable.find(name);
    free[name] = (there == node_template.node.allocatable.end() ? 0 : there->second) - amount;
  }
  return free;
}

}  // namespace

SimilarGroups::SimilarGroups(const Options& options)
    : ignored_labels_{"kubernetes.io/hostname",
                      "failure-domain.beta.kubernetes.io/zone",
                      "failure-domain.beta.kubernetes.io/region",
                      "topology.kubernetes.io/zone",
                      "topology.kubernetes.io/region",
                      "beta.kubernetes.io/fluentd-ds-ready"},
      only_labels_(options.balancing_labels),
      memory_ratio_(options.memory_difference_ratio),
      free_ratio_(options.max_free_difference_ratio),
      allocatable_ratio_(options.max_allocatable_difference_ratio) {
  ignored_labels_.insert(std::begin(kNamesOfGroups), std::end(kNamesOfGroups));
  ignored_labels_.insert(std::begin(kZonesOfDrivers), std::end(kZonesOfDrivers));
  ignored_labels_.insert(options.balancing_ignore_labels.begin(), options.balancing_ignore_labels.end());
}

bool SimilarGroups::LabelsAlike(const kube::Labels& a, const kube::Labels& b) const {
  const auto covered = [this](const kube::Labels& from, const kube::Labels& in) {
    return std::ranges::all_of(from, [&](const auto& label) {
      if (ignored_labels_.contains(label.first)) return true;
      const auto other = in.find(label.first);
      return other != in.end() && other->second == label.second;
    });
  };
  return covered(a, b) && covered(b, a);
}

bool SimilarGroups::Similar(const NodeTemplate& a, const NodeTemplate& b) const {
  if (!only_labels_.empty()) {
    return std::ranges::all_of(only_labels_, [&](const std::string& label) {
      const auto left = a.node.meta.labels.find(label), right = b.node.meta.labels.find(label);
      return left != a.node.meta.labels.end() && right != b.node.meta.labels.end() && left->second == right->second;
    });
  }
  if (a.node.capacity.size() != b.node.capacity.size()) return false;
  for (const auto& [name, amount] : a.node.capacity) {
    const auto other = b.node.capacity.find(name);
    if (other == b.node.capacity.end()) return false;
    if (name == "memory" ? !Within(amount, other->second, memory_ratio_) : amount != other->second) return false;
  }
  return AllWithin(a.node.allocatable, b.node.allocatable, allocatable_ratio_) &&
         AllWithin(FreeOf(a), FreeOf(b), free_ratio_) && LabelsAlike(a.node.meta.labels, b.node.meta.labels) &&
         scheduling::SameDevices(a.slices.get(), b.slices.get());
}

std::vector<GroupDelta> Balance(std::vector<GroupSize> groups, int64_t nodes) {
  std::erase_if(groups, [](const GroupSize& group) { return group.size == group.max; });
  int64_t capacity = 0;
  for (const GroupSize& group : groups) capacity += std::max<int64_t>(0, group.max - group.size);
  nodes = std::min(nodes, capacity);
  std::ranges::sort(
      groups, [](const GroupSize& a, const GroupSize& b) { return a.size != b.size ? a.size < b.size : a.group < b.group; });
  std::vector<int64_t> before;
  std::vector<size_t> at(groups.size());  // which group stands where: full ones are moved to the front
  for (size_t i = 0; i < groups.size(); ++i) {
    before.push_back(groups[i].size);
    at[i] = i;
  }
  size_t start = 0, current = 0;
  while (nodes > 0) {
    GroupSize& visited = groups[at[current]];
    if (visited.size < visited.max) {
      ++visited.size;
      --nodes;
    } else {
      std::swap(at[start], at[current]);
      ++start;
    }
    const bool last = current + 1 >= at.size();
    if (!last && groups[at[current]].size > groups[at[current + 1]].size) {
      ++current;
    } else {
      current = start;
    }
  }
  std::vector<GroupDelta> changed;
  for (const size_t i : at) {
    if (groups[i].size != before[i]) changed.push_back({groups[i].group, before[i], groups[i].size});
  }
  return changed;
}

}  // namespace evenkeel::controllers::autoscaler
