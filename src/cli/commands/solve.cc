#include "cli/commands/solve.h"

#include <spdlog/fmt/fmt.h>

#include "base/input/file.h"
#include "base/json.h"
#include "cli/terminal/input_file.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "solver/roadef.h"
#include "solver/search.h"
#include "solver/verify.h"

namespace evenkeel::cli {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
using solver::RoadefInstance;

/// What reading, verifying and writing may take of the time.
constexpr base::Duration kReserve = std::chrono::milliseconds(200);

Json Report(const RoadefInstance& instance, const solver::Verdict& verdict) {
  JsonObject terms;
  for (const auto& [name, cost] : verdict.terms) terms[name] = cost;
  const solver::Problem& problem = instance.problem;
  return JsonObject{{"valid", verdict.valid()},          {"cost", verdict.cost},
                    {"lowerBound", LowerBound(problem)}, {"initialCost", Verify(problem, problem.initial).cost},
                    {"terms", std::move(terms)},         {"violations", base::ToJsonArray(verdict.violations)}};
}

int64_t Milliseconds(base::Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

solver::SearchResult SearchWithProgress(const solver::Problem& problem, solver::SearchOptions options, int threads) {
  base::Clock& clock = base::SystemClock();
  ProgressWork work{.what = "solve", .unit = "steps"};
  if (options.time_limit) {
    work.amount = ProgressWork::Amount::kTime;
    work.total = std::chrono::duration<double>(*options.time_limit).count();
  } else {
    work.total = static_cast<double>(options.evaluations);
  }
  Progress progress(ProgressTerminal(), ProgressColumns(), clock, work);
  const base::Instant begin = clock.Monotonic();
  options.on_progress = [&](const solver::SearchProgress& at) {
    const std::string cost = fmt::format("cost {}", at.cost);
    // The bar itself says how fast steps go only where it counts them.
    progress.At(at.share * work.total,
                options.time_limit
                    ? RateText(static_cast<double>(at.evaluations), clock.Monotonic() - begin, "steps") + ", " + cost
                    : cost);
  };
  const auto pool = base::NewThreadPool(threads);
  return solver::Search(problem, options, clock, pool.get());
}

}  // namespace

base::Status SolveRoadef(const SolveRoadefOptions& options, std::ostream& out) {
  base::Clock& clock = base::SystemClock();
  const base::Instant begin = clock.Monotonic();
  EVENKEEL_ASSIGN(const std::string model, ReadInputFile(options.model));
  EVENKEEL_ASSIGN(const std::string initial, ReadInputFile(options.initial));
  EVENKEEL_ASSIGN(const RoadefInstance instance, solver::ReadRoadef(model, options.model, initial, options.initial));
  if (!options.check.empty()) {
    EVENKEEL_ASSIGN(const std::string solution, ReadInputFile(options.check));
    EVENKEEL_ASSIGN(const auto assignment, solver::ReadRoadefAssignment(instance, solution, options.check));
    const solver::Verdict verdict = Verify(instance.problem, assignment);
    PrintValue(out, Format::kJson, Report(instance, verdict));
    if (verdict.valid()) return {};
    return base::Fail(base::Code::kInfeasible, options.check + ": " + verdict.violations.front());
  }
  solver::SearchOptions search{.seed = options.seed, .annealings = options.threads};
  if (options.evaluations) {
    search.evaluations = *options.evaluations;
  } else {
    const auto limit = std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(options.seconds));
    search.time_limit = std::max(base::Duration{}, limit - kReserve - (clock.Monotonic() - begin));
  }
  const solver::SearchResult result = SearchWithProgress(instance.problem, std::move(search), options.threads);
  const solver::Verdict verdict = Verify(instance.problem, result.assignment);
  if (!verdict.valid())
    return base::Fail(base::Code::kInternal, "the solution found breaks a rule: " + verdict.violations.front());
  if (!options.output.empty()) {
    EVENKEEL_TRY(base::WriteFile(options.output, solver::WriteRoadefAssignment(instance, result.assignment)));
  }
  Json report = Report(instance, verdict);
  JsonArray progress;
  for (const solver::Improvement& improvement : result.progress) {
    progress.push_back({{"milliseconds", Milliseconds(improvement.at - begin)}, {"cost", improvement.cost}});
  }
  report.as_object()["progress"] = std::move(progress);
  report.as_object()["evaluations"] = result.evaluations;
  report.as_object()["cutByClock"] = !options.evaluations.has_value();
  report.as_object()["milliseconds"] = Milliseconds(clock.Monotonic() - begin);
  PrintValue(out, Format::kJson, report);
  return {};
}

}  // namespace evenkeel::cli
