#include "sim/report/report_data.h"

#include <gtest/gtest.h>

#include "sim/report/report_parts.h"
#include "sim/report/report_series.h"

namespace evenkeel::sim::report_data_test {
namespace {

using base::Json;
using namespace std::chrono_literals;

/// One cluster with so many nodes of one group, whose load follows the time.
FleetSample SampleAt(FleetSamples& samples, base::Duration at, size_t nodes, const std::string& owner = "replica-1") {
  ClusterSample cluster{.name = samples.NumberOf("member-1"), .owner = samples.NumberOf(owner)};
  for (size_t i = 0; i < nodes; ++i) {
    cluster.nodes.push_back({.name = samples.NumberOf("n" + std::to_string(i)),
                             .group = samples.NumberOf("spot"),
                             .load = static_cast<float>((at / 1s + static_cast<int64_t>(i)) % 10) / 10});
  }
  cluster.wanted = static_cast<int64_t>(nodes);
  cluster.prices[samples.NumberOf("spot")] = 0.5;
  return {.at = at, .clusters = {cluster}};
}

FleetSamples Sampled(base::Duration end, size_t nodes) {
  FleetSamples samples;
  for (base::Duration at = 0s; at <= end; at += 1s) {
    if (at >= samples.due()) samples.Add(SampleAt(samples, at, nodes));
  }
  return samples;
}

/// The clusters of each frame, put together again as the page does it.
std::vector<Json> Played(const base::JsonArray& frames) {
  std::vector<Json> played;
  Json state;
  for (const Json& frame : frames) {
    if (const Json* whole = base::Find(frame, {"clusters"}); whole != nullptr) {
      state = base::JsonObject{{"clusters", *whole}};
    } else {
      base::ApplyMergePatch(state, frame.at("patch"));
    }
    played.push_back(state.at("clusters"));
  }
  return played;
}

TEST(FleetSamplesTest, ALongRunIsSampledLessOften) {
  const FleetSamples samples = Sampled(24h, 1);
  const auto& all = samples.all();
  EXPECT_LE(all.size(), FleetSamples::kMost);
  EXPECT_GE(all.size(), FleetSamples::kMost / 2);
  EXPECT_EQ(all.front().at, 0s);
  const base::Duration apart = all[1].at - all[0].at;
  for (size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i].at - all[i - 1].at, apart) << i;
}

TEST(FleetSamplesTest, TextsKeepTheirNumbersWhenSamplesAreMoved) {
  FleetSamples samples;
  const uint32_t number = samples.NumberOf("member-1");
  EXPECT_EQ(samples.NumberOf("member-1"), number);
  EXPECT_EQ(samples.NumberOf(""), 0u);
  const FleetSamples moved = std::move(samples);
  EXPECT_EQ(moved.TextOf(number), "member-1");
}

TEST(PlaybackFramesTest, PatchesGiveTheFleetAsItWas) {
  FleetSamples samples;
  samples.Add(SampleAt(samples, 0s, 2));
  samples.Add(SampleAt(samples, 1s, 3, ""));
  samples.Add(SampleAt(samples, 2s, 1));
  const base::JsonArray frames = PlaybackFrames(samples);
  const std::vector<Json> played = Played(frames);
  ASSERT_EQ(played.size(), 3u);
  const auto nodes = [&](size_t frame) { return base::FindObject(played[frame], {"member-1", "nodes"}); };
  EXPECT_EQ(nodes(0).size(), 2u);
  EXPECT_EQ(nodes(1).size(), 3u);
  EXPECT_EQ(nodes(2).size(), 1u);
  EXPECT_EQ(base::ToText(Json(nodes(1).at("n2").at(1))), "\"Ready\"");
  EXPECT_EQ(base::FindString(played[0], {"member-1", "owner"}), "replica-1");
  EXPECT_EQ(base::Find(played[1], {"member-1", "owner"}), nullptr) << "nobody is nothing";
  EXPECT_EQ(base::FindString(played[2], {"member-1", "owner"}), "replica-1");
}

TEST(PlaybackFramesTest, ThousandsOfNodesStandTogetherAndTheFileStaysSmall) {
  const FleetSamples samples = Sampled(4min, 3'000);
  size_t last = 0, last_total = 0, begun = 0;
  const base::JsonArray frames = PlaybackFrames(samples, [&](size_t done, size_t total) {
    begun += done == 1 ? 1 : 0;
    EXPECT_EQ(done, done == 1 ? 1 : last + 1);
    EXPECT_LE(done, total);
    last = done;
    last_total = total;
  });
  EXPECT_GT(begun, 1u) << "they were too large at first";
  EXPECT_EQ(last, frames.size());
  EXPECT_EQ(last_total, frames.size());
  EXPECT_LT(base::ToText(Json(frames)).size(), kFramesBytesMax * 11 / 10);
  const std::vector<Json> played = Played(frames);
  const base::JsonObject& cells = base::FindObject(played.back(), {"member-1", "nodes"});
  EXPECT_LE(cells.size(), kCellsMax);
  int64_t nodes = 0;
  for (const auto& [name, cell] : cells) nodes += cell.at(3).to_number<int64_t>();
  EXPECT_EQ(nodes, 3'000);
}

TEST(ReportSeriesTest, CostIsPriceTimesHours) {
  const FleetSamples samples = Sampled(2h, 3);
  const auto hours = HoursOfGroups(samples);
  EXPECT_NEAR(hours.at("spot").node_hours, 6, 0.02);
  EXPECT_NEAR(hours.at("spot").cost, 3, 0.01);
  bool found = false;
  for (const Json& series : ReportSeries(samples)) {
    if (base::FindString(series, {"title"}) != "Cost") continue;
    found = true;
    EXPECT_EQ(series.at("lines").at(0).at("values").at(5).to_number<double>(), 1.5);
  }
  EXPECT_TRUE(found);
}

TEST(ReportSeriesTest, GroupsOfOneNameMayCostDifferentlyInClusters) {
  FleetSamples samples;
  for (const base::Duration at : {0s, 3600s}) {
    FleetSample sample = SampleAt(samples, at, 2);
    ClusterSample dear = sample.clusters.front();
    dear.name = samples.NumberOf("member-2");
    dear.prices[samples.NumberOf("spot")] = 4;
    sample.clusters.push_back(std::move(dear));
    samples.Add(std::move(sample));
  }
  EXPECT_NEAR(HoursOfGroups(samples).at("spot").cost, 2 * 0.5 + 2 * 4, 1e-9);
  for (const Json& series : ReportSeries(samples)) {
    if (base::FindString(series, {"title"}) != "Cost") continue;
    EXPECT_EQ(series.at("lines").at(0).at("values").at(0).to_number<double>(), 9);
  }
}

TEST(ReportDataTest, MovesThatDoNotFitAreCounted) {
  SimulationReport report;
  auto recording = std::make_shared<Recording>();
  recording->samples.Add(SampleAt(recording->samples, 0s, 1));
  recording->moves.resize(kReportRowsMax);
  report.recording = recording;
  Json data = ReportData(report);
  EXPECT_EQ(data.at("movesTotal").to_number<size_t>(), kReportRowsMax);
  EXPECT_FALSE(base::ToText(data.at("facts")).contains("of 2001"));
  recording->moves.resize(kReportRowsMax + 1);
  data = ReportData(report);
  EXPECT_EQ(base::FindArray(data, {"moves"}).size(), kReportRowsMax);
  EXPECT_EQ(data.at("movesTotal").to_number<size_t>(), kReportRowsMax + 1);
  EXPECT_TRUE(base::ToText(data.at("facts")).contains(R"(["Moves in the table","the first 2000 of 2001"])"))
      << base::ToText(data.at("facts"));
}

TEST(ReportDataTest, HandoversSayHowLongAndWhy) {
  SimulationReport report;
  report.scenario = "test";
  report.virtual_time = 100s;
  report.timeline = {{10s, "replica-1", "fault replica-crash", ""}, {11s, "member-1", "owner", "replica-2/2 epoch 2"}};
  auto recording = std::make_shared<Recording>();
  recording->samples.Add(SampleAt(recording->samples, 0s, 1));
  recording->owners["member-1"] = {{1s, "replica-1", ""}, {10s, "", "replica-1 has ended"}, {25s, "replica-2", ""}};
  recording->waited = {1s, 2s};
  report.recording = recording;
  report.violations.push_back({5s, "one-writer", "two of them"});
  const Json data = ReportData(report);
  const auto table = [&](std::string_view title) {
    for (const Json& each : base::FindArray(data, {"tables"})) {
      if (base::FindString(each, {"title"}) == title) return base::ToText(each.at("rows"));
    }
    return std::string("none");
  };
  EXPECT_NE(table("Hand-overs").find(R"(["0:00:25","member-1","replica-1","replica-2",)"), std::string::npos)
      << table("Hand-overs");
  EXPECT_NE(table("Hand-overs").find("replica-1 has ended"), std::string::npos);
  EXPECT_EQ(table("Broken checks"), R"([["0:00:05","one-writer","two of them"]])");
  EXPECT_EQ(table("What happened"), R"([["0:00:10","replica-1","fault replica-crash",""]])") << "owners have a picture";
  EXPECT_EQ(base::FindArray(data, {"distributions"}).size(), 1u);
  EXPECT_EQ(base::FindArray(data, {"owners", "clusters", "member-1"}).size(), 3u);
}

}  // namespace
}  // namespace evenkeel::sim::report_data_test
