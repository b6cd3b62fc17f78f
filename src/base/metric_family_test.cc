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

TEST(MetricFamilyTest, CountersWithKnownLabelsAreThereFromTheStart) {
  MetricRegistry registry;
  constexpr MetricFamily kServed{"bar_served_total", MetricType::kCounter, "Served.", "guest kind", "kind=coffee kind=tea"};
  constexpr MetricFamily kRefused{"bar_refused_total", MetricType::kCounter, "Refused.", "guest kind why",
                                  "kind=tea,why=cold kind=coffee,why=old"};
  constexpr MetricFamily kClosed{"bar_closed_total", MetricType::kCounter, "How often it closed."};
  const MetricLabels guest{{"guest", "a"}};
  CounterOf(registry, kServed, {{"guest", "a"}, {"kind", "tea"}}).Add(3);
  CountFromZero(registry, kServed, guest);
  CountFromZero(registry, kRefused, guest);
  CountFromZero(registry, kClosed);
  CountFromZero(registry, kDrinks, guest);
  CountFromZero(registry, kGuests);
  EXPECT_EQ(registry.Render(),
            "# HELP bar_closed_total How often it closed.\n# TYPE bar_closed_total counter\nbar_closed_total 0\n"
            "# HELP bar_refused_total Refused.\n# TYPE bar_refused_total counter\n"
            "bar_refused_total{guest=\"a\",kind=\"coffee\",why=\"old\"} 0\n"
            "bar_refused_total{guest=\"a\",kind=\"tea\",why=\"cold\"} 0\n"
            "# HELP bar_served_total Served.\n# TYPE bar_served_total counter\n"
            "bar_served_total{guest=\"a\",kind=\"coffee\"} 0\nbar_served_total{guest=\"a\",kind=\"tea\"} 3\n");
}

TEST(MetricFamilyDeathTest, OtherLabelsOrAnotherTypeAreRefused) {
  MetricRegistry registry;
  EXPECT_DEATH(CounterOf(registry, kDrinks, {{"guest", "a"}}), "");
  EXPECT_DEATH(CounterOf(registry, kDrinks, {{"guest", "a"}, {"kind", "tea"}, {"size", "large"}}), "");
  EXPECT_DEATH(GaugeOf(registry, kDrinks, {{"guest", "a"}, {"kind", "tea"}}), "");
}

}  // namespace
}  // namespace evenkeel::base::metric_family_test
