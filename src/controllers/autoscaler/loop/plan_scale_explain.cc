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

base::Json ScaleSession::GroupWord(const providers::NodeGroup& group, scheduling::ClassId pod_class, std::string_view held) {
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
  const auto skipped = std::ranges::find(plan_.scale_up.skipped, group.id, &ScaleUpPlan::Skipped::group);
  if (skipped != plan_.scale_up.skipped.end()) {
    why += "; may not grow: " + skipped->reason;
  } else if (held.starts_with("a new node would take it")) {
    why = held;
  } else if (!held.empty() && held != why) {
    why += "; beside the nodes of this loop: " + std::string(held);
  }
  word["fits"] = fit.fits();
  word["why"] = why;
  return word;
}

std::string ScaleSession::RoomFor(PodId pod) const {
  const scheduling::Snapshot& snapshot = *plan_.view.snapshot;
  const std::string_view name = state_.hints.NameFor(snapshot, pod);
  const NodeId node = snapshot.FindNodeByName(name);
  if (node != kNone && snapshot.Present(node)) {
    return fmt::format("it has room on node {}: its scheduler {} has to bind it", name,
                       (*plan_.view.pods)[pod].scheduler_name.text());
  }
  for (const auto& [group, nodes] : plan_.upcoming) {
    const NodeTemplate* made = objects_.templates().Find(group);
    if (made != nullptr && name.starts_with(made->node.meta.name + "-upcoming-")) {
      return fmt::format("it has room on a node of group {} that is on its way", group);
    }
  }
  return "it has room on a node that is on its way";
}

/// Of a pod that a scale-up was asked for in vain.
std::string ScaleSession::WhyUnhelped(const std::string& key) const {
  const auto pending = PendingReasons(plan_);
  const auto found = pending.find(key);
  if (found == pending.end()) return "";
  if (!found->second.why.empty()) return found->second.why;
  std::set<std::string_view> reasons;
  for (const auto& [group, reason] : found->second.groups) reasons.emplace(reason.reason);
  if (reasons.size() == 1) return "no node group grows for it: " + std::string(*reasons.begin());
  return fmt::format("none of {} node groups grows for it, each for its own reason", found->second.groups.size());
}

/// Of a pod that has no node: whether it waits for one, and why it still does, or why it does not.
std::pair<bool, std::string> ScaleSession::WhyNoNode(PodId pod) const {
  const std::string growth = NewNodesFor(pod);
  if (!growth.empty()) return {true, "a scale-up is for it: " + growth};
  const bool pending = std::ranges::find(plan_.pending, pod) != plan_.pending.end();
  const auto passed = std::ranges::find(plan_.passed_over, pod, [](const auto& entry) { return entry.first; });
  if (passed != plan_.passed_over.end()) {
    if (passed->second == PassedOver::kHasRoom) return {true, RoomFor(pod)};
    return {pending, WhyPassedOver((*plan_.view.pods)[pod], passed->second)};
  }
  // A loop that stopped before it looked at pods has not sorted them.
  if (!pending && !plan_.stopped_at.empty()) return {true, WhyNoScaleUp(plan_)};
  return {pending, WhyUnhelped(objects_.PodKey(pod))};
}

/// What each node says of the pod while pods that are not less important have the room on the nodes that they are nominated
/// to. Empty: there are none.
std::map<NodeId, scheduling::Fit> ScaleSession::FitsBesideNominated(PodId pod) {
  scheduling::Snapshot& snapshot = objects_.snapshot();
  const scheduling::WhatIf beside(snapshot);
  bool any = false;
  for (const PodId other : objects_.pending()) {
    const std::string& nominated = (*plan_.view.pods)[other].nominated_node;
    if (other == pod || nominated.empty() || snapshot.PriorityOf(other) < snapshot.PriorityOf(pod)) continue;
    const NodeId node = snapshot.FindNodeByName(nominated);
    if (node == kNone || !snapshot.Present(node) || snapshot.NodeOf(other) != kNone) continue;
    snapshot.Place(other, node);
    any = true;
  }
  std::map<NodeId, scheduling::Fit> fits;
  if (!any) return fits;
  for (const NodeId node : snapshot.order()) {
    if (node != kNone) fits.emplace(node, snapshot.Check(snapshot.ClassOf(pod), node));
  }
  return fits;
}

/// {"CLAIM": {"REQUEST": ["DRIVER/POOL/DEVICE"]}}: a claim that is no object goes by its name in the pod.
base::JsonObject ToJson(const scheduling::PlacedDevices& placed) {
  base::JsonObject json;
  for (const scheduling::PlacedClaim& claim : placed.claims) {
    base::JsonObject requests;
    for (size_t i = 0; claim.allocation != nullptr && i < claim.allocation->results.size(); ++i) {
      const scheduling::DeviceResult& result = claim.allocation->results[i];
      base::Json& devices = requests[result.request];
      if (!devices.is_array()) devices = base::JsonArray{};
      devices.as_array().push_back(base::Json(result.device.ToString()));
    }
    json[claim.claim.empty() ? claim.pod_claim : claim.claim] = std::move(requests);
  }
  return json;
}

/// Adds the nodes to the explanation, by the reason and in the order of their filters, the last ones first: a node that only
/// the last filter refuses has passed all the others.
void ScaleSession::ExplainNodes(PodId pod, PodExplanation& explanation) {
  scheduling::Snapshot& snapshot = objects_.snapshot();
  const auto beside = FitsBesideNominated(pod);
  struct Refused {
    scheduling::Filter filter;
    std::pair<std::string, Miss> node;
  };
  std::vector<Refused> all;
  base::JsonArray json;
  const std::vector<NodeId> nodes(snapshot.order().begin(), snapshot.order().end());
  for (const NodeId node : nodes) {
    if (node == kNone) continue;
    // As kube-scheduler, which asks with nominated pods and without them.
    const auto found = beside.find(node);
    const bool refused = found != beside.end() && !found->second.fits();
    const scheduling::Fit fit = refused ? found->second : snapshot.Check(snapshot.ClassOf(pod), node);
    Miss miss = fit.fits() ? Miss{"fits", "", 0} : MissOf(fit);
    base::JsonObject word{{"node", snapshot.NodeName(node)}, {"fits", fit.fits()}, {"why", miss.text}};
    if (fit.fits()) {
      const scheduling::PlacedDevices placed = snapshot.DevicesFor(snapshot.ClassOf(pod), node);
      if (!placed.empty()) word["devices"] = ToJson(placed);
    }
    json.push_back(std::move(word));
    all.push_back({fit.filter, {snapshot.NodeName(node), std::move(miss)}});
  }
  explanation.json.as_object()["nodes"] = std::move(json);
  std::ranges::stable_sort(all, [](const Refused& a, const Refused& b) {
    const bool fits = a.filter == scheduling::Filter::kPass, other = b.filter == scheduling::Filter::kPass;
    if (fits != other) return fits;
    return a.filter != b.filter ? a.filter > b.filter : a.node.second.lacking < b.node.second.lacking;
  });
  std::vector<std::pair<std::string, Miss>> misses;
  for (Refused& refused : all) misses.push_back(std::move(refused.node));
  explanation.nodes = ByReason(std::move(misses));
}

base::Result<PodExplanation> ScaleSession::ExplainPod(const std::string& key) {
  scheduling::Snapshot& snapshot = objects_.snapshot();
  const std::string full = key.contains('/') ? key : "default/" + key;
  const PodId pod = snapshot.FindPod(full);
  if (pod == kNone) return base::Fail(base::Code::kNotFound, "pod " + full + ": there is no such pod, or it has ended");
  PodExplanation explanation{base::JsonObject{{"pod", full},
                                              {"node", nullptr},
                                              {"pending", false},
                                              {"why", ""},
                                              {"groups", base::JsonArray{}},
                                              {"nodes", base::JsonArray{}}},
                             {}};
  base::JsonObject& json = explanation.json.as_object();
  if (const NodeId node = snapshot.NodeOf(pod); node != kNone) {
    json["node"] = snapshot.NodeName(node);
    json["why"] = "on node " + snapshot.NodeName(node);
    return explanation;
  }
  auto [pending, why] = WhyNoNode(pod);
  const scheduling::ClassId pod_class = snapshot.ClassOf(pod);
  base::JsonArray groups;
  {
    const auto reasons = PendingReasons(plan_);
    const auto held = reasons.find(full);
    // What is no matter of groups is said once.
    const bool by_group = held != reasons.end() && held->second.why.empty();
    for (const providers::NodeGroup& group : plan_.view.groups.groups) {
      const bool known = by_group && held->second.groups.contains(group.id);
      groups.push_back(GroupWord(group, pod_class, known ? held->second.groups.at(group.id).text : ""));
    }
  }
  json["groups"] = std::move(groups);
  ExplainNodes(pod, explanation);
  if (IsTooYoung(pod)) {
    EVENKEEL_ASSIGN(const base::Json next, NextLoop());
    why += fmt::format("; the loop at {}: {}", base::FindString(next, {"at"}), WhyNoNode(pod).second);
  }
  json["pending"] = pending;
  json["why"] = why;
  return explanation;
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

base::Result<PodExplanation> ExplainPodScale(ScaleInput input, const std::string& key) {
  EVENKEEL_ASSIGN(const auto session, ScaleSession::Run(std::move(input)));
  return session->ExplainPod(key);
}

base::Result<base::Json> ExplainNodeScale(ScaleInput input, const std::string& name) {
  EVENKEEL_ASSIGN(const auto session, ScaleSession::Run(std::move(input)));
  return session->ExplainNode(name);
}

}  // namespace evenkeel::controllers::autoscaler
