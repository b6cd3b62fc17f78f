// Small clusters in any state and with any settings: whatever the reader takes can be planned, told and explained, and the plan
// can be carried out.
#include <cstddef>
#include <cstdint>

#include "controllers/balancer/cluster_reader.h"
#include "controllers/balancer/odd_states_testing.h"
#include "controllers/balancer/planning_testing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace balancer = evenkeel::controllers::balancer;
  balancer::testing::Draws draws({data, size});
  const balancer::Settings settings = balancer::testing::OddSettings(draws);
  const auto file =
      balancer::ReadCluster(balancer::testing::OddState(draws).Text(), "fuzz", {.settings = settings, .node_types = {}});
  if (file) balancer::testing::PlanAndCheck(file->cluster, settings);
  return 0;
}
