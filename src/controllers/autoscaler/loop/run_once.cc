#include "controllers/autoscaler/loop/run_once.h"

#include <deque>

#include "controllers/autoscaler/facts/pod_filters.h"
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

}  // namespace

class LoopRun::Stages {
 public:
  Stages(ClusterObjects& objects, providers::NodeGroups&& groups, const Options& options, const ExpanderChain& expanders,
         AutoscalerState& state, base::Random& random, LoopRequest request)
      : objects_(objects),
        options_(options),
        expanders_(expanders),
        state_(state),
        random_(random),
        request_(std::move(request)) {
    basis_ = LoopBasis::Of(objects, groups.revision, options, state, request_);
    if (auto recalled = state.last_loop.Recall(basis_, request_, objects, state)) {
      plan_ = *std::move(recalled);
      ended_ = true;
      return;
    }
    if (state.last_loop.MaySettle(basis_)) before_.emplace(state);
    drawn_before_ = random;
    plan_.view = objects.View(std::move(groups), LoopTime::Noting(request_.now));
  }

  const GroupChange* Next() {
    while (tasks_.empty() && !ended_) {
      (this->*kStages[stage_])();
      ended_ = ended_ || ++stage_ == std::size(kStages);
      if (ended_ && tasks_.empty()) End();
    }
    // Nobody is called inside a what-if.
    what_if_.reset();
    return tasks_.empty() ? nullptr : &tasks_.front().change;
  }

  void Answer(const base::Status& answer) {
    EVENKEEL_CHECK(!tasks_.empty());
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    task.answered(task.change, answer);
    plan_.changes.push_back(std::move(task.change));
    if (ended_ && tasks_.empty()) End();
  }

  LoopPlan Take() { return std::move(plan_); }

 private:
  /// A change, and what its answer means.
  struct Task {
    GroupChange change;
    std::function<void(const GroupChange& change, const base::Status& answer)> answered;
  };
  using Stage = void (Stages::*)();
  static const std::array<Stage, 11> kStages;

  ClusterView& view() { return plan_.view; }
  scheduling::Snapshot& snapshot() { return *plan_.view.snapshot; }

  base::Instant Now() const { return request_.clock == nullptr ? base::Instant{} : request_.clock->Monotonic(); }
  void NoteDuration(const char* name, base::Instant began) {
    if (request_.clock != nullptr) plan_.durations.emplace_back(name, request_.clock->Monotonic() - began);
  }

  Turn TurnOf() { return {&state_.next_node, request_.list_order}; }

  void NoteLeftAlone() {
    for (const providers::NodeGroup& group : view().groups.groups) NoteLeftAlone(group);
    for (const std::string& warning : view().groups.warnings) {
      plan_.left_alone.push_back({"ProviderAnswerUnusable", "", warning});
    }
  }

  void NoteLeftAlone(const providers::NodeGroup& group) {
    if (group.set_aside.empty() && group.keeps_nodes.empty()) return;
    if (group.set_aside.empty()) return plan_.left_alone.push_back({"NodeGroupKeepsNodes", group.id, group.keeps_nodes});
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
    asked_elsewhere_ = true;
    const NodesElsewhere elsewhere = request_.nodes_elsewhere();
    for (const std::string& id : groups) {
      providers::NodeGroup* group = view().groups.Find(id);
      if (group == nullptr || !group->set_aside.empty()) continue;
      if (LeaveNodesElsewhere(*group, elsewhere)) NoteLeftAlone(*group);
    }
  }

  void Begin() {
    NoteLeftAlone();
    if (!state_.cleaned_up) plan_.cleanup = CleanUpLeftovers(view(), options_);
    state_.cleaned_up = true;
    Take("CheckActionable", CheckActionable(view(), options_, request_.uptime));
  }

  void Update() {
    SplitPods();
    objects_.templates().Update(view(), objects_.Objects());
    const base::Instant began = Now();
    StageResult updated = UpdateClusterState(view(), options_, state_.cluster);
    NoteDuration("updateClusterState", began);
    updated_ = !updated.stop;
    Take("UpdateClusterState", std::move(updated));
  }

  void Unregistered() {
    LeaveOthersNodes();
    Take("RemoveLongUnregistered", RemoveLongUnregistered(view(), options_, state_.cluster));
  }
  void Health() { Take("CheckClusterHealth", CheckClusterHealth(view(), options_, state_.cluster)); }
  void FailedCreations() { Take("DeleteFailedCreations", DeleteFailedCreations(view(), options_, state_.cluster)); }
  void Sizes() { Take("FixNodeGroupSize", FixNodeGroupSize(view(), options_, state_.cluster)); }

  /// What scale-up and scale-down begin with: the cluster as the API tells of it, as upstream decides, with the nodes that are
  /// on their way and the pods that have a place already. The same again after somebody was called.
  void OpenWhatIf() {
    if (what_if_) return;
    what_if_.emplace(snapshot(), scheduling::Layers::kTold);
    PrepareSnapshot();
    AddUpcoming();
    for (const PodId pod : recreated_) snapshot().Unplace(pod);
    for (const PodId pod : placed_) {
      const NodeId node = state_.hints.Find(snapshot(), pod);
      if (node != kNone) snapshot().Place(pod, node);
    }
  }

  /// Within the limits of the whole cluster, as far as this loop has not used them up.
  void EnforceMinimum() {
    if (!options_.enforce_node_group_min_size || unanswered_) return;
    OpenWhatIf();
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

  /// The loop ends here if the stage says so, once its changes have been made.
  void Take(const char* stage, StageResult result) {
    std::ranges::move(result.events, std::back_inserter(plan_.events));
    std::ranges::move(result.notes, std::back_inserter(plan_.notes));
    for (GroupChange& change : result.changes) {
      tasks_.push_back({std::move(change), [this](const GroupChange& done, const base::Status& answer) {
                          if (!answer) Refused(done, answer.error());
                        }});
    }
    if (result.clear_unneeded) state_.scale_down.unneeded.Clear();
    if (result.stop) Stop(stage, std::move(result.why));
  }

  void Stop(const char* stage, std::string why) {
    plan_.stopped_at = stage;
    plan_.why = std::move(why);
    ended_ = true;
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

  void SplitPods() {
    for (const PodId pod : objects_.pending()) {
      const std::optional<PassedOver> why = WhyNotWaiting((*view().pods)[pod], options_, request_.count_unprocessed);
      if (!why) {
        plan_.pending.push_back(pod);
        continue;
      }
      plan_.passed_over.emplace_back(pod, *why);
      if (*why == PassedOver::kNominated) nominated_.push_back(pod);
    }
  }

  /// What `filter` takes out of the pods, whose order it keeps, is passed over for that reason.
  template <typename Filter>
  void PassOver(PodIds& pods, PassedOver why, const Filter& filter) {
    const PodIds before = pods;
    filter(pods);
    auto kept = pods.begin();
    for (const PodId pod : before) {
      if (kept != pods.end() && *kept == pod) {
        ++kept;
      } else {
        plan_.passed_over.emplace_back(pod, why);
      }
    }
  }

  /// Pods that others may push aside are not there, those with a place in view are on it.
  void PrepareSnapshot() {
    for (const PodId pod : objects_.expendable()) {
      if (snapshot().NodeOf(pod) != kNone) snapshot().Unplace(pod);
    }
    for (const PodId pod : nominated_) {
      const NodeId node = snapshot().FindNodeByName((*view().pods)[pod].nominated_node.text());
      if (node == kNone || !snapshot().Present(node) || snapshot().NodeOf(pod) != kNone) continue;
      if (!IsExpendable((*view().pods)[pod], options_)) snapshot().Place(pod, node);
    }
  }

  void AddUpcoming() {
    std::vector<NodeId> not_started;
    for (const auto& [group, nodes] : awaited_.registered) not_started.insert(not_started.end(), nodes.begin(), nodes.end());
    upcoming_ = AddUpcomingNodes(snapshot(), objects_.templates(), {awaited_.nodes.begin(), awaited_.nodes.end()}, not_started);
    for (const UpcomingNode& node : upcoming_) objects_.CoverNode(node.node);
  }

  void FilterPods() {
    awaited_ = FindUpcomingNodes(view(), options_, state_.cluster);
    plan_.upcoming = awaited_.nodes;
    OpenWhatIf();
    const base::Instant began = Now();
    PodIds pods = plan_.pending;
    PassOver(pods, PassedOver::kExpendable, [this](PodIds& all) { DropExpendable(view(), options_, all); });
    std::vector<NodeId> drained;
    for (const std::string& name : request_.deleting_drain) {
      const NodeId node = snapshot().FindNodeByName(name);
      if (node != kNone && snapshot().Present(node)) drained.push_back(node);
    }
    const auto pending = static_cast<PodIds::difference_type>(pods.size());
    AddRecreatable(view(), drained, pods);
    recreated_.assign(pods.begin() + pending, pods.end());
    placed_ = options_.upstream_placement ? FilterOutSchedulableInTurn(view(), state_.hints, TurnOf(), pods)
                                          : FilterOutSchedulable(view(), state_.hints, pods);
    for (const PodId pod : placed_) plan_.passed_over.emplace_back(pod, PassedOver::kHasRoom);
    PassOver(pods, PassedOver::kDaemon, [this](PodIds& all) { DropDaemonPods(view(), all); });
    PassOver(pods, PassedOver::kYoung,
             [this](PodIds& all) { std::ranges::move(DropYoung(view(), options_, all), std::back_inserter(plan_.notes)); });
    // Those have their node still.
    const std::set<PodId> again(recreated_.begin(), recreated_.end());
    std::erase_if(plan_.passed_over, [&](const auto& entry) { return again.contains(entry.first); });
    plan_.unschedulable = std::move(pods);
    NoteDuration("filterOutSchedulable", began);
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

  void ScaleUp() {
    scale_up_began_ = Now();
    plan_.decision = DecideScaleUp(view(), options_, plan_.unschedulable, state_.cluster.total().ready);
    if (plan_.decision == ScaleUpDecision::kLimitedByMaxNodesTotal) NoteMaxNodes();
    if (plan_.decision == ScaleUpDecision::kInCooldown) scale_down_disabled_ = true;
    if (plan_.decision != ScaleUpDecision::kGo) return;
    planner_.emplace(options_, expanders_);
    PlanScaleUp();
  }

  void PlanScaleUp() {
    OpenWhatIf();
    ScaleUpRequest request = RequestForScaleUp();
    request.pods = plan_.unschedulable;
    request.granted = plan_.scale_ups;
    request.excluded = refused_;
    plan_.scale_up = planner_->Plan(view(), objects_.templates(), objects_.Objects(), request, random_);
    for (const ExpanderEvent& event : plan_.scale_up.warnings) plan_.events.push_back({true, event.reason, event.message});
    if (plan_.scale_up.outcome == ScaleUpPlan::Outcome::kMaxNodesReached) NoteMaxNodes();
    step_ = {};
    ContinueScaleUp();
  }

  /// The next group of the step that is being carried out; after the step the next one, or a plan without those who refused.
  void ContinueScaleUp() {
    for (; step_.index < plan_.scale_up.steps.size(); step_ = {.index = step_.index + 1}) {
      const ScaleUpStep& step = plan_.scale_up.steps[step_.index];
      for (; step_.asked < step.changes.size(); ++step_.asked) {
        const GroupDelta& delta = step.changes[step_.asked];
        if (!unanswered_) {
          ++step_.asked;
          return Increase(delta, step.atomic, [this, group = delta.group](bool agreed) {
            if (!agreed) step_.refused.insert(group);
            ContinueScaleUp();
          });
        }
        step_.refused.insert(delta.group);
      }
      if (step_.refused.size() < step.changes.size()) {
        plan_.scale_ups.push_back(step_.refused.empty() ? step : WithoutGroups(snapshot(), step, step_.refused));
      }
      if (unanswered_) return;
      if (step_.refused.empty()) continue;
      refused_.insert(step_.refused.begin(), step_.refused.end());
      if (++refusals_ <= kRefusalsMax) PlanScaleUp();
      return;
    }
  }

  /// With 1.26's rules a loop that has scaled up ends.
  void EndScaleUp() {
    if (!plan_.scale_ups.empty()) {
      state_.cluster.Recalculate(view());
      if (options_.compat == Compat::k1_26) Stop("ScaleUp", "the cluster has just been scaled up");
    }
    NoteDuration("scaleUp", scale_up_began_);
  }

  void NoteMaxNodes() {
    plan_.events.push_back({true, events::kMaxNodesTotalReached.reason,
                            "Max total nodes in cluster reached: " + std::to_string(options_.max_nodes_total)});
  }

  /// `then` hears whether the group has agreed; who has not answered counts as if.
  void Increase(const GroupDelta& delta, bool atomic, std::function<void(bool agreed)> then) {
    const providers::NodeGroup* group = view().groups.Find(delta.group);
    GroupChange change;
    change.kind = GroupChange::Kind::kIncreaseSize;
    change.group = delta.group;
    change.delta = delta.to - delta.from;
    change.atomically = atomic;
    change.why = "scale up from " + std::to_string(delta.from) + " to " + std::to_string(delta.to);
    AddScaleUpEvents(change, delta.from, group == nullptr ? delta.to : group->max_size);
    tasks_.push_back(
        {std::move(change), [this, to = delta.to, then = std::move(then)](const GroupChange& done, const base::Status& answer) {
           then(Increased(done, to, answer));
         }});
  }

  bool Increased(const GroupChange& change, int64_t to, const base::Status& answer) {
    const bool unanswered = !answer && Unanswered(answer.error());
    if (!answer && !unanswered) {
      plan_.notes.push_back("node group " + change.group + ": " + change.why + ": " + answer.error().message());
      RegisterFailure(change.group, answer.error());
      return false;
    }
    if (providers::NodeGroup* group = view().groups.Find(change.group)) group->target_size = to;
    state_.cluster.RegisterScaleUp(change.group, change.delta, request_.now);
    state_.scale_down.ScaledUp(change.group, request_.now);
    if (unanswered) NotAnswered(change, to, answer.error());
    return true;
  }

  void ScaleDown() {
    const base::Instant began = Now();
    if (options_.scale_down_enabled) PlanRemovals();
    NoteDuration("findUnneeded", began);
    const auto& consolidation = plan_.scale_down.consolidation;
    if (!consolidation || consolidation->add == 0) return;
    const providers::NodeGroup* group = view().groups.Find(consolidation->group);
    const int64_t from = group == nullptr ? 0 : group->target_size;
    Increase({consolidation->group, from, from + consolidation->add}, false, [this](bool agreed) {
      if (!agreed) state_.scale_down.consolidation.reset();
    });
  }

  void PlanRemovals() {
    OpenWhatIf();
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
                                   .plan_under_way = objects_.PlanUnderWay(view().now),
                                   .clock = request_.clock,
                                   .templates = replacements,
                                   .turn = options_.upstream_placement ? std::optional(TurnOf()) : std::nullopt};
    plan_.scale_down = PlanScaleDown(view(), options_, request, state_.scale_down);
    plan_.scale_down_looked = true;
  }

  void End() {
    what_if_.reset();
    Report();
    LoopBasis basis = LoopBasis::Of(objects_, view().groups.revision, options_, state_, request_);
    const bool settled = before_ && IsQuiet() && basis == basis_ && state_.SameMemory(*before_);
    state_.last_loop.Note(std::move(basis), view().now, settled);
    before_.reset();
  }

  /// Nobody has to carry anything out or was asked, and the same again would come to the same.
  bool IsQuiet() const {
    const ScaleDownPlan& down = plan_.scale_down;
    const bool nothing_to_do = plan_.changes.empty() && plan_.events.empty() && plan_.cleanup.empty() &&
                               plan_.stopped_at.empty() && plan_.scale_ups.empty() && down.delete_empty.empty() &&
                               down.delete_drain.empty();
    const bool nobody_asked = !asked_elsewhere_ && random_ == drawn_before_ && plan_.decision != ScaleUpDecision::kGo;
    return nothing_to_do && nobody_asked && !down.timed_out && !down.consolidation;
  }

  void Report() {
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
  const LoopRequest request_;
  LoopPlan plan_;
  LoopBasis basis_;
  std::optional<AutoscalerState> before_;  // when the loop could be one that changes nothing
  base::Random drawn_before_{0};
  bool asked_elsewhere_ = false;
  size_t stage_ = 0;
  bool ended_ = false;
  std::deque<Task> tasks_;
  bool updated_ = false, scale_down_disabled_ = false;
  bool unanswered_ = false;  // an increase of this loop
  std::optional<scheduling::WhatIf> what_if_;
  PodIds nominated_;
  ClusterState::Upcoming awaited_;
  PodIds recreated_;                    // of nodes that are drained
  PodIds placed_;                       // on what is there or on its way, in this order; the hints say where
  std::vector<UpcomingNode> upcoming_;  // while a what-if is open
  /// Of the scale-up: where its plan is being carried out, and who is not asked again.
  struct Step {
    size_t index = 0, asked = 0;
    std::set<std::string, std::less<>> refused{};
  };
  Step step_;
  std::set<std::string, std::less<>> refused_;
  int refusals_ = 0;
  std::optional<ScaleUpPlanner> planner_;
  base::Instant scale_up_began_{};
};

const std::array<LoopRun::Stages::Stage, 11> LoopRun::Stages::kStages = {
    &Stages::Begin,      &Stages::Update,  &Stages::Unregistered, &Stages::Health,    &Stages::FailedCreations, &Stages::Sizes,
    &Stages::FilterPods, &Stages::ScaleUp, &Stages::EndScaleUp,   &Stages::ScaleDown, &Stages::EnforceMinimum};

LoopRun::LoopRun(ClusterObjects& objects, providers::NodeGroups&& groups, const Options& options,
                 const ExpanderChain& expanders, AutoscalerState& state, base::Random& random, LoopRequest request)
    : stages_(std::make_unique<Stages>(objects, std::move(groups), options, expanders, state, random, std::move(request))) {}
LoopRun::~LoopRun() = default;
const GroupChange* LoopRun::Next() { return stages_->Next(); }
void LoopRun::Answer(const base::Status& answer) { stages_->Answer(answer); }
LoopPlan LoopRun::Take() { return stages_->Take(); }

LoopPlan RunOnce(ClusterObjects& objects, providers::NodeGroups groups, const Options& options, const ExpanderChain& expanders,
                 AutoscalerState& state, base::Random& random, LoopRequest request) {
  LoopRun loop(objects, std::move(groups), options, expanders, state, random, std::move(request));
  while (loop.Next() != nullptr) loop.Answer({});
  return loop.Take();
}

}  // namespace evenkeel::controllers::autoscaler
