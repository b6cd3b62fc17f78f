#include "cli/commands/balance.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <set>

#include "balancing/input/cluster_reader.h"
#include "balancing/input/manifest.h"
#include "balancing/model/cluster_order.h"
#include "balancing/plan/cluster_load.h"
#include "balancing/plan/explain_service.h"
#include "balancing/plan/plan_json.h"
#include "base/input/file.h"
#include "base/json.h"
#include "base/time.h"
#include "cli/clusters/command_flags.h"
#include "cli/clusters/live_balance.h"
#include "cli/clusters/plan_report.h"
#include "cli/clusters/watch.h"
#include "cli/commands/balance_tables.h"
#include "cli/terminal/input_file.h"
#include "cli/terminal/output.h"

namespace evenkeel::cli {
namespace {

constexpr double kLastInstant = 9e9;  // seconds from 1970: what fits into nanoseconds
using base::Json;

void PrintWarnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) PrintWarning(warning);
}

base::Result<balancing::Manifest> ReadManifestFile(const std::string& file) {
  if (file.empty()) return balancing::Manifest();
  EVENKEEL_ASSIGN(const std::string text, ReadInputFile(file));
  EVENKEEL_ASSIGN(balancing::Manifest manifest, balancing::ReadManifest(text, file));
  PrintWarnings(manifest.warnings);
  return manifest;
}

base::Result<balancing::Cluster> ReadState(const BalanceOptions& options, const balancing::Manifest& manifest) {
  if (options.files.empty()) {
    return base::Fail(base::Code::kBadRequest, "-f FILE is required: the state of the cluster (docs/BALANCING.md)");
  }
  std::vector<std::string> contents;
  std::vector<balancing::StateText> texts;
  contents.reserve(options.files.size());
  for (const std::string& file : options.files) {
    EVENKEEL_ASSIGN(contents.emplace_back(), ReadInputFile(file));
    texts.push_back({contents.back(), file});
  }
  EVENKEEL_ASSIGN(balancing::ClusterFile state,
                  balancing::ReadCluster(
                      texts, {.settings = manifest.settings, .node_types = manifest.node_types, .nodes = manifest.nodes}));
  PrintWarnings(state.warnings);
  return std::move(state.cluster);
}

base::Result<balancing::PlannerMemory> ReadMemory(const BalanceOptions& options, const BalanceInput& input) {
  std::error_code error;
  if (options.memory.empty() || (!std::filesystem::exists(options.memory, error) && !error)) {
    return MemoryOf(input.settings, input.cluster, input.options.now);
  }
  EVENKEEL_ASSIGN(const std::string text, ReadInputFile(options.memory, "--memory"));
  EVENKEEL_ASSIGN(const Json json, base::ParseJson(text, options.memory));
  auto memory = balancing::PlannerMemory::FromJson(json);
  if (!memory) return base::Fail(memory.error().Wrap(options.memory));
  NoteChanges(*memory, input.cluster.history);
  return memory;
}

uint64_t SeedOf(const BalanceOptions& options, const balancing::Settings& settings) {
  if (options.seed) return *options.seed;
  return settings.initial_random_seed >= 0 ? static_cast<uint64_t>(settings.initial_random_seed) : 1;
}

double SecondsNow() { return std::chrono::duration<double>(base::SystemClock().Now().time_since_epoch()).count(); }

struct Planned {
  BalanceInput input;  ///< with the memory before the plan
  balancing::Plan plan;
  balancing::PlannerMemory memory;  ///< after it
  double milliseconds = 0;
  std::vector<std::string> warnings;                     ///< of a live member
  controllers::balancer::MemberCluster member;           ///< a live one, without what `input` has of it
  std::vector<controllers::balancer::BrokenPod> broken;  ///< of a live one
};

bool IsLive(const BalanceOptions& options) { return options.files.empty() && options.manifest.empty(); }

double MillisecondsSince(base::Instant begin) {
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(base::SystemClock().Monotonic() - begin);
  return static_cast<double>(took.count()) / 1000;
}

base::Result<Planned> PlanLive(client::Client& member, const BalanceOptions& options) {
  Planned planned;
  planned.input.options.now = options.now ? *options.now : SecondsNow();
  const base::Instant begin = base::SystemClock().Monotonic();
  const base::Time now{std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(planned.input.options.now))};
  EVENKEEL_ASSIGN(LiveBalance live, ReadLiveBalance(member, options.policy, now));
  planned.milliseconds = MillisecondsSince(begin);
  planned.warnings = std::move(live.warnings);
  planned.input.cluster = std::move(live.outlook.member.cluster);
  planned.input.settings = std::move(live.outlook.member.settings);
  planned.input.memory = std::move(live.memory);
  planned.plan = std::move(live.outlook.plan);
  planned.member = std::move(live.outlook.member);
  planned.broken = std::move(live.outlook.broken);
  return planned;
}

base::Status CheckLive(const BalanceOptions& options) {
  if (options.memory.empty() && !options.seed && options.evaluations == 0) return {};
  return base::Fail(base::Code::kBadRequest,
                    "--memory, --seed and --evaluations go with -f: of a live member its BalancingPlans remember, and the "
                    "search is its balancer's");
}

base::Result<Planned> PlanLive(const BalanceOptions& options) {
  EVENKEEL_TRY(CheckLive(options));
  EVENKEEL_ASSIGN(const AskedMember asked, AskMember(options.member, nullptr));
  EVENKEEL_ASSIGN(const std::unique_ptr<client::Client> member, ConnectToHub(asked.api));
  return PlanLive(*member, options);
}

base::Result<Planned> Plan(const BalanceOptions& options) {
  if (IsLive(options)) {
    EVENKEEL_ASSIGN(Planned live, PlanLive(options));
    PrintWarnings(live.warnings);
    return live;
  }
  if (!options.member.cluster.empty()) {
    return base::Fail(base::Code::kBadRequest, "--cluster goes with a live hub, not with -f or --manifest");
  }
  Planned planned;
  EVENKEEL_ASSIGN(planned.input, ReadBalanceInput(options));
  planned.memory = planned.input.memory;
  const base::Instant begin = base::SystemClock().Monotonic();
  planned.plan = MakePlan(planned.input.cluster, planned.input.settings, planned.input.options, planned.memory);
  planned.milliseconds = MillisecondsSince(begin);
  return planned;
}

Json LoadsOf(const Planned& planned) {
  const BalanceInput& input = planned.input;
  return ToJson(input.cluster, MakeClusterLoads(input.cluster, input.settings, planned.plan, input.memory));
}

base::Status WatchLoads(const BalanceOptions& options, std::ostream& out) {
  if (!IsLive(options)) return base::Fail(base::Code::kBadRequest, "--watch goes with a live member, not with files");
  EVENKEEL_TRY(CheckLive(options));
  std::set<std::string> told;
  const auto question = [&options, &told](client::Client& member) -> base::Result<Shown> {
    EVENKEEL_ASSIGN(const Planned planned, PlanLive(member, options));
    for (const std::string& warning : planned.warnings) {
      if (told.insert(warning).second) PrintWarnings({warning});
    }
    return ShowLoads(LoadsOf(planned), planned.input.cluster);
  };
  EVENKEEL_ASSIGN(const AskedMember asked, AskMember(options.member, nullptr));
  return WatchLive(asked.api, options.get, question, out);
}

}  // namespace

void AddBalanceFlags(CLI::App& command, BalanceOptions& options) {
  IsFile(command.add_option("--manifest", options.manifest,
                            "Settings: ClusterManifest.xml, ClusterConfig.json or Template.json (default: every default)"));
  AddFilenameFlag(command, options.files,
                  "The state of the cluster, YAML or JSON; - is standard input (default: the live member)");
  AddMemberFlags(command, options.member, "the live member");
  command.add_option("--policy", options.policy, "BalancingPolicy of the live member (default: the one in force)");
  IsFile(command.add_option("--memory", options.memory,
                            "What the last call remembered; written by plan balance, which may begin without (default: the "
                            "state's history)"));
  IsNumber(command.add_option("--now", options.now, "Seconds of the clock of the history (default: the system's, from 1970)"),
           -kLastInstant, kLastInstant);
  IsSeed(command.add_option("--seed", options.seed, "Seed of the searches (default: InitialRandomSeed, else 1)"));
  IsWhole(command.add_option("--evaluations", options.evaluations, "Steps that each search may look at (default: by the size)"),
          0, 1'000'000'000'000);
}

base::Result<BalanceInput> ReadBalanceInput(const BalanceOptions& options) {
  EVENKEEL_ASSIGN(balancing::Manifest manifest, ReadManifestFile(options.manifest));
  BalanceInput input;
  EVENKEEL_ASSIGN(input.cluster, ReadState(options, manifest));
  EVENKEEL_ASSIGN(const std::vector<std::string> warnings, balancing::CheckNames(manifest, input.cluster));
  PrintWarnings(warnings);
  SortByName(input.cluster);
  input.settings = std::move(manifest.settings);
  input.options.now = options.now ? *options.now : SecondsNow();
  input.options.seed = SeedOf(options, input.settings);
  input.options.evaluations = options.evaluations;
  EVENKEEL_ASSIGN(input.memory, ReadMemory(options, input));
  return input;
}

base::Status PlanBalance(const BalanceOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(options.output));
  EVENKEEL_TRY(CheckReport(options.report));
  EVENKEEL_ASSIGN(const Planned planned, Plan(options));
  if (!options.memory.empty()) {
    EVENKEEL_TRY(base::WriteFile(options.memory, base::ToPrettyText(planned.memory.ToJson()) + "\n"));
  }
  const Json json = balancing::PlanToJson(planned.input.cluster, planned.input.settings, planned.plan, planned.milliseconds);
  if (!options.report.file.empty()) {
    const base::Time now = base::SystemClock().Now();
    EVENKEEL_TRY(WriteReport(options.report, BalanceReport(planned.input.cluster, planned.plan, json), now));
  }
  format == Format::kTable ? PrintBalancePlan(out, json, planned.input.cluster) : PrintValue(out, format, json);
  return {};
}

base::Status GetLoads(const BalanceOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(const GetOutput output, GetOutput::Parse(options.get.output));
  if (options.get.watch) return WatchLoads(options, out);
  EVENKEEL_ASSIGN(const Planned planned, Plan(options));
  EVENKEEL_ASSIGN(const Shown shown,
                  output.Arrange(ShowLoads(LoadsOf(planned), planned.input.cluster), options.get.names, true));
  if (output.IsTable()) out << "last balancing: " << LastBalancing(shown.json) << "\n\n";
  EVENKEEL_TRY(output.Print(out, shown));
  if (output.IsTable()) PrintLoadsOfNodeTypes(out, shown.json, planned.input.cluster);
  return {};
}

base::Status ExplainService(const BalanceOptions& options, const std::string& service, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(options.output));
  EVENKEEL_ASSIGN(const Planned planned, Plan(options));
  const BalanceInput& input = planned.input;
  if (input.cluster.FindService(service) == balancing::kNoId) {
    const std::string why = WhyAbsent(planned.member, service);
    if (!why.empty()) return base::Fail(base::Code::kNotFound, why);
  }
  EVENKEEL_ASSIGN(Json json, balancing::ExplainService(input.cluster, input.settings, planned.plan, input.memory,
                                                       input.options.now, service));
  AddReasonsOfMember(planned.member.fixed, planned.broken, json);
  format == Format::kTable ? PrintServiceExplanation(out, json) : PrintValue(out, format, json);
  return {};
}

}  // namespace evenkeel::cli
