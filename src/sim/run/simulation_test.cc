#include "sim/run/simulation.h"

#include <gtest/gtest.h>

#include "sim/world/fault_kinds.h"

namespace evenkeel::sim::simulation_test {
namespace {

using namespace std::chrono_literals;

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

constexpr char kCalm[] = "name: calm\nmembers: 5\nreplicas: 3\nduration: 30s\nheal: 4m\nquiet: 1m\n";
constexpr char kRough[] =
    "name: rough\nmembers: 6\nnodes: {min: 0, max: 1}\nreplicas: {min: 2, max: 4, start: 3}\nduration: 2m\nheal: 8m\nquiet: "
    "0s\n"
    "faults: all\noptions: hostile\n";

TEST(SimulationTest, ACalmFleetConvergesAndIsQuiet) {
  const SimulationReport report = Simulation(Parse(kCalm), {.seed = 1}).Run();
  EXPECT_TRUE(report.passed()) << Violations(report);
  EXPECT_LE(report.converged, 150s);
  EXPECT_TRUE(report.faults.empty());
  EXPECT_GT(report.plans, 0);
  EXPECT_GT(report.writes.at("member update configmaps"), 100);
}

TEST(SimulationTest, TheSameSeedGivesTheSameRunAndAnotherADifferentOne) {
  const Scenario scenario = Parse(kRough);
  const SimulationReport first = Simulation(scenario, {.seed = 11}).Run();
  const SimulationReport again = Simulation(scenario, {.seed = 11, .timeline = true}).Run();
  EXPECT_EQ(first.trace_hash, again.trace_hash) << "also when somebody looks on";
  EXPECT_EQ(first.steps, again.steps);
  EXPECT_EQ(first.faults, again.faults);
  EXPECT_NE(Simulation(scenario, {.seed = 12}).Run().trace_hash, first.trace_hash);
}

TEST(SimulationTest, EveryFaultStrikes) {
  std::string text = "name: one\nmembers: 4\nreplicas: {min: 2, max: 4, start: 3}\nduration: 1m\nheal: 8m\nquiet: 0s\n";
  for (const FaultKind& kind : FaultKinds()) {
    const std::string name(kind.name);
    if (name.starts_with("cloud-")) continue;            // where there are node groups: AutoscalerSimulationTest
    if (name.starts_with("device-")) continue;           // where pods claim devices: DevicesSimulationTest
    if (kind.what.starts_with("ensembles: ")) continue;  // where there are servers: EveryFaultOfEnsemblesStrikes
    const std::string rate = kind.rate == FaultKind::Rate::kPeriod ? "5s" : "0.02";
    const bool always = kind.rate == FaultKind::Rate::kAlways;
    const SimulationReport report =
        Simulation(Parse(text + (always ? "faults: [" + name + "]\n" : "rates: {" + name + ": " + rate + "}\n")), {.seed = 3})
            .Run();
    EXPECT_TRUE(report.passed()) << name << ": " << Violations(report);
    if (always) continue;
    int64_t struck = 0;
    for (const auto& [struck_kind, count] : report.faults) struck += count;
    EXPECT_GT(struck, 0) << name;
  }
}

TEST(SimulationTest, EveryFaultOfEnsemblesStrikes) {
  const std::string text =
      "name: one\nmembers: 3\nnodes: 2\nreplicas: 2\ncontrollers: [zookeeper]\nduration: 2m\nheal: 8m\nquiet: 0s\n"
      "ensemble: {voters: {min: 3, max: 3}, clusters: {min: 3, max: 3}}\n";
  for (const FaultKind& kind : FaultKinds()) {
    if (!kind.what.starts_with("ensembles: ")) continue;
    const std::string name(kind.name);
    const std::string rate = kind.rate == FaultKind::Rate::kPeriod ? "10s" : "0.02";
    const bool always = kind.rate == FaultKind::Rate::kAlways;
    const Scenario scenario = Parse(text + (always ? "faults: [" + name + "]\n" : "rates: {" + name + ": " + rate + "}\n"));
    // What is on or off is drawn.
    bool struck = false;
    for (uint64_t seed = 3; !struck && seed < (always ? 9 : 4); ++seed) {
      const SimulationReport report = Simulation(scenario, {.seed = seed}).Run();
      EXPECT_TRUE(report.passed()) << name << ": " << Violations(report);
      struck = report.faults.contains(name);
    }
    EXPECT_TRUE(struck) << name;
  }
}

TEST(SimulationTest, CompatibleModeHoldsUpToo) {
  const SimulationReport report =
      Simulation(Parse("name: compatible\nmode: compatible\nmembers: 5\nreplicas: {min: 2, max: 4, start: 3}\nduration: 3m\n"
                       "heal: 8m\nquiet: 0s\nrates: {replica-crash: 40s, scale: 60s}\n"),
                 {.seed = 2})
          .Run();
  EXPECT_TRUE(report.passed()) << Violations(report);
  EXPECT_GT(report.faults.at("replica-crash"), 0);
}

TEST(SimulationTest, AKilledOwnerIsReplacedAndTheTimelineTells) {
  const SimulationReport report =
      Simulation(Parse("name: crash\nmembers: 6\nreplicas: 3\nduration: 2m\nquiet: 0s\nrates: {replica-crash: 30s}\n"),
                 {.seed = 5, .timeline = true})
          .Run();
  EXPECT_TRUE(report.passed()) << Violations(report);
  EXPECT_FALSE(report.handovers.empty());
  EXPECT_GT(report.longest_unowned, 10s);
  std::map<std::string, int> events;
  for (const TimelineEntry& entry : report.timeline) ++events[entry.event];
  for (const char* event : {"start", "killed", "owner", "plan", "fault replica-crash", "healed", "converged"}) {
    EXPECT_GT(events[event], 0) << event;
  }
  EXPECT_TRUE(std::ranges::is_sorted(report.timeline, {}, &TimelineEntry::at));
}

TEST(SimulationTest, HostileOptionsStayWithinTheirContracts) {
  const Scenario scenario = Parse("name: x\noptions: hostile\n");
  std::set<int64_t> moves;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto options = DrawOptions(scenario, base::Random(seed));
    EXPECT_GE(options.lease_duration, 5s);
    EXPECT_LE(options.lease_duration, 30s);
    // A request's time-out and what two clocks differ by fit into the margin.
    EXPECT_GT(options.lease_margin, options.lease_margin * 3 / 5 + options.lease_duration / 50);
    moves.insert(options.moves_per_minute);
  }
  EXPECT_EQ(moves, (std::set<int64_t>{0, 1, 10, 100, 1000}));
}

TEST(SimulationTest, GivenOptionsAreTaken) {
  const auto options =
      DrawOptions(Parse("name: x\noptions: {lease: 20s, replica-lease: 5s, moves-per-minute: 3}\n"), base::Random(1));
  EXPECT_EQ(options.lease_duration, 20s);
  EXPECT_EQ(options.lease_margin, 4s) << "in proportion";
  EXPECT_EQ(options.replica_lease_duration, 5s);
  EXPECT_EQ(options.moves_per_minute, 3);
}

}  // namespace
}  // namespace evenkeel::sim::simulation_test
