// Small clusters in any state and with any settings: whatever the reader takes can be planned, told and explained, and the plan
// can be carried out.
#include <cstddef>
#include <cstdint>

#include "balancing/input/cluster_reader.h"
#include "balancing/input/odd_states_testing.h"
#include "balancing/plan/planning_testing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace balancing = evenkeel::balancing;
  balancing::testing::Draws draws({data, size});
  const balancing::Settings settings = balancing::testing::OddSettings(draws);
  const auto file =
      balancing::ReadCluster(balancing::testing::OddState(draws).Text(), "fuzz", {.settings = settings, .node_types = {}});
  if (file) balancing::testing::PlanAndCheck(file->cluster, settings);
  return 0;
}
