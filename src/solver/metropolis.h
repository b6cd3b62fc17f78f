// Random steps of a model, taken when they cost no more than a chance at the present temperature allows (Metropolis et al.
// 1953; Kirkpatrick et al. 1983). Written once for everything that is searched: the model (model.h) draws, looks at and takes
// steps.
#pragma once

#include <array>
#include <cstdint>

#include "base/random.h"
#include "solver/model.h"
#include "solver/step_kinds.h"

namespace evenkeel::solver {

inline constexpr int kChances = 1 << 14;
/// -ln of evenly spaced chances: what a step may cost at temperature 1, drawn by index.
const std::array<double, kChances>& Chances();

/// What a step lowers the value by up to so many temperatures is mostly what another one had raised it by: no gain.
inline constexpr double kThermal = 4;

/// Looks at `count` steps. Inlined, so that a caller that is compiled for wide vectors has all of it so.
template <Model M>
[[gnu::always_inline]] inline void TakeRandomSteps(M& model, StepKinds& kinds, base::Random& random, double temperature,
                                                   int64_t count) {
  const std::array<double, kChances>& chances = Chances();
  for (int64_t i = 0; i < count; ++i) {
    const Dice dice{random.Next(), random.Next()};
    const int kind = kinds.Draw(dice.more >> 14);
    const double change = model.Take(kind, dice, temperature * chances[dice.more & (kChances - 1)]);
    kinds.Note(kind, change + kThermal * temperature);
  }
}

}  // namespace evenkeel::solver
