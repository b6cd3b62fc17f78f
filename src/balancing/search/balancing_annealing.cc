#include "balancing/search/balancing_annealing.h"

#include <algorithm>
#include <cmath>

namespace evenkeel::balancing {
namespace {

constexpr int kProbes = 50;
constexpr double kLastTemperature = 1e-4;  // in units of the first
constexpr double kReturnChance = 0.3;      // of a replica that has moved already
constexpr double kExchangeChance = 0.25;
constexpr double kSwapChance = 0.2;

class Annealing {
 public:
  Annealing(BalancingState& state, base::Random& random) : state_(state), random_(random) {
    for (const NodeId node : state.arrangement().sets().all()) {
      if (state.arrangement().sets().available().test(node)) nodes_.push_back(node);
    }
  }

  bool Run(SearchBudget& budget, int64_t steps, double temperature);

 private:
  bool Step();
  bool Exchange(ReplicaId replica);
  bool Single(const BalancingStep& step);
  BalancingStep SwapOf(ReplicaId replica) const;
  bool Accepts(double energy) {
    const double rise = energy - state_.energy();
    probed_ += std::isfinite(rise) ? std::abs(rise) : 0;
    if (rise <= 0) return true;
    return temperature_ > 0 && std::isfinite(rise) && random_.Unit() < std::exp(-rise / temperature_);
  }

  BalancingState& state_;
  base::Random& random_;
  std::vector<NodeId> nodes_;
  double temperature_ = 0, probed_ = 0;
};

BalancingStep Annealing::SwapOf(ReplicaId replica) const {
  const Arrangement& arrangement = state_.arrangement();
  const PartitionId partition = arrangement.PartitionOf(replica);
  if (arrangement.RoleOf(replica) == Role::kSecondary) return {arrangement.PrimaryOf(partition), kNoId, replica};
  if (arrangement.RoleOf(replica) != Role::kPrimary) return {};
  std::vector<ReplicaId> secondaries;
  arrangement.ForEachOf(partition, [&](ReplicaId other) {
    if (arrangement.RoleOf(other) == Role::kSecondary) secondaries.push_back(other);
  });
  if (secondaries.empty()) return {};
  return {replica, kNoId, secondaries[random_.Below(secondaries.size())]};
}

bool Annealing::Single(const BalancingStep& step) {
  if (!state_.Eligible(step.replica)) return false;
  return Accepts(state_.EnergyAfter(step)) && state_.Make(step);
}

bool Annealing::Exchange(ReplicaId replica) {
  const ReplicaId other = state_.eligible()[random_.Below(state_.eligible().size())];
  const NodeId here = state_.arrangement().NodeOf(replica), there = state_.arrangement().NodeOf(other);
  if (here == there || state_.arrangement().PartitionOf(replica) == state_.arrangement().PartitionOf(other)) return false;
  const double before = state_.energy();
  const size_t mark = state_.Mark();
  if (state_.Make({replica, there, kNoId}) && state_.Make({other, here, kNoId})) {
    const double rise = state_.energy() - before;
    probed_ += std::abs(rise);
    if (rise <= 0 || (temperature_ > 0 && random_.Unit() < std::exp(-rise / temperature_))) return true;
  }
  state_.RollBack(mark);
  return false;
}

bool Annealing::Step() {
  const ReplicaId replica = state_.eligible()[random_.Below(state_.eligible().size())];
  if (state_.swaps_only() || random_.Chance(kSwapChance)) {
    const BalancingStep swap = SwapOf(replica);
    if (swap.replica != kNoId) return state_.Eligible(swap.other) && Single(swap);
    if (state_.swaps_only()) return false;
  }
  if (random_.Chance(kExchangeChance)) return Exchange(replica);
  if (state_.arrangement().NodeOf(replica) != state_.HomeOf(replica) && random_.Chance(kReturnChance)) {
    return Single(state_.WayHome(replica));
  }
  const NodeId to = nodes_[random_.Below(nodes_.size())];
  return to != state_.arrangement().NodeOf(replica) && Single({replica, to, kNoId});
}

bool Annealing::Run(SearchBudget& budget, int64_t steps, double temperature) {
  if (state_.eligible().empty() || nodes_.size() < 2) return false;
  // At no temperature nothing but improvements are accepted: these probes tell how large changes are.
  const double at_first = state_.energy();
  double best = at_first;
  size_t best_mark = state_.Mark();
  const auto note = [&] {
    if (!IsLower(state_.energy(), best)) return;
    best = state_.energy();
    best_mark = state_.Mark();
  };
  for (int i = 0; i < kProbes; ++i) {
    if (Step()) note();
  }
  temperature_ = temperature * probed_ / kProbes;
  const double decay = std::pow(kLastTemperature, 1 / static_cast<double>(std::max<int64_t>(steps, 1)));
  for (int64_t i = 0; i < steps && !budget.over(); ++i) {
    ++budget.spent;
    if (Step()) note();
    temperature_ *= decay;
  }
  state_.RollBack(best_mark);
  return IsLower(best, at_first);
}

}  // namespace

bool Anneal(BalancingState& state, base::Random& random, SearchBudget& budget, int64_t steps, double temperature) {
  return Annealing(state, random).Run(budget, steps, temperature);
}

}  // namespace evenkeel::balancing
