// `explain pod` and `explain node`.
#include "controllers/autoscaler/explanation.h"
#include "controllers/autoscaler/scale_session.h"

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

std::string ScaleSession::GroupLine(const providers::NodeGroup& group, scheduling::ClassId pod_class) {
  std::string text = "  group " + group.id + ": ";
  const NodeTemplate* made = objects_.templates().Find(group.id);
  if (made == nullptr) return text + "nobody knows what its nodes are like: give it a template\n";
  scheduling::Snapshot& snapshot = objects_.snapshot();
  const scheduling::WhatIf fork(snapshot);
  const NodeId node = AddTemplateNode(snapshot, *made, made->node.meta.name);
  const scheduling::Fit fit = snapshot.Check(pod_class, node);
  text += fit.fits() ? "fits on a new node" : DescribeFit(fit);
  for (const auto& skipped : plan_.scale_up.skipped) {
    if (skipped.group == group.id) text += "; may not grow: " + skipped.reason;
  }
  text += " (size " + std::to_string(group.target_size) + ", maximum " + std::to_string(group.max_size) + ")";
  return text + "\n";
}

base::Result<std::string> ScaleSession::ExplainPod(const std::string& key) {
  scheduling::Snapshot& snapshot = objects_.snapshot();
  const std::string full = key.contains('/') ? key : "default/" + key;
  const PodId pod = snapshot.FindPod(full);
  if (pod == kNone) return base::Fail(base::Code::kNotFound, "pod " + full + ": there is no such pod, or it has ended");
  std::string text = "pod " + full + ": ";
  if (const NodeId node = snapshot.NodeOf(pod); node != kNone) return text + "on node " + snapshot.NodeName(node) + "\n";
  const std::string growth = NewNodesFor(pod);
  const bool asked = std::ranges::find(plan_.unschedulable, pod) != plan_.unschedulable.end();
  if (!growth.empty()) {
    text += "pending; a scale-up is for it: " + growth;
  } else if (!plan_.stopped_at.empty() && !asked) {
    text += "pending; " + WhyNoScaleUp(plan_);
  } else if (std::ranges::find(plan_.pending, pod) == plan_.pending.end()) {
    text += "waits, but not for a node: it is gated, nominated, going, or another scheduler's";
  } else if (IsExpendable((*plan_.view.pods)[pod], input_.options)) {
    text += "pending; its priority is below --expendable-pods-priority-cutoff: no node is worth having for it";
  } else if (!asked) {
    text += "pending; it has room on what is there or on its way, or it is too young";
  } else if (plan_.decision != ScaleUpDecision::kGo) {
    text += "pending; " + WhyNoScaleUp(plan_);
  } else {
    text += "pending; no scale-up helps it now";
  }
  text += "\n";
  const scheduling::ClassId pod_class = snapshot.ClassOf(pod);
  for (const providers::NodeGroup& group : plan_.view.groups.groups) text += GroupLine(group, pod_class);
  const std::vector<NodeId> nodes(snapshot.order().begin(), snapshot.order().end());
  for (const NodeId node : nodes) {
    if (node == kNone) continue;
    const scheduling::Fit fit = snapshot.Check(pod_class, node);
    text += "  node " + snapshot.NodeName(node) + ": " + (fit.fits() ? std::string("fits") : DescribeFit(fit)) + "\n";
  }
  return text;
}

base::Result<std::string> ScaleSession::ExplainNode(const std::string& name) const {
  const NodeId node = plan_.view.snapshot->FindNodeByName(name);
  if (node == kNone || !plan_.view.snapshot->Present(node)) {
    return base::Fail(base::Code::kNotFound, "node " + name + ": there is no such node");
  }
  if (!plan_.scale_down_looked) {
    const std::string why = plan_.stopped_at.empty() ? "--scale-down-enabled=false" : plan_.why;
    return "node " + name + ": stays: no scale-down in this loop: " + why + "\n";
  }
  return autoscaler::ExplainNode(plan_.view, input_.options, state_.scale_down, plan_.scale_down, name) + "\n";
}

base::Result<std::string> ExplainPodScale(ScaleInput input, const std::string& key) {
  EVENKEEL_ASSIGN(const auto session, ScaleSession::Run(std::move(input)));
  return session->ExplainPod(key);
}

base::Result<std::string> ExplainNodeScale(ScaleInput input, const std::string& name) {
  EVENKEEL_ASSIGN(const auto session, ScaleSession::Run(std::move(input)));
  return session->ExplainNode(name);
}

}  // namespace evenkeel::controllers::autoscaler
