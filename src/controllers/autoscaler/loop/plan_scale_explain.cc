// `explain pod` and `explain node`.
#include "controllers/autoscaler/loop/explanation.h"
#include "controllers/autoscaler/loop/scale_session.h"

namespace evenkeel::controllers::autoscaler {

using scheduling::kNone;
using scheduling::NodeId;
using scheduling::PodId;

/// What the plan gives the pod: "" or the group that grows for it.
std::string ScaleSession::NewNodesFor(PodId pod) const {
  for (const ScaleUpStep& step : plan_.scale_ups) {
    if (std::ranges::find(step.placed, pod) == step.placed.end()) continue;
    std::string text;
    for (const GroupDelta& delta : step.changes) {
      text += (text.empty() ? "" : ", ") + delta.group + " " + std::to_string(delta.from) + " -> " + std::to_string(delta.to);
    }
    return text;
  }
  return "";
}

base::Json ScaleSession::GroupWord(const providers::NodeGroup& group, scheduling::ClassId pod_class) {
  base::JsonObject word{
      {"group", group.id}, {"fits", false}, {"why", ""}, {"size", group.target_size}, {"max", group.max_size}};
  const NodeTemplate* made = objects_.templates().Find(group.id);
  if (made == nullptr) {
    word["why"] = "nobody knows what its nodes are like: give it a template";
    return word;
  }
  scheduling::Snapshot& snapshot = objects_.snapshot();
  const scheduling::WhatIf fork(snapshot);
  const NodeId node = AddTemplateNode(snapshot, *made, made->node.meta.name);
  const scheduling::Fit fit = snapshot.Check(pod_class, node);
  std::string why = fit.fits() ? "fits on a new node" : DescribeFit(fit);
  for (const auto& skipped : plan_.scale_up.skipped) {
    if (skipped.group == group.id) why += "; may not grow: " + skipped.reason;
  }
  word["fits"] = fit.fits();
  word["why"] = why;
  return word;
}

/// Of a pod that has no node: whether it waits for one, and why it still does, or why it does not.
std::pair<bool, std::string> ScaleSession::WhyNoNode(PodId pod) const {
  const std::string growth = NewNodesFor(pod);
  const bool asked = std::ranges::find(plan_.unschedulable, pod) != plan_.unschedulable.end();
  if (!growth.empty()) return {true, "a scale-up is for it: " + growth};
  if (!plan_.stopped_at.empty() && !asked) return {true, WhyNoScaleUp(plan_)};
  if (std::ranges::find(plan_.pending, pod) == plan_.pending.end()) {
    return {false, "waits, but not for a node: it is gated, nominated, going, or another scheduler's"};
  }
  if (IsExpendable((*plan_.view.pods)[pod], input_.options)) {
    return {true, "its priority is below --expendable-pods-priority-cutoff: no node is worth having for it"};
  }
  if (!asked) return {true, "it has room on what is there or on its way, or it is too young"};
  return {true, plan_.decision == ScaleUpDecision::kGo ? "no scale-up helps it now" : WhyNoScaleUp(plan_)};
}

base::Result<base::Json> ScaleSession::ExplainPod(const std::string& key) {
  scheduling::Snapshot& snapshot = objects_.snapshot();
  const std::string full = key.contains('/') ? key : "default/" + key;
  const PodId pod = snapshot.FindPod(full);
  if (pod == kNone) return base::Fail(base::Code::kNotFound, "pod " + full + ": there is no such pod, or it has ended");
  base::JsonArray groups, fits;
  base::JsonObject json{{"pod", full}, {"node", nullptr}, {"pending", false}, {"why", ""}};
  if (const NodeId node = snapshot.NodeOf(pod); node != kNone) {
    json["node"] = snapshot.NodeName(node);
    json["why"] = "on node " + snapshot.NodeName(node);
  } else {
    const auto [pending, why] = WhyNoNode(pod);
    json["pending"] = pending;
    json["why"] = why;
    const scheduling::ClassId pod_class = snapshot.ClassOf(pod);
    for (const providers::NodeGroup& group : plan_.view.groups.groups) groups.push_back(GroupWord(group, pod_class));
    const std::vector<NodeId> nodes(snapshot.order().begin(), snapshot.order().end());
    for (const NodeId each : nodes) {
      if (each == kNone) continue;
      const scheduling::Fit fit = snapshot.Check(pod_class, each);
      fits.push_back(base::JsonObject{{"node", snapshot.NodeName(each)},
                                      {"fits", fit.fits()},
                                      {"why", fit.fits() ? std::string("fits") : DescribeFit(fit)}});
    }
  }
  json["groups"] = std::move(groups);
  json["nodes"] = std::move(fits);
  return json;
}

base::Result<base::Json> ScaleSession::ExplainNode(const std::string& name) const {
  const NodeId node = plan_.view.snapshot->FindNodeByName(name);
  if (node == kNone || !plan_.view.snapshot->Present(node)) {
    return base::Fail(base::Code::kNotFound, "node " + name + ": there is no such node");
  }
  const std::string& group = (*plan_.view.nodes)[node].group;
  base::JsonObject json{
      {"node", name}, {"group", group.empty() ? base::Json() : base::Json(group)}, {"unneededSince", nullptr}, {"why", ""}};
  if (!plan_.scale_down_looked) {
    json["why"] = "stays: no scale-down in this loop: " +
                  (plan_.stopped_at.empty() ? std::string("--scale-down-enabled=false") : plan_.why);
    return json;
  }
  if (const UnneededNode* unneeded = plan_.scale_down.FindUnneeded(node)) {
    json["unneededSince"] = base::FormatTime(unneeded->since);
  }
  json["why"] = WhyNode(plan_.view, input_.options, state_.scale_down, plan_.scale_down, node);
  return json;
}

base::Result<base::Json> ExplainPodScale(ScaleInput input, const std::string& key) {
  EVENKEEL_ASSIGN(const auto session, ScaleSession::Run(std::move(input)));
  return session->ExplainPod(key);
}

base::Result<base::Json> ExplainNodeScale(ScaleInput input, const std::string& name) {
  EVENKEEL_ASSIGN(const auto session, ScaleSession::Run(std::move(input)));
  return session->ExplainNode(name);
}

}  // namespace evenkeel::controllers::autoscaler
