// Finds a good assignment, better with time: a descent, then simulated annealing over shifts, swaps, chains and, when it is
// cooler, large-neighbourhood steps. Capacities may be exceeded at a price that rises until nothing exceeds them any more
// (strategic oscillation: tight problems fall apart into islands otherwise). Pilots, quick annealings, tell which temperatures
// get how much time. Several annealings go side by side; at the end of each of the last rounds the worst goes on from the best.
//
// The answer depends on problem, options and seed only, not on the number of threads or the speed of the machine, unless a time
// limit cuts the search short. Sources: Kirkpatrick et al. 1983; Glover 1989 (oscillation); Portal et al. 2016 (annealing on
// the ROADEF/EURO 2012 instances).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/executor.h"
#include "solver/state.h"

namespace evenkeel::solver {

struct SearchProgress {
  double share = 0;         ///< of the search that is over, 0 to 1
  int64_t evaluations = 0;  ///< so far, about
  int64_t cost = 0;         ///< of the best assignment so far
};

struct SearchOptions {
  uint64_t seed = 1;
  int64_t evaluations = 10'000'000;  ///< steps looked at, all annealings together
  /// Ends the search by the clock instead of by evaluations; the temperature follows the time.
  std::optional<base::Duration> time_limit{};
  int annealings = 2;
  /// Told many times a second how far it is, if given, on the caller's thread. Changes nothing.
  std::function<void(const SearchProgress&)> on_progress{};
};

struct Improvement {
  base::Instant at{};
  int64_t cost = 0;
};

struct SearchResult {
  std::vector<NodeId> assignment;
  int64_t cost = 0;
  int64_t evaluations = 0, steps = 0;  ///< looked at, taken
  /// When it became better by a thousandth; for people. Falling.
  std::vector<Improvement> progress;
};

/// The best assignment found; never a worse one than the initial, which must break no rule.
/// @param executor  runs the annealings side by side on strands of its own; null: one after the other, on the caller's thread.
SearchResult Search(const Problem& problem, const SearchOptions& options, base::Clock& clock,
                    base::Executor* executor = nullptr);

}  // namespace evenkeel::solver
