#include "balancing/plan/plan.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "balancing/measures/deviation.h"
#include "balancing/model/amount_text.h"
#include "balancing/placement/placement_search.h"
#include "balancing/plan/plan_actions.h"
#include "balancing/plan/plan_apply.h"
#include "balancing/plan/plan_limits.h"
#include "balancing/plan/plan_skips.h"
#include "balancing/repairs/constraint_fixes.h"
#include "balancing/rules/movability.h"
#include "balancing/rules/placement_needs.h"
#include "balancing/search/balancing_search.h"
#include "balancing/search/swaps_for_moves.h"
#include "base/random.h"

namespace evenkeel::balancing {
namespace {

/// One plan in the making: what all groups share.
class Planner {
 public:
  Planner(const Cluster& cluster, const Settings& settings, const PlanOptions& options, PlannerMemory& memory);

  Plan Make();

 private:
  void SortViolations();
  uint32_t GroupOfApplication(ApplicationId application) const;
  void PlanGroup(uint32_t index);
  PhaseInput QuestionsOf(const GroupPlan& plan) const;
  ImbalanceAnswer ImbalanceOf(const GroupPlan& plan) const;
  void RunPhase(GroupPlan& plan);
  void Place(GroupPlan& plan, ActionContext& context);
  void Fix(GroupPlan& plan, ActionContext& context);
  void BalanceLoads(GroupPlan& plan, ActionContext& context);
  void DropWhatDoesNotPay(GroupPlan& plan);
  enum class Moment { kBefore, kAfter };
  void Measure(GroupPlan& plan, Moment moment) const;
  void Remember(const GroupPlan& plan);

  const ServiceGroup& GroupOf(const GroupPlan& plan) const { return plan_.groups.groups[plan.group]; }
  bool MayMoveForBalance(const GroupPlan& plan, const Partition& partition) const;
  template <typename F>
  void ForEachPartition(const GroupPlan& plan, F&& visit) const;
  uint64_t SeedOf(const GroupPlan& plan) const;

  const Cluster& cluster_;
  const Settings& settings_;
  const PlanOptions& options_;
  PlannerMemory& memory_;
  const NodeSets sets_;
  Arrangement arrangement_;
  Plan plan_;
  std::vector<std::vector<Violation>> violations_;  // by group
  std::vector<int64_t> existing_;                   // replicas, by group
  int64_t all_existing_ = 0;
  std::set<std::string, std::less<>> throttled_partitions_;
  PlanLimits limits_;
};

Planner::Planner(const Cluster& cluster, const Settings& settings, const PlanOptions& options, PlannerMemory& memory)
    : cluster_(cluster),
      settings_(settings),
      options_(options),
      memory_(memory),
      sets_(cluster),
      arrangement_(cluster, settings, sets_),
      limits_(cluster, settings) {
  plan_.groups = GroupServices(cluster);
  memory.groups = Regroup(memory.groups, cluster, plan_.groups, options.now);
  existing_.assign(plan_.groups.groups.size(), 0);
  for (const Replica& replica : cluster.replicas) {
    if (!replica.Exists()) continue;
    ++existing_[plan_.groups.group_of_service[cluster.partitions[replica.partition].service]];
    ++all_existing_;
  }
  for (const std::string& partition : memory.throttles.ThrottledPartitions(settings, options.now)) {
    throttled_partitions_.insert(partition);
  }
  SortViolations();
}

uint32_t Planner::GroupOfApplication(ApplicationId application) const {
  const auto service = std::ranges::find(cluster_.services, application, &Service::application);
  if (service == cluster_.services.end()) return kNoId;
  return plan_.groups.group_of_service[static_cast<size_t>(service - cluster_.services.begin())];
}

void Planner::SortViolations() {
  violations_.resize(plan_.groups.groups.size());
  const Constraints constraints(arrangement_, {.purpose = Purpose::kConstraintCheck});
  for (const Violation& violation : constraints.Violations()) {
    uint32_t group = kNoId;
    if (violation.partition != kNoId) {
      group = plan_.groups.group_of_service[cluster_.partitions[violation.partition].service];
    } else if (violation.application != kNoId) {
      group = GroupOfApplication(violation.application);
    } else if (violation.metric != kNoId) {
      group = plan_.groups.group_of_metric[violation.metric];
    }
    if (group != kNoId) violations_[group].push_back(violation);
  }
}

template <typename F>
void Planner::ForEachPartition(const GroupPlan& plan, F&& visit) const {
  for (const ServiceId service : GroupOf(plan).services) {
    for (const PartitionId partition : cluster_.services[service].partitions) visit(partition);
  }
}

// Groups do not share random numbers: one more group changes nothing for the others.
uint64_t Planner::SeedOf(const GroupPlan& plan) const {
  return base::Random(options_.seed).Fork(cluster_.services[GroupOf(plan).services.front()].name).Next();
}

Plan Planner::Make() {
  const size_t groups = plan_.groups.groups.size();
  plan_.of_groups.resize(groups);
  // Groups share the limits of movements: who has waited longest comes first.
  std::vector<uint32_t> order(groups);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](uint32_t group) { return NextStage(settings_, memory_.groups[group].phase); });
  for (const uint32_t group : order) PlanGroup(group);
  for (const GroupPlan& plan : plan_.of_groups) {
    plan_.phase = plan.decision.phase;
    if (plan_.phase != Phase::kNoActionNeeded) break;
  }
  return std::move(plan_);
}

bool Planner::MayMoveForBalance(const GroupPlan& plan, const Partition& partition) const {
  return std::ranges::any_of(cluster_.ReplicasOf(partition), [&](const Replica& replica) {
    return replica.Exists() && plan.balance.MayMove(cluster_, partition.service, cluster_.nodes[replica.node].type);
  });
}

ImbalanceAnswer Planner::ImbalanceOf(const GroupPlan& plan) const {
  ImbalanceAnswer answer;
  answer.balanced = plan.balance.balanced();
  for (const NodeTypeId type : plan.balance.ImbalancedNodeTypes()) answer.node_types.push_back(cluster_.node_types[type]);
  if (answer.balanced || throttled_partitions_.empty()) return answer;
  ForEachPartition(plan, [&](PartitionId id) {
    const Partition& partition = cluster_.partitions[id];
    if (!MayMoveForBalance(plan, partition)) return;
    ++answer.partitions;
    if (throttled_partitions_.contains(partition.name)) ++answer.throttled_partitions;
  });
  return answer;
}

PhaseInput Planner::QuestionsOf(const GroupPlan& plan) const {
  PhaseInput input;
  input.now = options_.now;
  input.runtime = cluster_.runtime;
  input.replicas = {existing_[plan.group], all_existing_};
  input.node_types = cluster_.node_types;
  input.throttles = &memory_.throttles;
  ForEachPartition(plan, [&](PartitionId id) {
    const Partition& partition = cluster_.partitions[id];
    input.in_application_upgrade |= partition.Has(kPartitionInUpgrade);
  });
  input.questions.has_movable_replica = [&] {
    const bool upgrading_may_move = settings_.allow_balancing_during_application_upgrade;
    bool found = false;
    ForEachPartition(plan, [&](PartitionId id) {
      const auto [first, last] = arrangement_.ExistingOf(id);
      for (ReplicaId replica = first; replica < last && !found; ++replica) {
        const Replica& is = cluster_.replicas[replica];
        // One on every node stays, but what is wrong with it is told.
        const bool counts = cluster_.ServiceOf(is).on_every_node || WhyKept(cluster_, is, upgrading_may_move).empty();
        found = arrangement_.NodeOf(replica) != kNoId && counts;
      }
    });
    return found;
  };
  input.questions.placement_needed = [&] { return PlacementNeeded(arrangement_, GroupOf(plan)); };
  input.questions.violations = [&] {
    auto answer = Violations::kNone;
    for (const Violation& violation : plan.violations) {
      const bool skippable =
          violation.constraint == Constraint::kFaultDomain || violation.constraint == Constraint::kUpgradeDomain;
      if (!skippable) return Violations::kSome;
      answer = Violations::kLightOnly;
    }
    return answer;
  };
  input.questions.imbalance = [&] { return ImbalanceOf(plan); };
  input.questions.score = [&] { return plan.deviation_before; };
  return input;
}

void Planner::Measure(GroupPlan& plan, Moment moment) const {
  const bool before = moment == Moment::kBefore;
  const GroupScore score(cluster_, settings_, sets_, arrangement_.loads(), GroupOf(plan));
  const GroupBalance balance = CheckBalance(cluster_, settings_, sets_, arrangement_.loads(), GroupOf(plan));
  (before ? plan.deviation_before : plan.deviation_after) = score.average_deviation();
  double cost = 0;
  if (!before) cost = CostOf(cluster_, settings_, plan.actions);
  (before ? plan.energy_before : plan.energy_after) = Energy(settings_, score.average_deviation(), cost, existing_[plan.group]);
  const std::vector<MetricId>& metrics = GroupOf(plan).metrics;
  plan.metrics.resize(metrics.size());
  for (size_t i = 0; i < metrics.size(); ++i) {
    MetricChange& change = plan.metrics[i];
    change.metric = metrics[i];
    (before ? change.deviation_before : change.deviation_after) = score.Deviation(metrics[i]);
    (before ? change.balanced_before : change.balanced_after) = std::ranges::all_of(
        balance.metrics, [&](const MetricBalance& item) { return item.metric != metrics[i] || item.balanced(); });
  }
  if (before) plan.balance = balance;
}

void Planner::Place(GroupPlan& plan, ActionContext& context) {
  context.purpose = Purpose::kPlacement;
  PlacementResult result = PlaceReplicas(arrangement_, GroupOf(plan),
                                         {.with_move = plan.decision.phase == Phase::kPlacementWithMove,
                                          .movement_slots = plan.decision.movement_slots,
                                          .seed = SeedOf(plan),
                                          .evaluations = options_.evaluations});
  plan_.evaluations += result.evaluations;
  plan.impossible = result.impossible;
  plan.waiting = result.waiting;
  context.impossible = plan.impossible;
  context.waiting = plan.waiting;
  plan.unplaced = std::move(result.why);
  context.unplaced = plan.unplaced;
  plan.along = std::move(result.along);
  context.along = plan.along;
  for (const WaitingFamily& family : result.families) plan.skipped.push_back(SkippedFamily(cluster_, family));
  for (const auto& [replica, elimination] : plan.unplaced) {
    const Partition& partition = cluster_.partitions[arrangement_.PartitionOf(replica)];
    const std::string_view what = elimination.remaining == 0 ? "no node for it: " : "no place was found for it now: ";
    plan.skipped.push_back({std::string(what) + Text(arrangement_, elimination), "a replica of partition " + partition.name});
  }
}

void Planner::Fix(GroupPlan& plan, ActionContext& context) {
  context.purpose = Purpose::kConstraintCheck;
  const FixResult result = FixViolations(arrangement_, GroupOf(plan),
                                         {.light = plan.decision.light,
                                          .movement_slots = plan.decision.movement_slots,
                                          .seed = SeedOf(plan),
                                          .evaluations = options_.evaluations});
  plan_.evaluations += result.evaluations;
  for (const UnmendedViolation& left : result.left) {
    std::string why = left.why;
    if (left.nodes) why += "; " + Text(arrangement_, *left.nodes);
    plan.skipped.push_back({std::move(why), Text(arrangement_, left.violation)});
  }
}

void Planner::BalanceLoads(GroupPlan& plan, ActionContext& context) {
  context.purpose = Purpose::kBalancing;
  BalancingOptions options;
  options.movement_slots = plan.decision.movement_slots;
  options.quick = plan.decision.phase == Phase::kQuickBalancing;
  options.seed = SeedOf(plan);
  options.evaluations = options_.evaluations;
  for (NodeTypeId type = 0; type < cluster_.node_types.size(); ++type) {
    if (std::ranges::count(plan.decision.node_types, cluster_.node_types[type]) > 0) options.node_types.push_back(type);
  }
  if (!throttled_partitions_.empty()) {
    ForEachPartition(plan, [&](PartitionId id) {
      if (!throttled_partitions_.contains(cluster_.partitions[id].name)) return;
      options.throttled_partitions.push_back(id);
      plan.skipped.push_back({fmt::format("it has moved {} times in the last {} (MovementPerPartitionThrottleThreshold)",
                                          settings_.movement_per_partition_throttle_threshold,
                                          SecondsText(settings_.movement_per_partition_throttle_counting_interval)),
                              "partition " + cluster_.partitions[id].name});
    });
  }
  const BalancingResult result = Balance(arrangement_, GroupOf(plan), plan.balance, options);
  plan_.evaluations += result.evaluations;
  if (result.cut_off) {
    plan.skipped.push_back({fmt::format("the search was cut off after {} steps: more movements may pay", result.evaluations),
                            std::string(Name(plan.decision.phase))});
  }
  ExchangeMovesForSwaps(arrangement_, GroupOf(plan), plan.balance, options);
}

void Planner::RunPhase(GroupPlan& plan) {
  ActionContext context{.group = GroupOf(plan), .balance = &plan.balance, .violations = plan.violations};
  switch (plan.decision.phase) {
    case Phase::kNoActionNeeded:
      return;
    case Phase::kPlacement:
    case Phase::kPlacementWithMove:
      Place(plan, context);
      break;
    case Phase::kConstraintCheck:
      Fix(plan, context);
      break;
    case Phase::kQuickBalancing:
    case Phase::kBalancing:
      BalanceLoads(plan, context);
      break;
  }
  plan.actions = ActionsOf(arrangement_, context, plan.skipped);
  limits_.Cut(arrangement_, context, plan.actions, plan.skipped);
}

// What limits leave of a balancing plan may not be worth its movements.
void Planner::DropWhatDoesNotPay(GroupPlan& plan) {
  Measure(plan, Moment::kAfter);
  if (plan.energy_after < plan.energy_before || plan.actions.empty()) return;
  plan.skipped.push_back(
      {fmt::format("{} actions are all that limits leave, and they do not pay for themselves", plan.actions.size()),
       std::string(Name(plan.decision.phase))});
  limits_.GiveBack(plan.actions);
  UndoAll(plan.actions, arrangement_);
  plan.actions.clear();
}

void Planner::PlanGroup(uint32_t index) {
  GroupPlan& plan = plan_.of_groups[index];
  plan.group = index;
  plan.violations = std::move(violations_[index]);
  for (const Violation& violation : plan.violations) plan.violation_texts.push_back(Text(arrangement_, violation));
  Measure(plan, Moment::kBefore);
  plan.decision = ChoosePhase(settings_, QuestionsOf(plan), memory_.groups[index].phase);
  plan.skipped = SkippedPhases(settings_, plan);
  const bool balancing = plan.decision.phase == Phase::kQuickBalancing || plan.decision.phase == Phase::kBalancing;
  RunPhase(plan);
  if (balancing) DropWhatDoesNotPay(plan);
  Measure(plan, Moment::kAfter);
  if (balancing && plan.actions.empty()) {
    plan.skipped.push_back({WhyNothingMoves(arrangement_, GroupOf(plan), plan), std::string(Name(plan.decision.phase))});
  }
  Remember(plan);
}

void Planner::Remember(const GroupPlan& plan) {
  Movement::Phase phase = Movement::Phase::kBalancing;
  switch (plan.decision.phase) {
    case Phase::kPlacementWithMove:
      phase = Movement::Phase::kPlacement;
      break;
    case Phase::kQuickBalancing:
    case Phase::kBalancing:
      NoteScore(memory_.groups[plan.group].phase, plan.deviation_after);
      break;
    default:
      return;
  }
  for (const Action& action : plan.actions) {
    if (!IsMovement(action.kind)) continue;
    memory_.throttles.Record(settings_, phase, cluster_.partitions[action.partition].name, options_.now);
  }
}

}  // namespace

Plan MakePlan(const Cluster& cluster, const Settings& settings, const PlanOptions& options, PlannerMemory& memory) {
  return Planner(cluster, settings, options, memory).Make();
}

}  // namespace evenkeel::balancing
