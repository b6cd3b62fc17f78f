#include <gtest/gtest.h>

#include "sim/run/simulation.h"

namespace evenkeel::sim::balancer_simulation_test {
namespace {

constexpr char kUneven[] = R"(
name: uneven
members: 1
nodes: 3
replicas: 1
controllers: [writer, balancer]
duration: 4m
heal: 5m
quiet: 1m
checkers: [one-writer, no-orphan, revisions, writes, budgets, room, throttles, no-way-back, energy, together]
balancing: {movements: 4, window: 1m, interval: 5s, threshold: 1.2}
workload: {deployments: 3, replicas: {min: 1, max: 6}, cpu: [250m, 1], memory: [256Mi], period: 20s, budgets: 1}
)";

SimulationReport Simulate(uint64_t seed, const std::string& more = "") {
  const auto scenario = ParseScenario(kUneven + more, "test");
  EXPECT_TRUE(scenario) << scenario.error().message();
  return Simulation(scenario.value_or(Scenario{}), {.seed = seed}).Run();
}

std::string Violations(const SimulationReport& report) {
  std::string text;
  for (const Violation& violation : report.violations) text += violation.checker + ": " + violation.what + "\n";
  return text;
}

TEST(BalancerSimulationTest, PodsMoveAndNothingIsBroken) {
  int64_t movements = 0;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const SimulationReport report = Simulate(seed);
    EXPECT_TRUE(report.passed()) << seed << ": " << Violations(report);
    ASSERT_TRUE(report.movements);
    movements += *report.movements;
  }
  EXPECT_GT(movements, 2);
}

TEST(BalancerSimulationTest, TheSameSeedGivesTheSameRun) {
  EXPECT_EQ(Simulate(4, "rates: {member-crash: 1m, replica-crash: 1m}").trace_hash,
            Simulate(4, "rates: {member-crash: 1m, replica-crash: 1m}").trace_hash);
}

}  // namespace
}  // namespace evenkeel::sim::balancer_simulation_test
