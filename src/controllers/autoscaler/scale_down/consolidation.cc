#include "controllers/autoscaler/scale_down/consolidation.h"

#include <fmt/format.h>
#include <algorithm>
#include <unordered_map>

#include "controllers/autoscaler/facts/budget_tracker.h"
#include "controllers/autoscaler/facts/state_fields.h"
#include "controllers/autoscaler/scale_down/removal_simulation.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using scheduling::kCpu;
using scheduling::kMemory;
using scheduling::kNone;
using scheduling::NodeId;

/// More nodes than this are not replaced by one plan.
constexpr size_t kMostRemoved = 64;
/// So many candidates in a row that cannot go end the search.
constexpr int kMostFailures = 16;
/// More new nodes than this are not tried for one that goes.
constexpr int64_t kMostPerRemoval = 4;
/// A saving smaller than this part of the cost is noise of the arithmetic.
constexpr double kNoise = 1e-9;
/// How long a plan may take once its nodes should be there.
constexpr base::Duration kTimeToRemove = std::chrono::hours(1);

constexpr int64_t kMilli = 1000;
constexpr int64_t kGiB = int64_t{1} << 30;

struct Totals {
  int64_t nodes = 0, cores = 0, memory = 0, cpu = 0;
};

class Search {
 public:
  Search(const ClusterView& view, const Options& options, ConsolidationInput& input)
      : view_(view), options_(options), input_(input), snapshot_(*view.snapshot) {
    for (const NodeId node : snapshot_.order()) {
      if (node == kNone) continue;
      ++totals_.nodes;
      totals_.cpu += snapshot_.Allocatable(node, kCpu);
      totals_.cores += Cores(node);
      totals_.memory += snapshot_.Allocatable(node, kMemory);
    }
    for (const ConsolidationCandidate& candidate : input.candidates) order_.push_back(candidate.node);
    priced_ = std::all_of(view.groups.groups.begin(), view.groups.groups.end(),
                          [](const providers::NodeGroup& group) { return group.price_per_hour.has_value(); });
  }

  std::optional<ConsolidationPlan> Run() {
    Try(nullptr, nullptr);
    for (const ReplacementTemplate& made : input_.templates) {
      const providers::NodeGroup* group = view_.groups.Find(made.group);
      if (group != nullptr && group->exists && group->set_aside.empty() &&
          !group->options.zero_or_max_node_scaling.value_or(false))
        Try(&made, group);
    }
    return std::move(best_);
  }

 private:
  int64_t Cores(NodeId node) const { return (snapshot_.Allocatable(node, kCpu) + kMilli - 1) / kMilli; }

  double Cost(NodeId node, const providers::NodeGroup& group) const {
    if (priced_) return *group.price_per_hour;
    const auto share = [](int64_t part, int64_t of) {
      return of > 0 ? static_cast<double>(part) / static_cast<double>(of) : 0;
    };
    return share(snapshot_.Allocatable(node, kCpu), totals_.cpu) + share(snapshot_.Allocatable(node, kMemory), totals_.memory);
  }

  bool MayAdd(const providers::NodeGroup& group, int64_t added, NodeId node) const {
    if (group.target_size + added > group.max_size) return false;
    if (options_.max_nodes_total > 0 && totals_.nodes + added > options_.max_nodes_total) return false;
    return totals_.cores + added * Cores(node) <= options_.cores_total.max &&
           totals_.memory + added * snapshot_.Allocatable(node, kMemory) <= options_.memory_total.max * kGiB;
  }

  /// New nodes of the template, as few as it takes, and the removal that needs them; nothing has changed when the answer is 0.
  int64_t TryWithNodes(RemovalSimulation& simulation, const ReplacementTemplate& made, const providers::NodeGroup& group,
                       int64_t added, NodeId leaving, double& cost) {
    scheduling::WhatIf what_if(snapshot_);
    std::vector<NodeId> fresh;
    while (static_cast<int64_t>(fresh.size()) < kMostPerRemoval) {
      const auto count = added + static_cast<int64_t>(fresh.size()) + 1;
      const NodeId node = snapshot_.AddNode(made.node, fmt::format("consolidation-{}-{}", made.group, count));
      for (const scheduling::Copies& daemon : made.daemons) snapshot_.PlaceCopies(daemon.pod_class, node, daemon.pods);
      if (!MayAdd(group, count, node)) break;
      simulation.AddDestination(node);
      fresh.push_back(node);
      if (!simulation.Simulate(leaving)) continue;
      cost = Cost(node, group) * static_cast<double>(fresh.size());
      what_if.Commit();
      return static_cast<int64_t>(fresh.size());
    }
    for (const NodeId node : fresh) simulation.RemoveDestination(node);
    return 0;
  }

  void Try(const ReplacementTemplate* made, const providers::NodeGroup* group) {
    scheduling::WhatIf all(snapshot_);
    BudgetTracker budgets(view_);
    PlacementHints hints;
    RemovalSimulation simulation(view_, options_, budgets, hints, input_.destinations, order_);
    std::unordered_map<const providers::NodeGroup*, int64_t> left;
    std::vector<NodeId> removed;
    double before = 0, after = 0;
    int64_t added = 0;
    int failures = 0;
    for (const ConsolidationCandidate& candidate : input_.candidates) {
      if (removed.size() >= kMostRemoved || failures >= kMostFailures) break;
      int64_t& above_min =
          left.try_emplace(candidate.group, candidate.group->target_size - candidate.group->min_size).first->second;
      const PodsOfNode pods = simulation.drainability().Look(candidate.node);
      if (above_min <= 0 || pods.blocking || !pods.on_completion.empty() || !budgets.CanRemove(pods.move).in_parallel) continue;
      const double cost = Cost(candidate.node, *candidate.group);
      if (!simulation.Simulate(candidate.node)) {
        double new_cost = 0;
        const int64_t fresh = made == nullptr ? 0 : TryWithNodes(simulation, *made, *group, added, candidate.node, new_cost);
        if (fresh == 0) {
          ++failures;
          continue;
        }
        added += fresh;
        after += new_cost;
      }
      failures = 0;
      --above_min;
      before += cost;
      removed.push_back(candidate.node);
      Offer(removed, made, added, before, after);
    }
  }

  void Offer(const std::vector<NodeId>& removed, const ReplacementTemplate* made, int64_t added, double before, double after) {
    const double saving = before - after, noise = kNoise * before;
    if (saving <= noise) return;
    if (best_) {
      const double best = best_->before - best_->after;
      if (saving < best - noise) return;
      if (saving <= best + noise && added >= best_->add) return;
    }
    ConsolidationPlan plan;
    for (const NodeId node : removed) plan.remove.push_back(snapshot_.NodeName(node));
    std::sort(plan.remove.begin(), plan.remove.end());
    if (added > 0) plan.group = made->group;
    plan.add = added;
    plan.priced = priced_;
    plan.before = before;
    plan.after = after;
    best_ = std::move(plan);
  }

  const ClusterView& view_;
  const Options& options_;
  ConsolidationInput& input_;
  scheduling::Snapshot& snapshot_;
  Totals totals_;
  std::vector<NodeId> order_;  // the candidates
  bool priced_ = false;
  std::optional<ConsolidationPlan> best_;
};

std::string Describe(const ConsolidationPlan& plan) {
  const std::string nodes = plan.remove.size() == 1 ? "1 node" : fmt::format("{} nodes", plan.remove.size());
  const std::string come = plan.add == 0 ? "nothing new" : fmt::format("{} of group {}", plan.add, plan.group);
  if (plan.priced)
    return fmt::format("{} can be replaced by {}: {:.4f} instead of {:.4f} per hour", nodes, come, plan.after, plan.before);
  return fmt::format("{} can be replaced by {}: {:.2f} % less cpu and memory", nodes, come,
                     100 * (plan.before - plan.after) / plan.before);
}

}  // namespace

std::optional<ConsolidationPlan> PlanConsolidation(const ClusterView& view, const Options& options, ConsolidationInput input) {
  std::sort(input.candidates.begin(), input.candidates.end(), [&](const auto& a, const auto& b) {
    if (a.utilization != b.utilization) return a.utilization < b.utilization;
    return view.snapshot->NodeName(a.node) < view.snapshot->NodeName(b.node);
  });
  std::optional<ConsolidationPlan> plan = Search(view, options, input).Run();
  if (plan) plan->text = Describe(*plan);
  return plan;
}

bool ActiveConsolidation::Removes(std::string_view node) const {
  return std::binary_search(remove.begin(), remove.end(), node);
}

bool ActiveConsolidation::Brought(const NodeFacts& node) const {
  // Creation times have whole seconds.
  return !group.empty() && node.group == group && node.created >= std::chrono::floor<std::chrono::seconds>(since);
}

base::Json ActiveConsolidation::ToJson() const {
  return base::JsonObject{
      {"remove", base::ToJsonArray(remove)}, {"group", group}, {"add", add}, {"since", base::FormatMicroTime(since)}};
}

base::Result<ActiveConsolidation> ActiveConsolidation::Read(const base::Field& fields) {
  ActiveConsolidation active;
  EVENKEEL_TRY(fields["remove"].Texts(active.remove));
  std::sort(active.remove.begin(), active.remove.end());
  EVENKEEL_TRY(fields["group"].Text(active.group));
  EVENKEEL_TRY(fields["add"].Whole(active.add));
  EVENKEEL_TRY(ReadTime(fields["since"], active.since));
  return active;
}

ConsolidationStage StageOf(const ActiveConsolidation& active, const ClusterView& view, const Options& options) {
  const bool any_left = std::any_of(active.remove.begin(), active.remove.end(), [&](const std::string& name) {
    const NodeId node = view.snapshot->FindNodeByName(name);
    return node != kNone && view.snapshot->Present(node);
  });
  const base::Time due = active.since + options.max_node_provision_time;
  if (!any_left || due + options.scale_down_delay_after_add + kTimeToRemove < view.now) return ConsolidationStage::kOver;
  int64_t ready = 0;
  for (NodeId node = 0; active.add > 0 && node < view.nodes->size(); ++node) {
    const NodeFacts& facts = (*view.nodes)[node];
    ready += facts.present && facts.ready && active.Brought(facts) ? 1 : 0;
  }
  if (ready >= active.add) return ConsolidationStage::kRemoving;
  return due < view.now ? ConsolidationStage::kOver : ConsolidationStage::kWaitingForNodes;
}

}  // namespace evenkeel::controllers::autoscaler
