#include "controllers/autoscaler/scale_up/scale_up.h"

#include "controllers/autoscaler/scale_up/scale_up_planning.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using scheduling::kNone;
using scheduling::NodeId;
using scheduling::PodId;

/// Spread over zones makes groups grow in small turns; this only ends what would not end.
constexpr size_t kMostSteps = 1000;

std::vector<Quota> AllQuotas(const Options& options, const std::vector<Quota>& further) {
  std::vector<Quota> quotas{ClusterWideQuota(options)};
  quotas.insert(quotas.end(), further.begin(), further.end());
  return quotas;
}

}  // namespace

ScaleUpPlanning::ScaleUpPlanning(const Options& options, const ExpanderChain& expanders, const SimilarGroups& similar,
                                 const ClusterView& view, const NodeTemplates& templates, const NodeObjects& objects,
                                 const ScaleUpRequest& request, base::Random& random)
    : options_(options),
      expanders_(expanders),
      similar_(similar),
      view_(view),
      templates_(templates),
      objects_(objects),
      request_(request),
      random_(random),
      snapshot_(*view.snapshot),
      limits_(AllQuotas(options, request.quotas), view.groups.gpu_label),
      expander_(request.expander) {
  expander_.gpu_label = view.groups.gpu_label;
  expander_.cluster_nodes = snapshot_.node_count();
}

ScaleUpPlan ScaleUpPlanning::Run() {
  const scheduling::WhatIf fork(snapshot_);
  CountNodes();
  CountGranted();
  std::set<PodId> placed;
  for (const ScaleUpStep& step : request_.granted) {
    for (const ScaleUpStep::NewNode& node : step.nodes) AddNode(node);
    for (const GroupDelta& change : step.changes) growing_.insert(change.group);
    placed.insert(step.placed.begin(), step.placed.end());
  }
  PodIds pods = request_.pods;
  if (!placed.empty()) std::erase_if(pods, [&](PodId pod) { return placed.contains(pod); });
  PodGroups groups = GroupPods(snapshot_, *view_.pods, pods);
  plan_.pod_groups = std::move(groups.groups);
  plan_.overflowing_controllers = groups.overflowing_controllers;
  if (plan_.pod_groups.empty()) return std::move(plan_);
  taken_.assign(plan_.pod_groups.size(), 0);
  triggered_ = taken_;
  anywhere_.assign(plan_.pod_groups.size(), 0);
  plan_.misfits.resize(plan_.pod_groups.size());
  plan_.outcome = ScaleUpPlan::Outcome::kNoOptions;
  MakeCandidates();
  planned_from_ = static_cast<uint32_t>(snapshot_.order().size());
  const size_t steps = options_.max_groups_per_loop > 1 ? kMostSteps : 1;
  for (size_t i = 0; i < steps && AnyWaiting() && TakeStep(); ++i) {
    if (steps > 1) Refill();
  }
  if (plan_.planned()) plan_.outcome = ScaleUpPlan::Outcome::kPlanned;
  NoteLeft();
  Finish();
  return std::move(plan_);
}

void ScaleUpPlanning::CountNodes() {
  std::map<std::string_view, int64_t> counted;  // by group
  for (const NodeId node : snapshot_.order()) {
    const kube::Node* object = node == kNone ? nullptr : objects_(node);
    if (object == nullptr) continue;
    limits_.Count(*object);
    ++counted[(*view_.nodes)[node].group];
  }
  for (const UpcomingNode& upcoming : request_.upcoming) {
    const NodeTemplate* node_template = templates_.Find(upcoming.group);
    if (node_template != nullptr) limits_.Count(node_template->node);
    ++counted[upcoming.group];
  }
  CountAwaited(counted);
}

/// Not every node that a group has been asked for counts as upcoming: not those of a group that is backed off, or that grew
/// before this autoscaler came. They may come all the same, and the limits hold then, too.
void ScaleUpPlanning::CountAwaited(const std::map<std::string_view, int64_t>& counted) {
  for (const providers::NodeGroup& group : view_.groups.groups) {
    const auto known = counted.find(group.id);
    int64_t awaited = group.target_size - (known == counted.end() ? 0 : known->second);
    for (const ScaleUpStep& step : request_.granted) {
      for (const GroupDelta& change : step.changes) awaited -= change.group == group.id ? change.to - change.from : 0;
    }
    if (awaited <= 0) continue;
    awaited_ += awaited;
    const NodeTemplate* node_template = templates_.Find(group.id);
    if (node_template != nullptr) limits_.Consume(node_template->node, awaited);
  }
}

void ScaleUpPlanning::CountGranted() {
  for (const ScaleUpStep& step : request_.granted) {
    for (const GroupDelta& change : step.changes) {
      const NodeTemplate* node_template = templates_.Find(change.group);
      if (node_template != nullptr) limits_.Consume(node_template->node, change.to - change.from);
    }
  }
}

void ScaleUpPlanning::MakeCandidates() {
  for (const providers::NodeGroup& group : view_.groups.groups) {
    Candidate candidate;
    candidate.group = &group;
    candidate.node = templates_.Find(group.id);
    candidate.target = group.target_size;
    candidate.atomic = group.options.zero_or_max_node_scaling.value_or(false);
    if (candidate.node != nullptr) candidate.room = FreshRoom(snapshot_, *candidate.node);
    candidate.fits.assign(plan_.pod_groups.size(), 0);
    candidates_.push_back(std::move(candidate));
  }
  std::ranges::sort(candidates_, {}, [](const Candidate& candidate) -> const std::string& { return candidate.group->id; });
}

std::optional<int64_t> ScaleUpPlanning::NodesLeft() const {
  if (options_.max_nodes_total <= 0) return std::nullopt;
  return options_.max_nodes_total - static_cast<int64_t>(snapshot_.node_count()) - awaited_;
}

bool ScaleUpPlanning::AnyWaiting() const {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (Waiting(i) > 0) return true;
  }
  return false;
}

/// Groups that grow already may go on; how many others may join them is limited.
bool ScaleUpPlanning::MayGrow(const Candidate& candidate) const {
  return growing_.empty() || static_cast<int64_t>(growing_.size()) < options_.max_groups_per_loop ||
         growing_.contains(candidate.group->id);
}

bool ScaleUpPlanning::TakeStep() {
  const bool first = plan_.steps.empty();
  for (Candidate& candidate : candidates_) {
    candidate.skipped = WhyNot(candidate);
    if (first && !candidate.skipped.empty()) plan_.skipped.push_back({candidate.group->id, candidate.skipped});
  }
  FindFits(first);
  const std::vector<Option> options = MakeOptions();
  std::vector<ExpanderOption> choices;
  for (const Option& option : options) choices.push_back(ForExpander(option));
  expander_.refused_by.clear();
  const std::optional<size_t> best = expanders_.Best(choices, expander_, random_);
  if (!best || options[*best].nodes == 0) {
    for (const Option& option : options) refused_.insert(option.candidate);
    return false;
  }
  const std::optional<int64_t> nodes = Capped(options[*best]);
  if (!nodes) return false;
  ScaleUpStep step = Execute(options[*best], *nodes);
  if (step.changes.empty()) return false;
  for (const Option& option : options) step.considered.push_back(Describe(option));
  const bool progress = !step.placed.empty();
  Keep(std::move(step));
  return progress;
}

/// The nodes are there from now on. A step for the same groups as an earlier one becomes part of it.
void ScaleUpPlanning::Keep(ScaleUpStep step) {
  std::set<std::string> groups;
  for (const GroupDelta& change : step.changes) groups.insert(change.group);
  growing_.insert(groups.begin(), groups.end());
  const auto touched = [&](const ScaleUpStep& other) {
    return std::ranges::any_of(other.changes, [&](const GroupDelta& change) { return groups.contains(change.group); });
  };
  auto at = std::ranges::find_if(plan_.steps.rbegin(), plan_.steps.rend(), touched);
  const auto same = [&](const GroupDelta& a, const GroupDelta& b) { return a.group == b.group && a.to == b.from; };
  if (at != plan_.steps.rend() && std::ranges::equal(at->changes, step.changes, same)) {
    for (size_t i = 0; i < step.changes.size(); ++i) at->changes[i].to = step.changes[i].to;
    at->option.nodes += step.option.nodes;
    at->option.pods += step.option.pods;
    at->triggered_by.insert(at->triggered_by.end(), step.triggered_by.begin(), step.triggered_by.end());
    at->placed.insert(at->placed.end(), step.placed.begin(), step.placed.end());
  } else {
    plan_.steps.push_back(ScaleUpStep(step));
    plan_.steps.back().nodes.clear();
    at = plan_.steps.rbegin();
  }
  const auto index = static_cast<size_t>(&*at - plan_.steps.data());
  for (ScaleUpStep::NewNode& node : step.nodes) {
    const NodeId added = AddNode(node);
    if (added != kNone && node.existing == kNone) {
      planned_.Add(added);
      noted_[added] = {index, at->nodes.size()};
    }
    at->nodes.push_back(std::move(node));
  }
}

/// What is still waiting takes the room that the planned nodes have left.
void ScaleUpPlanning::Refill() {
  for (size_t i = 0; i < plan_.pod_groups.size(); ++i) {
    if (Waiting(i) == 0) continue;
    const PodGroup& group = plan_.pod_groups[i];
    std::vector<scheduling::Placement> placements;
    snapshot_.PlaceUpTo(group.pod_class, Waiting(i), {.start = planned_from_, .only = &planned_}, placements);
    for (const scheduling::Placement& placement : placements) {
      const auto [step, node] = noted_.at(placement.node);
      const auto from = group.pods.begin() + static_cast<ptrdiff_t>(taken_[i]);
      PodIds& placed = plan_.steps[step].placed;
      placed.insert(placed.end(), from, from + placement.pods);
      plan_.steps[step].nodes[node].pods.emplace_back(group.pod_class, placement.pods);
      taken_[i] += static_cast<size_t>(placement.pods);
    }
  }
}

std::optional<int64_t> ScaleUpPlanning::Capped(const Option& option) {
  int64_t nodes = option.nodes;
  if (const std::optional<int64_t> left = NodesLeft()) {
    if (*left < 1) {
      plan_.outcome = ScaleUpPlan::Outcome::kMaxNodesReached;
      return std::nullopt;
    }
    nodes = std::min(nodes, *left);
  }
  nodes = limits_.Fitting(candidates_[option.candidate].node->node, nodes);
  if (nodes < 1 || (options_.all_or_nothing && nodes < option.nodes)) return std::nullopt;
  return nodes;
}

std::vector<GroupDelta> ScaleUpPlanning::Share(const Option& option, int64_t nodes) {
  std::vector<GroupSize> sizes;
  std::map<std::string, const NodeTemplate*> node_of;
  const auto add = [&](const Candidate& candidate) {
    sizes.push_back({candidate.group->id, candidate.target, candidate.group->max_size});
    node_of[candidate.group->id] = candidate.node;
  };
  add(candidates_[option.candidate]);
  for (const size_t similar : option.similar) {
    if (limits_.Check(candidates_[similar].node->node, 1).empty()) add(candidates_[similar]);
  }
  std::vector<GroupDelta> changes = Balance(std::move(sizes), nodes);
  for (GroupDelta& change : changes) {
    const kube::Node& node = node_of[change.group]->node;
    const int64_t allowed = limits_.Fitting(node, change.to - change.from);
    limits_.Consume(node, allowed);
    change.to = change.from + allowed;
  }
  std::erase_if(changes, [](const GroupDelta& change) { return change.to == change.from; });
  return changes;
}

ScaleUpStep ScaleUpPlanning::Execute(const Option& option, int64_t nodes) {
  ScaleUpStep step;
  step.option = Describe(option);
  step.atomic = candidates_[option.candidate].atomic || options_.all_or_nothing;
  step.changes = Share(option, nodes);
  if (step.changes.empty()) return step;
  for (const GroupDelta& change : step.changes) {
    for (Candidate& candidate : candidates_) {
      if (candidate.group->id == change.group) candidate.target = change.to;
    }
    for (int64_t i = change.from; i < change.to; ++i) step.nodes.push_back({change.group, kNone, {}});
  }
  FillNodes(option, step);
  return step;
}

/// The estimate's nodes become the step's, from the front; what stood on nodes that a limit has cut off goes on waiting.
void ScaleUpPlanning::FillNodes(const Option& option, ScaleUpStep& step) {
  const size_t added = step.nodes.size();
  std::vector<int64_t> placed(option.pod_groups.size(), 0);
  for (const Estimate::Placement& placement : option.estimate->placements) {
    const scheduling::ClassId pod_class = plan_.pod_groups[option.pod_groups[placement.demand]].pod_class;
    if (placement.existing) {
      step.nodes.push_back({"", placement.node, {{pod_class, placement.pods}}});
    } else if (placement.node < added) {
      step.nodes[placement.node].pods.emplace_back(pod_class, placement.pods);
    } else {
      continue;
    }
    placed[placement.demand] += placement.pods;
  }
  for (const uint32_t demand : option.estimate->order) {
    const size_t group = option.pod_groups[demand];
    const auto from = plan_.pod_groups[group].pods.begin() + static_cast<ptrdiff_t>(taken_[group]);
    step.triggered_by.insert(step.triggered_by.end(), from, from + option.estimate->pods[demand]);
    step.placed.insert(step.placed.end(), from, from + placed[demand]);
    triggered_[group] = std::max(triggered_[group], taken_[group] + static_cast<size_t>(option.estimate->pods[demand]));
    taken_[group] += static_cast<size_t>(placed[demand]);
  }
}

NodeId ScaleUpPlanning::AddNode(const ScaleUpStep::NewNode& planned) {
  NodeId node = planned.existing;
  if (node == kNone) {
    const NodeTemplate* node_template = templates_.Find(planned.group);
    if (node_template == nullptr) return kNone;
    node = AddTemplateNode(snapshot_, *node_template, node_template->node.meta.name + "-planned-" + std::to_string(named_++));
  }
  for (const auto& [pod_class, pods] : planned.pods) snapshot_.PlaceCopies(pod_class, node, pods);
  return node;
}

void ScaleUpPlanning::Finish() {
  for (size_t i = 0; i < plan_.pod_groups.size(); ++i) {
    const PodIds& pods = plan_.pod_groups[i].pods;
    PodIds& list = anywhere_[i] != 0 ? plan_.await_evaluation : plan_.remain_unschedulable;
    list.insert(list.end(), pods.begin() + static_cast<ptrdiff_t>(std::max(triggered_[i], taken_[i])), pods.end());
  }
  plan_.warnings = std::move(expander_.events);
}

std::vector<GroupDelta> ScaleUpPlanning::MinSizes() {
  const scheduling::WhatIf fork(snapshot_);
  CountNodes();
  CountGranted();
  MakeCandidates();
  std::vector<GroupDelta> changes;
  for (const Candidate& candidate : candidates_) {
    const providers::NodeGroup& group = *candidate.group;
    const auto health = request_.health.find(group.id);
    const bool safe = health == request_.health.end() || (health->second.healthy && !health->second.backed_off);
    int64_t nodes = group.min_size - candidate.target;
    if (nodes <= 0 || !safe || !group.exists || !group.set_aside.empty() || candidate.node == nullptr ||
        request_.excluded.contains(group.id))
      continue;
    // The group's own size is held against the limit of the whole cluster.
    if (options_.max_nodes_total > 0) nodes = std::min(nodes, options_.max_nodes_total - candidate.target);
    nodes = limits_.Fitting(candidate.node->node, nodes);
    if (nodes < 1) continue;
    limits_.Consume(candidate.node->node, nodes);
    changes.push_back({group.id, candidate.target, candidate.target + nodes});
  }
  return changes;
}

ScaleUpPlan ScaleUpPlanner::Plan(const ClusterView& view, const NodeTemplates& templates, const NodeObjects& objects,
                                 const ScaleUpRequest& request, base::Random& random) const {
  return ScaleUpPlanning(options_, expanders_, similar_, view, templates, objects, request, random).Run();
}

ScaleUpStep WithoutGroups(scheduling::Snapshot& snapshot, const ScaleUpStep& step,
                          const std::set<std::string, std::less<>>& refused) {
  ScaleUpStep rest = step;
  std::erase_if(rest.changes, [&](const GroupDelta& change) { return refused.contains(change.group); });
  std::map<uint64_t, int64_t> homeless;  // by likeness of their classes
  std::erase_if(rest.nodes, [&](const ScaleUpStep::NewNode& node) {
    if (!refused.contains(node.group)) return false;
    for (const auto& [pod_class, pods] : node.pods) homeless[snapshot.Likeness(pod_class)] += pods;
    return true;
  });
  std::ranges::reverse(rest.placed);
  std::erase_if(rest.placed, [&](PodId pod) {
    const auto found = homeless.find(snapshot.Likeness(snapshot.ClassOf(pod)));
    return found != homeless.end() && found->second-- > 0;
  });
  std::ranges::reverse(rest.placed);
  return rest;
}

std::vector<GroupDelta> EnforceMinSizes(const ClusterView& view, const Options& options, const NodeTemplates& templates,
                                        const NodeObjects& objects, const ScaleUpRequest& request) {
  base::Random unused(0);
  return ScaleUpPlanning(options, ExpanderChain(), SimilarGroups(options), view, templates, objects, request, unused)
      .MinSizes();
}

}  // namespace evenkeel::controllers::autoscaler
