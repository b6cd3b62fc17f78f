#include "sim/report/run_recorder.h"

#include <gtest/gtest.h>

#include "sim/report/report_data.h"
#include "sim/run/simulation.h"

namespace evenkeel::sim::run_recorder_test {
namespace {

using namespace std::chrono_literals;

constexpr char kBusy[] = R"(
name: busy
members: 2
replicas: 2
controllers: [writer, autoscaler, balancer]
duration: 6m
heal: 8m
quiet: 10s
rates: {replica-crash: 90s}
autoscaler: {scale-down-unneeded-time: 1m, scale-down-delay-after-add: 1m}
nodeGroups:
- {name: cheap, shape: {cpu: 4, memory: 16Gi}, min: 1, max: 4, price: 0.5, provisionDelay: 10s}
balancing: {movements: 4, window: 1m, interval: 5s, threshold: 1.2}
workload: {deployments: 3, replicas: {min: 1, max: 6}, cpu: [500m, 1], memory: [256Mi], period: 20s}
)";

SimulationReport RunBusy(bool record) {
  const auto scenario = ParseScenario(kBusy, "test");
  EXPECT_TRUE(scenario) << scenario.error().message();
  return Simulation(scenario.value_or(Scenario{}), {.seed = 3, .record = record}).Run();
}

TEST(RunRecorderTest, ARunIsTheSameWhetherItIsRecordedOrNot) {
  const SimulationReport recorded = RunBusy(true), bare = RunBusy(false);
  EXPECT_EQ(recorded.trace_hash, bare.trace_hash);
  EXPECT_EQ(base::ToText(ToJson(recorded)), base::ToText(ToJson(bare)));
  EXPECT_EQ(bare.recording, nullptr);
  ASSERT_NE(recorded.recording, nullptr);

  // What was written down agrees with what the report counts.
  const Recording& recording = *recorded.recording;
  EXPECT_EQ(std::ssize(recording.moves), recorded.movements.value_or(-1));
  for (const RecordedMove& move : recording.moves) {
    EXPECT_NE(move.from, move.to);
    EXPECT_NE(move.reason, "") << move.object;
  }
  ASSERT_TRUE(recorded.autoscaling);
  EXPECT_EQ(recording.waited, recorded.autoscaling->waited);
  const FleetSample& last = recording.samples.all().back();
  EXPECT_EQ(last.at, recorded.virtual_time);
  ASSERT_EQ(last.clusters.size(), 2u);
  for (const ClusterSample& cluster : last.clusters) {
    EXPECT_NE(cluster.owner, 0u) << "the fleet has converged";
    EXPECT_EQ(std::ssize(cluster.nodes), cluster.wanted);
    EXPECT_GT(cluster.running, 0);
  }
  ASSERT_EQ(recording.owners.size(), 2u);
  for (const auto& [member, changes] : recording.owners) {
    EXPECT_TRUE(std::ranges::is_sorted(changes, {}, &OwnerChange::at)) << member;
    EXPECT_EQ(changes.back().owner, recording.samples.TextOf(last.clusters[member == "member-1" ? 0 : 1].owner));
  }

  const base::Json data = ReportData(recorded);
  std::set<std::string> charts;
  for (const base::Json& series : base::FindArray(data, {"series"})) {
    charts.emplace(base::FindString(series, {"title"}));
    for (const base::Json& line : base::FindArray(series, {"lines"})) {
      EXPECT_EQ(base::FindArray(line, {"values"}).size(), base::FindArray(series, {"t"}).size());
    }
  }
  for (const char* chart : {"Nodes", "Pods", "Cost", "Controller replicas"}) EXPECT_TRUE(charts.contains(chart)) << chart;
  EXPECT_EQ(base::FindArray(data, {"moves"}).size(), recording.moves.size());
  EXPECT_FALSE(base::FindArray(data, {"frames"}).empty());
}

}  // namespace
}  // namespace evenkeel::sim::run_recorder_test
