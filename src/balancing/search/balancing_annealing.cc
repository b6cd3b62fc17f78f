#include "balancing/search/balancing_annealing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "solver/metropolis.h"

namespace evenkeel::balancing {
namespace {

constexpr int kProbes = 50;
constexpr int64_t kSlice = 64;             // steps at one temperature
constexpr double kLastTemperature = 1e-4;  // in units of the first
constexpr double kReturnChance = 0.3;      // of a replica that has moved already

/// See solver::Model.
class RandomSteps {
 public:
  enum Kind { kShift, kExchange, kSwap, kKinds };

  explicit RandomSteps(BalancingState& state) : state_(state), best_(state.energy()), best_mark_(state.Mark()) {
    for (const NodeId node : state.arrangement().sets().all()) {
      if (state.arrangement().sets().available().test(node)) nodes_.push_back(node);
    }
  }

  size_t nodes() const { return nodes_.size(); }
  /// By how much steps changed the energy, or would have.
  double probed() const { return probed_; }
  double best() const { return best_; }
  void GoToBest() { state_.RollBack(best_mark_); }

  double Value() const { return state_.energy(); }
  double Take(int kind, const solver::Dice& dice, double limit) {
    const ReplicaId replica = state_.eligible()[dice.First(static_cast<uint32_t>(state_.eligible().size()))];
    switch (kind) {
      case kSwap:
        return TakeSingle(SwapOf(replica, dice), limit);
      case kExchange:
        return TakeExchange(replica, dice, limit);
      default:
        return TakeSingle(ShiftOf(replica, dice), limit);
    }
  }

 private:
  BalancingStep ShiftOf(ReplicaId replica, const solver::Dice& dice) const {
    const bool is_home = state_.arrangement().NodeOf(replica) == state_.HomeOf(replica);
    constexpr uint32_t kParts = 1000;
    if (!is_home && dice.Third(kParts) < kReturnChance * kParts) return state_.WayHome(replica);
    return {replica, nodes_[dice.Second(static_cast<uint32_t>(nodes_.size()))], kNoId};
  }
  BalancingStep SwapOf(ReplicaId replica, const solver::Dice& dice);
  double TakeSingle(const BalancingStep& step, double limit);
  double TakeExchange(ReplicaId replica, const solver::Dice& dice, double limit);
  double Note(double before);

  BalancingState& state_;
  std::vector<NodeId> nodes_;
  std::vector<ReplicaId> secondaries_;
  double best_, probed_ = 0;
  size_t best_mark_;
};

BalancingStep RandomSteps::SwapOf(ReplicaId replica, const solver::Dice& dice) {
  const Arrangement& arrangement = state_.arrangement();
  const PartitionId partition = arrangement.PartitionOf(replica);
  if (arrangement.RoleOf(replica) == Role::kSecondary) return {arrangement.PrimaryOf(partition), kNoId, replica};
  if (arrangement.RoleOf(replica) != Role::kPrimary) return {};
  secondaries_.clear();
  arrangement.ForEachOf(partition, [&](ReplicaId other) {
    if (arrangement.RoleOf(other) == Role::kSecondary) secondaries_.push_back(other);
  });
  if (secondaries_.empty()) return {};
  return {replica, kNoId, secondaries_[dice.Second(static_cast<uint32_t>(secondaries_.size()))]};
}

double RandomSteps::Note(double before) {
  if (IsLower(state_.energy(), best_)) {
    best_ = state_.energy();
    best_mark_ = state_.Mark();
  }
  return state_.energy() - before;
}

double RandomSteps::TakeSingle(const BalancingStep& step, double limit) {
  if (step.replica == kNoId || !state_.Eligible(step.replica)) return 0;
  if (step.to == kNoId ? !state_.Eligible(step.other) : step.to == state_.arrangement().NodeOf(step.replica)) return 0;
  const double before = state_.energy(), change = state_.EnergyAfter(step) - before;
  if (std::isfinite(change)) probed_ += std::abs(change);
  return change <= limit && state_.Make(step) ? Note(before) : 0;
}

double RandomSteps::TakeExchange(ReplicaId replica, const solver::Dice& dice, double limit) {
  const ReplicaId other = state_.eligible()[dice.Second(static_cast<uint32_t>(state_.eligible().size()))];
  const Arrangement& arrangement = state_.arrangement();
  const NodeId here = arrangement.NodeOf(replica), there = arrangement.NodeOf(other);
  if (here == there || arrangement.PartitionOf(replica) == arrangement.PartitionOf(other)) return 0;
  const double before = state_.energy();
  const size_t mark = state_.Mark();
  if (!state_.MakeBoth({replica, there, kNoId}, {other, here, kNoId})) return 0;
  const double change = state_.energy() - before;
  probed_ += std::abs(change);
  if (change <= limit) return Note(before);
  state_.RollBack(mark);
  return 0;
}

/// What is drawn at first.
std::array<double, RandomSteps::kKinds> FirstShares(const BalancingState& state) {
  if (state.swaps_only()) return {0, 0, 1};
  return {0.6, 0.2, 0.2};
}

}  // namespace

bool Anneal(BalancingState& state, base::Random& random, SearchBudget& budget, int64_t steps, double temperature) {
  RandomSteps model(state);
  if (state.eligible().empty() || model.nodes() < 2) return false;
  const double at_first = state.energy();
  solver::StepKinds kinds(FirstShares(state));
  // At no temperature nothing but improvements are accepted: these probes tell how large changes are.
  TakeRandomSteps(model, kinds, random, 0, kProbes);
  temperature *= model.probed() / kProbes;
  const double decay = std::pow(kLastTemperature, static_cast<double>(kSlice) / static_cast<double>(std::max(steps, kSlice)));
  for (int64_t i = 0; i < steps && !budget.over(); i += kSlice) {
    const int64_t count = std::min({kSlice, steps - i, budget.limit - budget.spent});
    TakeRandomSteps(model, kinds, random, temperature, count);
    kinds.Adapt();
    budget.spent += count;
    temperature *= decay;
  }
  model.GoToBest();
  return IsLower(model.best(), at_first);
}

}  // namespace evenkeel::balancing
