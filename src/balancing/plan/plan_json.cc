#include "balancing/plan/plan_json.h"

#include <cmath>

namespace evenkeel::balancing {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

class PlanJson {
 public:
  PlanJson(const Cluster& cluster, const Settings& settings, const Plan& plan)
      : cluster_(cluster), settings_(settings), plan_(plan) {}

  Json Make(double milliseconds) const;

 private:
  static Json Finite(double number) { return std::isfinite(number) ? Json(number) : Json(); }
  template <typename T>
  static Json NameOf(const std::vector<T>& things, uint32_t id) {
    return id == kNoId ? Json() : Json(things[id].name);
  }
  Json NodeName(NodeId id) const { return NameOf(cluster_.nodes, id); }
  Json MetricName(MetricId id) const { return NameOf(cluster_.metrics, id); }
  static JsonObject BeforeAfter(double before, double after) { return {{"before", Finite(before)}, {"after", Finite(after)}}; }
  static JsonArray Texts(const std::vector<std::string>& texts) { return JsonArray(texts.begin(), texts.end()); }

  JsonArray Groups() const;
  void AddImbalanced(const std::vector<MetricBalance>& metrics, JsonArray& list) const;
  JsonArray Imbalanced() const;
  JsonArray ViolationList() const;
  JsonObject Constraints(const Action& action) const;
  JsonObject OneAction(const Action& action) const;
  JsonArray Skipped() const;
  JsonObject OneGroup(const GroupPlan& group) const;

  const Cluster& cluster_;
  const Settings& settings_;
  const Plan& plan_;
};

JsonArray PlanJson::Groups() const {
  JsonArray groups;
  for (const ServiceGroup& group : plan_.groups.groups) {
    JsonArray names;
    for (const ServiceId id : group.services) names.emplace_back(cluster_.services[id].name);
    groups.push_back(std::move(names));
  }
  return groups;
}

void PlanJson::AddImbalanced(const std::vector<MetricBalance>& metrics, JsonArray& list) const {
  for (const MetricBalance& balance : metrics) {
    if (balance.balanced()) continue;
    list.push_back(JsonObject{{"metric", MetricName(balance.metric)},
                              {"nodeType", balance.node_type == kNoId ? Json() : Json(cluster_.node_types[balance.node_type])},
                              {"max", balance.max},
                              {"min", balance.min},
                              {"ratio", Finite(balance.ratio)},
                              {"threshold", balance.threshold},
                              {"activityThreshold", balance.activity_threshold},
                              {"service", NameOf(cluster_.services, balance.service)},
                              {"maxNode", NodeName(balance.max_node)},
                              {"minNode", NodeName(balance.min_node)},
                              {"why", Text(cluster_, balance)}});
  }
}

JsonArray PlanJson::Imbalanced() const {
  JsonArray list;
  for (const GroupPlan& group : plan_.of_groups) {
    AddImbalanced(group.balance.metrics, list);
    AddImbalanced(group.balance.local, list);
  }
  return list;
}

JsonArray PlanJson::ViolationList() const {
  JsonArray list;
  for (const GroupPlan& group : plan_.of_groups) {
    for (size_t i = 0; i < group.violations.size(); ++i) {
      const Violation& violation = group.violations[i];
      list.push_back(JsonObject{{"constraint", Name(violation.constraint)},
                                {"node", NodeName(violation.node)},
                                {"metric", MetricName(violation.metric)},
                                {"detail", group.violation_texts[i]},
                                {"partition", NameOf(cluster_.partitions, violation.partition)},
                                {"priority", PriorityName(violation.priority)},
                                {"excess", violation.excess}});
    }
  }
  return list;
}

JsonObject PlanJson::Constraints(const Action& action) const {
  JsonObject priorities;
  for (size_t i = 0; i < kConstraints; ++i) {
    const auto constraint = static_cast<Constraint>(i);
    const int64_t priority = PriorityOf(settings_, constraint);
    if (priority >= 0 && priority <= action.max_priority) priorities[Name(constraint)] = PriorityName(priority);
  }
  return priorities;
}

JsonObject PlanJson::OneAction(const Action& action) const {
  JsonArray loads;
  for (const LoadChange& load : action.loads) {
    JsonObject change{{"metric", MetricName(load.metric)}};
    if (action.from != kNoId) {
      change["source"] =
          JsonObject{{"node", NodeName(action.from)}, {"before", load.source_before}, {"after", load.source_after}};
    }
    if (action.to != kNoId) {
      change["target"] =
          JsonObject{{"node", NodeName(action.to)}, {"before", load.target_before}, {"after", load.target_after}};
    }
    loads.push_back(std::move(change));
  }
  return JsonObject{{"partition", NameOf(cluster_.partitions, action.partition)},
                    {"action", Name(action.kind)},
                    {"from", NodeName(action.from)},
                    {"to", NodeName(action.to)},
                    {"reason", action.reason},
                    {"metric", MetricName(action.trigger_metric)},
                    {"loads", std::move(loads)},
                    {"energyGain", Finite(action.energy_gain)},
                    {"constraints", Constraints(action)},
                    {"version", action.partition_version}};
}

JsonArray PlanJson::Skipped() const {
  JsonArray list;
  for (const GroupPlan& group : plan_.of_groups) {
    for (const SkippedItem& item : group.skipped) {
      list.push_back(JsonObject{{"why", item.why}, {"what", item.what}, {"group", group.group}});
    }
  }
  return list;
}

JsonObject PlanJson::OneGroup(const GroupPlan& group) const {
  JsonArray metrics;
  for (const MetricChange& change : group.metrics) {
    metrics.push_back(JsonObject{{"metric", MetricName(change.metric)},
                                 {"balanced", JsonObject{{"before", change.balanced_before}, {"after", change.balanced_after}}},
                                 {"deviation", BeforeAfter(change.deviation_before, change.deviation_after)}});
  }
  const PhaseDecision& decision = group.decision;
  return JsonObject{{"phase", Name(decision.phase)},
                    {"why", decision.why},
                    {"deviation", BeforeAfter(group.deviation_before, group.deviation_after)},
                    {"energy", BeforeAfter(group.energy_before, group.energy_after)},
                    {"metrics", std::move(metrics)},
                    {"movementsAllowed", decision.movement_slots == kUnlimited ? Json() : Json(decision.movement_slots)},
                    {"actions", group.actions.size()},
                    {"nodeTypes", Texts(decision.node_types)},
                    {"pausedNodeTypes", Texts(decision.paused_node_types)}};
}

Json PlanJson::Make(double milliseconds) const {
  JsonArray actions, groups;
  for (const Action& action : plan_.Actions()) actions.push_back(OneAction(action));
  for (const GroupPlan& group : plan_.of_groups) groups.push_back(OneGroup(group));
  const auto [before, after] = AverageDeviations(plan_);
  return JsonObject{{"phase", Name(plan_.phase)},
                    {"groups", Groups()},
                    {"imbalanced", Imbalanced()},
                    {"violations", ViolationList()},
                    {"actions", std::move(actions)},
                    {"deviation", BeforeAfter(before, after)},
                    {"skipped", Skipped()},
                    {"milliseconds", milliseconds},
                    {"groupPlans", std::move(groups)},
                    {"evaluations", plan_.evaluations}};
}

}  // namespace

Json PlanToJson(const Cluster& cluster, const Settings& settings, const Plan& plan, double milliseconds) {
  return PlanJson(cluster, settings, plan).Make(milliseconds);
}

}  // namespace evenkeel::balancing
