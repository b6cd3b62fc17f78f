#include "solver/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <future>
#include <limits>
#include <optional>

#include "base/random.h"
#include "solver/cooling.h"
#include "solver/descent.h"
#include "solver/priced_state.h"
#include "solver/repair.h"
#include "solver/similar_objects.h"
#include "solver/verify.h"

namespace evenkeel::solver {
namespace {

constexpr int kRounds = 8;
/// By how much dearer an annealing's assignment must be for it to be given up.
constexpr double kBehind = 0.001;

// Temperatures are in units of what a feasible shift changes in the mean, prices in units of what a hinge weighs in the mean.
constexpr double kHottest = 4, kPilotFall = 1e-8;
constexpr double kPriceLow = 5, kPriceHigh = 1'000, kPilotPrice = 400;
/// Of a unit of overflow where there may be none.
constexpr double kForbidden = 1e15;
/// In mending an assignment, fitting is everything.
constexpr double kRepairPrice = 1e6;

// Parts of the search.
constexpr double kDescent = 0.06, kPilots = 0.1;
/// Of what follows: the price stays from the first on, and what is left after the second is for going down.
constexpr double kSqueezed = 0.6, kAnnealed = 0.95;
/// Of a pilot: the price stays from there on, too.
constexpr double kPilotSqueezed = 0.2;
/// How far the temperature falls while going down.
constexpr double kQuench = 1e-3;
/// How far it falls while annealing where a pilot was too short to say.
constexpr double kFall = 1.0 / 200;

/// Temperatures of a pilot, and how few tell nothing.
constexpr int kPilotSamples = 48, kFewSamples = 24;
/// What mending an assignment may take at most: a pilot's, and one at the end of a round. And of all that may be looked at.
constexpr int64_t kPilotRepairEvaluations = 400'000, kRepairEvaluations = 4'000'000;
constexpr double kRepairShare = 0.03;
/// Capacities may be exceeded on the way, which gets further when there is more time, unless what came of that in the pilot was
/// so many times dearer, or could not be mended.
constexpr double kAsGood = 1.2;

/// The units of temperatures and prices.
struct Scale {
  double shift = 1;  ///< what a feasible shift changes in the mean
  double hinge = 1;  ///< what a hinge weighs in the mean
};

/// The price of a unit of overflow, in units of hinges; from 1 on it stays.
double Rising(double progress) { return kPriceLow * std::pow(kPriceHigh / kPriceLow, std::min(1.0, progress)); }

/// Everything that depends on how far annealing has come, from 0 to 1.
struct Schedule {
  Cooling cooling{1, kFall};  ///< temperatures in units of cost
  double hinge = 1;           ///< the unit of prices

  double Temperature(double progress) const {
    if (progress < kAnnealed) return cooling.Temperature(progress / kAnnealed);
    return cooling.Temperature(1) * std::pow(kQuench, (progress - kAnnealed) / (1 - kAnnealed));
  }
  double Price(double progress) const { return hinge * Rising(progress / kSqueezed); }
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
struct Pilot {
  std::vector<Cooling::Sample> samples;
  int seen = 0;  ///< of them; the others have the value of the one before
  State end;
  bool fits() const { return end.overflow() == 0; }
};

/// One annealing and what it has learned.
struct Strain {
  Strain(const Problem& problem, const SimilarObjects& similar, uint64_t seed) : annealing(problem, similar), steps(seed) {}
  void NoteProgress(base::Clock& clock) {
    const int64_t cost = annealing.best.cost();
    if (!progress.empty() && static_cast<double>(cost) > 0.999 * static_cast<double>(progress.back().cost)) return;
    progress.push_back({clock.Monotonic(), cost});
  }

  PricedState annealing;
  PricedSteps steps;
  std::vector<Improvement> progress;
};

/// Annealings side by side: first pilots show at which temperatures they should be, then they go round by round.
class Searcher {
 public:
  Searcher(const Problem& problem, const SearchOptions& options, base::Clock& clock, base::Executor* executor)
      : options_(options), clock_(clock), begin_(clock.Monotonic()), scale_(Measure(problem, options.seed)), similar_(problem) {
    const bool by_turns = options.time_limit && executor == nullptr;
    const int count = by_turns ? 1 : std::max(1, options.annealings);
    for (int i = 0; i < count; ++i) {
      const uint64_t seed = base::Random(options.seed).Fork(std::to_string(i)).Next();
      strains_.push_back(std::make_unique<Strain>(problem, similar_, seed));
    }
    for (int i = 1; i < count && executor != nullptr; ++i) strands_.push_back(executor->NewStrand("placement"));
    evaluations_ = static_cast<double>(std::max<int64_t>(1, options.evaluations)) / count;
  }

  SearchResult Run() {
    RunPilots();
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

  /// One in which capacities may be exceeded at a price, and a strict one, in which they may not: side by side, or one after
  /// the other where there is one annealing. More than two annealings wait for these.
  void RunPilots() {
    const bool together = strains_.size() > 1;
    ForEach([this, together](Strain& strain) {
      if (!together || &strain == strains_[0].get()) exceeding_ = RunPilot(strain, false, together ? 1 : 0.5);
      if (!together || &strain == strains_[1].get()) strict_pilot_ = RunPilot(strain, true, together ? 1 : 0.5);
    });
  }

  /// Goes down from the beginning, and from there quickly through all temperatures. `share`: of the time for pilots.
  Pilot RunPilot(Strain& strain, bool strict, double share) const {
    PricedState& annealing = strain.annealing;
    if (annealing.steps > 0) annealing.GoOnFrom(State(annealing.state.problem()));
    const double begin = Progress(annealing);
    const double weight = strict ? kForbidden : kPilotPrice * scale_.hinge;
    GoDown(strain, weight, begin + kDescent * share);
    const double from = Progress(annealing), all = kPilots * share, hottest = kHottest * scale_.shift;
    std::array<double, kPilotSamples> sums{}, counts{};
    for (double now = from; now < from + all; now = Progress(annealing)) {
      const double over = (now - from) / all;
      annealing.price = strict ? kForbidden : scale_.hinge * Rising(over / kPilotSqueezed);
      strain.steps.Run(annealing, hottest * std::pow(kPilotFall, over), false);
      const auto sample = std::min<size_t>(kPilotSamples - 1, static_cast<size_t>(over * kPilotSamples));
      sums[sample] += static_cast<double>(annealing.state.cost()) + weight * annealing.state.overflow();
      ++counts[sample];
      strain.NoteProgress(clock_);
      Report(strain);
    }
    Mend(annealing, kPilotRepairEvaluations);
    Pilot pilot{{}, 0, annealing.state};
    double value = 0;
    for (size_t i = 0; i < kPilotSamples; ++i) {
      if (counts[i] > 0) {
        value = sums[i] / counts[i];
        ++pilot.seen;
      }
      const double over = (static_cast<double>(i) + 0.5) / kPilotSamples;
      pilot.samples.push_back({hottest * std::pow(kPilotFall, over), value});
    }
    return pilot;
  }

  void GoDown(Strain& strain, double price, double until) const {
    PricedState& annealing = strain.annealing;
    annealing.best.Forget(annealing.state);
    annealing.evaluations += Descend(annealing.state, strain.steps.random(), price,
                                     [&](int64_t looked_at) { return Progress(annealing, looked_at) < until; });
    annealing.Stepped();
    strain.NoteProgress(clock_);
  }

  void Mend(PricedState& annealing, int64_t most) const {
    if (annealing.state.overflow() == 0) return;
    const double all = static_cast<double>(annealing.evaluations) / std::max(1e-6, Progress(annealing));
    const int64_t evaluations = std::min(most, static_cast<int64_t>(kRepairShare * all));
    int64_t left = evaluations;
    annealing.best.Forget(annealing.state);
    Repair(annealing.state, kRepairPrice, left);
    annealing.Stepped();
    annealing.evaluations += evaluations - left;
  }

  void MakeSchedule() {
    strict_ = strict_pilot_->fits() && (!exceeding_->fits() || static_cast<double>(exceeding_->end.cost()) >
                                                                   kAsGood * static_cast<double>(strict_pilot_->end.cost()));
    const Pilot& pilot = strict_ ? *strict_pilot_ : *exceeding_;
    const double hottest = kHottest * scale_.shift;
    const auto bound = static_cast<double>(LowerBound(pilot.end.problem()));
    schedule_ = {pilot.seen > kFewSamples ? Cooling(pilot.samples, bound) : Cooling(hottest, kFall * hottest), scale_.hinge};
    for (const auto& strain : strains_) {
      if (strict_ && strain->annealing.state.overflow() > 0) strain->annealing.GoOnFrom(pilot.end);
      learned_ = std::max(learned_, std::min(0.5, Progress(strain->annealing)));
    }
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
      return static_cast<double>(state.cost()) + kPriceHigh * scale_.hinge * state.overflow();
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
  const SimilarObjects similar_;
  double evaluations_ = 0;  // of each annealing
  double learned_ = 0;      // how much of the search was over when annealing began
  std::optional<Pilot> exceeding_, strict_pilot_;
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
