#include "sim/run/fleet_simulation.h"

#include <gtest/gtest.h>

namespace evenkeel::sim::fleet_simulation_test {
namespace {

using namespace std::chrono_literals;

base::Status Scale(client::Client& hub, int replicas) {
  auto patched = hub.Patch(kube::resources::Deployments(), "evenkeel", "evenkeel-controller", client::PatchType::kMerge,
                           base::JsonObject{{"spec", base::JsonObject{{"replicas", replicas}}}});
  if (!patched) return base::Fail(patched.error());
  return {};
}

/// Fifteen minutes with a crash after five; the trace hash of the whole run.
uint64_t CrashedRun(uint64_t seed) {
  FleetSimulation fleet({.seed = seed});
  EXPECT_TRUE(fleet.Start());
  EXPECT_TRUE(fleet.executor().RunUntil([&] { return fleet.Settled(3); }, 30s));
  fleet.executor().RunFor(5min);
  EXPECT_TRUE(fleet.Settled(3));
  const std::string victim = fleet.Owners().at("member-1").front();
  EXPECT_TRUE(fleet.replicas().Crash(victim));
  fleet.executor().RunUntilIdle();
  EXPECT_TRUE(fleet.executor().RunUntil([&] { return fleet.Settled(3); }, 60s));
  fleet.executor().RunFor(10min);
  EXPECT_TRUE(fleet.Settled(3));
  return fleet.executor().trace_hash();
}

TEST(FleetSimulationTest, ARunWithACrashIsTheSameForTheSameSeed) {
  const uint64_t hash = CrashedRun(7);
  EXPECT_EQ(CrashedRun(7), hash);
  EXPECT_NE(CrashedRun(8), hash);
}

TEST(FleetSimulationTest, EveryMemberHasOneOwnerAfterEachScaling) {
  FleetSimulation fleet({.seed = 3, .members = 7});
  ASSERT_TRUE(fleet.Start());
  ASSERT_TRUE(fleet.executor().RunUntil([&] { return fleet.Settled(3); }, 60s));
  for (int replicas : {5, 2, 4, 1, 3}) {
    ASSERT_TRUE(Scale(fleet.hub(), replicas));
    EXPECT_TRUE(fleet.executor().RunUntil([&] { return fleet.Settled(static_cast<size_t>(replicas)); }, 90s)) << replicas;
    fleet.executor().RunFor(1min);
    EXPECT_TRUE(fleet.Settled(static_cast<size_t>(replicas))) << replicas;
  }
}

TEST(FleetSimulationTest, AReplicaWhosePodIsGoneIsReplacedAfterThreeHeartbeats) {
  FleetSimulation fleet({.seed = 5});
  ASSERT_TRUE(fleet.Start());
  ASSERT_TRUE(fleet.executor().RunUntil([&] { return fleet.Settled(3); }, 60s));
  const std::string victim = fleet.Owners().at("member-2").front();
  fleet.replicas().Crash(victim);
  ASSERT_TRUE(fleet.hub().Delete(kube::resources::Pods(), "evenkeel", victim, {.grace_period_seconds = 0}));
  fleet.executor().RunFor(15s);
  EXPECT_TRUE(fleet.Owners().at("member-2").empty()) << "its claim has not run out yet";
  EXPECT_TRUE(fleet.executor().RunUntil([&] { return fleet.Settled(3); }, 30s));
  EXPECT_NE(fleet.Owners().at("member-2").front(), victim);
}

}  // namespace
}  // namespace evenkeel::sim::fleet_simulation_test
