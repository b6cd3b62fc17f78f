#include "balancing/plan/plan_actions.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "balancing/measures/deviation.h"
#include "balancing/plan/plan_reasons.h"
#include "balancing/plan/plan_steps.h"

namespace evenkeel::balancing {
namespace {

// How often a balancing plan is worked out anew because something was left out of it.
constexpr int kReworks = 4;
// Replicas of a group without a node that are actions of their own; the rest is counted.
constexpr size_t kUnplacedListed = 1'000;

class ActionMaker {
 public:
  ActionMaker(Arrangement& planned, const ActionContext& context, std::vector<SkippedItem>& skipped)
      : planned_(planned), cluster_(planned.cluster()), context_(context), skipped_(skipped) {}

  std::vector<Action> Make();

 private:
  std::vector<PlanStep> InOrder(std::vector<PlanStep>& stuck);
  std::vector<Action> Explained(std::span<const PlanStep> steps);
  Action ActionOf(const PlanStep& step) const;
  void AddGains(std::span<const PlanStep> steps, std::vector<Action>& actions) const;
  void AddUnplaced(const PlanReasons& reasons, std::vector<Action>& actions) const;
  double CostOf(const PlanStep& step) const;
  double GainOf(const GroupScore& score, const PlanStep& step, double cost, int64_t replicas) const;
  std::vector<LoadChange> LoadsBefore(const PlanStep& step) const;
  void LoadsAfter(const PlanStep& step, std::vector<LoadChange>& loads) const;
  bool TakeBackWhatDoesNotPay(std::span<const PlanStep> steps);
  bool Pays(std::span<const PlanStep> steps);
  int64_t ReplicasOfGroup() const;
  void Skip(const PlanStep& step);

  Arrangement& planned_;
  const Cluster& cluster_;
  const ActionContext& context_;
  std::vector<SkippedItem>& skipped_;
};

std::vector<PlanStep> ActionMaker::InOrder(std::vector<PlanStep>& stuck) {
  const std::vector<StepBundle> bundles = StepsBetween(planned_, context_.group);
  for (const StepBundle& bundle : bundles) {
    for (auto step = bundle.steps.rbegin(); step != bundle.steps.rend(); ++step) UndoStep(planned_, *step);
  }
  const PlanReasons reasons(planned_, context_);
  const auto rank = [&](const StepBundle& bundle) {
    if (context_.purpose == Purpose::kBalancing) return 0;
    const bool urgent = std::ranges::any_of(bundle.steps, [&](const PlanStep& step) {
      if (context_.purpose == Purpose::kConstraintCheck) return reasons.MendedBy(step) != nullptr;
      return step.kind == ActionKind::kPromoteSecondary;
    });
    return urgent ? 0 : 1;
  };
  return StepOrder(planned_, context_.group, context_.purpose).Make(bundles, rank, stuck);
}

double ActionMaker::CostOf(const PlanStep& step) const {
  const Settings& settings = planned_.settings();
  if (step.kind == ActionKind::kSwapPrimarySecondary) return CostOfSwap(settings);
  return IsMove(step.kind) ? CostOfMove(settings, cluster_.replicas[step.replica].move_cost) : 0;
}

double ActionMaker::GainOf(const GroupScore& score, const PlanStep& step, double cost, int64_t replicas) const {
  const ServiceId service = planned_.ServiceOf(step.replica);
  const std::span<const int64_t> loads = planned_.LoadsOf(step.replica);
  const NodeId node = planned_.NodeOf(step.replica);
  double without = score.average_deviation();
  if (IsMove(step.kind)) {
    without = score.AverageDeviationAfter(service, planned_.ChangesOfMove(step.replica, step.from));
  } else if (step.kind == ActionKind::kSwapPrimarySecondary) {
    without = score.AverageDeviationAfter(service, planned_.ChangesOfSwap(step.other, step.replica));
  } else if (IsAdd(step.kind)) {
    const NodeChange change{node, loads, {}};
    without = score.AverageDeviationAfter(service, {&change, 1});
  } else if (IsDrop(step.kind)) {
    const NodeChange change{step.from, {}, cluster_.LoadsOf(cluster_.replicas[step.replica])};
    without = score.AverageDeviationAfter(service, {&change, 1});
  } else {
    const NodeChange change{node, loads, planned_.LoadsOf(step.replica, step.role)};
    without = score.AverageDeviationAfter(service, {&change, 1});
  }
  return Energy(planned_.settings(), without, cost - CostOf(step), replicas) -
         Energy(planned_.settings(), score.average_deviation(), cost, replicas);
}

int64_t ActionMaker::ReplicasOfGroup() const {
  int64_t replicas = 0;
  for (const ServiceId service : context_.group.services) {
    for (const PartitionId partition : cluster_.services[service].partitions) {
      replicas += std::ranges::count_if(cluster_.ReplicasOf(cluster_.partitions[partition]),
                                        [](const Replica& replica) { return replica.Exists(); });
    }
  }
  return replicas;
}

void ActionMaker::AddGains(std::span<const PlanStep> steps, std::vector<Action>& actions) const {
  if (steps.empty()) return;
  const GroupScore score(cluster_, planned_.settings(), planned_.sets(), planned_.loads(), context_.group);
  const int64_t replicas = ReplicasOfGroup();
  double cost = 0;
  for (const PlanStep& step : steps) cost += CostOf(step);
  for (size_t i = 0; i < steps.size(); ++i) actions[i].energy_gain = GainOf(score, steps[i], cost, replicas);
}

std::vector<LoadChange> ActionMaker::LoadsBefore(const PlanStep& step) const {
  std::vector<LoadChange> loads;
  for (const ServiceMetric& metric : cluster_.services[planned_.ServiceOf(step.replica)].metrics) {
    LoadChange& change = loads.emplace_back();
    change.metric = metric.metric;
    if (step.from != kNoId) change.source_before = planned_.loads().Of(metric.metric, step.from);
    if (step.to != kNoId) change.target_before = planned_.loads().Of(metric.metric, step.to);
  }
  return loads;
}

void ActionMaker::LoadsAfter(const PlanStep& step, std::vector<LoadChange>& loads) const {
  for (LoadChange& change : loads) {
    if (step.from != kNoId) change.source_after = planned_.loads().Of(change.metric, step.from);
    if (step.to != kNoId) change.target_after = planned_.loads().Of(change.metric, step.to);
  }
}

Action ActionMaker::ActionOf(const PlanStep& step) const {
  Action action;
  action.partition = planned_.PartitionOf(step.replica);
  action.kind = step.kind;
  action.replica = planned_.IsNew(step.replica) ? kNoId : step.replica;
  action.from = step.from;
  action.to = step.to;
  action.partition_version = cluster_.partitions[action.partition].version;
  action.max_priority = context_.max_priority;
  return action;
}

std::vector<Action> ActionMaker::Explained(std::span<const PlanStep> steps) {
  for (size_t i = steps.size(); i > 0; --i) UndoStep(planned_, steps[i - 1]);
  const PlanReasons reasons(planned_, context_);
  std::vector<Action> actions;
  actions.reserve(steps.size());
  for (const PlanStep& step : steps) {
    Action& action = actions.emplace_back(ActionOf(step));
    action.loads = LoadsBefore(step);
    DoStep(planned_, step);
    LoadsAfter(step, action.loads);
    Reason reason = reasons.Of(step, action);
    action.reason = std::move(reason.text);
    action.trigger_metric = reason.metric;
  }
  AddGains(steps, actions);
  AddUnplaced(reasons, actions);
  return actions;
}

void ActionMaker::AddUnplaced(const PlanReasons& reasons, std::vector<Action>& actions) const {
  if (context_.purpose != Purpose::kPlacement) return;
  for (const ImpossibleRequest& request : context_.impossible) {
    Action& action = actions.emplace_back();
    action.partition = request.partition;
    action.kind = ActionKind::kRequestedPlacementNotPossible;
    action.from = request.node;
    action.partition_version = cluster_.partitions[request.partition].version;
    action.max_priority = context_.max_priority;
    action.reason = PlanReasons::OfImpossible(cluster_, request);
  }
  size_t unplaced = 0;
  for (const ServiceId service : context_.group.services) {
    for (const PartitionId partition : cluster_.services[service].partitions) {
      if (std::ranges::find(context_.waiting, partition) != context_.waiting.end()) continue;
      const auto [first, last] = planned_.NewOf(partition);
      for (ReplicaId replica = first; replica < last; ++replica) {
        if (planned_.NodeOf(replica) != kNoId || ++unplaced > kUnplacedListed) continue;
        Action& action = actions.emplace_back(
            ActionOf({ActionKind::kRequestedPlacementNotPossible, replica, kNoId, kNoId, kNoId, Role::kNone}));
        action.reason = reasons.OfUnplaced(replica).text;
      }
    }
  }
  if (unplaced <= kUnplacedListed) return;
  skipped_.push_back({"they have no node either", fmt::format("{} more replicas", unplaced - kUnplacedListed)});
}

void ActionMaker::Skip(const PlanStep& step) {
  const std::string& partition = cluster_.partitions[planned_.PartitionOf(step.replica)].name;
  const auto name = [&](NodeId node) { return node == kNoId ? std::string("nowhere") : cluster_.nodes[node].name; };
  skipped_.push_back({"it waits for movements that wait for it: no order keeps capacities and hard constraints on the way",
                      fmt::format("{} of {} from {} to {}", Name(step.kind), partition, name(step.from), name(step.to))});
}

// Whether what remains of a plan from which something was left out is better than nothing.
bool ActionMaker::Pays(std::span<const PlanStep> steps) {
  double cost = 0;
  for (const PlanStep& step : steps) cost += CostOf(step);
  const auto deviation = [&] {
    return GroupScore(cluster_, planned_.settings(), planned_.sets(), planned_.loads(), context_.group).average_deviation();
  };
  const int64_t replicas = ReplicasOfGroup();
  const double with = Energy(planned_.settings(), deviation(), cost, replicas);
  for (size_t i = steps.size(); i > 0; --i) UndoStep(planned_, steps[i - 1]);
  if (with < Energy(planned_.settings(), deviation(), 0, replicas)) {
    for (const PlanStep& step : steps) DoStep(planned_, step);
    return true;
  }
  return false;
}

// One after the other, the last first: many that do not pay now would pay without each other.
bool ActionMaker::TakeBackWhatDoesNotPay(std::span<const PlanStep> steps) {
  GroupScore score(cluster_, planned_.settings(), planned_.sets(), planned_.loads(), context_.group);
  const int64_t replicas = ReplicasOfGroup();
  double cost = 0;
  for (const PlanStep& step : steps) cost += CostOf(step);
  bool any = false;
  for (size_t i = steps.size(); i > 0; --i) {
    const PlanStep& step = steps[i - 1];
    if (!IsMove(step.kind) || GainOf(score, step, cost, replicas) > 0) continue;
    UndoStep(planned_, step);
    score.Update(planned_.ServiceOf(step.replica));
    cost -= CostOf(step);
    any = true;
  }
  return any;
}

std::vector<Action> ActionMaker::Make() {
  std::vector<PlanStep> stuck, steps = InOrder(stuck);
  for (const PlanStep& step : stuck) Skip(step);
  if (stuck.empty() || context_.purpose != Purpose::kBalancing) return Explained(steps);
  // What remains was chosen together with what is left out: each step of it has to pay still.
  for (int rework = 0; rework < kReworks && TakeBackWhatDoesNotPay(steps); ++rework) {
    stuck.clear();
    steps = InOrder(stuck);
    for (const PlanStep& step : stuck) Skip(step);
  }
  return Pays(steps) ? Explained(steps) : std::vector<Action>();
}

}  // namespace

std::vector<Action> ActionsOf(Arrangement& planned, const ActionContext& context, std::vector<SkippedItem>& skipped) {
  return ActionMaker(planned, context, skipped).Make();
}

}  // namespace evenkeel::balancing
