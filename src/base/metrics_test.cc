#include "base/metrics.h"

#include <gtest/gtest.h>

namespace evenkeel::base::metrics_test {
namespace {

TEST(MetricsTest, RendersFamiliesByNameAndMetricsByLabels) {
  MetricRegistry registry;
  registry.GetGauge("zeta", "Last letter.").Set(2.5);
  registry.GetCounter("requests_total", "Requests.", {{"verb", "list"}}).Add(3);
  registry.GetCounter("requests_total", "Requests.", {{"verb", "get"}}).Add();
  EXPECT_EQ(registry.Render(),
            "# HELP requests_total Requests.\n# TYPE requests_total counter\n"
            "requests_total{verb=\"get\"} 1\nrequests_total{verb=\"list\"} 3\n"
            "# HELP zeta Last letter.\n# TYPE zeta gauge\nzeta 2.5\n");
}

TEST(MetricsTest, GivesTheSameMetricForTheSameLabels) {
  MetricRegistry registry;
  registry.GetCounter("hits_total", "Hits.").Add(2);
  registry.GetCounter("hits_total", "Hits.").Add(3);
  EXPECT_EQ(registry.GetCounter("hits_total", "Hits.").value(), 5);
}

TEST(MetricsTest, HistogramsCountInBucketsOfSeconds) {
  MetricRegistry registry;
  Histogram histogram = registry.GetHistogram("duration_seconds", "How long.", {}, {0.1, 1});
  histogram.Observe(0.05);
  histogram.Observe(0.5);
  histogram.Observe(5);
  const std::string text = registry.Render();
  EXPECT_NE(text.find("duration_seconds_bucket{le=\"0.1\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("duration_seconds_bucket{le=\"1\"} 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("duration_seconds_bucket{le=\"+Inf\"} 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("duration_seconds_count 3\n"), std::string::npos) << text;
}

TEST(MetricsTest, ReplacingAFamilyRemovesLabelSetsThatAreGone) {
  MetricRegistry registry;
  registry.ReplaceGauges("owner", "Who.",
                         {{{{"cluster", "a"}, {"replica", "0"}}, 1}, {{{"cluster", "b"}, {"replica", "1"}}, 1}});
  registry.ReplaceGauges("owner", "Who.",
                         {{{{"cluster", "a"}, {"replica", "2"}}, 1}, {{{"cluster", "b"}, {"replica", "1"}}, 4}});
  EXPECT_EQ(registry.Render(),
            "# HELP owner Who.\n# TYPE owner gauge\n"
            "owner{cluster=\"a\",replica=\"2\"} 1\nowner{cluster=\"b\",replica=\"1\"} 4\n");
  registry.ReplaceGauges("owner", "Who.", {});
  EXPECT_EQ(registry.Render(), "");
}

TEST(MetricsTest, HandlesWithoutARegistryCountNothing) {
  Counter counter;
  counter.Add(5);
  Gauge gauge;
  gauge.Set(1);
  Histogram().Observe(1);
  EXPECT_EQ(counter.value(), 0);
  EXPECT_EQ(gauge.value(), 0);
}

}  // namespace
}  // namespace evenkeel::base::metrics_test
