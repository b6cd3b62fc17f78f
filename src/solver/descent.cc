#include "solver/descent.h"

#include <algorithm>
#include <numeric>

namespace evenkeel::solver {
namespace {

/// Nodes that an object looks at in a turn.
constexpr NodeId kLookedAt = 256;
constexpr double kWorthATurn = 1e-4;

double Value(const State& state, double price) { return static_cast<double>(state.cost()) + price * state.overflow(); }

/// Takes the best shift of the object to one of `count` nodes from `first` on, round and round.
void ShiftToBest(State& state, ObjectId object, NodeId first, NodeId count, double price) {
  const NodeId from = state.NodeOf(object), nodes = state.problem().nodes();
  NodeId best = -1;
  double least = 0;
  for (NodeId i = 0; i < count; ++i) {
    const NodeId to = first + i < nodes ? first + i : first + i - nodes;
    if (to == from) continue;
    double delta = state.TryShift(object, to, price, least);
    if (delta >= least) continue;
    delta += state.GroupMoveDelta(object, to);
    if (delta >= least || !state.RulesAllow(object, to)) continue;
    least = delta;
    best = to;
  }
  if (best >= 0) state.Shift(object, best);
}

}  // namespace

int64_t Descend(State& state, base::Random& random, double price, const std::function<bool(int64_t)>& more) {
  const int32_t objects = state.problem().objects(), nodes = state.problem().nodes();
  const NodeId looked_at = std::min(nodes, kLookedAt);
  std::vector<ObjectId> order(objects);
  std::iota(order.begin(), order.end(), 0);
  int64_t evaluations = 0;
  for (double value = Value(state, price), before = 2 * value + 1; value < before * (1 - kWorthATurn);) {
    for (int32_t i = objects - 1; i > 0; --i) std::swap(order[i], order[random.Below(i + 1)]);
    for (const ObjectId object : order) {
      if (!more(evaluations)) return evaluations;
      ShiftToBest(state, object, static_cast<NodeId>(random.Below(nodes)), looked_at, price);
      evaluations += looked_at;
    }
    before = value;
    value = Value(state, price);
  }
  return evaluations;
}

}  // namespace evenkeel::solver
