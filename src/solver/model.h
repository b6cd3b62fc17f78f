// What the searches of this module ask of what they arrange, so that they are written once: annealing (metropolis.h), the
// descent by promises (descent.h), the large-neighbourhood step (large_neighbourhood.h). PricedState is the model of a Problem;
// balancing has one of its replicas and their deviation.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "base/random.h"

namespace evenkeel::solver {

/// What one random step is drawn from. The lowest twenty bits of `more` are spent on kind and chance.
struct Dice {
  uint64_t bits = 0, more = 0;

  /// In [0, bound), bound > 0: three draws that do not depend on each other.
  uint32_t First(uint32_t bound) const { return Scaled(bits, bound); }
  uint32_t Second(uint32_t bound) const { return Scaled(bits >> 32, bound); }
  uint32_t Third(uint32_t bound) const { return Scaled(more >> 32, bound); }

 private:
  static uint32_t Scaled(uint64_t from, uint32_t bound) { return static_cast<uint32_t>(((from & 0xffffffff) * bound) >> 32); }
};

/// What can be annealed.
template <typename M>
concept Model = requires(M& model, int kind, const Dice& dice, double limit) {
  /// What the search lowers.
  { model.Value() } -> std::convertible_to<double>;
  /// Draws a step of the kind and takes it if the rules allow it and Value() grows by no more than `limit`. By how much it
  /// changed; 0 where nothing was taken. The model itself keeps the best that it has been.
  { model.Take(kind, dice, limit) } -> std::convertible_to<double>;
};

/// Whose objects can be taken off and put back. An object that is off is nowhere and costs nothing.
template <typename M>
concept Rebuildable = requires(M& model, typename M::Object object, typename M::Place place) {
  { model.Value() } -> std::convertible_to<double>;
  { model.PlaceOf(object) } -> std::same_as<typename M::Place>;
  model.TakeOff(object);
  model.Put(object, place);
  /// By how much Value() grows with it there.
  { model.PriceOf(object, place) } -> std::convertible_to<double>;
  /// Whether the rules allow it there, as far as they can be asked while others are off.
  { model.MayPut(object, place) } -> std::convertible_to<bool>;
  /// Whether every rule holds, now that the object has come from this place and all others are back.
  { model.Holds(object, place) } -> std::convertible_to<bool>;
};

}  // namespace evenkeel::solver
