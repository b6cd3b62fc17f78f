// The rules by which Service Fabric itself searches for balance, for comparison: simulated annealing over slots, each of which
// is empty, a move or an exchange of roles. Parameters are its defaults, but shorter rounds.
#pragma once

#include <algorithm>
#include <cmath>

#include "balancing/search/balancing_state.h"
#include "base/random.h"

namespace evenkeel::balancing::testing {

class ReferenceAnnealing {
 public:
  ReferenceAnnealing(BalancingState& state, uint64_t seed) : state_(state), random_(seed) {}

  /// The lowest energy that was seen in so many rounds.
  double Run(int rounds, int steps_per_round) {
    double best = state_.energy();
    double largest = 0;
    for (int i = 0; i < 50; ++i) {
      const double before = state_.energy();
      const size_t mark = state_.Mark();
      if (Propose()) largest = std::max(largest, std::abs(state_.energy() - before));
      state_.RollBack(mark);
    }
    double temperature = largest > 0 ? 50 * largest : 1;
    for (int round = 0; round < rounds; ++round) {
      const double at_start = best;
      for (int i = 0; i < steps_per_round; ++i) {
        const double before = state_.energy();
        const size_t mark = state_.Mark();
        if (!Propose()) continue;
        const double rise = state_.energy() - before;
        if (rise > 0 && -rise / temperature <= std::log(random_.Unit())) {
          state_.RollBack(mark);
          continue;
        }
        best = std::min(best, state_.energy());
      }
      if (best >= at_start) temperature *= 0.8;
    }
    return best;
  }

 private:
  bool Propose() {
    const std::vector<ReplicaId>& eligible = state_.eligible();
    if (eligible.empty()) return false;
    const Arrangement& arrangement = state_.arrangement();
    const ReplicaId replica = eligible[random_.Below(eligible.size())];
    // A slot that is taken: its movement is cancelled.
    if (arrangement.NodeOf(replica) != state_.HomeOf(replica)) return state_.Make(state_.WayHome(replica));
    const PartitionId partition = arrangement.PartitionOf(replica);
    if (random_.Chance(state_.settings().swap_primary_probability)) {
      const ReplicaId primary = arrangement.PrimaryOf(partition);
      const bool can =
          primary != kNoId && primary != replica && arrangement.RoleOf(replica) == Role::kSecondary && state_.Eligible(primary);
      return can && state_.Make({primary, kNoId, replica});
    }
    const NodeId to = static_cast<NodeId>(random_.Below(state_.cluster().nodes.size()));
    return to != arrangement.NodeOf(replica) && state_.Make({replica, to, kNoId});
  }

  BalancingState& state_;
  base::Random random_;
};

}  // namespace evenkeel::balancing::testing
