// Random steps of all kinds as a model that is annealed (solver/metropolis.h): the way out of a local optimum for small groups.
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
