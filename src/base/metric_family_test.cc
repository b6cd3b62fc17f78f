#include "base/metric_family.h"

#include <gtest/gtest.h>

namespace evenkeel::base::metric_family_test {
namespace {

constexpr MetricFamily kDrinks{"bar_drinks_total", MetricType::kCounter, "Drinks served.", "guest kind"};
constexpr MetricFamily kGuests{"bar_guests", MetricType::kGauge, "Guests."};
constexpr MetricFamily kWaits{"bar_wait_seconds", MetricType::kHistogram, "How long guests wait.", "kind"};

TEST(MetricFamilyTest, MetricsAreCountedAsTheTableSays) {
  MetricRegistry registry;
  CounterOf(registry, kDrinks, {{"guest", "a"}, {"kind", "tea"}}).Add(2);
  ReplaceGaugesOf(registry, kGuests, {{{}, 3.0}});
  HistogramOf(registry, kWaits, {{"kind", "tea"}}).Observe(1);
  const std::string text = registry.Render();
  EXPECT_TRUE(text.contains("# HELP bar_drinks_total Drinks served.\n# TYPE bar_drinks_total counter\n"));
  EXPECT_TRUE(text.contains("bar_drinks_total{guest=\"a\",kind=\"tea\"} 2\n"));
  EXPECT_TRUE(text.contains("# TYPE bar_guests gauge\nbar_guests 3\n"));
  EXPECT_TRUE(text.contains("# TYPE bar_wait_seconds histogram\n"));
}

TEST(MetricFamilyDeathTest, OtherLabelsOrAnotherTypeAreRefused) {
  MetricRegistry registry;
  EXPECT_DEATH(CounterOf(registry, kDrinks, {{"guest", "a"}}), "");
  EXPECT_DEATH(CounterOf(registry, kDrinks, {{"guest", "a"}, {"kind", "tea"}, {"size", "large"}}), "");
  EXPECT_DEATH(GaugeOf(registry, kDrinks, {{"guest", "a"}, {"kind", "tea"}}), "");
}

}  // namespace
}  // namespace evenkeel::base::metric_family_test
