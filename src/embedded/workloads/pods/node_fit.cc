#include "embedded/workloads/pods/node_fit.h"

#include <algorithm>

#include "scheduling/node_shape.h"

namespace evenkeel::embedded::workloads {

bool MatchesNodeAffinity(const kube::Pod& pod, const kube::Node& node) {
  const auto hostname = node.meta.labels.find(std::string(scheduling::kHostnameLabel));
  const scheduling::NodeLabels labels{node.meta.labels, hostname == node.meta.labels.end() ? nullptr : &hostname->second,
                                      node.meta.name};
  for (const auto& [key, value] : pod.node_selector) {
    const std::string* found = labels.Find(key);
    if (found == nullptr || *found != value) return false;
  }
  return pod.required_node_terms.empty() || scheduling::MatchesAny(pod.required_node_terms, labels);
}

const kube::Taint* UntoleratedTaint(const kube::Pod& pod, const std::vector<kube::Taint>& taints, bool no_schedule,
                                    bool no_execute) {
  for (const kube::Taint& taint : taints) {
    if (!(no_schedule && taint.effect == "NoSchedule") && !(no_execute && taint.effect == "NoExecute")) continue;
    const bool tolerated = std::any_of(pod.tolerations.begin(), pod.tolerations.end(),
                                       [&](const kube::Toleration& toleration) { return toleration.Tolerates(taint); });
    if (!tolerated) return &taint;
  }
  return nullptr;
}

}  // namespace evenkeel::embedded::workloads
