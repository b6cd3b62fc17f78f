// No state and no settings that the reader takes are too odd for a plan.
#include <gtest/gtest.h>

#include "base/random.h"
#include "controllers/balancer/cluster_reader.h"
#include "controllers/balancer/odd_states_testing.h"
#include "controllers/balancer/planning_testing.h"

namespace evenkeel::controllers::balancer::odd_states_test {
namespace {

TEST(OddStatesTest, WhateverIsReadCanBePlannedToldAndCarriedOut) {
  base::Random random(1);
  size_t planned = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<uint8_t> bytes(600);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.Below(256));
    testing::Draws draws(bytes);
    const Settings settings = testing::OddSettings(draws);
    const auto file = ReadCluster(testing::OddState(draws).Text(), "s", {.settings = settings, .node_types = {}});
    if (!file) continue;
    ++planned;
    testing::PlanAndCheck(file->cluster, settings);
  }
  EXPECT_GT(planned, 100u);
}

}  // namespace
}  // namespace evenkeel::controllers::balancer::odd_states_test
