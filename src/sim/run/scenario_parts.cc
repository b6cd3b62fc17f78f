#include "sim/world/scenario_parts.h"

#include "kube/quantity.h"
#include "sim/run/scenario.h"
#include "sim/run/scenario_fields.h"
#include "sim/world/device_samples.h"
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

Status ReadQuantity(const base::Field& given, std::string& value) {
  if (!given) return {};
  const auto quantity = kube::Quantity::FromJson(given.value());
  if (!quantity || quantity->MilliValue() <= 0) return given.Wrong("not an amount, as 500m or 2Gi");
  value = TextOf(given.value());
  return {};
}

Status ReadQuantities(const base::Field& given, std::vector<std::string>& values) {
  if (!given) return {};
  values.clear();
  EVENKEEL_TRY(given.ForEach([&](const base::Field& item) -> Status {
    EVENKEEL_TRY(item.Required());
    return ReadQuantity(item, values.emplace_back());
  }));
  return values.empty() ? given.Wrong("an empty list") : Status();
}

Status ReadFlags(Fields& fields, Scenario& scenario) {
  namespace autoscaler = controllers::autoscaler;
  const base::Field given = fields.Take("autoscaler");
  if (!given) return {};
  Fields flags(given);
  EVENKEEL_TRY(flags.IsObject());
  for (const auto& flag : given.value().get_object()) {
    if (autoscaler::FindFlag(flag.key()) == nullptr) return flags.Wrong(flag.key(), "there is no such flag");
    scenario.autoscaler.push_back({std::string(flag.key()), TextOf(flag.value())});
  }
  const auto applied = autoscaler::ApplyFlags(scenario.autoscaler);
  if (!applied) return flags.Wrong(applied.error().message());
  return {};
}

Status ReadShape(Fields& group, NodeGroupScenario& settings) {
  const base::Field given = group.Take("shape");
  if (!given) return {};
  Fields shape(given);
  EVENKEEL_TRY(shape.IsObject());
  EVENKEEL_TRY(ReadQuantity(shape.Take("cpu"), settings.cpu));
  EVENKEEL_TRY(ReadQuantity(shape.Take("memory"), settings.memory));
  EVENKEEL_TRY(shape.Whole("pods", 1, 1000, settings.pods));
  return shape.NothingElse();
}

Status ReadGroup(Fields& group, NodeGroupScenario& settings) {
  EVENKEEL_TRY(group.IsObject());
  EVENKEEL_TRY(group.Text("name", settings.name));
  if (settings.name.empty()) return group.Wrong("name", "missing");
  EVENKEEL_TRY(ReadShape(group, settings));
  EVENKEEL_TRY(group.Whole("min", 0, kGroupNodesMax, settings.min));
  EVENKEEL_TRY(group.Whole("max", 0, kGroupNodesMax, settings.max));
  if (settings.max < settings.min) return group.Wrong("max is less than min");
  EVENKEEL_TRY(group.Take("price").Number(settings.price));
  EVENKEEL_TRY(group.Time("provisionDelay", 0s, kDelayMax, settings.provision_delay));
  EVENKEEL_TRY(group.Time("deleteDelay", 0s, kDelayMax, settings.delete_delay));
  EVENKEEL_TRY(group.Whole("quota", 0, kGroupNodesMax, settings.quota));
  EVENKEEL_TRY(group.Share("failCreations", settings.fail_creations));
  EVENKEEL_TRY(group.Share("neverRegister", settings.never_register));
  EVENKEEL_TRY(group.Text("zone", settings.zone));
  EVENKEEL_TRY(group.Whole("devices", 0, kDevicesMax, settings.devices));
  return group.NothingElse();
}

Status ReadGroups(Fields& fields, Scenario& scenario) {
  const base::Field given = fields.Take("nodeGroups");
  if (!given) return {};
  std::set<std::string> names;
  return given.ForEach(
      [&](const base::Field& item) -> Status {
        Fields group(item);
        EVENKEEL_TRY(ReadGroup(group, scenario.node_groups.emplace_back()));
        if (!names.insert(scenario.node_groups.back().name).second) return group.Wrong("name", "it is there twice");
        return {};
      },
      "node groups");
}

Status ReadLoad(Fields& fields, WorkloadScenario& workload) {
  const base::Field given = fields.Take("load");
  if (!given) return {};
  return given.ForEachMember([&](std::string_view key, const base::Field& share) -> Status {
    const auto at = base::ParseDuration(key);
    if (!at || *at < 0s || *at > kDay) return share.Wrong("not a time from 0s to 24h");
    EVENKEEL_TRY(share.Required());
    return share.Number(workload.load[*at], 0, 1);
  });
}

Status ReadWorkload(Fields& fields, WorkloadScenario& workload) {
  const base::Field given = fields.Take("workload");
  if (!given) return {};
  Fields each(given);
  EVENKEEL_TRY(each.IsObject());
  EVENKEEL_TRY(each.Whole("deployments", 0, kDeploymentsMax, workload.deployments));
  if (const base::Field range = each.Take("replicas")) {
    Fields replicas(range);
    EVENKEEL_TRY(replicas.IsObject());
    EVENKEEL_TRY(replicas.Whole("min", 0, kGroupNodesMax, workload.replicas_min));
    EVENKEEL_TRY(replicas.Whole("max", 1, kGroupNodesMax, workload.replicas_max));
    EVENKEEL_TRY(replicas.NothingElse());
    if (workload.replicas_max < workload.replicas_min) return replicas.Wrong("max is less than min");
  }
  EVENKEEL_TRY(ReadQuantities(each.Take("cpu"), workload.cpu));
  EVENKEEL_TRY(ReadQuantities(each.Take("memory"), workload.memory));
  EVENKEEL_TRY(each.Time("period", 1s, kDelayMax, workload.period));
  EVENKEEL_TRY(ReadLoad(each, workload));
  EVENKEEL_TRY(each.Take("jobs").Flag(workload.jobs));
  EVENKEEL_TRY(each.Share("budgets", workload.budgets));
  EVENKEEL_TRY(each.Share("stubborn", workload.stubborn));
  EVENKEEL_TRY(each.Share("devices", workload.devices));
  return each.NothingElse();
}

Status ReadBalancing(Fields& fields, BalancingScenario& balancing) {
  const base::Field given = fields.Take("balancing");
  if (!given) return {};
  Fields each(given);
  EVENKEEL_TRY(each.IsObject());
  EVENKEEL_TRY(each.Whole("movements", 1, kMovementsMax, balancing.movements));
  EVENKEEL_TRY(each.Time("window", 1s, kDelayMax, balancing.window));
  EVENKEEL_TRY(each.Time("interval", 1s, kDelayMax, balancing.interval));
  EVENKEEL_TRY(each.Take("threshold").Number(balancing.threshold, 1));
  return each.NothingElse();
}

Status ReadRange(Fields& fields, std::string_view field, int64_t low, int64_t high, int64_t& min, int64_t& max) {
  const base::Field given = fields.Take(field);
  if (!given) return {};
  Fields range(given);
  EVENKEEL_TRY(range.IsObject());
  EVENKEEL_TRY(range.Whole("min", low, high, min));
  EVENKEEL_TRY(range.Whole("max", low, high, max));
  EVENKEEL_TRY(range.NothingElse());
  if (max < min) return range.Wrong("max is less than min");
  return {};
}

Status ReadEnsemble(Fields& fields, Scenario& scenario) {
  const base::Field given = fields.Take("ensemble");
  if (!given) return {};
  Fields each(given);
  EVENKEEL_TRY(each.IsObject());
  EnsembleScenario& ensemble = scenario.ensemble.emplace();
  EVENKEEL_TRY(ReadRange(each, "voters", 1, kVotersMax, ensemble.voters_min, ensemble.voters_max));
  EVENKEEL_TRY(ReadRange(each, "clusters", 1, kVotersMax, ensemble.clusters_min, ensemble.clusters_max));
  EVENKEEL_TRY(each.Time("period", 0s, kDelayMax, ensemble.period));
  EVENKEEL_TRY(each.Time("writes", 10ms, kDelayMax, ensemble.writes));
  EVENKEEL_TRY(each.Share("broken", ensemble.broken));
  return each.NothingElse();
}

Status ReadEvent(Fields& each, const Scenario& scenario, EventScenario& event) {
  using EventKind = EventScenario::Kind;
  EVENKEEL_TRY(each.IsObject());
  EVENKEEL_TRY(each.Time("at", 0s, kDay, event.at));
  const base::Field kind = each.Take("kind");
  if (kind.IsEmpty()) return kind.Wrong("missing: quota, upgrade or zone-outage");
  EVENKEEL_TRY(kind.Word<EventKind>(
      event.kind, {{"quota", EventKind::kQuota}, {"upgrade", EventKind::kUpgrade}, {"zone-outage", EventKind::kZoneOutage}}));
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
  if (event.zone.empty()) return each.Wrong("zone", "missing");
  return each.NothingElse();
}

/// After all that they refer to.
Status ReadEvents(Fields& fields, Scenario& scenario) {
  const base::Field given = fields.Take("events");
  if (!given) return {};
  return given.ForEach(
      [&](const base::Field& item) -> Status {
        Fields event(item);
        return ReadEvent(event, scenario, scenario.events.emplace_back());
      },
      "events");
}

Status ReadTraceSettings(Fields& fields, Scenario& scenario) {
  const base::Field given = fields.Take("trace");
  if (!given) return {};
  Fields each(given);
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
