// kube-scheduler's FailedScheduling message.
// Follows: kubernetes@1.36 pkg/scheduler/framework/types.go
#include "scheduling/snapshot.h"

namespace evenkeel::scheduling {
namespace {

using Histogram = std::map<std::string, int64_t>;

/// "0/3 nodes are available: 1 a, 2 b." with the parts in the order of their texts, numbers first.
std::string Summary(size_t nodes, const std::string& rejected, const Histogram& reasons) {
  std::string message = "0/" + std::to_string(nodes) + " nodes are available:";
  if (!rejected.empty()) return message + " " + rejected + ".";
  std::vector<std::string> parts;
  for (const auto& [reason, count] : reasons) parts.push_back(std::to_string(count) + " " + reason);
  std::sort(parts.begin(), parts.end());
  for (size_t i = 0; i < parts.size(); ++i) message += (i == 0 ? " " : ", ") + parts[i];
  return parts.empty() ? message : message + ".";
}

/// Nodes that upstream does not look at, because the affinity names others: they are told of in words of their own.
bool LeftOut(const PodClass& pod_class, const std::optional<std::vector<std::string>>& named, const std::string& node) {
  if (!pod_class.pinned_node.empty()) return pod_class.pinned_node != node;
  return named && !std::binary_search(named->begin(), named->end(), node);
}

}  // namespace

std::string Snapshot::FailureMessage(ClassId id, std::optional<int32_t> priority) {
  PodClass& pod_class = classes_[id];
  Prepare(pod_class);
  if (node_count_ == 0) return "no nodes available to schedule pods";
  const auto named = pod_class.spec->spec.nodes.Named();
  std::string rejected = pod_class.rejected();
  if (named && named->empty()) rejected = "pod affinity terms conflict";
  Histogram reasons;
  std::vector<std::pair<NodeId, Fit>> fits;
  for (const NodeId node : order_) {
    if (node == kNone || !rejected.empty()) continue;
    if (LeftOut(pod_class, named, nodes_[node].name)) {
      ++reasons["node(s) didn't satisfy plugin(s) [NodeAffinity]"];
      continue;
    }
    fits.emplace_back(node, Check(id, node));
    for (const Reason& reason : fits.back().second.reasons) ++reasons[reason.text];
  }
  const std::string message = Summary(node_count_, rejected, reasons);
  return priority ? message + PreemptionMessage(id, *priority, fits) : message;
}

std::string Snapshot::PreemptionMessage(ClassId id, int32_t priority, const std::vector<std::pair<NodeId, Fit>>& fits) {
  if (classes_[id].spec->spec.never_preempts) return " preemption: not eligible due to preemptionPolicy=Never.";
  constexpr const char* kNotHelpful = "Preemption is not helpful for scheduling";
  Histogram reasons;
  size_t unseen = node_count_ - fits.size();
  for (const auto& [node, fit] : fits) {
    if (!fit.resolvable) {
      ++unseen;
      continue;
    }
    std::vector<PodId> victims;
    for (const PodId pod : nodes_[node].pods) {
      if (pods_[pod].priority < priority) victims.push_back(pod);
    }
    if (victims.empty()) {
      ++reasons["No preemption victims found for incoming pod"];
      continue;
    }
    WhatIf without(*this);
    // Upstream frees no devices by preemption: victims leave theirs in use.
    for (const PodId pod : victims) Vacate(pod);
    const Fit left = Check(id, node);
    if (left.fits()) return "";
    for (const Reason& reason : left.reasons) ++reasons[reason.text];
  }
  if (unseen > 0) reasons[kNotHelpful] += static_cast<int64_t>(unseen);
  return " preemption: " + Summary(node_count_, "", reasons);
}

}  // namespace evenkeel::scheduling
