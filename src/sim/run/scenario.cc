#include "sim/run/scenario.h"

#include "base/input/file.h"
#include "base/input/yaml.h"
#include "sim/checkers/checkers.h"
#include "sim/run/scenario_fields.h"
#include "sim/run/simulated_controllers.h"
#include "sim/world/fault_kinds.h"

namespace evenkeel::sim {
namespace {

using base::Code;
using base::Duration;
using base::Json;
using base::Status;

constexpr int kMembersMax = 1000;
constexpr int kNodesMax = 1000;
constexpr int kReplicasMax = 100;
constexpr Duration kLongest = std::chrono::hours(24);

Status ReadNodes(Fields& fields, Scenario& scenario) {
  const base::Field given = fields.Take("nodes");
  if (!given) return {};
  if (!given.value().is_object()) {
    EVENKEEL_TRY(fields.Whole("nodes", 0, kNodesMax, scenario.nodes_min));
    scenario.nodes_max = scenario.nodes_min;
    return {};
  }
  Fields nodes(given);
  EVENKEEL_TRY(nodes.Whole("min", 0, kNodesMax, scenario.nodes_min));
  EVENKEEL_TRY(nodes.Whole("max", 0, kNodesMax, scenario.nodes_max));
  EVENKEEL_TRY(nodes.NothingElse());
  if (scenario.nodes_max < scenario.nodes_min) return nodes.Wrong("max is less than min");
  return {};
}

Status ReadReplicas(Fields& fields, Scenario& scenario) {
  const base::Field given = fields.Take("replicas");
  if (!given) return {};
  if (!given.value().is_object()) {
    EVENKEEL_TRY(fields.Whole("replicas", 1, kReplicasMax, scenario.replicas_start));
    scenario.replicas_min = scenario.replicas_max = scenario.replicas_start;
    return {};
  }
  Fields replicas(given);
  EVENKEEL_TRY(replicas.Whole("min", 1, kReplicasMax, scenario.replicas_min));
  scenario.replicas_max = std::max(scenario.replicas_max, scenario.replicas_min);
  EVENKEEL_TRY(replicas.Whole("max", 1, kReplicasMax, scenario.replicas_max));
  scenario.replicas_start = scenario.replicas_min;
  EVENKEEL_TRY(replicas.Whole("start", 1, kReplicasMax, scenario.replicas_start));
  EVENKEEL_TRY(replicas.NothingElse());
  if (scenario.replicas_max < scenario.replicas_min) return replicas.Wrong("max is less than min");
  if (scenario.replicas_start < scenario.replicas_min || scenario.replicas_start > scenario.replicas_max) {
    return replicas.Wrong("start", "not a number from min to max");
  }
  return {};
}

Status ReadRates(Fields& fields, Scenario& scenario) {
  const base::Field given = fields.Take("rates");
  if (!given) return {};
  Fields rates(given);
  EVENKEEL_TRY(rates.IsObject());
  for (const FaultKind& kind : FaultKinds()) {
    const base::Field rate = rates.Take(kind.name);
    if (!rate) continue;
    double& value = scenario.rates[std::string(kind.name)];
    if (kind.rate == FaultKind::Rate::kPeriod) {
      Duration period{};
      EVENKEEL_TRY(rate.Wait(period, std::chrono::seconds(1), kLongest));
      value = std::chrono::duration<double>(period).count();
    } else if (kind.rate == FaultKind::Rate::kProbability) {
      EVENKEEL_TRY(rate.Number(value, 0, 1));
    } else {
      return rate.Wrong("it is on or off: name it in faults");
    }
    scenario.faults.insert(std::string(kind.name));
  }
  return rates.NothingElse();
}

Status ReadOptions(Fields& fields, Scenario::Options& options) {
  const base::Field given = fields.Take("options");
  if (!given) return {};
  if (given.value().is_string()) {
    const std::string_view name = given.value().get_string();
    if (name != "hostile" && name != "default") return given.Wrong("not hostile, default, or single options");
    options.hostile = name == "hostile";
    return {};
  }
  Fields each(given);
  EVENKEEL_TRY(each.IsObject());
  const Duration second = std::chrono::seconds(1);
  EVENKEEL_TRY(each.Time("lease", 2 * second, 600 * second, options.lease));
  EVENKEEL_TRY(each.Time("margin", second / 10, 60 * second, options.margin));
  EVENKEEL_TRY(each.Time("replica-lease", 2 * second, 600 * second, options.replica_lease));
  EVENKEEL_TRY(each.Time("handover", Duration::zero(), 60 * second, options.handover));
  EVENKEEL_TRY(each.Whole("moves-per-minute", 0, 1'000'000, options.moves_per_minute));
  return each.NothingElse();
}

std::set<std::string> FaultNames() {
  std::set<std::string> names;
  for (const FaultKind& kind : FaultKinds()) names.emplace(kind.name);
  return names;
}

Status Read(Fields& fields, Scenario& scenario) {
  EVENKEEL_TRY(fields.IsObject());
  EVENKEEL_TRY(fields.Text("name", scenario.name));
  EVENKEEL_TRY(fields.Whole("members", 1, kMembersMax, scenario.members));
  EVENKEEL_TRY(ReadNodes(fields, scenario));
  EVENKEEL_TRY(ReadReplicas(fields, scenario));
  using controllers::distribution::Mode;
  EVENKEEL_TRY(
      fields.Take("mode").Word<Mode>(scenario.mode, {{"coordinated", Mode::kCoordinated}, {"compatible", Mode::kCompatible}}));
  EVENKEEL_TRY(fields.Names("controllers", SimulatedControllerNames(), false, scenario.controllers));
  const Duration second = std::chrono::seconds(1);
  EVENKEEL_TRY(fields.Time("duration", second, kLongest, scenario.duration));
  EVENKEEL_TRY(fields.Time("heal", second, kLongest, scenario.heal));
  EVENKEEL_TRY(fields.Time("quiet", Duration::zero(), kLongest, scenario.quiet));
  std::vector<std::string> names;
  EVENKEEL_TRY(fields.Names("faults", FaultNames(), true, names));
  scenario.faults = {names.begin(), names.end()};
  EVENKEEL_TRY(ReadRates(fields, scenario));
  names = CheckerNames();
  EVENKEEL_TRY(fields.Names("checkers", {CheckerNames().begin(), CheckerNames().end()}, true, names));
  scenario.checkers = {names.begin(), names.end()};
  EVENKEEL_TRY(ReadOptions(fields, scenario.options));
  EVENKEEL_TRY(ReadParts(fields, scenario));
  EVENKEEL_TRY(fields.NothingElse());
  if (scenario.name.empty()) return fields.Wrong("name", "missing");
  return {};
}

}  // namespace

base::Result<Scenario> ParseScenario(std::string_view text, const std::string& source) {
  EVENKEEL_ASSIGN(const Json document, base::ParseYamlDocument(text, source));
  Scenario scenario;
  Fields fields(base::Field(&document, source));
  EVENKEEL_TRY(Read(fields, scenario));
  return scenario;
}

base::Result<Scenario> ReadScenario(const std::string& path) {
  const auto text = base::ReadFile(path);
  if (!text) return base::Fail(Code::kBadRequest, text.error().message());
  return ParseScenario(*text, path);
}

}  // namespace evenkeel::sim
