#include "balancing/search/balancing_pruning.h"

#include <algorithm>
#include <cmath>

namespace evenkeel::balancing {
namespace {

constexpr int kPruningRounds = 8;
// Up to so many replicas also chains of unequal loads are looked at.
constexpr size_t kSmallGroup = 1000;

bool IsNotHigher(double energy, double than) { return energy <= than + 1e-10 * std::abs(than); }

bool TakeBack(BalancingState& state, SearchBudget& budget, const BalancingStep& step) {
  ++budget.spent;
  const double before = state.energy();
  const int64_t movements = state.movements();
  if (!IsNotHigher(state.EnergyAfter(step), before)) return false;
  const size_t mark = state.Mark();
  if (!state.Make(step)) return false;
  if (state.movements() < movements && IsNotHigher(state.energy(), before)) return true;
  state.RollBack(mark);
  return false;
}

bool HaveEqualLoads(const Arrangement& arrangement, ReplicaId a, ReplicaId b) {
  return arrangement.ServiceOf(a) == arrangement.ServiceOf(b) &&
         std::ranges::equal(arrangement.LoadsOf(a), arrangement.LoadsOf(b));
}

// Which replicas that came to `middle` may be looked at in place of `later`.
std::vector<ReplicaId> Substitutes(const BalancingState& state, NodeId middle, ReplicaId later) {
  const Arrangement& arrangement = state.arrangement();
  const bool equal_only = state.eligible().size() > kSmallGroup;
  std::vector<ReplicaId> substitutes;
  for (const ReplicaId came : arrangement.On(middle)) {
    if (equal_only && !HaveEqualLoads(arrangement, came, later)) continue;
    if (!arrangement.IsNew(came) && state.Eligible(came) && state.HomeOf(came) != middle) substitutes.push_back(came);
  }
  return substitutes;
}

// `later` left its node for another, to which something has come since: that could have gone there itself.
bool Shorten(BalancingState& state, SearchBudget& budget, ReplicaId later) {
  const Arrangement& arrangement = state.arrangement();
  const NodeId middle = state.HomeOf(later), end = arrangement.NodeOf(later);
  for (const ReplicaId came : Substitutes(state, middle, later)) {
    ++budget.spent;
    const double before = state.energy();
    const int64_t movements = state.movements();
    const size_t mark = state.Mark();
    const bool made = state.MakeBoth({came, end, kNoId}, state.WayHome(later));
    if (made && state.movements() < movements && IsNotHigher(state.energy(), before)) return true;
    state.RollBack(mark);
  }
  return false;
}

}  // namespace

int64_t Prune(BalancingState& state, SearchBudget& budget) {
  const int64_t at_first = state.movements();
  for (int round = 0; round < kPruningRounds; ++round) {
    const int64_t before = state.movements();
    for (const PartitionId partition : state.SwappedPartitions()) {
      const BalancingStep back = state.WayBack(partition);
      if (back.replica != kNoId && back.other != kNoId) TakeBack(state, budget, back);
    }
    for (const ReplicaId replica : state.MovedReplicas()) {
      // Those of affinity children go with their parents.
      if (!state.Eligible(replica) || state.arrangement().NodeOf(replica) == state.HomeOf(replica)) continue;
      if (TakeBack(state, budget, state.WayHome(replica))) continue;
      if (!state.swaps_only()) Shorten(state, budget, replica);
    }
    if (state.movements() == before) break;
  }
  return at_first - state.movements();
}

}  // namespace evenkeel::balancing
