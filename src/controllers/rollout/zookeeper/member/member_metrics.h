// Metrics (evenkeel_zookeeper_*) of the ensembles' servers in every member that this process looks after, told apart by the
// labels `cluster` and `ensemble`, which is the same as of evenkeel_rollout_*. What a member's state is goes into a table from
// which Publish makes gauges, so that those of a member that has been handed over disappear; what has happened is counted at
// once.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/metric_family.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

/// Thread-safe.
class MemberMetrics {
 public:
  explicit MemberMetrics(base::MetricRegistry& registry) : registry_(registry) {}

  /// From the ZooKeeper with this status.
  void SetState(const std::string& cluster, const std::string& ensemble, const base::Json& object, const base::Json& status);
  void Forget(const std::string& cluster, const std::string& ensemble);
  /// All ensembles of a cluster.
  void Forget(const std::string& cluster);

  void CountReplacement(const std::string& cluster, const std::string& ensemble);
  /// `result`: "succeeded" or "failed".
  void CountChange(const std::string& cluster, const std::string& ensemble, const std::string& result);

  /// Brings the gauges in the registry up to date; before it is rendered.
  void Publish();

  /// All that there are.
  static std::vector<base::MetricFamily> Families();

 private:
  struct State {
    double wanted = 0, ready = 0, updated = 0, healthy = 0, moving = 0, valid = 0;
  };
  struct Row;
  static const Row kRows[];

  base::MetricRegistry& registry_;
  std::mutex mutex_;
  std::map<std::string, std::map<std::string, State>> states_;  // by cluster, then ensemble
};

}  // namespace evenkeel::controllers::rollout::zookeeper::member
