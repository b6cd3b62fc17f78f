#include "balancing/search/balancing_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "balancing/search/balancing_annealing.h"
#include "balancing/search/balancing_descent.h"
#include "balancing/search/balancing_exchanges.h"
#include "balancing/search/balancing_pruning.h"
#include "balancing/search/balancing_state.h"

namespace evenkeel::balancing {
namespace {

// Annealing pays where it can try every step many times.
constexpr int64_t kAnnealedSteps = 30'000;  // replicas times nodes
constexpr int64_t kAnnealingPerStep = 20;
constexpr int64_t kLeastAnnealing = 500, kMostAnnealing = 60'000;
// Capacities and whole loads make many valleys, of which one run finds one, so many short runs find more than a few long ones.
// Some begin from the start, because a step that mended something cannot be taken back, the others from the best so far.
// Temperatures are in units of the average change of a step.
struct AnnealingRun {
  bool from_start;
  double temperature;
};
constexpr AnnealingRun kRuns[] = {{false, 1}, {true, 5}, {false, 5}, {true, 5}, {false, 0.3}, {true, 5}};
constexpr int kMostRuns = 200;
constexpr int kRunsInVain = 48;     // after so many that found nothing better the search is at its end
constexpr double kLeastRoot = 0.1;  // of a deviation that is rounded off
constexpr int kQuickShare = 5;
constexpr int kSearchRounds = 3;
constexpr double kLeastGainOfExchanges =
    1e-3;  // of the energy, by the exchanges of a large group: with less the search is at its end

int64_t StepsOf(const BalancingState& state) {
  return static_cast<int64_t>(state.eligible().size()) * static_cast<int64_t>(state.arrangement().sets().available().count());
}

int64_t DefaultEvaluations(const BalancingState& state) { return 200'000 + 60 * static_cast<int64_t>(state.eligible().size()); }

class BalancingSearch {
 public:
  BalancingSearch(BalancingState& state, const BalancingOptions& options)
      : state_(state), random_(options.seed), slopes_(state) {
    budget_.limit = options.evaluations > 0 ? options.evaluations : DefaultEvaluations(state);
    if (options.quick && options.evaluations <= 0) budget_.limit /= kQuickShare;
  }

  void Run() {
    const double at_first = state_.energy();
    const bool small = StepsOf(state_) <= kAnnealedSteps;
    // Where movements are few or groups small the two ways down end at different places.
    const bool both = small || state_.slots() != INT64_MAX;
    if (both || !slopes_.complete()) Descend();
    if (slopes_.complete()) DescendSmoothly();
    if (!IsLower(state_.energy(), at_first) && !both) Descend();
    cut_off_ = budget_.over();
    if (small) AnnealAndDescend();
  }
  int64_t evaluations() const { return budget_.spent; }
  bool cut_off() const { return cut_off_; }

 private:
  // Shifts and exchanges open ways for each other, and what is taken back leaves movements for others.
  void Descend() {
    BalancingDescent descent(state_, slopes_, random_, budget_);
    const bool small = StepsOf(state_) <= kAnnealedSteps;
    for (int round = 0; round < kSearchRounds && !budget_.over(); ++round) {
      const double at_first = state_.energy();
      descent.Run();
      const double descended = state_.energy();
      const int64_t exchanges = BalancingExchanges(state_, slopes_, budget_).Run();
      const bool worthwhile = small ? exchanges > 0 : state_.energy() < descended - kLeastGainOfExchanges * std::abs(descended);
      if (worthwhile) descent.Run();
      Prune(state_, budget_);
      const bool again = small ? state_.energy() < at_first - 1e-6 * std::abs(at_first) : worthwhile;
      if (!again) return;
    }
  }

  // A metric that is even already is a cusp that keeps single steps from all else, though many together would leave it even. So
  // this goes first where the deviation is rounded off; what was found before is kept where it is better.
  void DescendSmoothly() {
    const double before = state_.energy();
    const std::vector<BalancingStep> way = state_.Steps();
    state_.RollBack(0);
    slopes_.Smooth(kLeastRoot);
    BalancingDescent(state_, slopes_, random_, budget_).RunSmoothly();
    slopes_.Smooth(0);
    Descend();
    if (!way.empty() && !IsLower(state_.energy(), before)) state_.Remake(way);
  }

  void AnnealAndDescend() {
    const int64_t steps = std::clamp(StepsOf(state_) * kAnnealingPerStep, kLeastAnnealing, kMostAnnealing);
    double best = state_.energy();
    std::vector<BalancingStep> way = state_.Steps();
    int in_vain = 0;
    for (int i = 0; i < kMostRuns && in_vain < kRunsInVain && !budget_.over(); ++i) {
      const AnnealingRun& run = kRuns[static_cast<size_t>(i) % std::size(kRuns)];
      if (run.from_start) state_.RollBack(0);
      Anneal(state_, random_, budget_, steps, run.temperature);
      ++in_vain;
      if (IsLower(state_.energy(), best)) {
        Descend();
        best = state_.energy();
        way = state_.Steps();
        in_vain = 0;
      }
      state_.Remake(way);
    }
  }

  BalancingState& state_;
  base::Random random_;
  DeviationSlopes slopes_;
  SearchBudget budget_;
  bool cut_off_ = false;
};

}  // namespace

BalancingResult Balance(Arrangement& arrangement, const ServiceGroup& group, const GroupBalance& balance,
                        const BalancingOptions& options) {
  BalancingState state(arrangement, group, balance, options);
  BalancingResult result;
  result.deviation_before = result.deviation_after = state.deviation();
  result.energy_before = result.energy_after = state.energy();
  if (state.eligible().empty() || options.movement_slots <= 0) return result;
  BalancingSearch search(state, options);
  search.Run();
  result.evaluations = search.evaluations();
  result.cut_off = search.cut_off();
  const double improvement = result.deviation_before - state.deviation();
  if (!IsLower(state.energy(), result.energy_before) || improvement < state.settings().score_improvement_threshold) {
    state.RollBack(0);
    return result;
  }
  result.deviation_after = state.deviation();
  result.energy_after = state.energy();
  result.moves = state.movements();
  return result;
}

}  // namespace evenkeel::balancing
