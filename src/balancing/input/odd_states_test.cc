// No state and no settings that the reader takes are too odd for a plan.
#include <gtest/gtest.h>

#include "balancing/input/cluster_reader.h"
#include "balancing/input/odd_states_testing.h"
#include "balancing/plan/planning_testing.h"
#include "base/random.h"

namespace evenkeel::balancing::odd_states_test {
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
}  // namespace evenkeel::balancing::odd_states_test
