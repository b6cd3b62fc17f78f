// A metric described once: where it is counted and where it is documented (`evenkeel docs metrics`) go by the same words.
#pragma once

#include <utility>
#include <vector>

#include "base/metrics.h"

namespace evenkeel::base {

enum class MetricType { kCounter, kGauge, kHistogram };
/// "counter", "gauge", "histogram".
const char* Name(MetricType type);

struct MetricFamily {
  const char* name;
  MetricType type;
  const char* help;
  const char* labels = "";  ///< names in the order of the alphabet, separated by spaces
  /// Of a counter: values of some of its labels that are known beforehand, "result=failed result=succeeded"; where two labels
  /// go together, "direction=up,reason=Quota". Null where none are.
  const char* values = nullptr;
};

/// The family's metric with these labels: all that it has, and no others, which is checked.
Counter CounterOf(MetricRegistry& registry, const MetricFamily& family, const MetricLabels& labels = {});
Gauge GaugeOf(MetricRegistry& registry, const MetricFamily& family, const MetricLabels& labels = {});
Histogram HistogramOf(MetricRegistry& registry, const MetricFamily& family, const MetricLabels& labels = {});
/// Makes the family's counters at 0, one for each of its `values`, so that `increase()` does not miss the first thing that is
/// counted. `labels`: all others. Nothing where values are not known beforehand, or the family is no counter.
void CountFromZero(MetricRegistry& registry, const MetricFamily& family, const MetricLabels& labels = {});
/// As MetricRegistry::ReplaceGauges.
void ReplaceGaugesOf(MetricRegistry& registry, const MetricFamily& family,
                     const std::vector<std::pair<MetricLabels, double>>& values);

}  // namespace evenkeel::base
