// Metrics (evenkeel_rollout_*) of every ensemble that this process looks after. What an ensemble is goes into a table from
// which Publish makes gauges, so that those of one that is gone, or that another replica looks after, disappear; what has
// happened is counted at once.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/metric_family.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// Thread-safe.
class RolloutMetrics {
 public:
  explicit RolloutMetrics(base::MetricRegistry& registry) : registry_(registry) {}

  /// From the ensemble's status.
  void SetState(const std::string& ensemble, const base::Json& object);
  void Forget(const std::string& ensemble);
  /// This replica looks after none any more.
  void ForgetAll();
  void CountTransition(const std::string& ensemble, const std::string& reason);
  void SetLeading(bool leading);

  /// Brings the gauges in the registry up to date; before it is rendered.
  void Publish();

  /// All that there are.
  static std::vector<base::MetricFamily> Families();

 private:
  struct State {
    double voters = 0, ready = 0, margin = 0;  ///< margin: ready voters beyond a majority; negative: no quorum
    double healthy = 0, degraded = 0, deploying = 0;
  };
  struct Row;
  static const Row kRows[];

  base::MetricRegistry& registry_;
  std::mutex mutex_;
  std::map<std::string, State> states_;  // by ensemble
};

}  // namespace evenkeel::controllers::rollout::zookeeper
