#include "controllers/autoscaler/loop/explanation.h"

#include <algorithm>
#include <set>

#include "controllers/autoscaler/loop/scale_session.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Json;
using base::JsonObject;
using scheduling::PodId;

JsonObject ReasonForAll(const LoopPlan& plan) {
  const std::string why = WhyNoScaleUp(plan);
  JsonObject reasons;
  for (const providers::NodeGroup& group : plan.view.groups.groups) reasons[group.id] = why;
  return reasons;
}

JsonObject Reasons(const LoopPlan& plan, size_t pod_group) {
  JsonObject reasons;
  const bool full = plan.scale_up.outcome == ScaleUpPlan::Outcome::kMaxNodesReached;
  for (const providers::NodeGroup& group : plan.view.groups.groups) {
    reasons[group.id] = full ? "max node total count already reached" : "a new node would take it: left to a later loop";
  }
  for (const auto& misfit : plan.scale_up.misfits[pod_group]) reasons[misfit.group] = DescribeFit(misfit.fit);
  for (const auto& skipped : plan.scale_up.skipped) reasons[skipped.group] = skipped.reason;
  return reasons;
}

JsonObject ExplainPending(const LoopPlan& plan) {
  JsonObject pending;
  for (const ScaleUpStep& step : plan.scale_ups) {
    JsonObject growth;
    for (const GroupDelta& delta : step.changes)
      growth[delta.group] = fmt::format("grows for it: {} to {}", delta.from, delta.to);
    for (const PodId pod : step.placed) {
      if (pending.size() < kExplainedMax) pending[plan.view.snapshot->PodKey(pod)] = growth;
    }
  }
  for (auto& [key, reasons] : PendingReasons(plan)) {
    if (pending.size() >= kExplainedMax) break;
    pending[key] = std::move(reasons);
  }
  return pending;
}

std::optional<base::Time> CoolDownUntil(const ScaleDownState& state, const Options& options, base::Time now) {
  std::optional<base::Time> until;
  const auto note = [&](const std::optional<base::Time>& time, base::Duration delay) {
    if (time && *time + delay > now) until = std::max(until.value_or(now), *time + delay);
  };
  note(state.cool_down.scale_up, options.scale_down_delay_after_add);
  note(state.cool_down.failure, options.scale_down_delay_after_failure);
  note(state.cool_down.deletion, options.scale_down_delay_after_delete);
  return until;
}

JsonObject ExplainScaleDown(const LoopPlan& plan, const Options& options, const ScaleDownState& state) {
  JsonObject told{{"enabled", options.scale_down_enabled}};
  const auto until = CoolDownUntil(state, options, plan.view.now);
  if (!options.scale_down_enabled) {
    told["message"] = "--scale-down-enabled=false";
  } else if (!plan.stopped_at.empty()) {
    told["message"] = plan.why;
  } else if (plan.scale_down.in_cool_down() && until && !options.scale_down_delay_type_local) {
    told["message"] = "cool-down after a scale-up, a deletion or a failure";
    told["cooldownUntil"] = base::FormatTime(*until);
  } else if (plan.scale_down.in_cool_down()) {
    told["message"] = plan.scale_down.cool_down;
  }
  return told;
}

}  // namespace

std::string WhyNoScaleUp(const LoopPlan& plan) {
  if (plan.decision == ScaleUpDecision::kLimitedByMaxNodesTotal) return "max total nodes in cluster reached";
  if (plan.decision == ScaleUpDecision::kInCooldown) return "the pods are too new: the next loop decides";
  return plan.stopped_at.empty() ? "" : "no scale-up in this loop: " + plan.why;
}

std::map<std::string_view, JsonObject> PendingReasons(const LoopPlan& plan) {
  const scheduling::Snapshot& snapshot = *plan.view.snapshot;
  std::map<std::string_view, JsonObject> pending;
  if (plan.decision != ScaleUpDecision::kGo) {
    const bool stopped = !plan.stopped_at.empty();
    for (const PodId pod : stopped ? plan.pending : plan.unschedulable) pending[snapshot.PodKey(pod)] = ReasonForAll(plan);
    return pending;
  }
  std::set<PodId> placed;
  for (const ScaleUpStep& step : plan.scale_ups) placed.insert(step.placed.begin(), step.placed.end());
  for (size_t i = 0; i < plan.scale_up.pod_groups.size(); ++i) {
    std::optional<JsonObject> reasons;
    for (const PodId pod : plan.scale_up.pod_groups[i].pods) {
      if (placed.contains(pod)) continue;
      if (!reasons) reasons = Reasons(plan, i);
      pending[snapshot.PodKey(pod)] = *reasons;
    }
  }
  return pending;
}

base::JsonArray ToJson(std::span<const LeftAlone> left_alone) {
  base::JsonArray array;
  for (const LeftAlone& left : left_alone) {
    array.push_back(JsonObject{{"type", left.type}, {"name", left.name}, {"message", left.message}});
  }
  return array;
}

Json Explanation(const LoopPlan& plan, const Options& options, const ScaleDownState& state) {
  JsonObject nodes;
  for (NodeWord& word : ExplainStays(plan.view, options, state, plan.scale_down, kExplainedMax)) {
    const NodeFacts& facts = (*plan.view.nodes)[word.node];
    JsonObject entry{{"waits", std::move(word.text)}};
    if (!facts.group.empty()) entry["group"] = facts.group;
    if (const UnneededNode* unneeded = plan.scale_down.FindUnneeded(word.node))
      entry["since"] = base::FormatTime(unneeded->since);
    nodes[facts.name] = std::move(entry);
  }
  JsonObject told{
      {"pending", ExplainPending(plan)}, {"nodes", std::move(nodes)}, {"scaleDown", ExplainScaleDown(plan, options, state)}};
  if (!plan.left_alone.empty()) told["leftAlone"] = ToJson(plan.left_alone);
  return told;
}

}  // namespace evenkeel::controllers::autoscaler
