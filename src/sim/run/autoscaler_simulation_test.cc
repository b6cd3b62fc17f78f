#include <gtest/gtest.h>

#include "sim/checkers/autoscaler_checkers.h"
#include "sim/run/simulation.h"
#include "sim/world/fault_kinds.h"

namespace evenkeel::sim::autoscaler_simulation_test {
namespace {

Scenario Parse(const std::string& text) {
  const auto scenario = ParseScenario(text, "test");
  EXPECT_TRUE(scenario) << scenario.error().message();
  return scenario.value_or(Scenario{});
}

std::string Violations(const SimulationReport& report) {
  std::string text;
  for (const Violation& violation : report.violations) text += violation.checker + ": " + violation.what + "\n";
  return text;
}

constexpr char kElastic[] = R"(
name: elastic
members: 2
replicas: 2
controllers: [writer, autoscaler]
duration: 4m
heal: 6m
quiet: 2m
checkers: [one-writer, no-orphan, revisions, writes, undrainable, budgets, limits, flapping, schedulable, drained, given-back,
           own-nodes]
autoscaler: {scan-interval: 5s, scale-down-delay-after-add: 20s, scale-down-unneeded-time: 30s, max-node-provision-time: 90s,
             initial-node-group-backoff-duration: 20s, max-node-group-backoff-duration: 60s, expander: least-waste}
nodeGroups:
- {name: small, shape: {cpu: 2, memory: 8Gi}, max: 6, provisionDelay: 10s, deleteDelay: 5s}
workload: {deployments: 2, replicas: {min: 0, max: 6}, cpu: [500m, 1], period: 30s, jobs: true, budgets: 0.5, stubborn: 0.1}
)";

TEST(AutoscalerSimulationTest, NodesComeAndGoWithTheWorkload) {
  const SimulationReport report = Simulation(Parse(kElastic), {.seed = 1}).Run();
  EXPECT_TRUE(report.passed()) << Violations(report);
  ASSERT_TRUE(report.autoscaling);
  EXPECT_GT(report.autoscaling->joined, 3);
  EXPECT_GT(report.autoscaling->gone, 0);
  EXPECT_GT(report.autoscaling->waited.size(), 10u);
}

TEST(AutoscalerSimulationTest, TheSameSeedGivesTheSameRun) {
  const Scenario scenario = Parse(kElastic);
  const SimulationReport first = Simulation(scenario, {.seed = 4}).Run(), again = Simulation(scenario, {.seed = 4}).Run();
  EXPECT_EQ(first.trace_hash, again.trace_hash);
  EXPECT_NE(Simulation(scenario, {.seed = 5}).Run().trace_hash, first.trace_hash);
}

TEST(AutoscalerSimulationTest, EveryFaultOfTheCloudStrikes) {
  for (const FaultKind& kind : FaultKinds()) {
    const std::string name(kind.name);
    if (!name.starts_with("cloud-")) continue;
    const bool always = kind.rate == FaultKind::Rate::kAlways;
    const std::string asked = always ? "faults: [" + name + "]\n" : "rates: {" + name + ": 20s}\n";
    const SimulationReport report = Simulation(Parse(kElastic + asked), {.seed = always ? 1U : 2U}).Run();
    EXPECT_TRUE(report.passed()) << name << ": " << Violations(report);
    EXPECT_TRUE(report.faults.contains(name)) << name;
  }
}

TEST(AutoscalerSimulationTest, AnAutoscalerThatSleepsLeavesPodsWaitingAndThatIsFoundOut) {
  Scenario scenario = Parse(kElastic);
  scenario.autoscaler.push_back({"scan-interval", "1h"});
  scenario.autoscaler.push_back({"frequent-loops-enabled", "false"});
  scenario.quiet = std::chrono::minutes(10);
  const SimulationReport report = Simulation(scenario, {.seed = 1}).Run();
  ASSERT_FALSE(report.passed());
  EXPECT_EQ(report.violations.front().checker, "schedulable") << Violations(report);
}

/// Whether the checker has found something.
void ExpectFound(const std::string& checker, const SimulationReport& report) {
  EXPECT_NE(std::ranges::find(report.violations, checker, &Violation::checker), report.violations.end())
      << checker << "; " << Violations(report);
}

/// Makes instances that run and show a failure into ones that could not be made.
void TakeForNeverMade(providers::NodeGroups& groups) {
  for (providers::NodeGroup& group : groups.groups) {
    for (providers::Instance& instance : group.instances) {
      if (instance.error) instance.state = providers::Instance::State::kCreating;
    }
  }
}

void OverlookFailures(providers::NodeGroups& groups) {
  for (providers::NodeGroup& group : groups.groups) {
    for (providers::Instance& instance : group.instances) instance.error.reset();
  }
}

void OverlookClaims(providers::NodeGroups& groups) {
  for (providers::NodeGroup& group : groups.groups) group.set_aside.clear();
}

TEST(AutoscalerSimulationTest, WhoDeletesWhatOnlyShowsAFailureIsFoundOut) {
  const Scenario scenario = Parse(std::string(kElastic) + "rates: {cloud-warning: 10s}\n");
  EXPECT_TRUE(Simulation(scenario, {.seed = 1}).Run().passed());
  ExpectFound("drained", Simulation(scenario, {.seed = 1, .misread = TakeForNeverMade}).Run());
}

TEST(AutoscalerSimulationTest, WhoKeepsWhatHasFailedIsFoundOut) {
  Scenario scenario = Parse(std::string(kElastic) + "rates: {cloud-defect: 10s}\n");
  EXPECT_TRUE(Simulation(scenario, {.seed = 2}).Run().passed());
  scenario.autoscaler.push_back({"max-node-provision-time", "1h"});
  scenario.checkers.erase("schedulable");
  ExpectFound("given-back", Simulation(scenario, {.seed = 2, .misread = OverlookFailures}).Run());
}

TEST(AutoscalerSimulationTest, WhoDeletesNodesOfOtherMembersOrWhatTheyClaimIsFoundOut) {
  const Scenario scenario = Parse(std::string(kElastic) + "faults: [cloud-shared]\n");
  EXPECT_TRUE(Simulation(scenario, {.seed = 1}).Run().passed());
  ExpectFound("own-nodes", Simulation(scenario, {.seed = 1, .asks_elsewhere = false}).Run());
  ExpectFound("own-nodes", Simulation(scenario, {.seed = 1, .misread = OverlookClaims}).Run());
}

}  // namespace
}  // namespace evenkeel::sim::autoscaler_simulation_test
