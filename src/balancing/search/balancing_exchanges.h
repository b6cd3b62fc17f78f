// Exchanges of the balancing search: a replica of one node and a replica of another change places. They repair what single
// shifts cannot, differences smaller than any load.
//
// For a replica r on a node whose loads are above (below) the average by e the best partner has the loads of r less e. In large
// groups such partners are found in a grid of all replicas by their loads, in small ones all are looked at. The loads of the
// partner's node decide among them. O(replicas of the node * partners in the neighbouring cells * metrics) per node.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "balancing/search/balancing_descent.h"
#include "balancing/search/balancing_state.h"
#include "balancing/search/deviation_slopes.h"

namespace evenkeel::balancing {

class BalancingExchanges {
 public:
  /// All outlive this. Roles do not change while it is used: it remembers loads.
  BalancingExchanges(BalancingState& state, DeviationSlopes& slopes, SearchBudget& budget);

  /// Exchanges, the most uneven nodes first, until few nodes gain. Answers how many were made.
  int64_t Run();

 private:
  static constexpr size_t kMaxTerms = 8;  // metrics that are looked at: those with the largest deviations
  static constexpr size_t kMaxAxes = 3;   // of these span the grid
  struct Axis {
    size_t column = 0;
    std::vector<double> bounds;  // between cells, ascending
    size_t cells() const { return bounds.size() + 1; }
  };
  struct Pair {
    double slope = 0;
    ReplicaId here = kNoId, there = kNoId;
  };

  void ChooseTerms();
  void MakeRows();
  void MakeGrid();
  size_t CellOf(const Axis& axis, double value) const;
  std::span<const double> RowOf(ReplicaId replica) const {
    return std::span(rows_).subspan(place_[replica] * terms_.size(), terms_.size());
  }
  int64_t Pass();
  bool Improve(NodeId node);
  void LookAt(NodeId node, ReplicaId replica, std::span<const double> wanted);
  void LookAtCell(NodeId node, ReplicaId replica, size_t cell, uint32_t partners);
  void LookAtPair(NodeId node, ReplicaId replica, ReplicaId partner);
  double LocalSlope(const Pair& pair, NodeId here, NodeId there) const;
  double LocalSlopeOf(ReplicaId replica, NodeId from, NodeId to) const;
  bool MakePair(const Pair& pair);
  double Unevenness(NodeId node) const;

  BalancingState& state_;
  DeviationSlopes& slopes_;
  SearchBudget& budget_;
  std::vector<size_t> terms_;  // the columns of a row
  std::vector<double> rows_;   // of eligible replicas
  std::vector<uint32_t> place_;
  std::vector<Axis> axes_;  // empty: all pairs are looked at
  std::vector<uint32_t> first_in_cell_;
  std::vector<ReplicaId> in_cells_;
  std::vector<Pair> best_;
  int64_t looked_ = 0;
};

}  // namespace evenkeel::balancing
