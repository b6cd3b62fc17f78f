// Which nodes are worth a look for scale-down: cheap questions about one node each, in upstream's order, the first that says no
// gives the reason.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/core/scaledown/eligibility/eligibility.go
#pragma once

#include <optional>
#include <string_view>

#include "controllers/autoscaler/facts/drainability.h"
#include "controllers/autoscaler/facts/node_digests.h"
#include "controllers/autoscaler/facts/utilization.h"
#include "controllers/autoscaler/options/options.h"

namespace evenkeel::controllers::autoscaler {

/// Upstream's UnremovableReason.
enum class UnremovableReason : uint8_t {
  kNoReason,
  kScaleDownDisabledAnnotation,
  kScaleDownUnreadyDisabled,
  kNotAutoscaled,
  kNotUnneededLongEnough,
  kNotUnreadyLongEnough,
  kNodeGroupMinSizeReached,
  kNodeGroupMaxDeletionCountReached,
  kAtomicScaleDownFailed,
  kMinimalResourceLimitExceeded,
  kCurrentlyBeingDeleted,
  kNotUnderutilized,
  kNotUnneededOtherReason,
  kRecentlyUnremovable,
  kNoPlaceToMovePods,
  kBlockedByPod,
  kUnexpectedError,
  kNoNodeInfo,
  kBlockedByOnCompletionPod,
};
/// Upstream's name: "NotUnderutilized".
std::string_view Name(UnremovableReason reason);

/// Why a node stays.
struct Unremovable {
  scheduling::NodeId node = scheduling::kNone;
  UnremovableReason reason = UnremovableReason::kNoReason;
  BlockingPod blocking{};             ///< for kBlockedByPod, kBlockedByOnCompletionPod; kNoPlaceToMovePods: pod only
  Utilization utilization{};          ///< when it was computed
  double threshold = 0;               ///< for kNotUnderutilized
  std::optional<base::Time> until{};  ///< when time alone will end it
  /// More words, for kNotUnneededOtherReason and kUnexpectedError; as long as the view's groups live.
  const char* detail = nullptr;
};

/// A taint ToBeDeleted older than this is of a removal that has been forgotten.
inline constexpr base::Duration kDeletionTime = std::chrono::minutes(5);
bool BeingDeleted(const NodeFacts& node, const LoopTime& now);

class EligibilityChecker {
 public:
  EligibilityChecker(const ClusterView& view, const Options& options, UtilizationCalculator& utilization)
      : view_(view), options_(options), utilization_(utilization) {}

  /// The node is in the snapshot, `digest` is its. `group` null: not managed. `recently_unremovable`: until when, from an
  /// earlier simulation. kNoReason: eligible, with the utilization filled in. `any_utilization`: do not compare with the
  /// threshold.
  Unremovable Check(scheduling::NodeId node, const NodeDigest& digest, const providers::NodeGroup* group,
                    std::optional<base::Time> recently_unremovable, bool any_utilization = false);

 private:
  const ClusterView& view_;
  const Options& options_;
  UtilizationCalculator& utilization_;
};

}  // namespace evenkeel::controllers::autoscaler
