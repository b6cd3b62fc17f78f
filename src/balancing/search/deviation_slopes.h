// What small changes of node loads do to the average deviation: its slopes at the present arrangement, so that a search can
// look at many steps for the price of one exact evaluation. Of metrics that are spread the slopes tell a rise too large rather
// than too small (the deviation is a root), so a step that they promise to gain gains. Domains and empty nodes of
// defragmentation metrics are not in them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "balancing/search/balancing_state.h"

namespace evenkeel::balancing {

class DeviationSlopes {
 public:
  /// `state` outlives this.
  explicit DeviationSlopes(const BalancingState& state);

  /// Roots below this count as this when slopes are refreshed. A root is steep near 0, so that what is even already keeps a
  /// search from everything else.
  void Smooth(double least_root) { least_root_ = least_root; }

  /// At the present loads. O(nodes * metrics of the group + services * metrics).
  void Refresh();

  /// Metrics of the group, in its order.
  size_t terms() const { return terms_.size(); }
  uint32_t TermOf(MetricId metric) const { return term_of_metric_[metric]; }
  /// Every metric is spread, so that slopes are all there is.
  bool complete() const { return complete_; }

  /// How the deviation changes when `load` comes to the node, or goes when it is below 0.
  double Change(size_t term, NodeId node, double load) const {
    const Term& at = terms_[term];
    const double scale = at.scale[node];
    return scale * load * (at.of_squares * scale * (2 * static_cast<double>(at.loads[node]) + load) + at.of_sum);
  }
  /// The same for every node at once, added to what is in `changes`; with the loads as they were when slopes, or the node, were
  /// refreshed last.
  void AddChanges(size_t term, double load, std::span<double> changes) const;
  void RefreshNode(NodeId node);
  /// The least of that over all nodes when `load` comes, as they were when slopes were refreshed. Of metrics that are spread.
  double LeastChange(size_t term, double load) const {
    return load * (terms_[term].least + terms_[term].least_of_square * load);
  }
  /// What Change says for one metric of a service's local domain, which has `present` of it on the node.
  double LocalChange(size_t local, double present, double load) const { return local_[local] * load * (2 * present + load); }
  /// What it says more for each unit that is present.
  double LocalMore(size_t local, double load) const { return 2 * local_[local] * load; }
  /// The first of the service's metrics for LocalChange, the others follow; kNoId: it has no local domain.
  uint32_t LocalOf(ServiceId service) const { return first_local_[service]; }
  /// How far the node's load is from the average, in shares of capacity where the score is by percentage; 0 where loads do not
  /// count.
  double Excess(size_t term, NodeId node) const {
    const Term& at = terms_[term];
    return at.scale[node] == 0 ? 0 : static_cast<double>(at.loads[node]) * at.scale[node] - at.average;
  }
  double Scale(size_t term, NodeId node) const { return terms_[term].scale[node]; }
  /// What a square of excess weighs; below 0 where unevenness is wanted.
  double Weight(size_t term) const { return terms_[term].of_squares; }
  /// What the squares of all nodes' excesses add to the deviation, roughly.
  double Share(size_t term) const { return terms_[term].share; }
  double AverageLoad(size_t term) const { return terms_[term].average; }

 private:
  struct Term {
    MetricId metric = kNoId;
    double weight = 0;  // of its deviation in the average, below 0 when packed
    const int64_t* loads = nullptr;
    std::vector<double> scale;  // by node: 0 where loads do not count, one capacity's inverse by percentage, else 1
    double nodes = 0;
    double of_squares = 0, of_sum = 0;
    double average = 0, share = 0;
    std::vector<double> by_load, by_square;  // by node: what each unit of load, and of its square, changes
    double least = 0, least_of_square = 0;   // of all nodes
  };
  void RefreshTerm(Term& term) const;
  static void RefreshNode(Term& term, NodeId node);
  void RefreshLocal(ServiceId service);
  bool ByPercentage(MetricId metric) const;

  const BalancingState& state_;
  std::vector<Term> terms_;
  std::vector<uint32_t> term_of_metric_;
  std::vector<uint32_t> first_local_;  // by service; kNoId: has no local domain
  std::vector<double> local_;
  double total_weight_ = 0, least_root_ = 0;
  int64_t local_domains_ = 0;
  bool complete_ = true;
};

}  // namespace evenkeel::balancing
