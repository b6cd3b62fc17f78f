// One annealing: a state, the best that it has met, and its random numbers. Random shifts and swaps are taken when they cost no
// more than a chance at the present temperature allows (Metropolis et al. 1953; Kirkpatrick et al. 1983).
#pragma once

#include <utility>
#include <vector>

#include "base/random.h"
#include "solver/state.h"

namespace evenkeel::solver {

/// How many steps are looked at in one go, at one temperature.
inline constexpr int64_t kSlice = 4096;

/// The best assignment met, kept as the steps since then, which are far fewer than objects most of the time.
class Best {
 public:
  explicit Best(const State& state) : cost_(state.cost()), assignment_(state.assignment()) {}
  int64_t cost() const { return cost_; }
  void Stepped(ObjectId object, NodeId from) {
    if (!following_) return;
    since_.emplace_back(object, from);
  }
  /// Between steps: too long a memory is dearer than a copy.
  void Trim(const State& state) {
    if (since_.size() > 2 * state.assignment().size()) Forget(state);
  }
  void Reached(const State& state) {
    cost_ = state.cost();
    since_.clear();
    following_ = true;
  }
  /// The state is about to change in ways that are not told.
  void Forget(const State& state) {
    if (following_) Store(state);
  }
  const std::vector<NodeId>& Assignment(const State& state) {
    if (following_) Store(state);
    return assignment_;
  }

 private:
  void Store(const State& state) {
    assignment_ = state.assignment();
    for (auto step = since_.rbegin(); step != since_.rend(); ++step) assignment_[step->first] = step->second;
    since_.clear();
    following_ = false;
  }

  int64_t cost_;
  std::vector<NodeId> assignment_;  // unless following
  bool following_ = false;
  std::vector<std::pair<ObjectId, NodeId>> since_;  // objects and where they were before
};

struct Annealing {
  Annealing(const Problem& problem, uint64_t seed) : state(problem), best(state), random(seed) {}

  State state;
  Best best;
  base::Random random;
  double temperature = 0;
  double price = 0;                    ///< of a unit of overflow
  int64_t evaluations = 0, steps = 0;  ///< looked at, taken

  /// What the annealing lowers: cost, and the price of overflow.
  double Value() const { return static_cast<double>(state.cost()) + price * state.overflow(); }
  /// Goes on from another assignment.
  void GoOnFrom(const State& other) {
    best.Forget(state);
    state = other;
    Stepped();
  }
  void Shifted(ObjectId object, NodeId to) {
    const NodeId from = state.NodeOf(object);
    state.Shift(object, to);
    best.Stepped(object, from);
    Stepped();
  }
  void Swapped(ObjectId a, ObjectId b) {
    const NodeId at_a = state.NodeOf(a), at_b = state.NodeOf(b);
    state.Swap(a, b);
    best.Stepped(a, at_a);
    best.Stepped(b, at_b);
    Stepped();
  }
  void Stepped() {
    ++steps;
    best.Trim(state);
    if (state.overflow() == 0 && state.cost() < best.cost()) best.Reached(state);
  }
};

/// Looks at kSlice steps at the annealing's temperature and price.
void RunSlice(Annealing& annealing);

}  // namespace evenkeel::solver
