#include "sim/scenario.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <ranges>

#include "base/yaml.h"
#include "sim/checkers.h"
#include "sim/controller_registry.h"
#include "sim/fault_kinds.h"

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

/// Reads the fields of one object; remembers which, so that the others can be refused.
class Fields {
 public:
  Fields(const Json& object, std::string path, const std::string& source)
      : object_(object), path_(std::move(path)), source_(source) {}

  std::unexpected<base::Error> Wrong(std::string_view field, std::string_view what) const {
    const std::string at = path_.empty() || field.empty() ? path_ + std::string(field) : path_ + "." + std::string(field);
    return base::Fail(Code::kBadRequest, fmt::format("{}: {}{}{}", source_, at, at.empty() ? "" : ": ", what));
  }

  Status IsObject() const {
    if (object_.is_object()) return {};
    return Wrong("", "give fields and values");
  }

  /// Null when it is absent.
  const Json* Take(std::string_view field) {
    known_.insert(field);
    return base::Find(object_, {field});
  }

  Status Text(std::string_view field, std::string& value) {
    const Json* given = Take(field);
    if (given == nullptr) return {};
    if (!given->is_string() || given->get_string().empty()) return Wrong(field, "give a text");
    value = given->get_string();
    return {};
  }

  template <typename Number>
  Status Whole(std::string_view field, int64_t low, int64_t high, Number& value) {
    const Json* given = Take(field);
    if (given == nullptr) return {};
    boost::system::error_code error;
    const int64_t number = given->to_number<int64_t>(error);
    if (error || given->is_double() || number < low || number > high) {
      return Wrong(field, fmt::format("give a whole number from {} to {}", low, high));
    }
    value = static_cast<Number>(number);
    return {};
  }

  template <typename Value>
  Status Time(std::string_view field, Duration low, Duration high, Value& value) {
    const Json* given = Take(field);
    if (given == nullptr) return {};
    const auto parsed = given->is_string() ? base::ParseDuration(given->get_string()) : base::Fail(Code::kBadRequest, "");
    if (!parsed || *parsed < low || *parsed > high) {
      return Wrong(field, fmt::format("give a duration from {} to {}", base::FormatDuration(low), base::FormatDuration(high)));
    }
    value = *parsed;
    return {};
  }

  /// "all" or a list of some of `choices`.
  Status Names(std::string_view field, const std::set<std::string>& choices, bool may_be_all, std::vector<std::string>& names) {
    const Json* given = Take(field);
    if (given == nullptr) return {};
    names.clear();
    if (may_be_all && given->is_string() && given->get_string() == "all") {
      names.assign(choices.begin(), choices.end());
      return {};
    }
    if (!given->is_array()) return Wrong(field, may_be_all ? "give a list of names, or all" : "give a list of names");
    for (const Json& entry : given->get_array()) {
      const std::string name = entry.is_string() ? std::string(entry.get_string()) : base::ToText(entry);
      if (!choices.contains(name)) return Wrong(field, fmt::format("\"{}\" is not one of {}", name, fmt::join(choices, ", ")));
      if (std::ranges::find(names, name) != names.end()) return Wrong(field, fmt::format("\"{}\" is there twice", name));
      names.push_back(name);
    }
    return {};
  }

  Status NothingElse() const {
    for (const auto& entry : object_.get_object()) {
      if (!known_.contains(entry.key())) {
        return Wrong("",
                     fmt::format("\"{}\" is not known: there are {}", std::string_view(entry.key()), fmt::join(known_, ", ")));
      }
    }
    return {};
  }

  Fields Below(const Json& value, std::string_view field) const {
    return Fields(value, path_.empty() ? std::string(field) : path_ + "." + std::string(field), source_);
  }

 private:
  const Json& object_;
  const std::string path_;
  const std::string& source_;
  std::set<std::string_view> known_;
};

Status ReadNodes(Fields& fields, Scenario& scenario) {
  const Json* given = fields.Take("nodes");
  if (given == nullptr) return {};
  if (!given->is_object()) {
    EVENKEEL_TRY(fields.Whole("nodes", 0, kNodesMax, scenario.nodes_min));
    scenario.nodes_max = scenario.nodes_min;
    return {};
  }
  Fields nodes = fields.Below(*given, "nodes");
  EVENKEEL_TRY(nodes.Whole("min", 0, kNodesMax, scenario.nodes_min));
  EVENKEEL_TRY(nodes.Whole("max", 0, kNodesMax, scenario.nodes_max));
  EVENKEEL_TRY(nodes.NothingElse());
  if (scenario.nodes_max < scenario.nodes_min) return nodes.Wrong("", "max is less than min");
  return {};
}

Status ReadReplicas(Fields& fields, Scenario& scenario) {
  const Json* given = fields.Take("replicas");
  if (given == nullptr) return {};
  if (!given->is_object()) {
    EVENKEEL_TRY(fields.Whole("replicas", 1, kReplicasMax, scenario.replicas_start));
    scenario.replicas_min = scenario.replicas_max = scenario.replicas_start;
    return {};
  }
  Fields replicas = fields.Below(*given, "replicas");
  EVENKEEL_TRY(replicas.Whole("min", 1, kReplicasMax, scenario.replicas_min));
  scenario.replicas_max = std::max(scenario.replicas_max, scenario.replicas_min);
  EVENKEEL_TRY(replicas.Whole("max", 1, kReplicasMax, scenario.replicas_max));
  scenario.replicas_start = scenario.replicas_min;
  EVENKEEL_TRY(replicas.Whole("start", 1, kReplicasMax, scenario.replicas_start));
  EVENKEEL_TRY(replicas.NothingElse());
  if (scenario.replicas_max < scenario.replicas_min) return replicas.Wrong("", "max is less than min");
  if (scenario.replicas_start < scenario.replicas_min || scenario.replicas_start > scenario.replicas_max) {
    return replicas.Wrong("start", "give a number from min to max");
  }
  return {};
}

Status ReadRates(Fields& fields, Scenario& scenario) {
  const Json* given = fields.Take("rates");
  if (given == nullptr) return {};
  Fields rates = fields.Below(*given, "rates");
  EVENKEEL_TRY(rates.IsObject());
  for (const FaultKind& kind : FaultKinds()) {
    const Json* rate = rates.Take(kind.name);
    if (rate == nullptr) continue;
    double& value = scenario.rates[std::string(kind.name)];
    if (kind.rate == FaultKind::Rate::kPeriod) {
      Duration period{};
      EVENKEEL_TRY(rates.Time(kind.name, std::chrono::seconds(1), kLongest, period));
      value = std::chrono::duration<double>(period).count();
    } else if (kind.rate == FaultKind::Rate::kProbability) {
      if (rate->is_number()) value = rate->to_number<double>();
      if (!rate->is_number() || value < 0 || value > 1) return rates.Wrong(kind.name, "give a number from 0 to 1");
    } else {
      return rates.Wrong(kind.name, "it is on or off: name it in faults");
    }
    scenario.faults.insert(std::string(kind.name));
  }
  return rates.NothingElse();
}

Status ReadOptions(Fields& fields, Scenario::Options& options) {
  const Json* given = fields.Take("options");
  if (given == nullptr) return {};
  if (given->is_string()) {
    const std::string_view name = given->get_string();
    if (name != "hostile" && name != "default") return fields.Wrong("options", "give hostile, default, or single options");
    options.hostile = name == "hostile";
    return {};
  }
  Fields each = fields.Below(*given, "options");
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
  std::string mode = "coordinated";
  EVENKEEL_TRY(fields.Text("mode", mode));
  if (mode != "coordinated" && mode != "compatible") return fields.Wrong("mode", "give coordinated or compatible");
  using controllers::distribution::Mode;
  scenario.mode = mode == "coordinated" ? Mode::kCoordinated : Mode::kCompatible;
  std::set<std::string> known;
  for (const auto& [name, maker] : SimulatedControllers()) known.insert(name);
  EVENKEEL_TRY(fields.Names("controllers", known, false, scenario.controllers));
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
  EVENKEEL_TRY(fields.NothingElse());
  if (scenario.name.empty()) return fields.Wrong("name", "it is missing");
  return {};
}

}  // namespace

base::Result<Scenario> ParseScenario(std::string_view text, const std::string& source) {
  EVENKEEL_ASSIGN(const Json document, base::ParseYamlDocument(text, source));
  Scenario scenario;
  Fields fields(document, "", source);
  EVENKEEL_TRY(Read(fields, scenario));
  return scenario;
}

base::Result<Scenario> ReadScenario(const std::string& path) {
  const auto text = base::ReadFile(path);
  if (!text) return base::Fail(Code::kBadRequest, text.error().message());
  return ParseScenario(*text, path);
}

}  // namespace evenkeel::sim
