// Numbers for Prometheus. A facade over prometheus-cpp, so that only metrics.cc pays for its headers, with a stable order in
// the output. Everything here is thread-safe; changing a metric takes no lock except in Histogram.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace evenkeel::base {

using MetricLabels = std::map<std::string, std::string>;

/// Only grows. A handle: cheap to copy, valid as long as its registry. Counts nothing when default-constructed.
class Counter {
 public:
  Counter() = default;
  explicit Counter(prometheus::Counter* counter) : counter_(counter) {}
  void Add(double amount = 1);
  double value() const;

 private:
  prometheus::Counter* counter_ = nullptr;
};

/// Goes up and down; otherwise as Counter.
class Gauge {
 public:
  Gauge() = default;
  explicit Gauge(prometheus::Gauge* gauge) : gauge_(gauge) {}
  void Set(double value);
  void Add(double amount);
  double value() const;

 private:
  prometheus::Gauge* gauge_ = nullptr;
};

/// Counts observations in buckets; otherwise as Counter.
class Histogram {
 public:
  Histogram() = default;
  explicit Histogram(prometheus::Histogram* histogram) : histogram_(histogram) {}
  void Observe(double value);

 private:
  prometheus::Histogram* histogram_ = nullptr;
};

/// Upper bounds in seconds, 1 ms to 60 s: for durations of requests and reconciles.
const std::vector<double>& DurationBuckets();

class MetricRegistry {
 public:
  MetricRegistry();
  ~MetricRegistry();
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  /// The metric of that name and those labels, made on first use: a map lookup under a lock, so keep the handle on hot paths.
  /// Names and label names are constants of the program and are checked; label values may be anything. All metrics of one name
  /// share type and help (the first one's).
  Counter GetCounter(const std::string& name, const std::string& help, const MetricLabels& labels = {});
  Gauge GetGauge(const std::string& name, const std::string& help, const MetricLabels& labels = {});
  Histogram GetHistogram(const std::string& name, const std::string& help, const MetricLabels& labels = {},
                         const std::vector<double>& buckets = DurationBuckets());

  /// Makes `values` all there is under that name: label sets that are not in it disappear, and no Render sees half of a change.
  /// The name must not be used with GetGauge. The later of two equal label sets wins.
  void ReplaceGauges(const std::string& name, const std::string& help,
                     const std::vector<std::pair<MetricLabels, double>>& values);

  /// Prometheus text exposition format 0.0.4, families by name, metrics by labels.
  std::string Render() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evenkeel::base
