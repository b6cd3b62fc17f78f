// Makes an assignment that exceeds capacities fit, with steps that exceed less and less: shifts, swaps, and ejection chains, in
// which an object makes room for another and goes on to a third node. Source: Glover 1996 (ejection chains).
#pragma once

#include "solver/state.h"

namespace evenkeel::solver {

/// True: nothing exceeds its capacity any more. `price` weighs a unit of overflow against cost in choosing among steps. Looks
/// at up to objects per node squared times nodes squared steps for each node that exceeds, `evaluations` at most in all, which
/// it counts down.
bool Repair(State& state, double price, int64_t& evaluations);

}  // namespace evenkeel::solver
