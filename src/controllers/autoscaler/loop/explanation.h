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

/// For each pod that a scale-up was asked for in vain and each node group, why a new node of the group does not help.
std::map<std::string_view, base::JsonObject> PendingReasons(const LoopPlan& plan);
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
