#include "controllers/autoscaler/facts/eligibility.h"

namespace evenkeel::controllers::autoscaler {

std::string_view Name(UnremovableReason reason) {
  static constexpr std::string_view kNames[] = {
      "NoReason",
      "ScaleDownDisabledAnnotation",
      "ScaleDownUnreadyDisabled",
      "NotAutoscaled",
      "NotUnneededLongEnough",
      "NotUnreadyLongEnough",
      "NodeGroupMinSizeReached",
      "NodeGroupMaxDeletionCountReached",
      "AtomicScaleDownFailed",
      "MinimalResourceLimitExceeded",
      "CurrentlyBeingDeleted",
      "NotUnderutilized",
      "NotUnneededOtherReason",
      "RecentlyUnremovable",
      "NoPlaceToMovePods",
      "BlockedByPod",
      "UnexpectedError",
      "NoNodeInfo",
      "BlockedByOnCompletionPod",
  };
  return kNames[static_cast<size_t>(reason)];
}

bool BeingDeleted(const NodeFacts& node, const LoopTime& now) {
  return node.to_be_deleted && now.Within(*node.to_be_deleted, kDeletionTime);
}

Unremovable EligibilityChecker::Check(scheduling::NodeId node, const NodeDigest& digest, const providers::NodeGroup* group,
                                      std::optional<base::Time> recently_unremovable, bool any_utilization) {
  Unremovable answer{.node = node};
  const auto because = [&](UnremovableReason reason) {
    answer.reason = reason;
    return answer;
  };
  if (recently_unremovable) {
    answer.until = recently_unremovable;
    return because(UnremovableReason::kRecentlyUnremovable);
  }
  if (digest.to_be_deleted) {
    const NodeFacts& facts = (*view_.nodes)[node];
    if (BeingDeleted(facts, view_.now)) {
      answer.until = *facts.to_be_deleted + kDeletionTime;
      return because(UnremovableReason::kCurrentlyBeingDeleted);
    }
  }
  if (digest.scale_down_disabled) return because(UnremovableReason::kScaleDownDisabledAnnotation);
  if (group == nullptr) return because(UnremovableReason::kNotAutoscaled);
  const bool ignore_daemons = group->options.ignore_daemonsets_utilization.value_or(options_.ignore_daemonsets_utilization);
  const auto utilization = utilization_.Of(node, ignore_daemons, options_.ignore_mirror_pods_utilization, digest.plain);
  if (!utilization) {
    answer.detail = utilization.error();
    return because(UnremovableReason::kUnexpectedError);
  }
  answer.utilization = *utilization;
  if (!digest.ready && !options_.scale_down_unready_enabled) return because(UnremovableReason::kScaleDownUnreadyDisabled);
  const bool gpu = utilization->resource == Utilization::Resource::kGpu;
  answer.threshold =
      gpu ? group->options.scale_down_gpu_utilization_threshold.value_or(options_.scale_down_gpu_utilization_threshold)
          : group->options.scale_down_utilization_threshold.value_or(options_.scale_down_utilization_threshold);
  if (!any_utilization && utilization->value > answer.threshold) return because(UnremovableReason::kNotUnderutilized);
  return answer;
}

}  // namespace evenkeel::controllers::autoscaler
