// Upstream's metrics (cluster_autoscaler_*) of every member that this process looks after, told apart by the label `cluster`.
// What a member's state is goes into a table from which Publish makes gauges, so that those of a member that has been handed
// over disappear; what has happened is counted at once.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/metrics/metrics.go
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/metric_family.h"
#include "base/time.h"

namespace evenkeel::controllers::autoscaler {

/// Thread-safe.
class AutoscalerMetrics {
 public:
  explicit AutoscalerMetrics(base::MetricRegistry& registry) : registry_(registry) {}

  /// Counters of a member that begins to be looked after are there, at 0.
  void Begin(const std::string& cluster);

  /// A metric without its prefix and with its labels but for `cluster`.
  struct Sample {
    std::string name;
    base::MetricLabels labels;
    double value = 0;
  };
  /// All there is to say about the state of a member now.
  void SetState(const std::string& cluster, std::vector<Sample> samples);
  void Forget(const std::string& cluster);
  void Count(const std::string& cluster, const std::string& name, base::MetricLabels labels = {}, double amount = 1);
  /// function_duration_seconds
  void Took(const std::string& cluster, const std::string& function, base::Duration time);

  /// Brings the gauges in the registry up to date; before it is rendered.
  void Publish();

  /// All that there are.
  static std::vector<base::MetricFamily> Families();

 private:
  base::MetricRegistry& registry_;
  std::mutex mutex_;
  std::map<std::string, std::vector<Sample>> states_;  // by cluster
  std::set<std::string> published_;                    // names of gauges, so that they can be emptied
};

}  // namespace evenkeel::controllers::autoscaler
