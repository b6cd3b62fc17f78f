#include "base/metric_family.h"

#include "base/result.h"

namespace evenkeel::base {
namespace {

std::string NamesOf(const MetricLabels& labels) {
  std::string names;
  for (const auto& [name, value] : labels) names += (names.empty() ? "" : " ") + name;
  return names;
}

/// Tables name labels in the order of the alphabet, which is that of MetricLabels.
void CheckFamily(const MetricFamily& family, MetricType type, const MetricLabels& labels) {
  EVENKEEL_CHECK(family.type == type);
  EVENKEEL_CHECK(NamesOf(labels) == family.labels);
}

}  // namespace

const char* Name(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "";
}

Counter CounterOf(MetricRegistry& registry, const MetricFamily& family, const MetricLabels& labels) {
  CheckFamily(family, MetricType::kCounter, labels);
  return registry.GetCounter(family.name, family.help, labels);
}

Gauge GaugeOf(MetricRegistry& registry, const MetricFamily& family, const MetricLabels& labels) {
  CheckFamily(family, MetricType::kGauge, labels);
  return registry.GetGauge(family.name, family.help, labels);
}

Histogram HistogramOf(MetricRegistry& registry, const MetricFamily& family, const MetricLabels& labels) {
  CheckFamily(family, MetricType::kHistogram, labels);
  return registry.GetHistogram(family.name, family.help, labels);
}

void ReplaceGaugesOf(MetricRegistry& registry, const MetricFamily& family,
                     const std::vector<std::pair<MetricLabels, double>>& values) {
  for (const auto& [labels, value] : values) CheckFamily(family, MetricType::kGauge, labels);
  registry.ReplaceGauges(family.name, family.help, values);
}

}  // namespace evenkeel::base
