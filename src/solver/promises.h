// The descent: again and again the step that lowers a model's value most, until none lowers it. Written once for everything
// that is searched (model.h).
//
// Movers (objects, replicas) wait in a queue ordered by what their best step promised when they were last looked at. The first
// is looked at again, and its step taken when that is still as good as what the next one promises; otherwise it waits once more
// (lazy evaluation; Minoux 1978). So a step costs a few looks instead of one at every mover.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <utility>

namespace evenkeel::solver {

/// What can be gone down. Gains are above 0; 0 says that there is none.
template <typename M>
concept Descendable = requires(M& model, uint32_t mover) {
  /// Of its best step: a guess that is not far too low.
  { model.Promise(mover) } -> std::convertible_to<double>;
  /// The same, exactly, of the step that TakeBest would take.
  { model.Gain(mover) } -> std::convertible_to<double>;
  /// Takes the best step of the mover that Gain was asked of last. False: that was impossible after all.
  { model.TakeBest() } -> std::same_as<bool>;
  { model.Over() } -> std::same_as<bool>;
};

/// One pass: every mover is looked at, then the queue is worked off. A step is taken when it gains at least `enough` of what
/// the next one promises: 1 is the steepest descent, less saves looks. @return steps taken.
template <Descendable M>
int64_t DescendOnce(M& model, std::span<const uint32_t> movers, double enough) {
  constexpr uint32_t kLast = std::numeric_limits<uint32_t>::max();
  std::priority_queue<std::pair<double, uint32_t>> queue;
  const auto add = [&](uint32_t mover, double gain) {
    if (gain > 0) queue.emplace(gain, kLast - mover);
  };
  for (const uint32_t mover : movers) {
    if (model.Over()) break;
    add(mover, model.Promise(mover));
  }
  int64_t taken = 0;
  while (!queue.empty() && !model.Over()) {
    const uint32_t mover = kLast - queue.top().second;
    queue.pop();
    const double gain = model.Gain(mover);
    if (gain <= 0) continue;
    if (!queue.empty() && gain < queue.top().first * enough) {
      add(mover, gain);
    } else if (model.TakeBest()) {
      ++taken;
    }
  }
  return taken;
}

}  // namespace evenkeel::solver
