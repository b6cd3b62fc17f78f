// The way out of a local optimum for small groups: random steps of all kinds that are accepted although they raise the energy,
// the more rarely the more they raise it and the longer it takes (simulated annealing). The best arrangement is kept.
#pragma once

#include <cstdint>

#include "balancing/search/balancing_descent.h"
#include "balancing/search/balancing_state.h"
#include "base/random.h"

namespace evenkeel::balancing {

/// `steps` random steps from the present arrangement, beginning at a `temperature` in units of the average change of energy of
/// a step; leaves the best, which may be the present one. Whether it is better.
bool Anneal(BalancingState& state, base::Random& random, SearchBudget& budget, int64_t steps, double temperature);

}  // namespace evenkeel::balancing
