#include "solver/repair.h"

#include <algorithm>

namespace evenkeel::solver {
namespace {

/// A step away from a node that exceeds its capacity: a shift (no other), a swap or a chain.
struct Step {
  ObjectId object = -1, other = -1;
  NodeId to = -1;  ///< of the chain, or of the shift
  double value = 0;
  bool is_swap = false;
};

class Repairer {
 public:
  Repairer(State& state, double price, int64_t& evaluations) : state_(state), price_(price), left_(evaluations) {}

  bool Run() {
    while (state_.overflow() > 0 && left_ > 0) {
      bool any = false;
      for (NodeId node = 0; node < state_.problem().nodes() && left_ > 0; ++node) {
        if (state_.NodeOverflow(node) > 0) any = Relieve(node) || any;
      }
      if (!any) break;
    }
    return state_.overflow() == 0;
  }

 private:
  /// Takes the best step away from the node that lowers overflow. Chains only where nothing simpler does.
  bool Relieve(NodeId node) {
    steps_.clear();
    const std::vector<ObjectId> objects(state_.ObjectsOn(node).begin(), state_.ObjectsOn(node).end());
    for (const ObjectId object : objects) LookAtSimple(object);
    if (TakeBest()) return true;
    steps_.clear();
    for (const ObjectId object : objects) LookAtChains(object);
    return TakeBest();
  }

  void LookAtSimple(ObjectId object) {
    const NodeId from = state_.NodeOf(object);
    for (NodeId to = 0; to < state_.problem().nodes(); ++to) {
      if (to == from) continue;
      Consider({object, -1, to, state_.TryShift(object, to, price_, 0)});
      for (const ObjectId other : state_.ObjectsOn(to)) {
        Consider({object, other, to, state_.TrySwap(object, other, price_, 0), true});
      }
    }
  }

  void LookAtChains(ObjectId object) {
    const NodeId from = state_.NodeOf(object);
    for (NodeId between = 0; between < state_.problem().nodes() && left_ > 0; ++between) {
      if (between == from) continue;
      for (const ObjectId other : state_.ObjectsOn(between)) {
        for (NodeId to = 0; to < state_.problem().nodes(); ++to) {
          if (to != between && to != from) Consider({object, other, to, state_.TryChain(object, other, to, price_, 0)});
        }
      }
    }
  }

  void Consider(const Step& step) {
    --left_;
    if (step.value < 0) steps_.push_back(step);
  }

  bool TakeBest() {
    constexpr size_t kTried = 200;
    const size_t tried = std::min(kTried, steps_.size());
    std::ranges::partial_sort(steps_, steps_.begin() + static_cast<std::ptrdiff_t>(tried), {}, &Step::value);
    for (size_t i = 0; i < tried; ++i) {
      if (Take(steps_[i])) return true;
    }
    return false;
  }

  /// False, and nothing is changed: a rule forbids it, or overflow would not be less.
  bool Take(const Step& step) {
    const double before = state_.overflow();
    const NodeId from = state_.NodeOf(step.object);
    if (step.other < 0) {
      if (!state_.RulesAllow(step.object, step.to)) return false;
      state_.Shift(step.object, step.to);
      if (state_.overflow() < before) return true;
      state_.Shift(step.object, from);
      return false;
    }
    if (step.is_swap) {
      if (!state_.RulesAllowSwap(step.object, step.other)) return false;
      state_.Swap(step.object, step.other);
      if (state_.overflow() < before) return true;
      state_.Swap(step.object, step.other);
      return false;
    }
    const NodeId between = state_.NodeOf(step.other);
    if (!state_.RulesAllow(step.other, step.to)) return false;
    state_.Shift(step.other, step.to);
    if (state_.RulesAllow(step.object, between)) {
      state_.Shift(step.object, between);
      if (state_.overflow() < before) return true;
      state_.Shift(step.object, from);
    }
    state_.Shift(step.other, between);
    return false;
  }

  State& state_;
  const double price_;
  int64_t& left_;
  std::vector<Step> steps_;
};

}  // namespace

bool Repair(State& state, double price, int64_t& evaluations) { return Repairer(state, price, evaluations).Run(); }

}  // namespace evenkeel::solver
