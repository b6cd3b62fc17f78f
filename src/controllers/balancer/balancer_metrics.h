// Metrics (evenkeel_balancer_*) of every member that this process looks after, told apart by the label `cluster`. What a
// member's state is goes into a table from which Publish makes gauges, so that those of a member that has been handed over
// disappear; what has happened is counted at once.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/metric_family.h"

namespace evenkeel::controllers::balancer {

/// Thread-safe.
class BalancerMetrics {
 public:
  explicit BalancerMetrics(base::MetricRegistry& registry) : registry_(registry) {}

  /// Counters of a member that begins to be looked after are there, at 0.
  void Begin(const std::string& cluster);

  struct State {
    bool policy = false;  ///< one is in force
    bool balanced = true;
    double deviation = 0;                          ///< average deviation of the least even group
    double nodes = 0, pods = 0, movable_pods = 0;  ///< that are looked at
    double moves_in_flight = 0;
  };
  void SetState(const std::string& cluster, const State& state);
  void Forget(const std::string& cluster);

  void CountPlan(const std::string& cluster, const std::string& phase);       ///< "Done", "Refused", ...
  void CountMove(const std::string& cluster, const std::string& state);       ///< "Landed", "Elsewhere", "Failed"
  void CountEviction(const std::string& cluster, const std::string& result);  ///< "succeeded", "refused", "failed"

  /// Brings the gauges in the registry up to date; before it is rendered.
  void Publish();

  /// All that there are.
  static std::vector<base::MetricFamily> Families();

 private:
  base::MetricRegistry& registry_;
  std::mutex mutex_;
  std::map<std::string, State> states_;  // by cluster
};

}  // namespace evenkeel::controllers::balancer
