#include "sim/report/report.h"

#include <gtest/gtest.h>

namespace evenkeel::sim::report_test {
namespace {

using namespace std::chrono_literals;

TEST(ReportTest, PercentilesAreOfTheSortedValues) {
  const std::vector<base::Duration> ten = {1s, 2s, 3s, 4s, 5s, 6s, 7s, 8s, 9s, 10s};
  EXPECT_EQ(Percentile(ten, 0.5), 5s);
  EXPECT_EQ(Percentile(ten, 0.9), 9s);
  EXPECT_EQ(Percentile(ten, 0.99), 10s);
  EXPECT_EQ(Percentile(ten, 0), 1s);
  EXPECT_EQ(Percentile({}, 0.5), 0s);
}

TEST(ReportTest, TheTimelineIsCsv) {
  EXPECT_EQ(TimelineCsv({{1500ms, "hub", "up", ""}, {2s, "a", "plan", "2 moves, \"all\""}}),
            "seconds,party,event,detail\n1.500,hub,up,\n2.000,a,plan,\"2 moves, \"\"all\"\"\"\n");
}

TEST(ReportTest, TheSummaryHasEveryNumber) {
  SimulationReport report;
  report.scenario = "faults";
  report.seed = 7;
  report.virtual_time = 90s;
  report.writes["hub update leases"] = 3;
  report.faults["scale"] = 2;
  report.handovers = {1s, 3s};
  report.violations.push_back({5s, "one-writer", "what"});
  report.trace_hash = 0xabc;
  const base::Json json = *base::ParseJson(base::ToText(ToJson(report)), "summary");
  EXPECT_EQ(base::FindInt(json, {"seed"}), 7);
  EXPECT_EQ(base::FindInt(json, {"writes", "hub update leases"}), 3);
  EXPECT_EQ(base::FindInt(json, {"faults", "scale"}), 2);
  EXPECT_EQ(base::FindInt(json, {"handovers", "count"}), 2);
  EXPECT_EQ(json.at("handovers").at("maxSeconds").to_number<double>(), 3.0);
  EXPECT_EQ(json.at("violations").at(0).at("checker").as_string(), "one-writer");
  EXPECT_EQ(base::FindString(json, {"traceHash"}), "0000000000000abc");
  EXPECT_FALSE(report.passed());
}

}  // namespace
}  // namespace evenkeel::sim::report_test
