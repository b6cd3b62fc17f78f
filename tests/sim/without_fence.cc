// A build that is broken on purpose: writes to members pass the fence unseen and state no epoch. Runs a scenario under one seed
// after another until a checker finds that out; exit status 1 when none does.
#include <charconv>
#include <iostream>
#include <string_view>

#include "base/log.h"
#include "sim/run/simulation.h"

int main(int argc, char** argv) {
  using namespace evenkeel;
  uint64_t seeds = 0;
  const std::string_view count = argc == 3 ? argv[2] : "";
  std::from_chars(count.data(), count.data() + count.size(), seeds);
  if (seeds == 0) {
    std::cerr << "usage: evenkeel_without_fence SCENARIO SEEDS\n";
    return 2;
  }
  const auto scenario = sim::ReadScenario(argv[1]);
  if (!scenario || !base::log::Configure(base::log::Level::kOff)) {
    std::cerr << (scenario ? "the log cannot be silenced" : scenario.error().message()) << '\n';
    return 2;
  }
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const sim::SimulationReport report = sim::Simulation(*scenario, {.seed = seed, .states_epochs = false}).Run();
    for (const sim::Violation& violation : report.violations) {
      if (violation.checker != "one-writer") continue;
      std::cout << "seed " << seed << ": " << violation.what << '\n';
      return 0;
    }
  }
  std::cerr << "no checker has found out in " << seeds << " seeds that replicas write without a fence\n";
  return 1;
}
