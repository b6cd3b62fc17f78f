// A Problem as a model for the searches: a State whose capacities may be exceeded at a price, the best assignment that it has
// been, and its random steps.
#pragma once

#include <utility>
#include <vector>

#include "solver/large_neighbourhood.h"
#include "solver/model.h"
#include "solver/similar_objects.h"
#include "solver/state.h"
#include "solver/step_kinds.h"

namespace evenkeel::solver {

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

class PricedState {
 public:
  using Object = ObjectId;
  using Place = NodeId;
  enum Kind { kShift, kHome, kSwap, kSimilar, kChain, kKinds };

  /// Both outlive this.
  PricedState(const Problem& problem, const SimilarObjects& similar) : state(problem), best(state), similar_(similar) {}

  /// Cost, and the price of overflow.
  double Value() const { return static_cast<double>(state.cost()) + price * state.overflow(); }

  /// See Model.
  [[gnu::always_inline]] double Take(int kind, const Dice& dice, double limit) {
    const auto a = static_cast<ObjectId>(dice.First(static_cast<uint32_t>(state.problem().objects())));
    switch (kind) {
      case kSwap:
        return TakeSwap(a, DrawObject(dice), limit);
      case kSimilar:
        return TakeSwap(a, similar_.Of(a, dice.Second(SimilarObjects::kKept)), limit);
      case kChain:
        return TakeChain(a, DrawObject(dice), static_cast<NodeId>(dice.Third(Nodes())), limit);
      case kHome:
        return TakeShift(a, state.problem().initial[a], limit);
      default:
        return TakeShift(a, static_cast<NodeId>(dice.Second(Nodes())), limit);
    }
  }

  // See Rebuildable.
  NodeId PlaceOf(ObjectId object) const { return state.NodeOf(object); }
  void TakeOff(ObjectId object) { state.TakeOff(object); }
  void Put(ObjectId object, NodeId node) { state.Put(object, node); }
  double PriceOf(ObjectId object, NodeId node) const { return state.TryPut(object, node, price); }
  bool MayPut(ObjectId object, NodeId node) const { return state.RulesAllowPut(object, node); }
  bool Holds(ObjectId object, NodeId from) const { return state.Holds(object, from); }

  /// Goes on from another assignment.
  void GoOnFrom(const State& other) {
    best.Forget(state);
    state = other;
    Stepped();
  }
  void Stepped() {
    ++steps;
    best.Trim(state);
    if (state.overflow() == 0 && state.cost() < best.cost()) best.Reached(state);
  }

  State state;
  Best best;
  double price = 0;                    ///< of a unit of overflow
  int64_t evaluations = 0, steps = 0;  ///< looked at, taken

 private:
  uint32_t Nodes() const { return static_cast<uint32_t>(state.problem().nodes()); }
  ObjectId DrawObject(const Dice& dice) const {
    return static_cast<ObjectId>(dice.Second(static_cast<uint32_t>(state.problem().objects())));
  }
  void Shift(ObjectId object, NodeId to) {
    best.Stepped(object, state.NodeOf(object));
    state.Shift(object, to);
  }
  [[gnu::always_inline]] double TakeShift(ObjectId a, NodeId to, double limit) {
    if (state.NodeOf(a) == to) return 0;
    double change = state.TryShift(a, to, price, limit);
    if (change > limit) return 0;
    change += state.GroupMoveDelta(a, to);
    if (change > limit || !state.RulesAllow(a, to)) return 0;
    Shift(a, to);
    Stepped();
    return change;
  }
  [[gnu::always_inline]] double TakeSwap(ObjectId a, ObjectId b, double limit) {
    const NodeId at_a = state.NodeOf(a), at_b = state.NodeOf(b);
    if (at_a == at_b) return 0;
    double change = state.TrySwap(a, b, price, limit);
    if (change > limit) return 0;
    change += state.GroupMoveSwapDelta(a, b);
    if (change > limit || !state.RulesAllowSwap(a, b)) return 0;
    best.Stepped(a, at_a);
    best.Stepped(b, at_b);
    state.Swap(a, b);
    Stepped();
    return change;
  }
  [[gnu::always_inline]] double TakeChain(ObjectId a, ObjectId b, NodeId to, double limit) {
    const NodeId at_a = state.NodeOf(a), at_b = state.NodeOf(b);
    if (at_a == at_b || to == at_a || to == at_b) return 0;
    const double change = state.TryChain(a, b, to, price, limit);
    return change > limit ? 0 : MakeChain(a, b, to, limit);
  }
  double MakeChain(ObjectId a, ObjectId b, NodeId to, double limit);

  const SimilarObjects& similar_;
};

/// All steps of a PricedState, as many of each kind as pay.
class PricedSteps {
 public:
  explicit PricedSteps(uint64_t seed);

  base::Random& random() { return random_; }
  /// Looks at some thousand random steps at this temperature, and besides takes large-neighbourhood steps if it `rebuilds`.
  void Run(PricedState& model, double temperature, bool rebuilds);

 private:
  void Rebuild(PricedState& model, double temperature);
  void Draw(const State& state);

  base::Random random_;
  StepKinds kinds_;
  LargeNeighbourhood<PricedState> step_;
  double share_, owed_ = 0;            // to large-neighbourhood steps
  double gained_ = 0, looked_at_ = 0;  // by them
  // What they draw: objects, the nodes that these go to, and those where they were.
  std::vector<ObjectId> objects_;
  std::vector<NodeId> nodes_, before_;
  std::vector<char> drawn_;  // by node
};

}  // namespace evenkeel::solver
