#include "base/metric_family.h"

#include <algorithm>
#include <string_view>

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

/// What is before the first `separator`, which is taken away with it.
std::string_view TakeUntil(char separator, std::string_view& text) {
  const std::string_view first = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), first.size() + 1));
  return first;
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

void CountFromZero(MetricRegistry& registry, const MetricFamily& family, const MetricLabels& labels) {
  if (family.type != MetricType::kCounter) return;
  if (family.values == nullptr) {
    if (NamesOf(labels) == family.labels) CounterOf(registry, family, labels);
    return;
  }
  for (std::string_view rest = family.values; !rest.empty();) {
    MetricLabels all = labels;
    for (std::string_view together = TakeUntil(' ', rest); !together.empty();) {
      std::string_view value = TakeUntil(',', together);
      const std::string_view name = TakeUntil('=', value);
      all.emplace(name, value);
    }
    CounterOf(registry, family, all);
  }
}

void ReplaceGaugesOf(MetricRegistry& registry, const MetricFamily& family,
                     const std::vector<std::pair<MetricLabels, double>>& values) {
  for (const auto& [labels, value] : values) CheckFamily(family, MetricType::kGauge, labels);
  registry.ReplaceGauges(family.name, family.help, values);
}

}  // namespace evenkeel::base
