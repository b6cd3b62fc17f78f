// What the plan says of one node, in words.
#include <fmt/format.h>

#include "controllers/autoscaler/loop/explanation.h"
#include "controllers/autoscaler/loop/scale_session.h"
#include "controllers/autoscaler/scale_down/scale_down.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using scheduling::kNone;
using scheduling::NodeId;

std::string In(base::Duration left) {
  return base::FormatDuration(std::chrono::ceil<std::chrono::seconds>(std::max(left, base::Duration::zero())));
}

class Explainer {
 public:
  /// `thorough`: also what takes long to find out.
  Explainer(const ClusterView& view, const Options& options, const ScaleDownState& state, const ScaleDownPlan& plan,
            bool thorough)
      : view_(view), options_(options), state_(state), plan_(plan), budgets_(view), thorough_(thorough) {}

  std::string Node(std::string_view name) {
    const NodeId node = view_.snapshot->FindNodeByName(name);
    if (node == kNone || !view_.snapshot->Present(node)) return fmt::format("node {}: there is no such node", name);
    const std::string& group = (*view_.nodes)[node].group;
    return fmt::format("node {}{}: {}", name, group.empty() ? "" : fmt::format(" (group {})", group), Why(node));
  }

  std::string Why(NodeId node) {
    const UnneededNode* unneeded = plan_.FindUnneeded(node);
    const Unremovable* stays = plan_.FindUnremovable(node);
    if (unneeded != nullptr) return Unneeded(*unneeded, stays);
    return "stays: " + (stays == nullptr ? "it is not looked at for scale-down" : Why(*stays));
  }

  /// Without how long it has been or will be so.
  std::string Lasting(const UnneededNode* unneeded, const Unremovable* stays) {
    if (stays != nullptr && stays->reason == UnremovableReason::kNotUnneededLongEnough && unneeded != nullptr) {
      return fmt::format("unneeded; goes once that has lasted until {}", base::FormatTime(unneeded->since + unneeded->wait));
    }
    if (stays != nullptr) {
      std::string text(Name(stays->reason));
      if (const std::string words = Words(*stays); !words.empty()) text += ": " + words;
      if (stays->until) text += "; until " + base::FormatTime(*stays->until);
      return text;
    }
    for (const auto* indices : {&plan_.delete_empty, &plan_.delete_drain}) {
      for (const size_t index : *indices) {
        if (&plan_.unneeded[index] == unneeded) return "is removed now";
      }
    }
    return plan_.in_cool_down() ? "unneeded; waits for the cool-down" : "unneeded; other nodes go first";
  }

 private:
  std::string Unneeded(const UnneededNode& node, const Unremovable* stays) {
    std::string text = fmt::format("unneeded for {} (since {}), {} pods to move", In(view_.now.Read() - node.since),
                                   base::FormatTime(node.since), node.pods.size());
    if (node.risky) text += ", more than its PodDisruptionBudgets allow at once";
    if (stays != nullptr) return text + "; stays for now: " + Why(*stays);
    for (const auto* indices : {&plan_.delete_empty, &plan_.delete_drain}) {
      for (const size_t index : *indices) {
        if (plan_.unneeded[index].node == node.node) return text + "; deleted now";
      }
    }
    if (plan_.in_cool_down()) return text + "; stays for now: cool-down: " + plan_.cool_down;
    return text +
           fmt::format("; stays for now: other nodes go first (--max-scale-down-parallelism={}, --max-drain-parallelism={})",
                       options_.max_scale_down_parallelism, options_.max_drain_parallelism);
  }

  std::string Sizes(NodeId node) const {
    const providers::NodeGroup* group = view_.groups.Find((*view_.nodes)[node].group);
    if (group == nullptr) return "";
    return fmt::format(" (size {}, minimum {})", group->target_size, group->min_size);
  }

  std::string Pod(scheduling::PodId pod) const {
    return pod == kNone ? std::string("its pods") : "pod " + view_.snapshot->PodKey(pod);
  }

  /// Of a pod that has devices: what the first of the other nodes with devices lacks. O(nodes).
  std::string WhichDevices(scheduling::PodId pod, NodeId from) const {
    scheduling::Snapshot& snapshot = *view_.snapshot;
    if (!thorough_ || pod == kNone || !snapshot.WantsDevices(snapshot.ClassOf(pod))) return "";
    const scheduling::WhatIf what_if(snapshot);
    snapshot.Unplace(pod);
    std::string text;
    for (const NodeId node : snapshot.order()) {
      if (node == kNone || node == from) continue;
      const scheduling::Fit fit = snapshot.Check(snapshot.ClassOf(pod), node);
      if (fit.filter != scheduling::Filter::kDynamicResources) continue;
      const bool has_devices = !snapshot.PoolsOn(node).pools.empty();
      if (text.empty() || has_devices) text = fmt::format("; on node {}: {}", snapshot.NodeName(node), DescribeFit(fit));
      if (has_devices) break;
    }
    return text;
  }

  std::string Recently(NodeId node) const {
    const auto found = state_.unremovable.find((*view_.nodes)[node].name);
    if (found == state_.unremovable.end()) return "its removal was tried and failed";
    std::string text = "its removal was tried and failed with " + std::string(Name(found->second.reason));
    if (found->second.pod.empty()) return text;
    text += ", pod " + found->second.pod;
    if (found->second.blocking != BlockingReason::kNoReason) text += " (" + std::string(Name(found->second.blocking)) + ")";
    if (found->second.reason != UnremovableReason::kNoPlaceToMovePods) return text;
    return text + WhichDevices(view_.snapshot->FindPod(found->second.pod), node);
  }

  std::string Words(const Unremovable& stays) {
    switch (stays.reason) {
      case UnremovableReason::kScaleDownDisabledAnnotation:
        return "annotation cluster-autoscaler.kubernetes.io/scale-down-disabled=true";
      case UnremovableReason::kScaleDownUnreadyDisabled:
        return "it is not ready, and --scale-down-unready-enabled=false";
      case UnremovableReason::kNotAutoscaled:
        return "no node group has it";
      case UnremovableReason::kNotUnneededLongEnough:
        return "it has to be unneeded for longer";
      case UnremovableReason::kNotUnreadyLongEnough:
        return "it has to be unready and unneeded for longer";
      case UnremovableReason::kNodeGroupMinSizeReached:
        return "its group would fall below its minimum" + Sizes(stays.node);
      case UnremovableReason::kAtomicScaleDownFailed:
        return "its group goes all at once or not at all, and other nodes of it cannot go";
      case UnremovableReason::kMinimalResourceLimitExceeded:
        return "the cluster would fall below --cores-total, --memory-total or --gpu-total";
      case UnremovableReason::kCurrentlyBeingDeleted:
        return "it is being deleted";
      case UnremovableReason::kNotUnderutilized:
        return fmt::format("{} utilization is {:.1f} %, above the threshold of {:.1f} %", NameOf(stays.utilization),
                           100 * stays.utilization.value, 100 * stays.threshold);
      case UnremovableReason::kRecentlyUnremovable:
        return Recently(stays.node);
      case UnremovableReason::kNoPlaceToMovePods:
        if (stays.detail != nullptr) return stays.detail;
        return Pod(stays.blocking.pod) + " would not fit on any other node" + WhichDevices(stays.blocking.pod, stays.node);
      case UnremovableReason::kBlockedByPod:
        return Drainability(view_, options_, budgets_).Explain(stays.blocking.pod, stays.blocking.reason);
      case UnremovableReason::kBlockedByOnCompletionPod:
        return Pod(stays.blocking.pod) + " has to end first (safe-to-evict=on-completion)";
      default:
        return stays.detail == nullptr ? "" : stays.detail;
    }
  }

  std::string Why(const Unremovable& stays) {
    std::string text(Name(stays.reason));
    const std::string words = Words(stays);
    if (!words.empty()) text += ": " + words;
    if (!stays.until) return text;
    return text + (stays.reason == UnremovableReason::kCurrentlyBeingDeleted ? "; given up in " : "; looked at again in ") +
           In(*stays.until - view_.now.Read());
  }

  const ClusterView& view_;
  const Options& options_;
  const ScaleDownState& state_;
  const ScaleDownPlan& plan_;
  BudgetTracker budgets_;
  const bool thorough_;
};

}  // namespace

std::string ExplainNode(const ClusterView& view, const Options& options, const ScaleDownState& state, const ScaleDownPlan& plan,
                        std::string_view node) {
  return Explainer(view, options, state, plan, true).Node(node);
}

std::string WhyNode(const ClusterView& view, const Options& options, const ScaleDownState& state, const ScaleDownPlan& plan,
                    NodeId node) {
  return Explainer(view, options, state, plan, true).Why(node);
}

std::vector<NodeWord> ExplainStays(const ClusterView& view, const Options& options, const ScaleDownState& state,
                                   const ScaleDownPlan& plan, size_t limit) {
  std::vector<NodeWord> words;
  if (plan.unneeded.empty() && plan.unremovable.empty()) return words;
  Explainer explainer(view, options, state, plan, false);
  for (const UnneededNode& node : plan.unneeded) {
    if (words.size() == limit) return words;
    words.push_back({node.node, explainer.Lasting(&node, plan.FindUnremovable(node.node))});
  }
  for (const Unremovable& stays : plan.unremovable) {
    if (words.size() == limit) return words;
    if (plan.FindUnneeded(stays.node) == nullptr) words.push_back({stays.node, explainer.Lasting(nullptr, &stays)});
  }
  return words;
}

}  // namespace evenkeel::controllers::autoscaler
