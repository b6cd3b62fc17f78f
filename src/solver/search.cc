#include "solver/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <future>
#include <limits>
#include <optional>

#include "base/random.h"
#include "solver/descent.h"
#include "solver/priced_state.h"
#include "solver/repair.h"

namespace evenkeel::solver {
namespace {

constexpr int kRounds = 8;
/// What mending an assignment may take at the end of a round.
constexpr int64_t kRepairEvaluations = 4'000'000;
/// By how much dearer an annealing's assignment must be for it to be given up.
constexpr double kBehind = 0.001;

// Found by trying on the challenge's instances. Temperatures are in units of what a feasible shift changes in the mean, prices
// in units of what a hinge weighs in the mean.
constexpr double kColdest = 0.5;  ///< in units of cost
constexpr double kPriceLow = 5, kPriceHigh = 300, kPriceLearning = 100;
/// Of a unit of overflow where there may be none.
constexpr double kForbidden = 1e15;
/// In mending an assignment, fitting is everything.
constexpr double kRepairPrice = 1e6;

// Parts of the search.
constexpr double kDescent = 0.06, kTrial = 0.014;
/// Of what follows: the price stays from the first on, and what is left after the second is for going down.
constexpr double kSqueezed = 0.6, kAnnealed = 0.85;
/// How far the temperature falls while going down.
constexpr double kQuench = 1e-3;

/// Where trials begin, and where all of them end.
constexpr std::array kHot = {4.0, 1.0, 0.25, 0.06, 0.015};
constexpr double kTrialEnd = 1e-4;
/// The annealing begins at so many times the temperature of the best trial: more, the more steps an object gets.
constexpr double kStepsToBegin = 20'000, kBeginMin = 0.5, kBeginMax = 8;
/// How far the temperature falls while annealing. Where a trial freezes says little about where a long annealing does.
constexpr double kFall = 1.0 / 200;
/// A trial that has seen less than so many slices says nothing.
constexpr size_t kTrialSlices = 16;
/// What mending a trial's assignment may take.
constexpr int64_t kTrialRepairEvaluations = 400'000;
/// Trials do not tell smaller differences than that between exceeding capacities on the way and never exceeding them. The first
/// gets further when there is more time.
constexpr double kAsGood = 1.03;

/// The units of temperatures and prices.
struct Scale {
  double shift = 1;  ///< what a feasible shift changes in the mean
  double hinge = 1;  ///< what a hinge weighs in the mean
};

/// Everything that depends on how far annealing has come, from 0 to 1.
struct Schedule {
  double hot = 0, cold = 0;              ///< temperatures, in units of cost
  double price_low = 0, price_high = 0;  ///< of a unit of overflow

  double Temperature(double progress) const {
    if (progress < kAnnealed) return hot * std::pow(cold / hot, progress / kAnnealed);
    return std::max(std::min(kColdest, cold), cold * std::pow(kQuench, (progress - kAnnealed) / (1 - kAnnealed)));
  }
  double Price(double progress) const {
    return price_low * std::pow(price_high / price_low, std::min(1.0, progress / kSqueezed));
  }
};

Scale Measure(const Problem& problem, uint64_t seed) {
  State state(problem);
  base::Random random(seed);
  double sum = 0, weights = 0;
  int64_t count = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto object = static_cast<ObjectId>(random.Below(problem.objects()));
    const auto to = static_cast<NodeId>(random.Below(problem.nodes()));
    if (state.NodeOf(object) == to || !state.CanShift(object, to)) continue;
    const double delta = std::abs(state.ShiftDelta(object, to));
    if (delta == 0) continue;
    sum += delta;
    ++count;
  }
  for (const Hinge& hinge : problem.hinges) weights += static_cast<double>(hinge.weight);
  if (!problem.hinges.empty()) weights /= static_cast<double>(problem.hinges.size());
  return {count == 0 ? 1 : sum / static_cast<double>(count), std::max(weights, 1.0)};
}

/// What a quick annealing came to.
struct Trial {
  double value = 0;
  bool says_something = false;
  int64_t fitting = std::numeric_limits<int64_t>::max();  ///< the cost once mended, where that succeeded
};
using Trials = std::array<Trial, kHot.size()>;

/// One annealing and what it has learned.
struct Strain {
  Strain(const Problem& problem, uint64_t seed) : annealing(problem), steps(seed) {}
  void NoteProgress(base::Clock& clock) {
    const int64_t cost = annealing.best.cost();
    if (!progress.empty() && static_cast<double>(cost) > 0.999 * static_cast<double>(progress.back().cost)) return;
    progress.push_back({clock.Monotonic(), cost});
  }

  PricedState annealing;
  PricedSteps steps;
  Trials exceeding, strict;           ///< in which capacities may be exceeded at a price, and in which they may not
  std::optional<State> strict_begin;  ///< where the latter begin
  std::vector<Improvement> progress;
};

/// Annealings side by side: first each learns at which temperatures it should be, then they go round by round.
class Searcher {
 public:
  Searcher(const Problem& problem, const SearchOptions& options, base::Clock& clock, base::Executor* executor)
      : options_(options), clock_(clock), begin_(clock.Monotonic()), scale_(Measure(problem, options.seed)) {
    const bool by_turns = options.time_limit && executor == nullptr;
    const int count = by_turns ? 1 : std::max(1, options.annealings);
    for (int i = 0; i < count; ++i) {
      const uint64_t seed = base::Random(options.seed).Fork(std::to_string(i)).Next();
      strains_.push_back(std::make_unique<Strain>(problem, seed));
    }
    for (int i = 1; i < count && executor != nullptr; ++i) strands_.push_back(executor->NewStrand("placement"));
    evaluations_ = static_cast<double>(std::max<int64_t>(1, options.evaluations)) / count;
  }

  SearchResult Run() {
    ForEach([this](Strain& strain) { Learn(strain); });
    MakeSchedule();
    for (int round = 1; round <= kRounds; ++round) {
      const double until = static_cast<double>(round) / kRounds;
      ForEach([this, until](Strain& strain) { Anneal(strain, until); });
      if (until >= kSqueezed) GoOnFromTheBest();
    }
    SearchResult result;
    for (const auto& strain : strains_) {
      PricedState& annealing = strain->annealing;
      result.evaluations += annealing.evaluations;
      result.steps += annealing.steps;
      if (!result.assignment.empty() && annealing.best.cost() >= result.cost) continue;
      result.cost = annealing.best.cost();
      result.assignment = annealing.best.Assignment(annealing.state);
      result.progress = strain->progress;
    }
    return result;
  }

 private:
  /// How much of the search is over, with `more` evaluations than the annealing knows of.
  double Progress(const PricedState& annealing, int64_t more = 0) const {
    if (!options_.time_limit) return static_cast<double>(annealing.evaluations + more) / evaluations_;
    return std::chrono::duration<double>(clock_.Monotonic() - begin_) / std::chrono::duration<double>(*options_.time_limit);
  }

  /// The first annealing goes on the caller's thread and speaks for all.
  void Report(const Strain& strain) const {
    if (!options_.on_progress || &strain != strains_.front().get()) return;
    const PricedState& annealing = strain.annealing;
    options_.on_progress({.share = std::min(1.0, Progress(annealing)),
                          .evaluations = annealing.evaluations * std::ssize(strains_),
                          .cost = annealing.best.cost()});
  }

  /// Goes down, and tries from there how far quick annealings get from several temperatures: with a price of exceeding
  /// capacities, and without exceeding any.
  void Learn(Strain& strain) const {
    PricedState& annealing = strain.annealing;
    GoDown(strain, kForbidden);
    strain.strict_begin = annealing.state;
    GoDown(strain, kPriceHigh * scale_.hinge);
    TryAll(strain, kPriceLearning * scale_.hinge, strain.exceeding);
    const State begin = annealing.state;
    annealing.GoOnFrom(*strain.strict_begin);
    TryAll(strain, kForbidden, strain.strict);
    annealing.GoOnFrom(begin);
  }

  void GoDown(Strain& strain, double price) const {
    PricedState& annealing = strain.annealing;
    annealing.best.Forget(annealing.state);
    annealing.evaluations += Descend(annealing.state, strain.steps.random(), price,
                                     [&](int64_t looked_at) { return Progress(annealing, looked_at) < kDescent; });
    annealing.Stepped();
    strain.NoteProgress(clock_);
  }

  void TryAll(Strain& strain, double price, Trials& trials) const {
    PricedState& annealing = strain.annealing;
    const State begin = annealing.state;
    annealing.price = price;
    for (size_t i = 0; i < kHot.size(); ++i) {
      trials[i] = Try(strain, kHot[i] * scale_.shift);
      Mend(annealing, kTrialRepairEvaluations);
      if (annealing.state.overflow() == 0) trials[i].fitting = annealing.state.cost();
      annealing.GoOnFrom(begin);
    }
  }

  static void Mend(PricedState& annealing, int64_t evaluations) {
    if (annealing.state.overflow() == 0) return;
    int64_t left = evaluations;
    annealing.best.Forget(annealing.state);
    Repair(annealing.state, kRepairPrice, left);
    annealing.Stepped();
    annealing.evaluations += evaluations - left;
  }

  /// A quick annealing.
  Trial Try(Strain& strain, double hot) const {
    PricedState& annealing = strain.annealing;
    const double from = Progress(annealing), end = kTrialEnd * scale_.shift;
    size_t slices = 0;
    for (double now = from; now < from + kTrial; now = Progress(annealing)) {
      strain.steps.Run(annealing, hot * std::pow(end / hot, (now - from) / kTrial), false);
      strain.NoteProgress(clock_);
      Report(strain);
      ++slices;
    }
    return {annealing.Value(), slices >= kTrialSlices};
  }

  /// Whether capacities should not be exceeded on the way: what came of that could not be mended, or not well.
  bool StrictIsBetter() const {
    int64_t exceeding = std::numeric_limits<int64_t>::max(), strict = exceeding;
    for (const auto& strain : strains_) {
      for (const Trial& trial : strain->exceeding) exceeding = std::min(exceeding, trial.fitting);
      for (const Trial& trial : strain->strict) strict = std::min(strict, trial.fitting);
    }
    return static_cast<double>(exceeding) > kAsGood * static_cast<double>(strict);
  }

  /// From the trial that came lowest, all annealings together.
  void MakeSchedule() {
    strict_ = StrictIsBetter();
    size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < kHot.size(); ++i) {
      double sum = 0;
      for (const auto& strain : strains_) {
        const Trial& trial = strict_ ? strain->strict[i] : strain->exceeding[i];
        sum += trial.says_something ? trial.value : least;
      }
      if (sum >= least) continue;
      least = sum;
      best = i;
    }
    const double hot =
        scale_.shift * std::min(kHot.front(), kHot[best] * std::clamp(StepsPerObject() / kStepsToBegin, kBeginMin, kBeginMax));
    schedule_ = {hot, kFall * hot, kPriceLow * scale_.hinge, kPriceHigh * scale_.hinge};
    for (const auto& strain : strains_) {
      if (strict_) strain->annealing.GoOnFrom(*strain->strict_begin);
      strain->strict_begin.reset();
      learned_ = std::max(learned_, std::min(0.5, Progress(strain->annealing)));
    }
  }

  /// That an annealing will have looked at in the end.
  double StepsPerObject() const {
    const PricedState& annealing = strains_.front()->annealing;
    const double all = static_cast<double>(annealing.evaluations) / std::max(1e-9, Progress(annealing));
    return all / annealing.state.problem().objects();
  }

  void Anneal(Strain& strain, double until) const {
    PricedState& annealing = strain.annealing;
    const auto progress = [&] { return std::max(0.0, (Progress(annealing) - learned_) / (1 - learned_)); };
    for (double now = progress(); now < until; now = progress()) {
      annealing.price = strict_ ? kForbidden : schedule_.Price(now);
      strain.steps.Run(annealing, schedule_.Temperature(now), now >= kSqueezed);
      strain.NoteProgress(clock_);
      Report(strain);
    }
    if (until >= kSqueezed) Mend(annealing, kRepairEvaluations);
  }

  void ForEach(const std::function<void(Strain&)>& work) {
    std::vector<std::future<void>> others;
    for (size_t i = 0; i < strands_.size(); ++i) {
      auto finished = std::make_shared<std::promise<void>>();
      others.push_back(finished->get_future());
      strands_[i]->Post([this, i, &work, finished] {
        work(*strains_[i + 1]);
        finished->set_value();
      });
    }
    for (size_t i = 0; i < strains_.size(); ++i) {
      if (i == 0 || strands_.empty()) work(*strains_[i]);
    }
    for (const auto& other : others) other.wait();
  }

  /// Those that have fallen behind take the state of the best.
  void GoOnFromTheBest() {
    const auto value = [&](const std::unique_ptr<Strain>& strain) {
      const State& state = strain->annealing.state;
      return static_cast<double>(state.cost()) + schedule_.price_high * state.overflow();
    };
    const auto& leader = *std::ranges::min_element(strains_, {}, value);
    for (const auto& strain : strains_) {
      if (strain == leader || value(strain) <= value(leader) * (1 + kBehind)) continue;
      strain->annealing.GoOnFrom(leader->annealing.state);
    }
  }

  const SearchOptions& options_;
  base::Clock& clock_;
  const base::Instant begin_;
  const Scale scale_;
  double evaluations_ = 0;  // of each annealing
  double learned_ = 0;      // how much of the search was over when annealing began
  Schedule schedule_;
  bool strict_ = false;  // capacities are never exceeded
  std::vector<std::unique_ptr<Strain>> strains_;
  std::vector<std::shared_ptr<base::Strand>> strands_;  // of all strains but the first
};

}  // namespace

SearchResult Search(const Problem& problem, const SearchOptions& options, base::Clock& clock, base::Executor* executor) {
  if (problem.objects() == 0 || problem.nodes() == 0) return {};
  return Searcher(problem, options, clock, executor).Run();
}

}  // namespace evenkeel::solver
