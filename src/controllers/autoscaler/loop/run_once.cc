#include "controllers/autoscaler/loop/run_once.h"

#include "controllers/autoscaler/options/event_kinds.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using scheduling::kNone;
using scheduling::NodeId;
using scheduling::PodId;

/// After so many refusals a loop leaves the pods to the next one.
constexpr int kRefusalsMax = 10;

/// The call may have been carried out, or still be.
bool Unanswered(const base::Error& error) {
  return error.code() == base::Code::kTimeout || error.code() == base::Code::kUnavailable;
}

class Loop {
 public:
  Loop(ClusterObjects& objects, providers::NodeGroups groups, const Options& options, const ExpanderChain& expanders,
       AutoscalerState& state, base::Random& random, const LoopRequest& request)
      : objects_(objects), options_(options), expanders_(expanders), state_(state), random_(random), request_(request) {
    plan_.view = objects.View(std::move(groups), request.now);
  }

  LoopPlan Run() {
    NoteLeftAlone();
    Stages();
    ReportStatus();
    return std::move(plan_);
  }

 private:
  ClusterView& view() { return plan_.view; }
  scheduling::Snapshot& snapshot() { return *plan_.view.snapshot; }

  template <typename Part>
  auto Timed(const char* name, const Part& part) {
    const base::Instant began = request_.clock == nullptr ? base::Instant{} : request_.clock->Monotonic();
    const auto note = [&] {
      if (request_.clock != nullptr) plan_.durations.emplace_back(name, request_.clock->Monotonic() - began);
    };
    if constexpr (std::is_void_v<decltype(part())>) {
      part();
      note();
    } else {
      auto answer = part();
      note();
      return answer;
    }
  }

  void NoteLeftAlone() {
    for (const providers::NodeGroup& group : view().groups.groups) {
      if (!group.set_aside.empty()) {
        NoteSetAside(group);
      } else if (!group.keeps_nodes.empty()) {
        plan_.left_alone.push_back({"NodeGroupKeepsNodes", group.id, group.keeps_nodes});
      }
    }
    for (const std::string& complaint : view().groups.complaints) {
      plan_.left_alone.push_back({"ProviderAnswerUnusable", "", complaint});
    }
  }

  void NoteSetAside(const providers::NodeGroup& group) {
    const std::string what = "node group " + group.id + " is set aside: " + group.set_aside;
    plan_.left_alone.push_back({"NodeGroupSetAside", group.id, group.set_aside});
    plan_.notes.push_back(what);
    plan_.events.push_back({true, events::kNodeGroupSetAside.reason, what});
  }

  /// What never became a node here may have become one of another member. Asked only when it would be deleted otherwise.
  void LeaveOthersNodes() {
    if (!request_.nodes_elsewhere) return;
    std::set<std::string, std::less<>> groups;
    for (const auto& [id, instance] : state_.cluster.unregistered()) {
      const GroupState* group = state_.cluster.Find(instance.group);
      if (group != nullptr && instance.since + group->provision_time < request_.now) groups.insert(instance.group);
    }
    if (groups.empty()) return;
    const auto [elsewhere, now] = request_.nodes_elsewhere();
    for (const std::string& id : groups) {
      providers::NodeGroup* group = view().groups.Find(id);
      if (group == nullptr || !group->set_aside.empty()) continue;
      if (elsewhere) {
        for (const providers::Instance& instance : group->instances) {
          const auto node = elsewhere->find(instance.id);
          if (node != elsewhere->end()) group->set_aside = "instance " + instance.id + " is a node of member " + node->second;
        }
      }
      if (!group->set_aside.empty()) {
        NoteSetAside(*group);
      } else if (group->keeps_nodes.empty() && !(elsewhere && now)) {
        group->keeps_nodes = "whether its instances have become nodes of other members is ";
        group->keeps_nodes += elsewhere ? "soon asked again" : "not known: " + elsewhere.error().message();
        plan_.left_alone.push_back({"NodeGroupKeepsNodes", group->id, group->keeps_nodes});
      }
    }
  }

  void Stages() {
    CleanUp();
    if (!Take("CheckActionable", CheckActionable(view(), options_, request_.uptime))) return;
    SplitPods();
    objects_.templates().Update(view(), objects_.Objects());
    if (!Take("UpdateClusterState",
              Timed("updateClusterState", [&] { return UpdateClusterState(view(), options_, state_.cluster); }))) {
      return;
    }
    updated_ = true;
    LeaveOthersNodes();
    if (!Take("RemoveLongUnregistered", RemoveLongUnregistered(view(), options_, state_.cluster))) return;
    if (!Take("CheckClusterHealth", CheckClusterHealth(view(), options_, state_.cluster))) return;
    if (!Take("DeleteFailedCreations", DeleteFailedCreations(view(), options_, state_.cluster))) return;
    if (!Take("FixNodeGroupSize", FixNodeGroupSize(view(), options_, state_.cluster))) return;
    // The autoscaler decides by what the API says.
    const scheduling::WhatIf fork(snapshot(), scheduling::Layers::kTold);
    PrepareSnapshot();
    AddUpcoming();
    Timed("filterOutSchedulable", [&] { FilterPods(); });
    if (!Timed("scaleUp", [&] { return ScaleUp(); })) return;
    Timed("findUnneeded", [&] { ScaleDown(); });
    EnforceMinimum();
  }

  /// Within the limits of the whole cluster, as far as this loop has not used them up.
  void EnforceMinimum() {
    if (!options_.enforce_node_group_min_size || unanswered_) return;
    ScaleUpRequest request = RequestForScaleUp();
    request.granted = plan_.scale_ups;
    std::map<std::string, int64_t, std::less<>> allowed;
    for (const GroupDelta& delta : EnforceMinSizes(view(), options_, objects_.templates(), objects_.Objects(), request)) {
      allowed[delta.group] = delta.to - delta.from;
    }
    const auto allowance = [&](const providers::NodeGroup& group, int64_t wanted) {
      const auto found = allowed.find(group.id);
      return found == allowed.end() ? int64_t{0} : std::min(wanted, found->second);
    };
    Take("EnforceMinSize", EnforceMinSize(view(), options_, state_.cluster, allowance));
  }

  /// False: the loop ends here.
  bool Take(const char* stage, StageResult result) {
    std::ranges::move(result.events, std::back_inserter(plan_.events));
    std::ranges::move(result.notes, std::back_inserter(plan_.notes));
    for (GroupChange& change : result.changes) {
      if (request_.act) {
        if (const auto done = request_.act(change); !done) Refused(change, done.error());
      }
      plan_.changes.push_back(std::move(change));
    }
    if (result.clear_unneeded) state_.scale_down.unneeded.Clear();
    if (result.stop) {
      plan_.stopped_at = stage;
      plan_.why = std::move(result.why);
    }
    return !result.stop;
  }

  void Refused(const GroupChange& change, const base::Error& error) {
    if (change.kind == GroupChange::Kind::kIncreaseSize && Unanswered(error)) {
      const providers::NodeGroup* group = view().groups.Find(change.group);
      return NotAnswered(change, group == nullptr ? change.delta : group->target_size, error);
    }
    if (providers::NodeGroup* group = view().groups.Find(change.group)) group->target_size -= change.delta;
    plan_.notes.push_back("node group " + change.group + ": " + change.why + ": " + error.message());
    if (change.kind != GroupChange::Kind::kIncreaseSize) return;
    state_.cluster.RegisterScaleUp(change.group, -change.delta, request_.now);
    RegisterFailure(change.group, error);
  }

  /// The nodes count as asked for, and nobody else is asked before the sizes have been read again.
  void NotAnswered(const GroupChange& change, int64_t target, const base::Error& error) {
    plan_.notes.push_back("node group " + change.group + ": " + change.why +
                          ": no answer, so it is waited for until its size says more: " + error.message());
    state_.cluster.RegisterUnanswered(change.group, target, change.delta, request_.now);
    unanswered_ = true;
  }

  void RegisterFailure(const std::string& group, const base::Error& error) {
    state_.cluster.RegisterFailedScaleUp(group,
                                         {providers::Instance::ErrorClass::kOther, "cloudProviderError",
                                          "failed to increase node group size: " + error.message()},
                                         request_.now);
  }

  void CleanUp() {
    if (!state_.cleaned_up) plan_.cleanup = CleanUpLeftovers(view(), options_);
    state_.cleaned_up = true;
  }

  bool Waits(const PodFacts& pod) const {
    const auto& allowed = options_.allowed_scheduler_names;
    if (!allowed.empty() && std::ranges::find(allowed, pod.scheduler_name) == allowed.end()) return false;
    if (pod.deleted) return false;
    if (pod.unschedulable) return true;
    const auto& bypassed = options_.bypassed_scheduler_names;
    return pod.unprocessed && (request_.count_unprocessed || std::ranges::find(bypassed, pod.scheduler_name) != bypassed.end());
  }

  void SplitPods() {
    for (const PodId pod : objects_.pending()) {
      const PodFacts& facts = (*view().pods)[pod];
      if (!facts.nominated_node.empty() && !facts.deleted) {
        nominated_.push_back(pod);
      } else if (Waits(facts)) {
        plan_.pending.push_back(pod);
      }
    }
  }

  /// Pods that others may push aside are not there, those with a place in view are on it.
  void PrepareSnapshot() {
    for (const PodId pod : objects_.expendable()) {
      if (snapshot().NodeOf(pod) != kNone) snapshot().Unplace(pod);
    }
    for (const PodId pod : nominated_) {
      const NodeId node = snapshot().FindNodeByName((*view().pods)[pod].nominated_node);
      if (node == kNone || !snapshot().Present(node) || snapshot().NodeOf(pod) != kNone) continue;
      if (!IsExpendable((*view().pods)[pod], options_)) snapshot().Place(pod, node);
    }
  }

  void AddUpcoming() {
    const ClusterState::Upcoming upcoming = FindUpcomingNodes(view(), options_, state_.cluster);
    plan_.upcoming = upcoming.nodes;
    std::vector<NodeId> not_started;
    for (const auto& [group, nodes] : upcoming.registered) not_started.insert(not_started.end(), nodes.begin(), nodes.end());
    upcoming_ = AddUpcomingNodes(snapshot(), objects_.templates(), {upcoming.nodes.begin(), upcoming.nodes.end()}, not_started);
    for (const UpcomingNode& node : upcoming_) objects_.CoverNode(node.node);
  }

  void FilterPods() {
    PodIds pods = plan_.pending;
    DropExpendable(view(), options_, pods);
    std::vector<NodeId> drained;
    for (const std::string& name : request_.deleting_drain) {
      const NodeId node = snapshot().FindNodeByName(name);
      if (node != kNone && snapshot().Present(node)) drained.push_back(node);
    }
    AddRecreatable(view(), drained, pods);
    FilterOutSchedulable(view(), state_.hints, pods);
    DropDaemonPods(view(), pods);
    std::ranges::move(DropYoung(view(), options_, pods), std::back_inserter(plan_.notes));
    plan_.unschedulable = std::move(pods);
  }

  ScaleUpRequest RequestForScaleUp() const {
    ScaleUpRequest request;
    for (const providers::NodeGroup& group : plan_.view.groups.groups) {
      request.health[group.id] = {state_.cluster.IsGroupHealthy(group.id), state_.cluster.IsBackedOff(group.id)};
    }
    request.upcoming = upcoming_;
    request.quotas = request_.quotas;
    request.clock = request_.clock;
    request.expander.cluster_nodes = plan_.view.snapshot->node_count();
    request.expander.gpu_label = plan_.view.groups.gpu_label;
    request.expander.ns = options_.ns;
    request.expander.priorities = objects_.expander_priorities();
    return request;
  }

  /// False: with 1.26's rules a loop that has scaled up ends.
  bool ScaleUp() {
    plan_.decision = DecideScaleUp(view(), options_, plan_.unschedulable, state_.cluster.total().ready);
    if (plan_.decision == ScaleUpDecision::kLimitedByMaxNodesTotal) NoteMaxNodes();
    if (plan_.decision == ScaleUpDecision::kInCooldown) scale_down_disabled_ = true;
    if (plan_.decision != ScaleUpDecision::kGo) return true;
    ScaleUpRequest request = RequestForScaleUp();
    request.pods = plan_.unschedulable;
    const ScaleUpPlanner planner(options_, expanders_);
    for (int refusals = 0; refusals <= kRefusalsMax; ++refusals) {
      plan_.scale_up = planner.Plan(view(), objects_.templates(), objects_.Objects(), request, random_);
      for (const ExpanderEvent& event : plan_.scale_up.warnings) plan_.events.push_back({true, event.reason, event.message});
      if (plan_.scale_up.outcome == ScaleUpPlan::Outcome::kMaxNodesReached) NoteMaxNodes();
      if (CarryOut(request)) break;
    }
    plan_.scale_ups = std::move(request.granted);
    if (plan_.scale_ups.empty()) return true;
    state_.cluster.Recalculate(view());
    if (options_.compat != Compat::k1_26) return true;
    plan_.stopped_at = "ScaleUp";
    plan_.why = "the cluster has just been scaled up";
    return false;
  }

  void NoteMaxNodes() {
    plan_.events.push_back({true, events::kMaxNodesTotalReached.reason,
                            "Max total nodes in cluster reached: " + std::to_string(options_.max_nodes_total)});
  }

  /// False when a group has refused: the plan is to be made anew without it.
  bool CarryOut(ScaleUpRequest& request) {
    for (const ScaleUpStep& step : plan_.scale_up.steps) {
      std::set<std::string, std::less<>> refused;
      for (const GroupDelta& delta : step.changes) {
        if (unanswered_ || !Increase(delta, step.atomic)) refused.insert(delta.group);
      }
      if (refused.size() < step.changes.size()) {
        request.granted.push_back(refused.empty() ? step : WithoutGroups(snapshot(), step, refused));
      }
      if (unanswered_) return true;
      if (!refused.empty()) {
        request.excluded.insert(refused.begin(), refused.end());
        return false;
      }
    }
    return true;
  }

  bool Increase(const GroupDelta& delta, bool atomic) {
    providers::NodeGroup* group = view().groups.Find(delta.group);
    GroupChange change;
    change.kind = GroupChange::Kind::kIncreaseSize;
    change.group = delta.group;
    change.delta = delta.to - delta.from;
    change.atomically = atomic;
    change.why = "scale up from " + std::to_string(delta.from) + " to " + std::to_string(delta.to);
    AddScaleUpEvents(change, delta.from, group == nullptr ? delta.to : group->max_size);
    base::Status done;
    if (request_.act) done = request_.act(change);
    const bool unanswered = !done && Unanswered(done.error());
    if (!done && !unanswered) {
      plan_.notes.push_back("node group " + delta.group + ": " + change.why + ": " + done.error().message());
      RegisterFailure(delta.group, done.error());
    } else {
      if (group != nullptr) group->target_size = delta.to;
      state_.cluster.RegisterScaleUp(delta.group, change.delta, request_.now);
      state_.scale_down.ScaledUp(delta.group, request_.now);
      if (unanswered) NotAnswered(change, delta.to, done.error());
    }
    plan_.changes.push_back(std::move(change));
    return done || unanswered;
  }

  void ScaleDown() {
    if (!options_.scale_down_enabled) return;
    std::vector<ReplacementTemplate> replacements;
    if (options_.consolidate) {
      for (const providers::NodeGroup& group : view().groups.groups) {
        const NodeTemplate* made = objects_.templates().Find(group.id);
        if (made != nullptr && made->id != kNone) replacements.push_back({group.id, made->id, made->pods});
      }
    }
    const ScaleDownRequest request{.deleting_empty = request_.deleting_empty,
                                   .deleting_drain = request_.deleting_drain,
                                   .disabled_for_loop = scale_down_disabled_,
                                   .plan_under_way = objects_.PlanUnderWay(request_.now),
                                   .clock = request_.clock,
                                   .templates = replacements};
    plan_.scale_down = PlanScaleDown(view(), options_, request, state_.scale_down);
    plan_.scale_down_looked = true;
    const auto& consolidation = plan_.scale_down.consolidation;
    if (!consolidation || consolidation->add == 0) return;
    const providers::NodeGroup* group = view().groups.Find(consolidation->group);
    const int64_t from = group == nullptr ? 0 : group->target_size;
    if (!Increase({consolidation->group, from, from + consolidation->add}, false)) state_.scale_down.consolidation.reset();
  }

  void ReportStatus() {
    if (!updated_) {
      plan_.status = state_.status.Initializing(plan_.why, plan_.left_alone, request_.now);
      return;
    }
    ScaleDownCandidates candidates{{}, request_.now};
    for (const UnneededNode& node : plan_.scale_down.unneeded) {
      if (node.group != nullptr) ++candidates.by_group[node.group->id];
    }
    plan_.status = state_.status.Report(view(), state_.cluster, candidates, plan_.left_alone);
  }

  ClusterObjects& objects_;
  const Options& options_;
  const ExpanderChain& expanders_;
  AutoscalerState& state_;
  base::Random& random_;
  const LoopRequest& request_;
  LoopPlan plan_;
  bool updated_ = false, scale_down_disabled_ = false;
  bool unanswered_ = false;  // an increase of this loop
  PodIds nominated_;
  std::vector<UpcomingNode> upcoming_;
};

}  // namespace

LoopPlan RunOnce(ClusterObjects& objects, providers::NodeGroups groups, const Options& options, const ExpanderChain& expanders,
                 AutoscalerState& state, base::Random& random, const LoopRequest& request) {
  return Loop(objects, std::move(groups), options, expanders, state, random, request).Run();
}

}  // namespace evenkeel::controllers::autoscaler
