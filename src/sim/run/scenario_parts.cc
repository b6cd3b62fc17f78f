#include "sim/world/scenario_parts.h"

#include "kube/quantity.h"
#include "sim/run/scenario.h"
#include "sim/run/scenario_fields.h"
#include "sim/world/trace.h"

namespace evenkeel::sim {
namespace {

using base::Json;
using base::Status;
using namespace std::chrono_literals;

constexpr int64_t kGroupNodesMax = 1000;
constexpr int kDeploymentsMax = 100;
constexpr int64_t kVotersMax = 9;
constexpr int64_t kMovementsMax = 1'000'000;
constexpr base::Duration kDelayMax = 1h;
constexpr base::Duration kDay = 24h;

std::string TextOf(const Json& value) { return value.is_string() ? std::string(value.get_string()) : base::ToText(value); }

Status ReadQuantity(Fields& fields, std::string_view field, std::string& value) {
  const Json* given = fields.Take(field);
  if (given == nullptr) return {};
  const auto quantity = kube::Quantity::FromJson(*given);
  if (!quantity || quantity->MilliValue() <= 0) return fields.Wrong(field, "give an amount, as 500m or 2Gi");
  value = TextOf(*given);
  return {};
}

Status ReadQuantities(Fields& fields, std::string_view field, std::vector<std::string>& values) {
  const Json* given = fields.Take(field);
  if (given == nullptr) return {};
  if (!given->is_array() || given->get_array().empty()) return fields.Wrong(field, "give a list of amounts, as [500m, 1]");
  values.clear();
  for (const Json& amount : given->get_array()) {
    const auto quantity = kube::Quantity::FromJson(amount);
    if (!quantity || quantity->MilliValue() <= 0) return fields.Wrong(field, "give a list of amounts, as [500m, 1]");
    values.push_back(TextOf(amount));
  }
  return {};
}

Status ReadShare(Fields& fields, std::string_view field, double& value) {
  const Json* given = fields.Take(field);
  if (given == nullptr) return {};
  if (given->is_number()) value = given->to_number<double>();
  if (!given->is_number() || value < 0 || value > 1) return fields.Wrong(field, "give a number from 0 to 1");
  return {};
}

Status ReadFlags(Fields& fields, Scenario& scenario) {
  namespace autoscaler = controllers::autoscaler;
  const Json* given = fields.Take("autoscaler");
  if (given == nullptr) return {};
  const Fields flags = fields.Below(*given, "autoscaler");
  EVENKEEL_TRY(flags.IsObject());
  for (const auto& flag : given->get_object()) {
    if (autoscaler::FindFlag(flag.key()) == nullptr) return flags.Wrong(flag.key(), "there is no such flag");
    scenario.autoscaler.push_back({std::string(flag.key()), TextOf(flag.value())});
  }
  const auto applied = autoscaler::ApplyFlags(scenario.autoscaler);
  if (!applied) return flags.Wrong("", applied.error().message());
  return {};
}

Status ReadShape(Fields& group, NodeGroupScenario& settings) {
  const Json* given = group.Take("shape");
  if (given == nullptr) return {};
  Fields shape = group.Below(*given, "shape");
  EVENKEEL_TRY(shape.IsObject());
  EVENKEEL_TRY(ReadQuantity(shape, "cpu", settings.cpu));
  EVENKEEL_TRY(ReadQuantity(shape, "memory", settings.memory));
  EVENKEEL_TRY(shape.Whole("pods", 1, 1000, settings.pods));
  return shape.NothingElse();
}

Status ReadGroup(Fields& group, NodeGroupScenario& settings) {
  EVENKEEL_TRY(group.IsObject());
  EVENKEEL_TRY(group.Text("name", settings.name));
  if (settings.name.empty()) return group.Wrong("name", "it is missing");
  EVENKEEL_TRY(ReadShape(group, settings));
  EVENKEEL_TRY(group.Whole("min", 0, kGroupNodesMax, settings.min));
  EVENKEEL_TRY(group.Whole("max", 0, kGroupNodesMax, settings.max));
  if (settings.max < settings.min) return group.Wrong("", "max is less than min");
  if (const Json* price = group.Take("price")) {
    if (!price->is_number() || price->to_number<double>() < 0) return group.Wrong("price", "give a number of at least 0");
    settings.price = price->to_number<double>();
  }
  EVENKEEL_TRY(group.Time("provisionDelay", 0s, kDelayMax, settings.provision_delay));
  EVENKEEL_TRY(group.Time("deleteDelay", 0s, kDelayMax, settings.delete_delay));
  EVENKEEL_TRY(group.Whole("quota", 0, kGroupNodesMax, settings.quota));
  EVENKEEL_TRY(ReadShare(group, "failCreations", settings.fail_creations));
  EVENKEEL_TRY(ReadShare(group, "neverRegister", settings.never_register));
  EVENKEEL_TRY(group.Text("zone", settings.zone));
  return group.NothingElse();
}

Status ReadGroups(Fields& fields, Scenario& scenario) {
  const Json* given = fields.Take("nodeGroups");
  if (given == nullptr) return {};
  if (!given->is_array()) return fields.Wrong("nodeGroups", "give a list of node groups");
  std::set<std::string> names;
  for (const Json& entry : given->get_array()) {
    Fields group = fields.Below(entry, fmt::format("nodeGroups[{}]", scenario.node_groups.size()));
    EVENKEEL_TRY(ReadGroup(group, scenario.node_groups.emplace_back()));
    if (!names.insert(scenario.node_groups.back().name).second) return group.Wrong("name", "it is there twice");
  }
  return {};
}

Status ReadLoad(Fields& fields, WorkloadScenario& workload) {
  const Json* given = fields.Take("load");
  if (given == nullptr) return {};
  const Fields load = fields.Below(*given, "load");
  EVENKEEL_TRY(load.IsObject());
  for (const auto& entry : given->get_object()) {
    const auto at = base::ParseDuration(entry.key());
    if (!at || *at < 0s || *at > kDay) return load.Wrong(entry.key(), "give times from 0s to 24h");
    const double share = entry.value().is_number() ? entry.value().to_number<double>() : -1;
    if (share < 0 || share > 1) return load.Wrong(entry.key(), "give a number from 0 to 1");
    workload.load[*at] = share;
  }
  return {};
}

Status ReadWorkload(Fields& fields, WorkloadScenario& workload) {
  const Json* given = fields.Take("workload");
  if (given == nullptr) return {};
  Fields each = fields.Below(*given, "workload");
  EVENKEEL_TRY(each.IsObject());
  EVENKEEL_TRY(each.Whole("deployments", 0, kDeploymentsMax, workload.deployments));
  if (const Json* range = each.Take("replicas")) {
    Fields replicas = each.Below(*range, "replicas");
    EVENKEEL_TRY(replicas.IsObject());
    EVENKEEL_TRY(replicas.Whole("min", 0, kGroupNodesMax, workload.replicas_min));
    EVENKEEL_TRY(replicas.Whole("max", 1, kGroupNodesMax, workload.replicas_max));
    EVENKEEL_TRY(replicas.NothingElse());
    if (workload.replicas_max < workload.replicas_min) return replicas.Wrong("", "max is less than min");
  }
  EVENKEEL_TRY(ReadQuantities(each, "cpu", workload.cpu));
  EVENKEEL_TRY(ReadQuantities(each, "memory", workload.memory));
  EVENKEEL_TRY(each.Time("period", 1s, kDelayMax, workload.period));
  EVENKEEL_TRY(ReadLoad(each, workload));
  if (const Json* jobs = each.Take("jobs")) {
    if (!jobs->is_bool()) return each.Wrong("jobs", "give true or false");
    workload.jobs = jobs->get_bool();
  }
  EVENKEEL_TRY(ReadShare(each, "budgets", workload.budgets));
  EVENKEEL_TRY(ReadShare(each, "stubborn", workload.stubborn));
  return each.NothingElse();
}

Status ReadBalancing(Fields& fields, BalancingScenario& balancing) {
  const Json* given = fields.Take("balancing");
  if (given == nullptr) return {};
  Fields each = fields.Below(*given, "balancing");
  EVENKEEL_TRY(each.IsObject());
  EVENKEEL_TRY(each.Whole("movements", 1, kMovementsMax, balancing.movements));
  EVENKEEL_TRY(each.Time("window", 1s, kDelayMax, balancing.window));
  EVENKEEL_TRY(each.Time("interval", 1s, kDelayMax, balancing.interval));
  if (const Json* threshold = each.Take("threshold")) {
    if (threshold->is_number()) balancing.threshold = threshold->to_number<double>();
    if (!threshold->is_number() || balancing.threshold < 1) return each.Wrong("threshold", "give a number from 1");
  }
  return each.NothingElse();
}

Status ReadRange(Fields& fields, std::string_view field, int64_t low, int64_t high, int64_t& min, int64_t& max) {
  const Json* given = fields.Take(field);
  if (given == nullptr) return {};
  Fields range = fields.Below(*given, field);
  EVENKEEL_TRY(range.IsObject());
  EVENKEEL_TRY(range.Whole("min", low, high, min));
  EVENKEEL_TRY(range.Whole("max", low, high, max));
  EVENKEEL_TRY(range.NothingElse());
  if (max < min) return range.Wrong("", "max is less than min");
  return {};
}

Status ReadEnsemble(Fields& fields, Scenario& scenario) {
  const Json* given = fields.Take("ensemble");
  if (given == nullptr) return {};
  Fields each = fields.Below(*given, "ensemble");
  EVENKEEL_TRY(each.IsObject());
  EnsembleScenario& ensemble = scenario.ensemble.emplace();
  EVENKEEL_TRY(ReadRange(each, "voters", 1, kVotersMax, ensemble.voters_min, ensemble.voters_max));
  EVENKEEL_TRY(ReadRange(each, "clusters", 1, kVotersMax, ensemble.clusters_min, ensemble.clusters_max));
  EVENKEEL_TRY(each.Time("period", 0s, kDelayMax, ensemble.period));
  EVENKEEL_TRY(each.Time("writes", 10ms, kDelayMax, ensemble.writes));
  EVENKEEL_TRY(ReadShare(each, "broken", ensemble.broken));
  return each.NothingElse();
}

Status ReadEvent(Fields& each, const Scenario& scenario, EventScenario& event) {
  using EventKind = EventScenario::Kind;
  static const std::map<std::string, EventKind> kinds = {
      {"quota", EventKind::kQuota}, {"upgrade", EventKind::kUpgrade}, {"zone-outage", EventKind::kZoneOutage}};
  EVENKEEL_TRY(each.IsObject());
  EVENKEEL_TRY(each.Time("at", 0s, kDay, event.at));
  std::string kind;
  EVENKEEL_TRY(each.Text("kind", kind));
  const auto found = kinds.find(kind);
  if (found == kinds.end()) return each.Wrong("kind", "give quota, upgrade or zone-outage");
  event.kind = found->second;
  if (event.kind == EventKind::kUpgrade) {
    if (!scenario.ensemble) return each.Wrong("kind", "there is no ensemble");
    return each.NothingElse();
  }
  EVENKEEL_TRY(each.Time("for", 1s, kDay, event.lasts));
  if (event.kind == EventKind::kQuota) {
    EVENKEEL_TRY(each.Text("group", event.group));
    EVENKEEL_TRY(each.Whole("nodes", 0, kGroupNodesMax, event.nodes));
    const bool known =
        std::ranges::find(scenario.node_groups, event.group, &NodeGroupScenario::name) != scenario.node_groups.end();
    return known ? each.NothingElse() : each.Wrong("group", "there is no such node group");
  }
  EVENKEEL_TRY(each.Text("zone", event.zone));
  if (event.zone.empty()) return each.Wrong("zone", "it is missing");
  return each.NothingElse();
}

/// After all that they refer to.
Status ReadEvents(Fields& fields, Scenario& scenario) {
  const Json* given = fields.Take("events");
  if (given == nullptr) return {};
  if (!given->is_array()) return fields.Wrong("events", "give a list of events");
  for (const Json& entry : given->get_array()) {
    Fields event = fields.Below(entry, fmt::format("events[{}]", scenario.events.size()));
    EVENKEEL_TRY(ReadEvent(event, scenario, scenario.events.emplace_back()));
  }
  return {};
}

Status ReadTraceSettings(Fields& fields, Scenario& scenario) {
  const Json* given = fields.Take("trace");
  if (given == nullptr) return {};
  Fields each = fields.Below(*given, "trace");
  EVENKEEL_TRY(each.IsObject());
  TraceScenario trace;
  EVENKEEL_TRY(each.Text("kind", trace.kind));
  if (!TraceKinds().contains(trace.kind)) {
    return each.Wrong("kind", fmt::format("\"{}\" is not one of {}", trace.kind, fmt::join(TraceKinds(), ", ")));
  }
  EVENKEEL_TRY(each.Text("path", trace.path));
  EVENKEEL_TRY(each.Time("provisionDelay", 0s, kDelayMax, trace.provision_delay));
  EVENKEEL_TRY(each.Time("deleteDelay", 0s, kDelayMax, trace.delete_delay));
  EVENKEEL_TRY(each.NothingElse());
  scenario.trace = std::move(trace);
  return {};
}

}  // namespace

base::Status ReadParts(Fields& fields, Scenario& scenario) {
  EVENKEEL_TRY(ReadFlags(fields, scenario));
  EVENKEEL_TRY(ReadGroups(fields, scenario));
  EVENKEEL_TRY(ReadWorkload(fields, scenario.workload));
  EVENKEEL_TRY(ReadBalancing(fields, scenario.balancing));
  EVENKEEL_TRY(ReadEnsemble(fields, scenario));
  EVENKEEL_TRY(ReadEvents(fields, scenario));
  return ReadTraceSettings(fields, scenario);
}

}  // namespace evenkeel::sim
