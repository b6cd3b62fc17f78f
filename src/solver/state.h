// Where the objects are now, with everything that the next step asks for kept up to date: what is free on each node, what each
// node costs, how far groups are spread. A step is looked at first (Can..., ...Delta) and taken afterwards (Shift, Swap);
// taking one never looks at more than the rows that it changes.
//
// Amounts are held as doubles in rows of whole vectors: all are integers below 2^53, so sums are exact whatever the order, and
// four columns go in one instruction. Columns of a row of need and room are the metrics; columns of cost are the hinges,
// already weighted, so that a node's cost is the sum of what is above zero.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "solver/problem.h"

namespace evenkeel::solver {

/// Four columns of a row.
using Columns [[gnu::vector_size(32)]] = double;
inline constexpr int kColumns = 4;

/// Rows are not aligned to whole vectors.
[[gnu::always_inline]] inline Columns Load(const double* from) {
  Columns columns;
  __builtin_memcpy(&columns, from, sizeof columns);
  return columns;
}

class State {
 public:
  /// Everything where it is at first. `problem` must have been checked, and outlive the state.
  explicit State(const Problem& problem);
  State(const State&) = default;
  State& operator=(const State&) = default;

  const Problem& problem() const { return *problem_; }
  NodeId NodeOf(ObjectId object) const { return node_[object]; }
  const std::vector<NodeId>& assignment() const { return node_; }
  /// Exact. O(1).
  int64_t cost() const { return static_cast<int64_t>(cost_); }

  /// Whether the object may go to `to`, another node than its own: capacities, exclusion, spread, dependencies.
  bool CanShift(ObjectId object, NodeId to) { return Fits(object, to) && RulesAllow(object, to); }
  double ShiftDelta(ObjectId object, NodeId to) const { return TryShift(object, to, 0, kNoLimit) + GroupMoveDelta(object, to); }
  void Shift(ObjectId object, NodeId to);

  /// Two objects on different nodes change places.
  void Swap(ObjectId a, ObjectId b);

  /// By how much usage is above capacity, all nodes and metrics together; 0 unless a search has taken steps that do not fit.
  double overflow() const { return overflow_; }

  /// What a shift or a swap changes, with `penalty` for each unit by which overflow grows; where the answer would be above
  /// `limit`, any number above it. Faster than both alone. The part for the most moved objects of a group is left out.
  [[gnu::always_inline]] double TryShift(ObjectId object, NodeId to, double penalty, double limit) const {
    const NodeId from = node_[object];
    const double moves = MoveCost(object, to) - move_cost_[object];
    const double before = node_cost_[to] + node_cost_[from] + penalty * (node_overflow_[to] + node_overflow_[from]) - moves;
    const double there = ValueWith(to, object, true, penalty);
    if (there - before > limit) return there - before;
    return there + ValueWith(from, object, false, penalty) - before;
  }
  [[gnu::always_inline]] double TrySwap(ObjectId a, ObjectId b, double penalty, double limit) const {
    const NodeId at_a = node_[a], at_b = node_[b];
    const double moves = MoveCost(a, at_b) - move_cost_[a] + MoveCost(b, at_a) - move_cost_[b];
    const double before = node_cost_[at_a] + node_cost_[at_b] + penalty * (node_overflow_[at_a] + node_overflow_[at_b]) - moves;
    const double there = ValueWithSwap(at_a, b, a, penalty);
    if (there - before > limit) return there - before;
    return there + ValueWithSwap(at_b, a, b, penalty) - before;
  }

  /// The parts of the above, for a search that wants to know the cost before the rarer rules.
  bool Fits(ObjectId object, NodeId to) const;
  bool RulesAllow(ObjectId object, NodeId to) {
    return !grouped_[object] || (!MeetsItsOwn(object, to, -1) && SpreadAllows(object, to) && DependenciesAllow(object, to));
  }
  bool RulesAllowSwap(ObjectId a, ObjectId b);

  /// The same for a chain: `a` goes to the node of `b`, and `b` to a third one.
  [[gnu::always_inline]] double TryChain(ObjectId a, ObjectId b, NodeId to, double penalty, double limit) const {
    const NodeId at_a = node_[a], at_b = node_[b];
    const double moves = MoveCost(a, at_b) - move_cost_[a] + MoveCost(b, to) - move_cost_[b];
    const double before = node_cost_[at_a] + node_cost_[at_b] + node_cost_[to] +
                          penalty * (node_overflow_[at_a] + node_overflow_[at_b] + node_overflow_[to]) - moves;
    const double there = ValueWith(to, b, true, penalty);
    if (there - before > limit) return there - before;
    const double between = there + ValueWithSwap(at_b, a, b, penalty);
    if (between - before > limit) return between - before;
    return between + ValueWith(at_a, a, false, penalty) - before;
  }

  /// An object that is nowhere: off its node, and its move unpaid, until it is put on one. Meanwhile a group that has to be
  /// spread counts it as one location more, and dependencies are not looked at: Holds has to say in the end that they hold.
  void TakeOff(ObjectId object);
  void Put(ObjectId object, NodeId to);
  /// As TryShift and RulesAllow, of an object that is off.
  [[gnu::always_inline]] double TryPut(ObjectId object, NodeId to, double penalty) const {
    return ValueWith(to, object, true, penalty) - node_cost_[to] - penalty * node_overflow_[to] + MoveCost(object, to) +
           GroupMoves(problem_->group_of[object], to == first_[object] ? 0 : 1, -1, 0);
  }
  bool RulesAllowPut(ObjectId object, NodeId to) const;
  /// Whether dependencies hold after the object has come from `from` to where it is.
  bool Holds(ObjectId object, NodeId from) const;

  /// What was left out above.
  double GroupMoveDelta(ObjectId object, NodeId to) const {
    return GroupMoves(problem_->group_of[object], MovedChange(object, to), -1, 0);
  }
  double GroupMoveSwapDelta(ObjectId a, ObjectId b) const {
    return GroupMoves(problem_->group_of[a], MovedChange(a, node_[b]), problem_->group_of[b], MovedChange(b, node_[a]));
  }

  /// The node's part in overflow(). O(1).
  double NodeOverflow(NodeId node) const { return node_overflow_[node]; }
  /// In no particular order, but the same for the same steps.
  std::span<const ObjectId> ObjectsOn(NodeId node) const { return on_node_[node]; }

 private:
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  const double* Room(NodeId node) const { return &room_[static_cast<size_t>(node) * need_columns_]; }
  double* Room(NodeId node) { return &room_[static_cast<size_t>(node) * need_columns_]; }
  const double* Over(NodeId node) const { return &over_[static_cast<size_t>(node) * cost_columns_]; }
  double* Over(NodeId node) { return &over_[static_cast<size_t>(node) * cost_columns_]; }
  const double* Need(ObjectId object) const { return &(*need_)[static_cast<size_t>(object) * need_columns_]; }
  const double* Step(ObjectId object) const { return &(*step_)[static_cast<size_t>(object) * cost_columns_]; }
  /// 1 for columns that an object takes when it comes to the node and gives back when it leaves it, else 0.
  const double* ChargedAt(ObjectId object, NodeId node) const { return first_[object] == node ? lasting_.data() : all_.data(); }
  [[gnu::always_inline]] static double Sum(const Columns& columns) {
    return (columns[0] + columns[1]) + (columns[2] + columns[3]);
  }
  [[gnu::always_inline]] static Columns Positive(const Columns& columns) { return columns > 0 ? columns : Columns{}; }
  /// Cost and penalised overflow of the node when the object has come to it or gone from it.
  [[gnu::always_inline]] double ValueWith(NodeId node, ObjectId object, bool comes, double penalty) const {
    const double *room = Room(node), *over = Over(node), *need = Need(object), *step = Step(object);
    const double* charged = ChargedAt(object, node);
    Columns overflow = {}, cost = {};
    for (int k = 0; k < need_columns_; k += kColumns) {
      const Columns change = Load(need + k) * Load(charged + k);
      overflow += Positive((comes ? change : -change) - Load(room + k));
    }
    for (int k = 0; k < cost_columns_; k += kColumns) {
      cost += Positive(comes ? Load(over + k) + Load(step + k) : Load(over + k) - Load(step + k));
    }
    return Sum(cost) + penalty * Sum(overflow);
  }
  /// The same when `plus` has come and `minus` has gone.
  [[gnu::always_inline]] double ValueWithSwap(NodeId node, ObjectId plus, ObjectId minus, double penalty) const {
    const double *room = Room(node), *over = Over(node);
    const double *need_plus = Need(plus), *need_minus = Need(minus), *step_plus = Step(plus), *step_minus = Step(minus);
    const double *takes = ChargedAt(plus, node), *gives = ChargedAt(minus, node);
    Columns overflow = {}, cost = {};
    for (int k = 0; k < need_columns_; k += kColumns) {
      overflow += Positive(Load(need_plus + k) * Load(takes + k) - Load(need_minus + k) * Load(gives + k) - Load(room + k));
    }
    for (int k = 0; k < cost_columns_; k += kColumns) {
      cost += Positive(Load(over + k) + (Load(step_plus + k) - Load(step_minus + k)));
    }
    return Sum(cost) + penalty * Sum(overflow);
  }
  double CostNow(NodeId node) const;
  double OverflowNow(NodeId node) const;
  double MoveCost(ObjectId object, NodeId node) const {
    const NodeId first = first_[object];
    if (node == first) return 0;
    return object_move_[object] + node_move_[static_cast<size_t>(class_[first]) * classes_ + class_[node]];
  }
  /// -1, 0 or 1: by how much more objects of its group have moved then.
  int32_t MovedChange(ObjectId object, NodeId to) const {
    const NodeId first = first_[object];
    return (to != first ? 1 : 0) - (node_[object] != first ? 1 : 0);
  }
  double GroupMoves(GroupId group, int32_t change, GroupId other, int32_t other_change) const;
  void CountMove(ObjectId object, int32_t change);
  bool MeetsItsOwn(ObjectId object, NodeId to, ObjectId except) const;
  bool SpreadAllows(ObjectId object, NodeId to) const;
  bool DependenciesAllow(ObjectId object, NodeId to);
  bool DependenciesHold(GroupId group, int32_t neighbourhood) const;
  int32_t DependencyCount(GroupId group, int32_t neighbourhood) const {
    return dependency_count_[static_cast<size_t>(dependency_row_[group]) * problem_->neighbourhoods + neighbourhood];
  }
  void CountDependency(ObjectId object, NodeId node, int32_t change);
  void Refresh(NodeId node);
  void Leave(ObjectId object);
  void Enter(ObjectId object, NodeId to);
  void Pay(ObjectId object, NodeId to);

  const Problem* problem_;
  int need_columns_ = 0, cost_columns_ = 0;  // of a row, whole vectors
  std::shared_ptr<const std::vector<double>> need_, step_;
  std::vector<double> lasting_, all_;
  std::vector<double> room_, over_;
  std::vector<NodeId> first_;
  std::vector<double> move_cost_;    // by object, of being where it is
  std::vector<double> object_move_;  // by object, weighted
  std::vector<double> node_move_;    // class x class, weighted
  std::vector<int32_t> class_;
  size_t classes_ = 0;
  std::vector<double> node_cost_;
  std::vector<double> node_overflow_;
  double cost_ = 0, overflow_ = 0;
  std::vector<NodeId> node_;
  std::vector<std::vector<ObjectId>> on_node_;
  std::vector<int32_t> place_on_node_;

  std::vector<char> grouped_;                         // by object: rules beyond capacity concern it
  std::vector<int32_t> spread_row_, dependency_row_;  // by group; -1: none
  std::vector<int32_t> spread_count_, spread_distinct_, spread_off_, dependency_count_;
  std::shared_ptr<const std::vector<std::vector<GroupId>>> dependents_;
  std::vector<int32_t> moved_of_group_;
  std::vector<int32_t> groups_with_moved_;  // how many groups have so many objects moved
  int32_t most_moved_ = 0;
};

}  // namespace evenkeel::solver
