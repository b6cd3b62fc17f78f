// Takes load from a node that has too much of it, by capacity or by what an application may have there: the smallest number of
// replicas that mends the excess, of these the ones whose leaving makes the least energy.
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "balancing/search/mover.h"

namespace evenkeel::balancing {

/// What is too much on one node, and how much of each metric would be right.
struct Overload {
  NodeId node = kNoId;
  ApplicationId application = kNoId;  ///< kNoId: of everybody
  int64_t priority = 0;
  struct Limit {
    MetricId metric = kNoId;
    int64_t limit = 0;
  };
  std::vector<Limit> limits;
};

class OverloadFixer {
 public:
  /// All outlive this. `make_room`: also where others have to go first. Only by movements that cost `most_cost` each or less.
  OverloadFixer(Mover& mover, const Constraints& constraints, const Overload& overload, bool make_room,
                double most_cost = std::numeric_limits<double>::infinity());

  /// What single movements that relieve the node cost, ascending.
  std::vector<double> Costs() const;

  /// Reduces the excess as far as it can. O(replicas on the node * log) and a few searches for targets for each movement.
  void Fix();
  bool Fixed() const;

 private:
  // What one replica takes off the node: by moving, or by changing roles with `other`.
  struct Option {
    ReplicaId replica = kNoId, other = kNoId;
    std::vector<int64_t> relief;  // of each exceeded metric
    double share = 0;             // of all excess together
  };
  struct Excess {
    MetricId metric;
    int64_t amount;
  };
  double CostOf(const Option& option) const;
  int64_t AmountOf(MetricId metric) const;
  std::vector<Excess> FindExcess() const;
  std::vector<Option> FindOptions(const std::vector<Excess>& excess) const;
  void AddOption(std::vector<Option>& options, const std::vector<Excess>& excess, ReplicaId replica, ReplicaId other) const;
  std::vector<Option> Sufficient(std::vector<Option> options, const std::vector<Excess>& excess) const;
  bool TakeBest(std::vector<Option> options);
  bool Take(const Option& option, NodeId target);
  double Total() const;
  bool TakeOne(const std::vector<Option>& options);
  double EnergyOf(const Option& option, NodeId& target);
  bool TakeWithRoom(const std::vector<Option>& options);

  Mover& mover_;
  StepJournal& journal_;
  const Arrangement& arrangement_;
  const Constraints& constraints_;
  const Overload& overload_;
  const bool make_room_;
  const double most_cost_;
  std::set<std::pair<ReplicaId, ReplicaId>> stuck_;  // options that cannot be taken
};

}  // namespace evenkeel::balancing
