#include "solver/descent.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "solver/promises.h"

namespace evenkeel::solver {
namespace {

/// Nodes that an object looks at in a turn.
constexpr NodeId kLookedAt = 256;
constexpr double kWorthATurn = 1e-4;
/// A shift that gains such a share of what the next object was promised does not wait for it.
constexpr double kAsGoodAsTheNext = 0.5;

/// Single shifts as a model that can be gone down (promises.h).
class Shifts {
 public:
  Shifts(State& state, base::Random& random, double price, const std::function<bool(int64_t)>& more)
      : state_(state), random_(random), price_(price), more_(more), looked_at_(std::min(state.problem().nodes(), kLookedAt)) {}

  double Value() const { return static_cast<double>(state_.cost()) + price_ * state_.overflow(); }
  int64_t evaluations() const { return evaluations_; }

  bool Over() const { return !more_(evaluations_); }
  double Promise(uint32_t object) { return Gain(object); }
  /// Looks at some nodes from a random one on, round and round.
  double Gain(uint32_t mover) {
    const auto object = static_cast<ObjectId>(mover);
    const NodeId from = state_.NodeOf(object), nodes = state_.problem().nodes();
    const auto first = static_cast<NodeId>(random_.Below(nodes));
    evaluations_ += looked_at_;
    best_ = {object, -1};
    double least = 0;
    for (NodeId i = 0; i < looked_at_; ++i) {
      const NodeId to = first + i < nodes ? first + i : first + i - nodes;
      if (to == from) continue;
      double delta = state_.TryShift(object, to, price_, least);
      if (delta >= least) continue;
      delta += state_.GroupMoveDelta(object, to);
      if (delta >= least || !state_.RulesAllow(object, to)) continue;
      least = delta;
      best_.second = to;
    }
    return -least;
  }
  bool TakeBest() {
    state_.Shift(best_.first, best_.second);
    return true;
  }

 private:
  State& state_;
  base::Random& random_;
  const double price_;
  const std::function<bool(int64_t)>& more_;
  const NodeId looked_at_;
  int64_t evaluations_ = 0;
  std::pair<ObjectId, NodeId> best_;
};

}  // namespace

int64_t Descend(State& state, base::Random& random, double price, const std::function<bool(int64_t)>& more) {
  Shifts shifts(state, random, price, more);
  std::vector<uint32_t> objects(state.problem().objects());
  std::iota(objects.begin(), objects.end(), 0u);
  for (double value = shifts.Value(), before = 2 * value + 1; value < before * (1 - kWorthATurn) && !shifts.Over();) {
    DescendOnce(shifts, objects, kAsGoodAsTheNext);
    before = value;
    value = shifts.Value();
  }
  return shifts.evaluations();
}

}  // namespace evenkeel::solver
