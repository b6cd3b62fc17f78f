// What a loop found out about pods that wait and nodes that stay, for people who look on: JSON beside the status in its
// ConfigMap. The words are those of `explain` and `plan scale`. Instants stand for "how long still", so it changes only when
// something does.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "controllers/autoscaler/loop/run_once.h"

namespace evenkeel::controllers::autoscaler {

/// As much as fits into a ConfigMap many times over; the first by name.
inline constexpr size_t kExplainedMax = 200;

/// Why a pod does not go to a node.
struct Miss {
  std::string text;    ///< "NodeResourcesFit: Insufficient cpu (500m requested, 200m free of 4: 300m missing)"
  std::string reason;  ///< the same without amounts: what misses of one kind have in common
  double lacking = 0;  ///< as a part of what is requested
};
Miss MissOf(const scheduling::Fit& fit);
inline Miss MissOf(const std::string& text) { return {text, text, 0}; }

/// Why a pod stays pending.
struct PendingReason {
  std::string why;  ///< where it is no matter of groups: the pod's own reason, or the loop's; "" otherwise
  std::map<std::string, Miss, std::less<>> groups;  ///< for each node group, why a new node of it does not help
};
base::JsonObject GroupsToJson(const PendingReason& reason);
/// Of all pods that the plan leaves without a node, by namespace/name; not of those that have room on a node.
std::map<std::string_view, PendingReason> PendingReasons(const LoopPlan& plan);
/// Why a pod with these facts, which has no room, is none that a scale-up is for.
std::string WhyPassedOver(const PodFacts& facts, PassedOver why);
/// One reason for every group: the loop did not get as far as looking at each. "" when it did.
std::string WhyNoScaleUp(const LoopPlan& plan);

/// Why the node, which is there, stays, or since when it is unneeded and when it goes: ExplainNode without its name.
std::string WhyNode(const ClusterView& view, const Options& options, const ScaleDownState& state, const ScaleDownPlan& plan,
                    scheduling::NodeId node);

base::JsonArray ToJson(std::span<const LeftAlone> left_alone);

/// {"pending": {"NAMESPACE/NAME": {"GROUP": "why it does not help, or how it grows for the pod"}},
///  "nodes": {"NAME": {"group", "since": since when it is unneeded, "waits": why it stays}},
///  "scaleDown": {"enabled", "message", "cooldownUntil"},
///  "leftAlone": [{"type", "name", "message"}]}; what has no value is left out.
base::Json Explanation(const LoopPlan& plan, const Options& options, const ScaleDownState& state);

}  // namespace evenkeel::controllers::autoscaler
