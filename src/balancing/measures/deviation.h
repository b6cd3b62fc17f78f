// How good a placement is: the deviation of each metric's node loads from their average, averaged over metrics by their weights
// and over the whole group and its services' local domains; and the energy that a search lowers, where every movement has to
// earn its cost. Smaller is better, 0 is even.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "balancing/measures/node_loads.h"
#include "balancing/measures/packing.h"
#include "balancing/model/cluster.h"
#include "balancing/model/node_sets.h"
#include "balancing/model/service_groups.h"
#include "balancing/model/settings.h"

namespace evenkeel::balancing {

/// sqrt(n * squares / sum^2 - 1): the standard deviation in units of the average; 0 when there is no load.
double NormStdDev(const LoadSums& sums);
double NormStdDev(double nodes, double sum, double squares);

/// What a movement costs: 1, or with UseMoveCostReports what its replica's cost level, or a swap, is set to.
double CostOfMove(const Settings& settings, MoveCost level);
double CostOfSwap(const Settings& settings);

/// (deviation + 0.001) * (cost + replicas + MoveCostOffset), where the cost counts negative below a deviation of -0.001; the
/// deviation itself with IgnoreCostInScoring or without replicas.
double Energy(const Settings& settings, double average_deviation, double cost, int64_t replicas);

/// Whether the metric is looked at as shares of capacities: BalancingByPercentage, and every available node has a capacity. A
/// percentage means nothing while a node that may carry load has none. O(nodes).
bool ByPercentage(const Cluster& cluster, const Settings& settings, const NodeSets& sets, MetricId metric);

std::array<NodeChange, 2> MoveChanges(NodeId from, NodeId to, std::span<const int64_t> loads);

/// The deviations of one group, kept beside its NodeLoads. Metrics are looked at as shares of the nodes' capacities where
/// ByPercentage says so; services' local loads always as they are. Of a defragmentation metric
/// the whole group's term looks at nodes, domains and empty nodes, a local domain's at its nodes alone.
class GroupScore {
 public:
  /// All of them outlive this. O(services * metrics + metrics * nodes).
  GroupScore(const Cluster& cluster, const Settings& settings, const NodeSets& sets, const NodeLoads& loads,
             const ServiceGroup& group);

  double average_deviation() const { return Average(weighted_sum_, local_sum_); }
  /// The metric's global weight times NormStdDev, as Get-ServiceFabricClusterLoadInformation reports it. The group has it.
  double Deviation(MetricId metric) const;

  /// The average deviation if these changes, on different nodes, of one of the group's services happened. Nothing is changed.
  /// O(metrics of the service), but O(nodes) for each scoped defragmentation metric.
  double AverageDeviationAfter(ServiceId service, std::span<const NodeChange> changes) const;
  /// To be called after NodeLoads has taken changes of this service. O(metrics of the service), O(nodes) for each metric that
  /// is not simply spread.
  void Update(ServiceId service);
  /// Leaves what rounding has left of many updates behind. O(services + metrics).
  void Resum();

 private:
  struct RealSums {
    double nodes = 0, sum = 0, squares = 0;
  };
  struct DomainLoads {
    std::vector<int64_t> leaves;
    LoadSums sums;  // over leaves with a valid node
  };
  struct Term {
    MetricId metric = kNoId;
    double weight = 0;
    Aim aim = Aim::kSpread;
    bool by_percentage = false;
    double spread = 0;  // NormStdDev over nodes
    double score = 0;   // what counts
    RealSums shares;    // of capacities
    DomainLoads fault_domains, upgrade_domains;
  };
  struct NodeDelta {
    NodeId node;
    int64_t difference;
  };
  using Deltas = std::span<const NodeDelta>;

  double Average(double weighted_sum, double local_sum) const;
  void Refresh(Term& term) const;
  void RefreshDomains(Term& term) const;
  double SpreadAfter(const Term& term, Deltas deltas) const;
  double ScoreAfter(const Term& term, Deltas deltas) const;
  double PackedAfter(const Term& term, double spread, Deltas deltas) const;
  double DomainSpreadAfter(const LeafDomains& tree, const DomainLoads& loads, const Term& term, Deltas deltas) const;
  double FreeAfter(const Term& term, Deltas deltas) const;
  double LocalScoreAfter(ServiceId service, std::span<const NodeChange> changes) const;
  Term& TermOf(MetricId metric) { return terms_[term_of_metric_[metric]]; }
  const Term& TermOf(MetricId metric) const { return terms_[term_of_metric_[metric]]; }

  const Cluster& cluster_;
  const Settings& settings_;
  const NodeSets& sets_;
  const NodeLoads& loads_;
  std::vector<Term> terms_;
  std::vector<uint32_t> term_of_metric_;
  double total_weight_ = 0, weighted_sum_ = 0;
  std::vector<double> local_scores_;  // by service
  int64_t local_domains_ = 0;
  double local_sum_ = 0;
};

}  // namespace evenkeel::balancing
