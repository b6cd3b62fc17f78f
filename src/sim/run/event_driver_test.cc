#include "sim/run/event_driver.h"

#include <gtest/gtest.h>

#include "sim/run/simulation.h"

namespace evenkeel::sim::event_driver_test {
namespace {

constexpr char kScenario[] = R"(
name: events
members: 1
replicas: 1
controllers: [autoscaler]
duration: 6m
heal: 5m
quiet: 0s
checkers: [one-writer, limits, schedulable]
autoscaler:
  scan-interval: 5s
  scale-down-delay-after-add: 10s
  expander: price
  max-node-provision-time: 1m
  scale-down-unready-time: 1m
  initial-node-group-backoff-duration: 10s
  max-node-group-backoff-duration: 30s
nodeGroups:
- {name: a, shape: {cpu: 2}, max: 6, price: 1, provisionDelay: 10s, zone: zone-a}
- {name: b, shape: {cpu: 2}, min: 1, max: 6, price: 9, provisionDelay: 10s, zone: zone-b}
workload: {deployments: 1, replicas: {min: 6, max: 6}, cpu: [1], memory: [256Mi], period: 30s}
)";

SimulationReport Simulate(const std::string& events) {
  const auto scenario = ParseScenario(kScenario + events, "test");
  EXPECT_TRUE(scenario) << scenario.error().message();
  return Simulation(scenario.value_or(Scenario{}), {.seed = 1, .timeline = true}).Run();
}

std::vector<std::string> Happened(const SimulationReport& report) {
  std::vector<std::string> found;
  for (const TimelineEntry& entry : report.timeline) {
    if (entry.event == "event") found.push_back(std::to_string(entry.at / std::chrono::seconds(1)) + " " + entry.detail);
  }
  return found;
}

TEST(EventDriverTest, NodesOfAZoneThatFailsAreGivenUp) {
  const SimulationReport quiet = Simulate("");
  EXPECT_TRUE(quiet.passed());
  EXPECT_TRUE(Happened(quiet).empty());
  EXPECT_EQ(quiet.autoscaling->gone, 0);
  const SimulationReport report = Simulate("events: [{at: 1m, kind: zone-outage, zone: zone-a, for: 4m}]");
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(Happened(report),
            (std::vector<std::string>{"60 outage of zone-a for 4m0s", "300 end of outage of zone-a for 4m0s"}));
  EXPECT_GE(report.autoscaling->gone, 1) << "a node that is off is given up";
}

TEST(EventDriverTest, AQuotaIsWhatTheCloudHasRoomFor) {
  const std::string grows =
      "workload: {deployments: 1, replicas: {min: 1, max: 16}, cpu: [1], memory: [256Mi], period: 5s, "
      "load: {0s: 0.2, 1m: 0.2, 2m: 1}}\n";
  std::string text = kScenario;
  text.erase(text.find("workload:"));
  const auto nodes = [&](const std::string& events) {
    const auto scenario = ParseScenario(text + grows + events, "test");
    EXPECT_TRUE(scenario) << scenario.error().message();
    Simulation simulation(scenario.value_or(Scenario{}), {.seed = 1, .timeline = true});
    return simulation.Run().autoscaling->joined;
  };
  const int64_t free = nodes("");
  const int64_t limited = nodes(R"(events:
- {at: 30s, kind: quota, group: a, nodes: 2, for: 20m}
- {at: 30s, kind: quota, group: b, nodes: 2, for: 20m}
)");
  EXPECT_GT(free, 6);
  EXPECT_LT(limited, free);
}

TEST(EventDriverTest, TheLoadIsStraightInBetween) {
  WorkloadScenario workload;
  using namespace std::chrono_literals;
  EXPECT_EQ(LoadAt(workload, 5min), 1);
  workload.load = {{60s, 0.25}, {120s, 0.75}};
  EXPECT_EQ(LoadAt(workload, 0s), 0.25);
  EXPECT_EQ(LoadAt(workload, 60s), 0.25);
  EXPECT_EQ(LoadAt(workload, 90s), 0.5);
  EXPECT_EQ(LoadAt(workload, 10min), 0.75);
}

}  // namespace
}  // namespace evenkeel::sim::event_driver_test
