#include "placement/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <future>

#include "base/random.h"
#include "placement/repair.h"

namespace evenkeel::placement {
namespace {

/// How often the temperature follows, and the end is looked for.
constexpr int64_t kSlice = 4096;
constexpr int kRounds = 8;
/// What mending an assignment may take at the end of a round.
constexpr int64_t kRepairEvaluations = 4'000'000;
/// By how much dearer an annealing's assignment must be for it to be given up.
constexpr double kBehind = 0.001;

// Found by trying on the challenge's instances. Temperatures are in units of what a feasible shift changes in the mean, prices
// in units of what a hinge weighs in the mean.
constexpr double kHot = 2, kCold = 1e-3, kColdest = 0.5;
constexpr double kPriceLow = 5, kPriceHigh = 300;
/// In mending an assignment, fitting is everything.
constexpr double kRepairPrice = 1e6;

/// Everything that depends on how far a search has come.
struct Schedule {
  double hot = 0, cold = 0;              ///< temperatures, in units of cost
  double price_low = 0, price_high = 0;  ///< of a unit of overflow
  double squeezed = 0.6;                 ///< from then on the price stays

  double Temperature(double progress) const { return hot * std::pow(cold / hot, progress); }
  double Price(double progress) const {
    return price_low * std::pow(price_high / price_low, std::min(1.0, progress / squeezed));
  }
};

/// -ln of evenly spaced chances: what a step may cost at temperature 1, drawn by index.
constexpr int kChances = 1 << 14;
const std::array<double, kChances>& Chances() {
  static const auto* table = [] {
    auto* made = new std::array<double, kChances>;
    for (int i = 0; i < kChances; ++i) (*made)[i] = -std::log((i + 0.5) / kChances);
    return made;
  }();
  return *table;
}

/// The best assignment met, kept as the steps since then, which are far fewer than objects most of the time.
class Best {
 public:
  explicit Best(const State& state) : cost_(state.cost()), assignment_(state.assignment()) {}
  int64_t cost() const { return cost_; }
  void Stepped(ObjectId object, NodeId from) {
    if (!following_) return;
    since_.emplace_back(object, from);
  }
  /// Between steps: too long a memory is dearer than a copy.
  void Trim(const State& state) {
    if (since_.size() > 2 * state.assignment().size()) Forget(state);
  }
  void Reached(const State& state) {
    cost_ = state.cost();
    since_.clear();
    following_ = true;
  }
  /// The state is about to change in ways that are not told.
  void Forget(const State& state) {
    if (following_) Store(state);
  }
  const std::vector<NodeId>& Assignment(const State& state) {
    if (following_) Store(state);
    return assignment_;
  }

 private:
  void Store(const State& state) {
    assignment_ = state.assignment();
    for (auto step = since_.rbegin(); step != since_.rend(); ++step) assignment_[step->first] = step->second;
    since_.clear();
    following_ = false;
  }

  int64_t cost_;
  std::vector<NodeId> assignment_;  // unless following
  bool following_ = false;
  std::vector<std::pair<ObjectId, NodeId>> since_;  // objects and where they were before
};

struct Annealing {
  void NoteProgress(base::Clock& clock) {
    if (!progress.empty() && static_cast<double>(best.cost()) > 0.999 * static_cast<double>(progress.back().cost)) return;
    progress.push_back({clock.Monotonic(), best.cost()});
  }
  Annealing(const Problem& problem, uint64_t seed) : state(problem), best(state), random(seed) {}

  State state;
  Best best;
  base::Random random;
  double temperature = 0, price = 0;
  std::vector<Improvement> progress;
  int64_t evaluations = 0, steps = 0;

  void Shifted(ObjectId object, NodeId to) {
    const NodeId from = state.NodeOf(object);
    state.Shift(object, to);
    best.Stepped(object, from);
    Stepped();
  }
  void Swapped(ObjectId a, ObjectId b) {
    const NodeId at_a = state.NodeOf(a), at_b = state.NodeOf(b);
    state.Swap(a, b);
    best.Stepped(a, at_a);
    best.Stepped(b, at_b);
    Stepped();
  }
  void Stepped() {
    ++steps;
    best.Trim(state);
    if (state.overflow() == 0 && state.cost() < best.cost()) best.Reached(state);
  }
};

/// In [0, bound), from 32 random bits.
uint32_t Scale(uint64_t bits, uint32_t bound) { return static_cast<uint32_t>(((bits & 0xffffffff) * bound) >> 32); }

// clang 19 leaves out templates that only clones of a function call, and ThreadSanitizer is not up yet when one of them is
// chosen.
#if defined(__clang__) || defined(__SANITIZE_THREAD__)
#define EVENKEEL_WIDE_VECTORS
#else
#define EVENKEEL_WIDE_VECTORS [[gnu::target_clones("avx2", "default")]]
#endif

/// kSlice steps at one temperature. Cloned for processors with wider vectors; amounts are exact, so the answer is the same.
EVENKEEL_WIDE_VECTORS void RunSlice(Annealing& annealing) {
  State& state = annealing.state;
  const std::array<double, kChances>& chances = Chances();
  const auto objects = static_cast<uint32_t>(state.problem().objects());
  const auto nodes = static_cast<uint32_t>(state.problem().nodes());
  const double temperature = annealing.temperature, price = annealing.price;
  for (int64_t i = 0; i < kSlice; ++i) {
    const uint64_t bits = annealing.random.Next(), more = annealing.random.Next();
    const auto a = static_cast<ObjectId>(Scale(bits, objects));
    const double limit = temperature * chances[more & (kChances - 1)];
    const uint64_t kind = (more >> 14) & 63;
    if (kind < 32) {
      const auto b = static_cast<ObjectId>(Scale(bits >> 32, objects));
      if (state.NodeOf(a) == state.NodeOf(b)) continue;
      const double delta = state.TrySwap(a, b, price, limit);
      if (delta > limit || delta + state.GroupMoveSwapDelta(a, b) > limit || !state.RulesAllowSwap(a, b)) continue;
      annealing.Swapped(a, b);
    } else {
      const NodeId to = kind < 36 ? state.problem().initial[a] : static_cast<NodeId>(Scale(bits >> 32, nodes));
      if (state.NodeOf(a) == to) continue;
      const double delta = state.TryShift(a, to, price, limit);
      if (delta > limit || delta + state.GroupMoveDelta(a, to) > limit || !state.RulesAllow(a, to)) continue;
      annealing.Shifted(a, to);
    }
  }
  annealing.evaluations += kSlice;
}

Schedule MakeSchedule(const Problem& problem, uint64_t seed) {
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
  const double typical = count == 0 ? 1 : sum / static_cast<double>(count);
  Schedule schedule;
  schedule.hot = kHot * typical;
  schedule.cold = std::max(kColdest, kCold * typical);
  schedule.price_low = kPriceLow * std::max(weights, 1.0);
  schedule.price_high = kPriceHigh * std::max(weights, 1.0);
  return schedule;
}

/// Annealings side by side, round by round.
class Searcher {
 public:
  Searcher(const Problem& problem, const SearchOptions& options, base::Clock& clock, base::Executor* executor)
      : options_(options), clock_(clock), begin_(clock.Monotonic()), schedule_(MakeSchedule(problem, options.seed)) {
    const bool by_turns = options.time_limit && executor == nullptr;
    const int count = by_turns ? 1 : std::max(1, options.annealings);
    for (int i = 0; i < count; ++i) {
      const uint64_t seed = base::Random(options.seed).Fork(std::to_string(i)).Next();
      annealings_.push_back(std::make_unique<Annealing>(problem, seed));
    }
    for (int i = 1; i < count && executor != nullptr; ++i) strands_.push_back(executor->NewStrand("placement"));
    evaluations_ = static_cast<double>(std::max<int64_t>(1, options.evaluations)) / count;
  }

  SearchResult Run() {
    for (int round = 1; round <= kRounds; ++round) {
      RunRound(static_cast<double>(round) / kRounds);
      if (static_cast<double>(round) / kRounds >= schedule_.squeezed) GoOnFromTheBest();
    }
    SearchResult result;
    for (const auto& annealing : annealings_) {
      result.evaluations += annealing->evaluations;
      result.steps += annealing->steps;
      if (!result.assignment.empty() && annealing->best.cost() >= result.cost) continue;
      result.cost = annealing->best.cost();
      result.assignment = annealing->best.Assignment(annealing->state);
      result.progress = annealing->progress;
    }
    return result;
  }

 private:
  double Progress(const Annealing& annealing) const {
    if (!options_.time_limit) return static_cast<double>(annealing.evaluations) / evaluations_;
    return std::chrono::duration<double>(clock_.Monotonic() - begin_) / std::chrono::duration<double>(*options_.time_limit);
  }

  void RunUntil(Annealing& annealing, double until) const {
    for (double now = Progress(annealing); now < until; now = Progress(annealing)) {
      annealing.temperature = schedule_.Temperature(now);
      annealing.price = schedule_.Price(now);
      RunSlice(annealing);
      annealing.NoteProgress(clock_);
    }
    if (until < schedule_.squeezed || annealing.state.overflow() == 0) return;
    int64_t left = kRepairEvaluations;
    annealing.best.Forget(annealing.state);
    Repair(annealing.state, kRepairPrice, left);
    annealing.Stepped();
    annealing.evaluations += kRepairEvaluations - left;
  }

  void RunRound(double until) {
    std::vector<std::future<void>> others;
    for (size_t i = 0; i < strands_.size(); ++i) {
      auto finished = std::make_shared<std::promise<void>>();
      others.push_back(finished->get_future());
      strands_[i]->Post([this, i, until, finished] {
        RunUntil(*annealings_[i + 1], until);
        finished->set_value();
      });
    }
    for (size_t i = 0; i < annealings_.size(); ++i) {
      if (i == 0 || strands_.empty()) RunUntil(*annealings_[i], until);
    }
    for (const auto& other : others) other.wait();
  }

  /// Those that have fallen behind take the state of the best.
  void GoOnFromTheBest() {
    const auto value = [&](const std::unique_ptr<Annealing>& annealing) {
      return static_cast<double>(annealing->state.cost()) + schedule_.price_high * annealing->state.overflow();
    };
    const auto& leader = *std::ranges::min_element(annealings_, {}, value);
    for (const auto& annealing : annealings_) {
      if (annealing == leader || value(annealing) <= value(leader) * (1 + kBehind)) continue;
      annealing->best.Forget(annealing->state);
      annealing->state = leader->state;
      annealing->Stepped();
    }
  }

  const SearchOptions& options_;
  base::Clock& clock_;
  const base::Instant begin_;
  const Schedule schedule_;
  double evaluations_ = 0;  // of each annealing
  std::vector<std::unique_ptr<Annealing>> annealings_;
  std::vector<std::shared_ptr<base::Strand>> strands_;  // of all annealings but the first
};

}  // namespace

SearchResult Search(const Problem& problem, const SearchOptions& options, base::Clock& clock, base::Executor* executor) {
  if (problem.objects() == 0 || problem.nodes() == 0) return {};
  return Searcher(problem, options, clock, executor).Run();
}

}  // namespace evenkeel::placement
