// A fleet with an ensemble, as a whole: what single parts of it have had wrong.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/run/simulation.h"

namespace evenkeel::sim::rollout_simulation_test {
namespace {

using namespace std::chrono_literals;

constexpr char kEnsemble[] = "name: one\nmembers: 3\nnodes: 2\nreplicas: 2\ncontrollers: [zookeeper]\nheal: 10m\nquiet: 0s\n";

SimulationReport Simulate(const std::string& text, uint64_t seed) {
  const auto scenario = ParseScenario(kEnsemble + text, "test");
  EXPECT_TRUE(scenario) << scenario.error().message();
  return Simulation(scenario.value_or(Scenario{}), {.seed = seed, .timeline = true}).Run();
}

std::string ViolationsOf(const SimulationReport& report) {
  std::string text;
  for (const Violation& violation : report.violations) text += violation.checker + ": " + violation.what + "\n";
  return text;
}

TEST(RolloutSimulationTest, AHubThatStandsStillGoesOn) {
  const SimulationReport report =
      Simulate("duration: 3m\nrates: {stall: 0.002}\nensemble: {voters: {min: 3, max: 3}, clusters: {min: 3, max: 3}}\n", 12);
  EXPECT_TRUE(report.passed()) << ViolationsOf(report);
  const auto resumed = [&](const TimelineEntry& entry) { return entry.event == "resumed" && entry.party == "hub"; };
  EXPECT_GT(std::ranges::count_if(report.timeline, resumed), 0);
}

TEST(RolloutSimulationTest, TheLastWishAfterAFailureIsTheLast) {
  // The first seed whose run is expected to end so; each takes its time.
  constexpr uint64_t kSeed = 19;
  bool failed_at_the_end = false;
  for (uint64_t seed = kSeed; seed < kSeed + 10 && !failed_at_the_end; ++seed) {
    // Nothing but images that do not start, so that records fail where they are rolled back.
    const SimulationReport report = Simulate(
        "duration: 6m\nensemble: {voters: {min: 3, max: 3}, clusters: {min: 3, max: 3}, period: 40s, broken: 1}\n", seed);
    ASSERT_TRUE(report.passed()) << seed << ": " << ViolationsOf(report);
    const auto healed =
        std::ranges::find(report.timeline, std::string("healed"), [](const TimelineEntry& entry) { return entry.event; });
    ASSERT_NE(healed, report.timeline.end());
    for (auto entry = report.timeline.begin(); entry != healed; ++entry) {
      if (entry->event == "record") failed_at_the_end = entry->detail.find(" is Failed") != std::string::npos;
    }
    // What it wants then it has said before: no other wish is drawn.
    EXPECT_EQ(std::count_if(healed, report.timeline.end(), [](const TimelineEntry& entry) { return entry.event == "wish"; }), 0)
        << seed;
  }
  EXPECT_TRUE(failed_at_the_end) << "no run has ended with a record that had failed";
}

TEST(RolloutSimulationTest, ServersThatStandStillAreNotStoppedForIt) {
  // In each of these a majority was lost to it, as long as one answer that did not come counted.
  for (const uint64_t seed : {10, 36}) {
    const SimulationReport report = Simulate(
        "duration: 10m\nrates: {server-silent: 0.1, member-loss: 100s}\n"
        "ensemble: {voters: {min: 3, max: 3}, clusters: {min: 2, max: 2}, period: 40s}\n",
        seed);
    EXPECT_TRUE(report.passed()) << seed << ": " << ViolationsOf(report);
  }
}

TEST(RolloutSimulationTest, AClusterThatIsDeletedStopsNoServerAndJoinsAgain) {
  int64_t struck = 0, emptied = 0;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const SimulationReport report = Simulate(
        "duration: 4m\nfaults: [karmada-once]\nrates: {cluster-delete: 40s, hub-crash: 40s}\n"
        "ensemble: {voters: {min: 3, max: 3}, clusters: {min: 3, max: 3}, period: 60s}\n",
        seed);
    EXPECT_TRUE(report.passed()) << seed << ": " << ViolationsOf(report);
    struck += report.faults.at("cluster-delete");
    emptied += static_cast<int64_t>(report.faults.contains("karmada-once"));
  }
  EXPECT_GT(struck, 5);
  EXPECT_GT(emptied, 0);
}

}  // namespace
}  // namespace evenkeel::sim::rollout_simulation_test
