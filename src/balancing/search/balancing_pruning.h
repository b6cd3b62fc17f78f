// The end of the balancing search: every movement that does not pay for itself is taken back, so that of equal energies the
// fewest movements remain.
#pragma once

#include <cstdint>

#include "balancing/search/balancing_descent.h"
#include "balancing/search/balancing_state.h"

namespace evenkeel::balancing {

/// Takes back each single movement without which the energy is not higher, and replaces A -> B of one replica and B -> C of
/// another by one movement A -> C where that is not worse; until nothing of the kind is left. Answers how many movements less
/// there are. O(movements * metrics) per round, and for each movement the replicas that came to where it began.
int64_t Prune(BalancingState& state, SearchBudget& budget);

}  // namespace evenkeel::balancing
