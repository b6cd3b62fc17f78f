#include <gtest/gtest.h>

#include "sim/run/simulation.h"
#include "sim/world/fault_kinds.h"

namespace evenkeel::sim::devices_simulation_test {
namespace {

constexpr char kScarce[] = R"(
name: scarce
members: 1
replicas: 2
controllers: [writer, scheduler]
duration: 3m
heal: 6m
quiet: 1m
checkers: [one-writer, no-orphan, revisions, writes, devices-once, devices-claimed, devices-published, devices-freed,
           devices-placed]
nodeGroups:
- {name: many, shape: {cpu: 8, memory: 16Gi}, min: 2, max: 3, provisionDelay: 5s, deleteDelay: 5s, devices: 4}
workload: {deployments: 4, replicas: {min: 1, max: 4}, cpu: [250m], memory: [256Mi], period: 10s, jobs: true, devices: 0.9}
)";

Scenario ParseDevices(const std::string& more = "") {
  const auto scenario = ParseScenario(kScarce + more, "test");
  EXPECT_TRUE(scenario) << scenario.error().message();
  return scenario.value_or(Scenario{});
}

std::string Violations(const SimulationReport& report) {
  std::string text;
  for (const Violation& violation : report.violations) text += violation.checker + ": " + violation.what + "\n";
  return text;
}

TEST(DevicesSimulationTest, PodsGetDevices) {
  const SimulationReport report = Simulation(ParseDevices(), {.seed = 1}).Run();
  EXPECT_TRUE(report.passed()) << Violations(report);
  const auto allocations = report.writes.find("member update resourceclaims");
  ASSERT_NE(allocations, report.writes.end());
  EXPECT_GT(allocations->second, 10);
}

TEST(DevicesSimulationTest, TheSameSeedGivesTheSameRun) {
  const Scenario scenario = ParseDevices("rates: {device-slices: 10s, device-taint: 10s, replica-crash: 1m}\n");
  EXPECT_EQ(Simulation(scenario, {.seed = 4}).Run().trace_hash, Simulation(scenario, {.seed = 4}).Run().trace_hash);
}

TEST(DevicesSimulationTest, EveryFaultOfDevicesStrikes) {
  for (const FaultKind& kind : FaultKinds()) {
    const std::string name(kind.name);
    if (!name.starts_with("device-")) continue;
    const SimulationReport report = Simulation(ParseDevices("rates: {" + name + ": 10s}\n"), {.seed = 2}).Run();
    EXPECT_TRUE(report.passed()) << name << ": " << Violations(report);
    EXPECT_TRUE(report.faults.contains(name)) << name;
  }
}

}  // namespace
}  // namespace evenkeel::sim::devices_simulation_test
