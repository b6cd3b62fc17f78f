#include "controllers/autoscaler/scale_down/scale_down.h"

#include <algorithm>
#include <array>

namespace evenkeel::controllers::autoscaler {
namespace {

using providers::NodeGroup;
using scheduling::kNone;
using scheduling::NodeId;
using scheduling::PodId;

struct GroupRow {
  const NodeGroup* group = nullptr;
  bool atomic = false;
  int64_t registered = 0, deleting = 0;
  std::optional<base::Time> resting_until{};  // a cool-down of its own
};

/// One call of PlanScaleDown: the stages in their order, and what they hand on.
class Planner {
 public:
  Planner(const ClusterView& view, const Options& options, const ScaleDownRequest& request, ScaleDownState& state)
      : view_(view), options_(options), request_(request), state_(state), snapshot_(*view.snapshot), budgets_(view) {
    if (view.digests == nullptr || !view.digests->AreOf(view)) digests_made_.emplace(view);
  }

  ScaleDownPlan Run() {
    BeginLoop();
    FindCandidates();
    Categorize();
    plan_.cool_down = WhyNoDeletions(state_, options_, request_.disabled_for_loop, request_.plan_under_way, view_.now);
    ChooseDeletions();
    ChooseSoftTaints();
    Consolidate();
    const auto before = [&](const Unremovable& a, const Unremovable& b) { return positions_[a.node] < positions_[b.node]; };
    if (!std::ranges::is_sorted(plan_.unremovable, before)) std::ranges::sort(plan_.unremovable, before);
    return std::move(plan_);
  }

 private:
  struct Candidate {
    NodeId node;
    GroupRow* group;
  };
  struct EligibleNode : Candidate {
    Utilization utilization;
    bool consolidated = false;  // goes because other nodes have come for it
  };

  const NodeDigests& Digests() const { return digests_made_ ? *digests_made_ : *view_.digests; }
  const GroupRow& RowOf(const NodeGroup& group) const {
    return groups_.at(static_cast<size_t>(&group - view_.groups.groups.data()));
  }
  const NodeFacts& Facts(NodeId node) const { return (*view_.nodes)[node]; }

  void BeginLoop();
  void ForgetUnremovable();
  void CountGroups();
  std::optional<base::Time> RestingUntil(const NodeGroup& group) const;
  bool Prefilter(NodeId node, GroupRow* row);
  void FindCandidates();
  /// In the order in which they are tried.
  std::vector<EligibleNode> Eligible();
  void Order(std::vector<EligibleNode>& eligible);
  void Categorize();
  bool StopEarly(size_t found, size_t atomic, int64_t limit, base::Instant started);
  void Cache(const Unremovable& unremovable);
  void KeepUnneeded(std::vector<Removal>& removals, const std::vector<const EligibleNode*>& of);
  void ChooseDeletions();
  UnremovableReason MayGo(const UnneededNode& node, std::map<const NodeGroup*, int64_t>& sizes, ResourcesLeft& left) const;
  std::vector<size_t> CompleteAtomic(std::vector<size_t> chosen);
  void Stays(const UnneededNode& node, UnremovableReason reason);
  void ChooseSoftTaints();
  bool MayConsolidate() const;
  ConsolidationInput InputForConsolidation();
  bool ReplaceableForLong(NodeId node, const NodeGroup& group) const;
  void Consolidate();

  const ClusterView& view_;
  const Options& options_;
  const ScaleDownRequest& request_;
  ScaleDownState& state_;
  scheduling::Snapshot& snapshot_;
  BudgetTracker budgets_;
  std::optional<NodeDigests> digests_made_;          // where the view has none
  std::vector<GroupRow> groups_;                     // as in the view
  std::unordered_map<NodeId, base::Time> recently_;  // of ScaleDownState::unremovable: until when
  std::vector<uint32_t> positions_;                  // by NodeId: in the snapshot's order, close together
  scheduling::NodeSet deleting_;
  std::vector<Candidate> candidates_;  // by name
  std::vector<NodeId> soft_tainted_;   // by name
  scheduling::NodeSet destinations_;
  ConsolidationStage stage_ = ConsolidationStage::kOver;
  ScaleDownPlan plan_;
};

void Planner::BeginLoop() {
  base::Duration shortest = state_.shortest_interval.value_or(options_.scale_down_unneeded_time);
  if (state_.last_update) shortest = std::min(shortest, view_.now.Read() - *state_.last_update);
  const bool first = !state_.last_update;
  state_.shortest_interval = shortest;
  state_.last_update = view_.now.Read();
  ForgetUnremovable();
  CountGroups();
  if (first && options_.node_deletion_candidate_ttl > base::Duration::zero()) {
    for (const NodeFacts& facts : *view_.nodes) {
      if (!facts.present || !facts.deletion_candidate) continue;
      const bool young = view_.now.Within(*facts.deletion_candidate, options_.node_deletion_candidate_ttl);
      if (young) state_.unneeded.Seed(facts.name, *facts.deletion_candidate);
    }
  }
  if (state_.consolidation) {
    stage_ = StageOf(*state_.consolidation, view_, options_);
    if (stage_ == ConsolidationStage::kOver) state_.consolidation.reset();
  }
}

void Planner::ForgetUnremovable() {
  state_.unremovable_changes += std::erase_if(state_.unremovable, [&](const auto& entry) {
    const NodeId node = snapshot_.FindNodeByName(entry.first);
    if (node == kNone || !snapshot_.Present(node) || entry.second.until <= view_.now) return true;
    recently_.emplace(node, entry.second.until);
    return false;
  });
}

std::optional<base::Time> Planner::RestingUntil(const NodeGroup& group) const {
  const auto times = state_.group_cool_down.find(group.id);
  if (!options_.scale_down_delay_type_local || times == state_.group_cool_down.end()) return std::nullopt;
  std::optional<base::Time> until;
  const auto add = [&](const std::optional<base::Time>& time, base::Duration delay) {
    if (time && *time + delay > view_.now) until = std::max(until.value_or(*time + delay), *time + delay);
  };
  add(times->second.scale_up, options_.scale_down_delay_after_add);
  add(times->second.deletion, options_.scale_down_delay_after_delete);
  add(times->second.failure, options_.scale_down_delay_after_failure);
  return until;
}

void Planner::CountGroups() {
  groups_.reserve(view_.groups.groups.size());
  for (const NodeGroup& group : view_.groups.groups) {
    GroupRow row{.group = &group, .atomic = group.options.zero_or_max_node_scaling.value_or(false)};
    row.resting_until = RestingUntil(group);
    groups_.push_back(row);
  }
  for (const auto* names : {&request_.deleting_empty, &request_.deleting_drain}) {
    for (const std::string& name : *names) {
      const NodeId node = snapshot_.FindNodeByName(name);
      if (node == kNone || node >= view_.nodes->size() || deleting_.Has(node)) continue;
      deleting_.Add(node);
      const uint32_t group = Digests().Of(node).group;
      if (group != kNone) ++groups_[group].deleting;
    }
  }
}

bool Planner::Prefilter(NodeId node, GroupRow* row) {
  const auto refuse = [&](UnremovableReason reason, const char* detail = nullptr, std::optional<base::Time> until = {}) {
    plan_.unremovable.push_back({.node = node, .reason = reason, .until = until, .detail = detail});
    return false;
  };
  if (row == nullptr) return refuse(UnremovableReason::kNotAutoscaled);
  const std::string& kept = WhyKept(*row->group);
  if (!kept.empty()) return refuse(UnremovableReason::kNotUnneededOtherReason, kept.c_str());
  if (row->group->target_size <= row->group->min_size) return refuse(UnremovableReason::kNodeGroupMinSizeReached);
  if (row->resting_until) {
    return refuse(UnremovableReason::kNotUnneededOtherReason, "its group is in a cool-down of its own", row->resting_until);
  }
  if (state_.consolidation && state_.consolidation->Brought(Facts(node))) {
    return refuse(UnremovableReason::kNotUnneededOtherReason, "it has come to replace other nodes, which are being removed");
  }
  return true;
}

void Planner::FindCandidates() {
  plan_.unremovable.reserve(snapshot_.node_count());
  candidates_.reserve(snapshot_.node_count());
  positions_.resize(view_.nodes->size());
  const NodeDigests& digests = Digests();
  uint32_t next = 0;
  for (const NodeId node : snapshot_.order()) {
    const uint32_t position = next++;
    const NodeDigest digest = node == kNone ? NodeDigest{} : digests.Of(node);
    if (!digest.present) continue;
    positions_[node] = position;
    GroupRow* row = digest.group == kNone ? nullptr : &groups_[digest.group];
    if (row != nullptr) ++row->registered;
    if (digest.deletion_candidate) soft_tainted_.push_back(node);
    if (deleting_.Has(node)) {
      plan_.unremovable.push_back({.node = node, .reason = UnremovableReason::kCurrentlyBeingDeleted});
      continue;
    }
    destinations_.Add(node);
    if (Prefilter(node, row)) candidates_.push_back({node, row});
  }
  plan_.candidates = candidates_.size();
}

void Planner::Order(std::vector<EligibleNode>& eligible) {
  const Drainability drainability(view_, options_, budgets_);
  std::array<std::vector<EligibleNode>, 4> ranks;
  for (EligibleNode& candidate : eligible) {
    bool waits = false;
    const bool empty = drainability.Empty(candidate.node, waits);
    const bool again = candidate.consolidated || state_.unneeded.Since(Facts(candidate.node).name).has_value();
    ranks[empty ? (waits ? 1 : 0) : (again ? 2 : 3)].push_back(std::move(candidate));
  }
  eligible.clear();
  for (std::vector<EligibleNode>& rank : ranks) {
    eligible.insert(eligible.end(), std::make_move_iterator(rank.begin()), std::make_move_iterator(rank.end()));
  }
}

bool Planner::StopEarly(size_t found, size_t atomic, int64_t limit, base::Instant started) {
  if (request_.clock != nullptr && request_.clock->Monotonic() - started > options_.scale_down_simulation_timeout) {
    plan_.timed_out = true;
  }
  plan_.enough |= static_cast<int64_t>(found - atomic) >= limit;
  return plan_.timed_out || plan_.enough;
}

void Planner::Cache(const Unremovable& unremovable) {
  RecentlyUnremovable recent{*unremovable.until, unremovable.reason, unremovable.blocking.reason, ""};
  if (unremovable.blocking.pod != kNone) recent.pod = snapshot_.PodKey(unremovable.blocking.pod);
  state_.unremovable[Facts(unremovable.node).name] = std::move(recent);
  ++state_.unremovable_changes;
}

std::vector<Planner::EligibleNode> Planner::Eligible() {
  std::vector<EligibleNode> eligible;
  UtilizationCalculator utilization(view_);
  EligibilityChecker checker(view_, options_, utilization);
  for (const Candidate& candidate : candidates_) {
    const auto found = recently_.find(candidate.node);
    const auto recently = found == recently_.end() ? std::nullopt : std::optional(found->second);
    const bool consolidated =
        stage_ == ConsolidationStage::kRemoving && state_.consolidation->Removes(Facts(candidate.node).name);
    Unremovable answer =
        checker.Check(candidate.node, Digests().Of(candidate.node), candidate.group->group, recently, consolidated);
    if (answer.reason == UnremovableReason::kNoReason) {
      eligible.push_back({candidate, std::move(answer.utilization), consolidated});
    } else {
      plan_.unremovable.push_back(std::move(answer));
    }
  }
  Order(eligible);
  return eligible;
}

void Planner::Categorize() {
  const std::vector<EligibleNode> eligible = Eligible();
  if (eligible.empty()) {
    state_.unneeded.Clear();
    state_.moves.EndPass();
    return;
  }
  std::vector<NodeId> order;
  for (const EligibleNode& candidate : eligible) order.push_back(candidate.node);

  scheduling::WhatIf what_if(snapshot_);
  RemovalSimulation simulation(view_, options_, budgets_, state_.hints, destinations_, order);
  if (request_.turn) simulation.PlaceInTurn(*request_.turn, state_.moves);
  const int64_t limit = UnneededLimit(static_cast<int64_t>(state_.unneeded.size()), options_.max_scale_down_parallelism,
                                      options_.scale_down_unneeded_time, *state_.shortest_interval);
  const base::Instant started = request_.clock == nullptr ? base::Instant{} : request_.clock->Monotonic();
  std::vector<Removal> removals;
  std::vector<const EligibleNode*> of;
  size_t atomic = 0, next = 0;
  for (; next < eligible.size() && !StopEarly(removals.size(), atomic, limit, started); ++next) {
    const EligibleNode& candidate = eligible[next];
    ++plan_.simulated;
    auto result = simulation.Simulate(candidate.node);
    if (result) {
      atomic += candidate.group->atomic ? 1 : 0;
      removals.push_back(std::move(*result));
      of.push_back(&candidate);
      continue;
    }
    result.error().utilization = candidate.utilization;
    result.error().until = view_.now.Read() + options_.unremovable_node_recheck_timeout;
    Cache(result.error());
    plan_.unremovable.push_back(result.error());
  }
  for (; next < eligible.size(); ++next) {
    plan_.unremovable.push_back({.node = eligible[next].node,
                                 .reason = UnremovableReason::kNotUnneededOtherReason,
                                 .utilization = eligible[next].utilization,
                                 .detail = plan_.timed_out ? "the simulation ran out of time before it was tried"
                                                           : "enough other nodes are unneeded for now, so it was not tried"});
  }
  state_.moves.EndPass();
  KeepUnneeded(removals, of);
}

void Planner::KeepUnneeded(std::vector<Removal>& removals, const std::vector<const EligibleNode*>& of) {
  std::vector<std::string_view> names;
  for (const Removal& removal : removals) names.push_back(Facts(removal.node).name);
  state_.unneeded.Update(names, view_.now.Read());
  std::vector<bool> seen;
  plan_.unneeded.reserve(removals.size());
  for (size_t i = 0; i < removals.size(); ++i) {
    Removal& removal = removals[i];
    const NodeFacts& facts = Facts(removal.node);
    const NodeGroup& group = *of[i]->group->group;
    UnneededNode unneeded{.node = removal.node,
                          .group = &group,
                          .since = *state_.unneeded.Since(facts.name),
                          .risky = removal.risky,
                          .utilization = of[i]->utilization,
                          .daemons = std::move(removal.daemons),
                          .on_completion = std::move(removal.on_completion)};
    unneeded.wait = facts.ready ? group.options.scale_down_unneeded_time.value_or(options_.scale_down_unneeded_time)
                                : group.options.scale_down_unready_time.value_or(options_.scale_down_unready_time);
    if (of[i]->consolidated) unneeded.wait = {};
    unneeded.pods.reserve(removal.pods.size());
    for (const PodId pod : removal.pods) {
      // A pod that an earlier removal has put here is that one's.
      if (seen.size() <= pod) seen.resize(std::max<size_t>(pod + 1, view_.pods->size()), false);
      if (seen[pod]) continue;
      seen[pod] = true;
      unneeded.pods.push_back({pod, snapshot_.NodeOf(pod)});
    }
    plan_.unneeded.push_back(std::move(unneeded));
  }
}

UnremovableReason Planner::MayGo(const UnneededNode& node, std::map<const NodeGroup*, int64_t>& sizes,
                                 ResourcesLeft& left) const {
  if (node.wait > base::Duration::zero() && node.since + node.wait >= view_.now) {
    return Facts(node.node).ready ? UnremovableReason::kNotUnneededLongEnough : UnremovableReason::kNotUnreadyLongEnough;
  }
  if (!node.on_completion.empty()) return UnremovableReason::kBlockedByOnCompletionPod;
  int64_t& size = sizes.try_emplace(node.group, node.group->target_size).first->second;
  if (size - RowOf(*node.group).deleting <= node.group->min_size) return UnremovableReason::kNodeGroupMinSizeReached;
  if (!left.TryTake(node.node)) return UnremovableReason::kMinimalResourceLimitExceeded;
  --size;
  return UnremovableReason::kNoReason;
}

void Planner::Stays(const UnneededNode& node, UnremovableReason reason) {
  Unremovable stays{.node = node.node, .reason = reason, .utilization = node.utilization};
  if (reason == UnremovableReason::kNotUnneededLongEnough || reason == UnremovableReason::kNotUnreadyLongEnough) {
    stays.until = node.since + node.wait;
  }
  if (reason == UnremovableReason::kBlockedByOnCompletionPod) stays.blocking.pod = node.on_completion.front();
  plan_.unremovable.push_back(stays);
}

std::vector<size_t> Planner::CompleteAtomic(std::vector<size_t> chosen) {
  std::map<const NodeGroup*, int64_t> counts;
  for (const size_t index : chosen) ++counts[plan_.unneeded[index].group];
  std::erase_if(chosen, [&](size_t index) {
    const UnneededNode& node = plan_.unneeded[index];
    const GroupRow& row = RowOf(*node.group);
    if (!row.atomic || counts[node.group] == row.registered) return false;
    Stays(node, UnremovableReason::kAtomicScaleDownFailed);
    return true;
  });
  return chosen;
}

void Planner::ChooseDeletions() {
  std::vector<size_t> order(plan_.unneeded.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const UnneededNode &x = plan_.unneeded[a], &y = plan_.unneeded[b];
    if (x.empty() != y.empty()) return x.empty();
    if (x.risky != y.risky) return y.risky;
    return positions_[x.node] < positions_[y.node];
  });
  std::map<const NodeGroup*, int64_t> sizes;
  ResourcesLeft left(view_, options_);
  std::vector<size_t> chosen;
  for (const size_t index : order) {
    const UnremovableReason reason = MayGo(plan_.unneeded[index], sizes, left);
    if (reason == UnremovableReason::kNoReason) {
      chosen.push_back(index);
    } else {
      Stays(plan_.unneeded[index], reason);
    }
  }
  chosen = CompleteAtomic(std::move(chosen));
  if (plan_.in_cool_down() || chosen.empty()) return;
  std::vector<DeletionCandidate> empty, drain;
  for (const size_t index : chosen) {
    const UnneededNode& node = plan_.unneeded[index];
    (node.empty() ? empty : drain).push_back({index, node.group->id});
  }
  const auto group_of = [&](std::string_view id) {
    const GroupRow& row = RowOf(*view_.groups.Find(id));
    return GroupForBudget{row.atomic, row.group->target_size, row.registered};
  };
  Deletions deletions = CropToBudgets(empty, drain, group_of,
                                      {.parallelism = options_.max_scale_down_parallelism,
                                       .drain_parallelism = options_.max_drain_parallelism,
                                       .empty_in_progress = static_cast<int64_t>(request_.deleting_empty.size()),
                                       .drain_in_progress = static_cast<int64_t>(request_.deleting_drain.size())});
  plan_.delete_empty = std::move(deletions.empty);
  plan_.delete_drain = std::move(deletions.drain);
}

void Planner::ChooseSoftTaints() {
  if (options_.compat == Compat::k1_26 && plan_.in_cool_down()) return;
  auto budget = static_cast<size_t>(std::max<int64_t>(0, options_.max_bulk_soft_taint_count));
  scheduling::NodeSet unneeded, going;
  for (const UnneededNode& node : plan_.unneeded) unneeded.Add(node.node);
  for (const auto* indices : {&plan_.delete_empty, &plan_.delete_drain}) {
    for (const size_t index : *indices) going.Add(plan_.unneeded[index].node);
  }
  for (const NodeId node : soft_tainted_) {
    if (plan_.untaint.size() >= budget) return;
    if (!unneeded.Has(node) && !deleting_.Has(node) && Digests().Of(node).group != kNone) plan_.untaint.push_back(node);
  }
  budget -= plan_.untaint.size();
  std::vector<NodeId> wanted;
  for (const UnneededNode& node : plan_.unneeded) {
    const NodeFacts& facts = Facts(node.node);
    if (!facts.deletion_candidate && !facts.to_be_deleted && !going.Has(node.node)) wanted.push_back(node.node);
  }
  std::sort(wanted.begin(), wanted.end(), [&](NodeId a, NodeId b) { return positions_[a] < positions_[b]; });
  wanted.resize(std::min(wanted.size(), budget));
  plan_.taint = std::move(wanted);
}

bool Planner::MayConsolidate() const {
  if (!options_.consolidate || options_.compat == Compat::k1_26 || plan_.in_cool_down() || state_.consolidation) return false;
  if (!request_.deleting_empty.empty() || !request_.deleting_drain.empty()) return false;
  if (!plan_.delete_empty.empty() || !plan_.delete_drain.empty()) return false;
  const auto& last = state_.last_consolidation;
  return !last || *last + options_.scale_down_unneeded_time <= view_.now;
}

ConsolidationInput Planner::InputForConsolidation() {
  ConsolidationInput input{.destinations = destinations_, .templates = request_.templates};
  scheduling::NodeSet unneeded;
  for (const UnneededNode& node : plan_.unneeded) {
    // These go anyway, so nothing is to be moved to them.
    unneeded.Add(node.node);
    input.destinations.Remove(node.node);
  }
  UtilizationCalculator utilization(view_);
  for (const Candidate& candidate : candidates_) {
    const NodeFacts& facts = Facts(candidate.node);
    if (unneeded.Has(candidate.node) || candidate.group->atomic || !facts.ready || facts.scale_down_disabled ||
        facts.to_be_deleted) {
      continue;
    }
    const auto used =
        utilization.Of(candidate.node, options_.ignore_daemonsets_utilization, options_.ignore_mirror_pods_utilization);
    if (used) input.candidates.push_back({candidate.node, candidate.group->group, used->value});
  }
  return input;
}

bool Planner::ReplaceableForLong(NodeId node, const NodeGroup& group) const {
  const base::Duration wait = group.options.scale_down_unneeded_time.value_or(options_.scale_down_unneeded_time);
  const auto since = state_.replaceable.Since(Facts(node).name);
  return wait == base::Duration::zero() || (since && *since + wait < view_.now);
}

/// A node is replaced once that has been possible for as long as it takes an unneeded one to go.
void Planner::Consolidate() {
  if (!MayConsolidate()) return state_.replaceable.Clear();
  ConsolidationInput input = InputForConsolidation();
  std::optional<ConsolidationPlan> found = PlanConsolidation(view_, options_, input);
  std::vector<std::string_view> names;
  if (found) names.assign(found->remove.begin(), found->remove.end());
  state_.replaceable.Update(names, view_.now.Read());
  std::erase_if(input.candidates,
                [&](const ConsolidationCandidate& candidate) { return !ReplaceableForLong(candidate.node, *candidate.group); });
  const auto waited = [&](const std::string& name) {
    return std::ranges::any_of(input.candidates, [&](const auto& candidate) { return Facts(candidate.node).name == name; });
  };
  if (!found || input.candidates.empty()) return;
  if (!std::ranges::all_of(found->remove, waited)) found = PlanConsolidation(view_, options_, std::move(input));
  if (!found) return;
  plan_.consolidation = std::move(found);
  state_.consolidation =
      ActiveConsolidation{plan_.consolidation->remove, plan_.consolidation->group, plan_.consolidation->add, view_.now.Read()};
  state_.last_consolidation = view_.now.Read();
  state_.replaceable.Clear();
}

}  // namespace

const UnneededNode* ScaleDownPlan::FindUnneeded(NodeId node) const {
  const auto found =
      std::find_if(unneeded.begin(), unneeded.end(), [&](const UnneededNode& entry) { return entry.node == node; });
  return found == unneeded.end() ? nullptr : &*found;
}

const Unremovable* ScaleDownPlan::FindUnremovable(NodeId node) const {
  const auto found =
      std::find_if(unremovable.begin(), unremovable.end(), [&](const Unremovable& entry) { return entry.node == node; });
  return found == unremovable.end() ? nullptr : &*found;
}

ScaleDownPlan PlanScaleDown(const ClusterView& view, const Options& options, const ScaleDownRequest& request,
                            ScaleDownState& state) {
  return Planner(view, options, request, state).Run();
}

}  // namespace evenkeel::controllers::autoscaler
