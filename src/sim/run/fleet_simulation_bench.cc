// An hour of the whole embedded fleet: three members, three replicas, a crash after twenty minutes.
#include <benchmark/benchmark.h>

#include "base/log.h"
#include "sim/run/fleet_simulation.h"

namespace evenkeel::sim {
namespace {

using namespace std::chrono_literals;

void BM_HourOfAFleet(benchmark::State& state) {
  if (auto quiet = base::log::Configure(base::log::Level::kOff); !quiet) return state.SkipWithError("cannot silence the log");
  for (auto _ : state) {
    FleetSimulation fleet({.seed = 7});
    if (!fleet.Start()) return state.SkipWithError("the fleet did not start");
    fleet.executor().RunFor(20min);
    if (!fleet.replicas().Crash(fleet.Owners().at("member-1").front())) return state.SkipWithError("nobody to crash");
    fleet.executor().RunFor(40min);
    if (!fleet.Settled(3)) return state.SkipWithError("a member has no owner after an hour");
    state.counters["steps"] = static_cast<double>(fleet.executor().steps());
  }
}
BENCHMARK(BM_HourOfAFleet)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace evenkeel::sim
