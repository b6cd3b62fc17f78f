#include "cli/commands/simulate.h"

#include <spdlog/fmt/fmt.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/executor.h"
#include "base/input/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/parse_number.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "sim/report/report_data.h"
#include "sim/report/trace_replay.h"
#include "sim/run/simulation.h"

namespace evenkeel::cli {
namespace {

using base::Code;
using base::Json;
using base::JsonObject;
using sim::SimulationReport;

constexpr uint64_t kSeedsMax = 10'000'000;
/// What a summary of many seeds lists; the rest is counted.
constexpr size_t kFailuresListed = 20;

/// What many seeds came to together.
struct Totals {
  uint64_t seeds = 0;
  uint64_t steps = 0;
  int64_t plans = 0, moves = 0;
  base::Duration virtual_time{}, longest_unowned{}, converged{}, wall{};
  int64_t checks = 0;
  std::map<std::string, int64_t> writes, faults;
  std::vector<base::Duration> handovers;
  std::optional<sim::AutoscalingReport> autoscaling;
  std::map<uint64_t, sim::Violation> failed;  ///< by seed: the first violation

  void Add(const SimulationReport& report) {
    ++seeds;
    steps += report.steps;
    plans += report.plans;
    moves += report.moves;
    checks += report.checks;
    virtual_time += report.virtual_time;
    longest_unowned = std::max(longest_unowned, report.longest_unowned);
    converged = std::max(converged, report.converged);
    for (const auto& [kind, count] : report.writes) writes[kind] += count;
    for (const auto& [kind, count] : report.faults) faults[kind] += count;
    handovers.insert(handovers.end(), report.handovers.begin(), report.handovers.end());
    if (report.autoscaling) {
      if (!autoscaling) autoscaling.emplace();
      autoscaling->joined += report.autoscaling->joined;
      autoscaling->gone += report.autoscaling->gone;
      autoscaling->evictions += report.autoscaling->evictions;
      std::ranges::copy(report.autoscaling->waited, std::back_inserter(autoscaling->waited));
    }
    if (!report.passed()) failed.emplace(report.seed, report.violations.front());
  }
};

Json ToJson(const std::string& scenario, Totals& totals) {
  SimulationReport sum;
  sum.scenario = scenario;
  sum.steps = totals.steps;
  sum.writes = totals.writes;
  sum.plans = totals.plans;
  sum.moves = totals.moves;
  sum.virtual_time = totals.virtual_time;
  sum.longest_unowned = totals.longest_unowned;
  sum.converged = totals.converged;
  sum.wall = totals.wall;
  sum.faults = totals.faults;
  std::ranges::sort(totals.handovers);
  sum.handovers = totals.handovers;
  sum.autoscaling = totals.autoscaling;
  if (sum.autoscaling) std::ranges::sort(sum.autoscaling->waited);
  Json json = sim::ToJson(sum);
  JsonObject& object = json.get_object();
  for (const char* of_one_seed : {"seed", "traceHash", "violations"}) object.erase(of_one_seed);
  object["seeds"] = totals.seeds;
  object["failedSeeds"] = totals.failed.size();
  base::JsonArray failures;
  for (const auto& [seed, violation] : totals.failed) {
    if (failures.size() == kFailuresListed) break;
    failures.push_back(JsonObject{{"seed", seed}, {"checker", violation.checker}, {"what", violation.what}});
  }
  object["failures"] = std::move(failures);
  return json;
}

/// One row per number; what is nested has its path as name.
void AddRows(const std::string& path, const Json& value, std::vector<std::vector<std::string>>& rows) {
  if (value.is_object()) {
    for (const auto& entry : value.get_object()) {
      AddRows(path.empty() ? std::string(entry.key()) : path + "." + std::string(entry.key()), entry.value(), rows);
    }
  } else if (value.is_array()) {
    for (const Json& entry : value.get_array()) rows.push_back({path, base::ToText(entry)});
  } else if (value.is_double()) {
    rows.push_back({path, fmt::format("{:.3f}", value.get_double())});
  } else {
    rows.push_back({path, value.is_string() ? std::string(value.get_string()) : base::ToText(value)});
  }
}

void Print(std::ostream& out, Format format, const Json& summary) {
  if (format != Format::kTable) return PrintValue(out, format, summary);
  std::vector<std::vector<std::string>> rows;
  AddRows("", summary, rows);
  PrintTable(out, {"WHAT", "VALUE"}, rows);
}

SimulationReport RunSeed(const sim::Scenario& scenario, sim::SimulationOptions options) {
  const base::Instant begin = base::SystemClock().Monotonic();
  sim::Simulation simulation(scenario, std::move(options));
  SimulationReport report = simulation.Run();
  report.wall = base::SystemClock().Monotonic() - begin;
  return report;
}

double Seconds(base::Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// Where progress is shown; null for nowhere, and where the replicas' log is.
std::ostream* ProgressOf(const SimulateOptions& options) { return options.verbose ? nullptr : ProgressTerminal(); }

/// If one was asked for.
template <typename Report>
base::Status WriteReportOf(const Report& report, const SimulateOptions& options) {
  if (report.recording == nullptr) return {};
  std::optional<Progress> progress;
  size_t frames = 0;
  base::JsonObject data = sim::ReportData(report, [&](size_t done, size_t total) {
    if (frames != total) {
      const ProgressWork work{.what = "report", .unit = "frames", .total = static_cast<double>(total)};
      progress.emplace(ProgressOf(options), ProgressColumns(), base::SystemClock(), work);
    }
    frames = total;
    progress->At(static_cast<double>(done));
  });
  progress.reset();
  return WriteReport(options.report, std::move(data), base::SystemClock().Now());
}

/// One seed, with its files.
base::Result<SimulationReport> RunOne(const sim::Scenario& scenario, const SimulateOptions& options) {
  sim::SimulationOptions simulation{
      .seed = options.seed.value_or(1), .timeline = !options.timeline.empty(), .record = !options.report.file.empty()};
  SimulationReport report;
  {
    // Healing takes as long as it takes, so it does not count.
    const double faults = Seconds(scenario.duration), all = faults + Seconds(scenario.quiet);
    Progress progress(ProgressOf(options), ProgressColumns(), base::SystemClock(),
                      {.what = "simulate", .amount = ProgressWork::Amount::kSimulated, .total = all});
    simulation.on_second = [&](base::Duration at) {
      const bool healing = at > scenario.duration;
      progress.At(healing ? faults : Seconds(at), healing ? "faults are over" : "");
    };
    report = RunSeed(scenario, std::move(simulation));
  }
  if (!options.timeline.empty()) EVENKEEL_TRY(base::WriteFile(options.timeline, sim::TimelineCsv(report.timeline)));
  EVENKEEL_TRY(WriteReportOf(report, options));
  return report;
}

base::Status Replay(const sim::Scenario& scenario, const SimulateOptions& options, Format format, std::ostream& out) {
  namespace autoscaler = controllers::autoscaler;
  const sim::TraceScenario settings = scenario.trace.value_or(sim::TraceScenario{});
  const std::string kind = options.trace.empty() ? settings.kind : options.trace;
  const std::string directory = options.trace_dir.empty() ? settings.path : options.trace_dir;
  EVENKEEL_ASSIGN(const sim::Trace trace, sim::ReadTrace(kind, directory));
  EVENKEEL_ASSIGN(autoscaler::AppliedFlags flags, autoscaler::ApplyFlags(scenario.autoscaler));
  const base::Instant begin = base::SystemClock().Monotonic();
  sim::ReplayOptions replay;
  replay.scenario = scenario.name;
  replay.kind = kind;
  replay.seed = options.seed.value_or(1);
  replay.autoscaler = std::move(flags.options);
  replay.cloud.provision_delay = settings.provision_delay;
  replay.cloud.delete_delay = settings.delete_delay;
  replay.clock = &base::SystemClock();
  replay.timeline = !options.timeline.empty();
  replay.record = !options.report.file.empty();
  std::optional<Progress> progress;
  replay.on_progress = [&](base::Duration at, base::Duration all) {
    const ProgressWork work{.what = "simulate", .amount = ProgressWork::Amount::kSimulated, .total = Seconds(all)};
    if (!progress) progress.emplace(ProgressOf(options), ProgressColumns(), base::SystemClock(), work);
    progress->At(Seconds(at));
  };
  auto replayed = sim::ReplayTrace(trace, replay);
  progress.reset();
  EVENKEEL_ASSIGN(sim::ReplayReport report, std::move(replayed));
  report.wall = base::SystemClock().Monotonic() - begin;
  if (replay.timeline) EVENKEEL_TRY(base::WriteFile(options.timeline, sim::TimelineCsv(report.timeline)));
  EVENKEEL_TRY(WriteReportOf(report, options));
  Print(out, format, sim::ToJson(report));
  if (format == Format::kTable) out << "\nreplayed: no checker looks on at a trace; its figures are above\n";
  return {};
}

/// Workers take the next seed until there is none left.
class Workers {
 public:
  Workers(const sim::Scenario& scenario, SeedRange seeds, std::ostream* terminal)
      : scenario_(scenario),
        seeds_(seeds),
        progress_(terminal, ProgressColumns(), base::SystemClock(),
                  {.what = "simulate", .unit = "seeds", .total = static_cast<double>(seeds.last - seeds.first + 1)}),
        next_(seeds.first) {}

  Totals Run() {
    const base::Instant begin = base::SystemClock().Monotonic();
    const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const auto executor = base::NewThreadPool(threads);
    std::vector<std::shared_ptr<base::Strand>> strands;
    for (int i = 0; i < threads; ++i) {
      strands.push_back(executor->NewStrand("simulations"));
      strands.back()->Post([this] { Work(); });
    }
    std::unique_lock lock(mutex_);
    working_ += threads;
    idle_.wait(lock, [this] { return working_ == 0; });
    totals_.wall = base::SystemClock().Monotonic() - begin;
    return std::move(totals_);
  }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    while (next_ <= seeds_.last) {
      const uint64_t seed = next_++;
      lock.unlock();
      const SimulationReport report = RunSeed(scenario_, {.seed = seed});
      lock.lock();
      totals_.Add(report);
      progress_.At(static_cast<double>(totals_.seeds), fmt::format("{} failed", totals_.failed.size()));
    }
    --working_;
    idle_.notify_all();
  }

  const sim::Scenario& scenario_;
  const SeedRange seeds_;
  Progress progress_;
  std::mutex mutex_;
  std::condition_variable idle_;
  uint64_t next_;
  int working_ = 0;
  Totals totals_;
};

std::string CommandOfSeed(const SimulateOptions& options, uint64_t seed) {
  return fmt::format("evenkeel simulate {} --seed {}", options.scenario, seed);
}

/// The last line for people: whether it held, how much was tried, and what to run to see it.
void PrintVerdict(std::ostream& out, const SimulateOptions& options, Format format, const Totals& totals, uint64_t first) {
  if (format != Format::kTable) return;
  int64_t faults = 0;
  for (const auto& [kind, count] : totals.faults) faults += count;
  const bool held = totals.failed.empty();
  const std::string what = held ? "no checker found anything wrong" : fmt::format("{} of them failed", totals.failed.size());
  out << fmt::format("\n{}: {} seed{}, {} faults, {} checks: {}; see it again: {} --verbose\n", held ? "held" : "broken",
                     totals.seeds, totals.seeds == 1 ? "" : "s", faults, totals.checks, what,
                     CommandOfSeed(options, held ? first : totals.failed.begin()->first));
}

base::Status Failed(const SimulateOptions& options, size_t seeds, uint64_t seed, const sim::Violation& violation) {
  const std::string more = seeds > 1 ? fmt::format(" (and {} seeds more)", seeds - 1) : "";
  return base::Fail(Code::kInternal, fmt::format("seed {}{}: {}: {}: repeat with: {}", seed, more, violation.checker,
                                                 violation.what, CommandOfSeed(options, seed)));
}

}  // namespace

base::Result<SeedRange> ParseSeeds(const std::string& text) {
  const std::string_view whole = text;
  const size_t dots = whole.find("..");
  const bool many = dots != whole.npos;
  const auto first = many ? base::ParseNumber<uint64_t>(whole.substr(0, dots)) : SeedRange().first;
  const auto last = base::ParseNumber<uint64_t>(many ? whole.substr(dots + 2) : whole);
  if (!first || !last || *last < *first || *last - *first >= kSeedsMax) {
    return base::Fail(Code::kBadRequest, fmt::format("--seeds {}: give a range as 1..200, or how many", text));
  }
  return SeedRange{*first, *last};
}

base::Status Simulate(const SimulateOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(options.output));
  EVENKEEL_ASSIGN(const sim::Scenario scenario, sim::ReadScenario(options.scenario));
  const bool many = !options.seeds.empty();
  if (many && options.seed) return base::Fail(Code::kBadRequest, "simulate: give --seed or --seeds, not both");
  if (many && !options.timeline.empty()) return base::Fail(Code::kBadRequest, "simulate: --timeline is of one --seed");
  if (many && !options.report.file.empty()) {
    return base::Fail(Code::kBadRequest, "simulate: --report is of one --seed; a run of many names those that failed");
  }
  EVENKEEL_TRY(CheckReport(options.report));
  const bool replay = scenario.trace.has_value() || !options.trace.empty();
  if (replay && many) return base::Fail(Code::kBadRequest, "simulate: a trace is replayed under one --seed");
  if (!replay && !options.trace_dir.empty()) {
    return base::Fail(Code::kBadRequest, "simulate: --trace-dir: name the --trace, too: openb");
  }
  if (!options.verbose) EVENKEEL_TRY(base::log::Configure(base::log::Level::kOff));
  if (replay) return Replay(scenario, options, format, out);
  if (!many) {
    EVENKEEL_ASSIGN(const SimulationReport report, RunOne(scenario, options));
    Print(out, format, sim::ToJson(report));
    Totals alone;
    alone.Add(report);
    PrintVerdict(out, options, format, alone, report.seed);
    if (report.passed()) return {};
    return Failed(options, 1, report.seed, report.violations.front());
  }
  EVENKEEL_ASSIGN(const SeedRange seeds, ParseSeeds(options.seeds));
  Totals totals = Workers(scenario, seeds, ProgressOf(options)).Run();
  Print(out, format, ToJson(scenario.name, totals));
  PrintVerdict(out, options, format, totals, seeds.first);
  if (totals.failed.empty()) return {};
  return Failed(options, totals.failed.size(), totals.failed.begin()->first, totals.failed.begin()->second);
}

}  // namespace evenkeel::cli
