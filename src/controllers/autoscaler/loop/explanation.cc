#include "controllers/autoscaler/loop/explanation.h"

#include <algorithm>
#include <set>

#include "controllers/autoscaler/loop/scale_session.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Json;
using base::JsonObject;
using scheduling::PodId;

PendingReason ForAllGroups(const LoopPlan& plan, std::string why) {
  PendingReason reason;
  for (const providers::NodeGroup& group : plan.view.groups.groups) reason.groups[group.id] = MissOf(why);
  reason.why = std::move(why);
  return reason;
}

PendingReason ReasonOf(const LoopPlan& plan, size_t pod_group) {
  if (plan.view.groups.groups.empty()) return {"there is no node group that could grow", {}};
  PendingReason reason;
  // Only of pods that the plan had a place for, and whose group did not get its nodes.
  for (const providers::NodeGroup& group : plan.view.groups.groups) {
    reason.groups[group.id] = MissOf("was to grow, but the provider has refused or not answered: the next loop decides anew");
  }
  for (const auto& misfit : plan.scale_up.misfits[pod_group]) reason.groups[misfit.group] = MissOf(misfit.fit);
  if (pod_group >= plan.scale_up.left.size()) return reason;
  for (const auto& left : plan.scale_up.left[pod_group]) {
    reason.groups[left.group] = left.reason.empty() ? MissOf(left.fit) : MissOf(left.reason);
  }
  return reason;
}

/// Whether that holds until somebody does something about it.
bool Lasts(PassedOver why) {
  return why != PassedOver::kDeleted && why != PassedOver::kUnprocessed && why != PassedOver::kHasRoom &&
         why != PassedOver::kYoung;
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
  std::set<std::string_view> passing;
  for (const auto& [pod, why] : plan.passed_over) {
    if (!Lasts(why)) passing.insert(plan.view.snapshot->PodKey(pod));
  }
  for (auto& [key, reason] : PendingReasons(plan)) {
    if (pending.size() >= kExplainedMax) break;
    if (!passing.contains(key)) pending[key] = GroupsToJson(reason);
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
  const auto until = CoolDownUntil(state, options, plan.view.now.Read());
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

Miss MissOf(const scheduling::Fit& fit) {
  Miss miss;
  for (const scheduling::Reason& reason : fit.reasons) {
    miss.reason += (miss.reason.empty() ? "" : ", ") + reason.text;
    if (reason.requested > 0) miss.lacking += static_cast<double>(reason.missing()) / static_cast<double>(reason.requested);
  }
  miss.reason = std::string(Name(fit.filter)) + ": " + (miss.reason.empty() ? "refused" : miss.reason);
  miss.text = DescribeFit(fit);
  return miss;
}

JsonObject GroupsToJson(const PendingReason& reason) {
  JsonObject groups;
  for (const auto& [group, miss] : reason.groups) groups[group] = miss.text;
  return groups;
}

std::string WhyNoScaleUp(const LoopPlan& plan) {
  if (plan.decision == ScaleUpDecision::kLimitedByMaxNodesTotal) return "max total nodes in cluster reached";
  if (plan.decision == ScaleUpDecision::kInCooldown) return "the pods are too new: the next loop decides";
  return plan.stopped_at.empty() ? "" : "no scale-up in this loop: " + plan.why;
}

std::string WhyPassedOver(const PodFacts& facts, PassedOver why) {
  switch (why) {
    case PassedOver::kDeleted:
      return "it is being deleted";
    case PassedOver::kNominated:
      return fmt::format("nominated to node {}: it goes there when pods of lower priority have left",
                         facts.nominated_node.text());
    case PassedOver::kOtherScheduler:
      return fmt::format("another scheduler's: {} is none of --allowed-scheduler-names", facts.scheduler_name.text());
    case PassedOver::kGated:
      return fmt::format("gated: its scheduling gate {} has to be removed first", facts.gate.text());
    case PassedOver::kUnprocessed:
      return fmt::format("its scheduler {} has not looked at it yet", facts.scheduler_name.text());
    case PassedOver::kSchedulerError:
      return fmt::format(
          "its scheduler {} does not say that there is no room: {}", facts.scheduler_name.text(),
          facts.scheduler_says.empty() ? "its condition PodScheduled is not False" : facts.scheduler_says.text());
    case PassedOver::kExpendable:
      return "its priority is below --expendable-pods-priority-cutoff: no node is worth having for it";
    case PassedOver::kHasRoom:
      return "it has room on a node";
    case PassedOver::kDaemon:
      return "a DaemonSet's pod: it belongs on a node that is there, so no node is made for it";
    case PassedOver::kYoung:
      return facts.scale_up_delay.empty() ? "too young: --new-pod-scale-up-delay is not over"
                                          : "too young: its pod-scale-up-delay of " + facts.scale_up_delay + " is not over";
  }
  return "";
}

std::map<std::string_view, PendingReason> PendingReasons(const LoopPlan& plan) {
  const scheduling::Snapshot& snapshot = *plan.view.snapshot;
  std::map<std::string_view, PendingReason> pending;
  if (plan.decision != ScaleUpDecision::kGo) {
    const bool stopped = !plan.stopped_at.empty();
    const std::string why = WhyNoScaleUp(plan);
    for (const PodId pod : stopped ? plan.pending : plan.unschedulable) pending[snapshot.PodKey(pod)] = ForAllGroups(plan, why);
  } else {
    std::set<PodId> placed;
    for (const ScaleUpStep& step : plan.scale_ups) placed.insert(step.placed.begin(), step.placed.end());
    for (size_t i = 0; i < plan.scale_up.pod_groups.size(); ++i) {
      std::optional<PendingReason> reason;
      for (const PodId pod : plan.scale_up.pod_groups[i].pods) {
        if (placed.contains(pod)) continue;
        if (!reason) reason = ReasonOf(plan, i);
        pending[snapshot.PodKey(pod)] = *reason;
      }
    }
  }
  for (const auto& [pod, why] : plan.passed_over) {
    if (why == PassedOver::kHasRoom) continue;
    pending[snapshot.PodKey(pod)] = ForAllGroups(plan, WhyPassedOver((*plan.view.pods)[pod], why));
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
    if (!facts.group.empty()) entry["group"] = facts.group.text();
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
