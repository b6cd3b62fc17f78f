#include "balancing/plan/explain_service.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "balancing/measures/deviation.h"
#include "balancing/model/amount_text.h"
#include "balancing/model/messages.h"
#include "balancing/plan/plan_apply.h"
#include "balancing/plan/service_hints.h"
#include "balancing/rules/constraints.h"
#include "balancing/search/balancing_search.h"

namespace evenkeel::balancing {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

/// One explanation. `given_` is the cluster as it is, `planned_` as the plan leaves it.
class ServiceExplainer {
 public:
  ServiceExplainer(const Cluster& cluster, const Settings& settings, const Plan& plan, const PlannerMemory& memory, double now,
                   ServiceId service);

  Json Explain();

 private:
  struct Target {
    NodeId node = kNoId;
    double energy = 0;
  };

  JsonArray Metrics() const;
  void AddReplicas();
  Json Destination(ReplicaId replica, const Action& action) const;
  void AddReplica(ReplicaId replica, const Action* action);
  const Action* ActionOf(ReplicaId replica) const;
  std::string WhyItStays(ReplicaId replica, int64_t others) const;
  std::string WhyBalancingLeavesIt(ReplicaId replica) const;
  std::optional<Target> BestTarget(ReplicaId replica) const;
  std::string Worth(ReplicaId replica) const;
  JsonArray EliminationJson(const Elimination& elimination);

  const Service& service() const { return cluster_.services[service_]; }
  const ServiceGroup& group() const { return plan_.groups.groups[group_plan_.group]; }
  const std::string& NodeName(NodeId node) const { return cluster_.nodes[node].name; }

  const Cluster& cluster_;
  const Settings& settings_;
  const Plan& plan_;
  const PlannerMemory& memory_;
  const double now_;
  const ServiceId service_;
  const GroupPlan& group_plan_;
  const NodeSets sets_;
  const Arrangement given_;
  Arrangement planned_;
  std::optional<Constraints> constraints_;
  std::optional<GroupScore> score_;
  std::array<int64_t, kConstraints> eliminated_{};
  JsonArray replicas_;
  int64_t left_out_ = 0;
};

ServiceExplainer::ServiceExplainer(const Cluster& cluster, const Settings& settings, const Plan& plan,
                                   const PlannerMemory& memory, double now, ServiceId service)
    : cluster_(cluster),
      settings_(settings),
      plan_(plan),
      memory_(memory),
      now_(now),
      service_(service),
      group_plan_(plan.of_groups[plan.groups.group_of_service[service]]),
      sets_(cluster),
      given_(cluster, settings, sets_),
      planned_(cluster, settings, sets_) {
  for (const Action& action : group_plan_.actions) Apply(action, planned_);
  ConstraintOptions options{.light = group_plan_.decision.light};
  switch (group_plan_.decision.phase) {
    case Phase::kPlacement:
    case Phase::kPlacementWithMove:
      options.purpose = Purpose::kPlacement;
      break;
    case Phase::kConstraintCheck:
      options.purpose = Purpose::kConstraintCheck;
      break;
    default:
      options.max_priority = kBalancingMaxPriority;
      break;
  }
  constraints_.emplace(planned_, options);
  score_.emplace(cluster, settings, sets_, planned_.loads(), group());
}

JsonArray ServiceExplainer::Metrics() const {
  JsonArray list;
  const auto add = [&](const MetricBalance& balance) {
    const bool own = std::ranges::any_of(service().metrics, [&](const ServiceMetric& m) { return m.metric == balance.metric; });
    if (!own) return;
    list.push_back(JsonObject{{"metric", cluster_.metrics[balance.metric].name},
                              {"nodeType", balance.node_type == kNoId ? Json() : Json(cluster_.node_types[balance.node_type])},
                              {"balanced", balance.balanced()},
                              {"ofService", balance.service != kNoId},
                              {"why", Text(cluster_, balance)}});
  };
  for (const MetricBalance& balance : group_plan_.balance.metrics) add(balance);
  for (const MetricBalance& balance : group_plan_.balance.local) {
    if (balance.service == service_) add(balance);
  }
  return list;
}

const Action* ServiceExplainer::ActionOf(ReplicaId replica) const {
  const NodeId node = given_.NodeOf(replica);
  for (const Action& action : group_plan_.actions) {
    if (action.partition != given_.PartitionOf(replica)) continue;
    if (action.replica == replica) return &action;
    // Of an exchange only one side is named.
    if (action.kind == ActionKind::kSwapPrimarySecondary && (action.from == node || action.to == node)) return &action;
  }
  return nullptr;
}

JsonArray ServiceExplainer::EliminationJson(const Elimination& elimination) {
  JsonArray steps;
  for (const Elimination::Step& step : elimination.steps) {
    eliminated_[static_cast<size_t>(step.constraint)] += step.eliminated;
    JsonArray nodes;
    for (const NodeId node : step.nodes) nodes.emplace_back(NodeName(node));
    steps.push_back(JsonObject{{"constraint", Name(step.constraint)},
                               {"priority", PriorityName(PriorityOf(settings_, step.constraint))},
                               {"count", step.eliminated},
                               {"nodes", std::move(nodes)},
                               {"detail", step.detail}});
  }
  return steps;
}

std::optional<ServiceExplainer::Target> ServiceExplainer::BestTarget(ReplicaId replica) const {
  std::optional<Target> best;
  const NodeId from = planned_.NodeOf(replica);
  const double cost =
      CostOf(cluster_, settings_, group_plan_.actions) + CostOfMove(settings_, cluster_.replicas[replica].move_cost);
  int64_t existing = 0;
  for (const ServiceId id : group().services) {
    for (const PartitionId partition : cluster_.services[id].partitions) {
      existing += std::ranges::count_if(cluster_.ReplicasOf(cluster_.partitions[partition]), &Replica::Exists);
    }
  }
  for (NodeId node = 0; node < cluster_.nodes.size(); ++node) {
    const bool other_type = PerNodeType(settings_) && cluster_.nodes[node].type != cluster_.nodes[from].type;
    if (node == from || other_type || !constraints_->Allows(replica, node)) continue;
    const auto changes = planned_.ChangesOfMove(replica, node);
    const double energy = Energy(settings_, score_->AverageDeviationAfter(service_, changes), cost, existing);
    if (!best || energy < best->energy) best = Target{node, energy};
  }
  return best;
}

std::string ServiceExplainer::Worth(ReplicaId replica) const {
  const std::optional<Target> best = BestTarget(replica);
  if (!best) return PerNodeType(settings_) ? "no other node of its type may take it" : "no other node may take it";
  const std::string move = fmt::format("moving it to {}, the best node that may take it, would", NodeName(best->node));
  if (best->energy >= group_plan_.energy_after) {
    return fmt::format("{} raise the energy from {:.6g} to {:.6g}: it evens out less than a movement costs", move,
                       group_plan_.energy_after, best->energy);
  }
  const int64_t moves = std::ranges::count_if(group_plan_.actions, [](const Action& a) { return IsMovement(a.kind); });
  if (moves >= group_plan_.decision.movement_slots) {
    return fmt::format("{} help, but the plan moves {} replicas already, which is all it may", move, moves);
  }
  return fmt::format("{} lower the energy from {:.6g} to {:.6g}: a later plan may do it", move, group_plan_.energy_after,
                     best->energy);
}

std::string ServiceExplainer::WhyBalancingLeavesIt(ReplicaId replica) const {
  const Partition& partition = cluster_.partitions[given_.PartitionOf(replica)];
  const NodeTypeId type = cluster_.nodes[given_.NodeOf(replica)].type;
  const std::string& type_name = cluster_.node_types[type];
  if (memory_.throttles.PartitionThrottled(settings_, partition.name, now_)) {
    return fmt::format("its partition has moved {} times in the last {}", settings_.movement_per_partition_throttle_threshold,
                       SecondsText(settings_.movement_per_partition_throttle_counting_interval));
  }
  if (!group_plan_.balance.MayMove(cluster_, service_, type)) {
    return PerNodeType(settings_) ? fmt::format("its service's metrics are balanced on nodes of type {}", type_name)
                                  : "its service's metrics are balanced";
  }
  if (std::ranges::count(group_plan_.decision.paused_node_types, type_name) > 0) {
    return fmt::format("nodes of type {} are paused: they were balanced less than {} ago", type_name,
                       SecondsText(MinLoadBalancingInterval(settings_, type_name)));
  }
  return Worth(replica);
}

std::string ServiceExplainer::WhyItStays(ReplicaId replica, int64_t others) const {
  if (const std::string_view fixed = constraints_->WhyNotMovable(replica); !fixed.empty()) return std::string(fixed);
  const PhaseDecision& decision = group_plan_.decision;
  if (decision.phase == Phase::kQuickBalancing || decision.phase == Phase::kBalancing) {
    return WhyBalancingLeavesIt(replica);
  }
  const bool violated = std::ranges::any_of(group_plan_.violations, [&](const Violation& v) { return v.replica == replica; });
  if (decision.phase == Phase::kConstraintCheck && violated) {
    return others == 0 ? "it violates a constraint, and no other node may take it"
                       : "it violates a constraint, and no movement of it would mend that without breaking another";
  }
  for (const PhaseSkip& skip : decision.skipped) {
    if (skip.stage == Stage::kBalancing) return "balancing does not run: " + skip.text;
  }
  return "nothing asks for it to move";
}

// Of an exchange the action names where the primary goes; its secondary takes the primary's place.
Json ServiceExplainer::Destination(ReplicaId replica, const Action& action) const {
  const bool returns = action.kind == ActionKind::kSwapPrimarySecondary && given_.NodeOf(replica) == action.to;
  const NodeId to = returns ? action.from : action.to;
  return to == kNoId ? Json() : Json(NodeName(to));
}

void ServiceExplainer::AddReplica(ReplicaId replica, const Action* action) {
  if (replicas_.size() >= kExplainedReplicas) {
    ++left_out_;
    return;
  }
  const bool placed = given_.NodeOf(replica) != kNoId;
  const Partition& partition = cluster_.partitions[given_.PartitionOf(replica)];
  Role role = placed ? given_.RoleOf(replica) : planned_.RoleOf(replica);
  if (role == Role::kNone) role = !service().stateful ? Role::kInstance : Role::kSecondary;
  const bool moves = action != nullptr && action->kind != ActionKind::kRequestedPlacementNotPossible;
  JsonObject item{{"partition", partition.name},
                  {"role", Name(role)},
                  {"node", placed ? Json(NodeName(given_.NodeOf(replica))) : Json()},
                  {"moves", moves},
                  {"to", moves ? Destination(replica, *action) : Json()}};
  if (moves) {
    item["why"] = action->reason;
  } else if (planned_.NodeOf(replica) != kNoId || !placed) {
    const Elimination elimination = constraints_->Eliminate(replica, role);
    item["why"] = action != nullptr ? action->reason
                  : placed          ? WhyItStays(replica, elimination.remaining)
                                    : "it is to be placed; Placement does not run";
    item["eliminated"] = EliminationJson(elimination);
    item["remaining"] = elimination.remaining;
  }
  replicas_.push_back(std::move(item));
}

void ServiceExplainer::AddReplicas() {
  for (const PartitionId partition : service().partitions) {
    const auto [first, last] = given_.ExistingOf(partition);
    for (ReplicaId replica = first; replica < last; ++replica) {
      if (given_.NodeOf(replica) != kNoId) AddReplica(replica, ActionOf(replica));
    }
    // Actions of new replicas name nodes only.
    std::vector<const Action*> additions;
    for (const Action& action : group_plan_.actions) {
      if (action.partition == partition && action.replica == kNoId) additions.push_back(&action);
    }
    const auto [first_new, last_new] = given_.NewOf(partition);
    for (ReplicaId replica = first_new; replica < last_new; ++replica) {
      const size_t index = replica - first_new;
      AddReplica(replica, index < additions.size() ? additions[index] : nullptr);
    }
  }
}

Json ServiceExplainer::Explain() {
  AddReplicas();
  JsonArray names, eliminated, skipped, hints;
  for (const ServiceId id : group().services) names.emplace_back(cluster_.services[id].name);
  for (size_t i = 0; i < kConstraints; ++i) {
    if (eliminated_[i] == 0) continue;
    const auto constraint = static_cast<Constraint>(i);
    eliminated.push_back(JsonObject{{"constraint", Name(constraint)},
                                    {"priority", PriorityName(PriorityOf(settings_, constraint))},
                                    {"count", eliminated_[i]}});
  }
  for (const SkippedItem& item : group_plan_.skipped) skipped.push_back(JsonObject{{"why", item.why}, {"what", item.what}});
  for (std::string& hint : ServiceHints(given_, group(), service_)) hints.emplace_back(std::move(hint));
  return JsonObject{{"service", service().name},
                    {"kind", service().stateful ? "stateful" : "stateless"},
                    {"group", std::move(names)},
                    {"phase", Name(group_plan_.decision.phase)},
                    {"why", group_plan_.decision.why},
                    {"metrics", Metrics()},
                    {"replicas", std::move(replicas_)},
                    {"replicasLeftOut", left_out_},
                    {"eliminated", std::move(eliminated)},
                    {"skipped", std::move(skipped)},
                    {"hints", std::move(hints)}};
}

}  // namespace

base::Result<Json> ExplainService(const Cluster& cluster, const Settings& settings, const Plan& plan,
                                  const PlannerMemory& memory, double now, std::string_view name) {
  const ServiceId service = cluster.FindService(name);
  if (service == kNoId) {
    std::vector<std::string_view> names;
    for (const Service& known : cluster.services) names.push_back(known.name);
    return base::Fail(base::Code::kNotFound, "there is no service \"" + OneLine(name) + "\"" + NearestNameHint(name, names));
  }
  return ServiceExplainer(cluster, settings, plan, memory, now, service).Explain();
}

}  // namespace evenkeel::balancing
