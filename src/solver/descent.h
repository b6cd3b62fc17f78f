// Goes down from an assignment as far as single shifts lead (promises.h). A few looks per object and node find most of what a
// far from balanced assignment is worth, which annealing needs many times more steps for where objects are many.
#pragma once

#include <functional>

#include "base/random.h"
#include "solver/state.h"

namespace evenkeel::solver {

/// `price` weighs a unit of overflow. Ends when a pass over all objects gains less than a ten-thousandth, or when `more`, asked
/// before each object with the steps looked at so far, says no. Where nodes are many, an object looks at some of them each
/// time, beginning anywhere. @return steps looked at.
int64_t Descend(State& state, base::Random& random, double price, const std::function<bool(int64_t)>& more);

}  // namespace evenkeel::solver
