#include "base/metrics.h"

#include <prometheus/check_names.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <mutex>

#include "base/result.h"

namespace evenkeel::base {
namespace {

template <typename T>
using MetricFamilies = std::map<std::string, prometheus::Family<T>*>;

void CheckMetricNames(const std::string& name, const MetricLabels& labels) {
  EVENKEEL_CHECK(prometheus::CheckMetricName(name));
  for (const auto& label : labels) EVENKEEL_CHECK(prometheus::CheckLabelName(label.first));
}

}  // namespace

void Counter::Add(double amount) {
  if (counter_ != nullptr) counter_->Increment(amount);
}
double Counter::value() const { return counter_ == nullptr ? 0 : counter_->Value(); }

void Gauge::Set(double value) {
  if (gauge_ != nullptr) gauge_->Set(value);
}
void Gauge::Add(double amount) {
  if (gauge_ != nullptr) gauge_->Increment(amount);
}
double Gauge::value() const { return gauge_ == nullptr ? 0 : gauge_->Value(); }

void Histogram::Observe(double value) {
  if (histogram_ != nullptr) histogram_->Observe(value);
}

const std::vector<double>& DurationBuckets() {
  static const std::vector<double> buckets = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
  return buckets;
}

struct MetricRegistry::State {
  // The registry refuses a name in two types by throwing; the families kept here say so first.
  template <typename T, typename Builder>
  prometheus::Family<T>& FamilyOf(MetricFamilies<T>& families, Builder builder, const std::string& name,
                                  const std::string& help) {
    auto& family = families[name];
    if (family == nullptr) {
      const bool unused = counters.count(name) + gauges.count(name) + histograms.count(name) == 1;
      EVENKEEL_CHECK(unused);
      family = &builder.Name(name).Help(help).Register(registry);
    }
    return *family;
  }

  mutable std::mutex mutex;  ///< the families below, and no Render while one is replaced
  prometheus::Registry registry;
  MetricFamilies<prometheus::Counter> counters;
  MetricFamilies<prometheus::Gauge> gauges;
  MetricFamilies<prometheus::Histogram> histograms;
  std::map<std::string, std::map<MetricLabels, prometheus::Gauge*>> replaced;
};

MetricRegistry::MetricRegistry() : state_(std::make_unique<State>()) {}
MetricRegistry::~MetricRegistry() = default;

Counter MetricRegistry::GetCounter(const std::string& name, const std::string& help, const MetricLabels& labels) {
  CheckMetricNames(name, labels);
  const std::lock_guard lock(state_->mutex);
  return Counter(&state_->FamilyOf(state_->counters, prometheus::BuildCounter(), name, help).Add(labels));
}

Gauge MetricRegistry::GetGauge(const std::string& name, const std::string& help, const MetricLabels& labels) {
  CheckMetricNames(name, labels);
  const std::lock_guard lock(state_->mutex);
  EVENKEEL_CHECK(!state_->replaced.contains(name));
  return Gauge(&state_->FamilyOf(state_->gauges, prometheus::BuildGauge(), name, help).Add(labels));
}

Histogram MetricRegistry::GetHistogram(const std::string& name, const std::string& help, const MetricLabels& labels,
                                       const std::vector<double>& buckets) {
  CheckMetricNames(name, labels);
  const std::lock_guard lock(state_->mutex);
  return Histogram(&state_->FamilyOf(state_->histograms, prometheus::BuildHistogram(), name, help).Add(labels, buckets));
}

void MetricRegistry::ReplaceGauges(const std::string& name, const std::string& help,
                                   const std::vector<std::pair<MetricLabels, double>>& values) {
  const std::lock_guard lock(state_->mutex);
  EVENKEEL_CHECK(state_->replaced.contains(name) || !state_->gauges.contains(name));
  auto& family = state_->FamilyOf(state_->gauges, prometheus::BuildGauge(), name, help);
  auto& old = state_->replaced[name];
  std::map<MetricLabels, prometheus::Gauge*> next;
  for (const auto& [labels, value] : values) {
    CheckMetricNames(name, labels);
    prometheus::Gauge& gauge = family.Add(labels);
    gauge.Set(value);
    next[labels] = &gauge;
    old.erase(labels);
  }
  for (const auto& gone : old) family.Remove(gone.second);
  old = std::move(next);
}

std::string MetricRegistry::Render() const {
  std::vector<prometheus::MetricFamily> families;
  {
    const std::lock_guard lock(state_->mutex);
    families = state_->registry.Collect();
  }
  std::erase_if(families, [](const prometheus::MetricFamily& family) { return family.metric.empty(); });
  std::ranges::sort(families, {}, &prometheus::MetricFamily::name);
  for (prometheus::MetricFamily& family : families) {
    std::ranges::sort(family.metric, [](const prometheus::ClientMetric& a, const prometheus::ClientMetric& b) {
      return std::ranges::lexicographical_compare(
          a.label, b.label, [](const auto& x, const auto& y) { return std::tie(x.name, x.value) < std::tie(y.name, y.value); });
    });
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace evenkeel::base
