#include "controllers/autoscaler/facts/utilization.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/scale_down/scale_down_testing.h"
#include "scheduling/devices/devices_testing.h"

namespace evenkeel::controllers::autoscaler::utilization_test {
namespace {

using namespace std::chrono_literals;
using scheduling::testing::ClaimMaker;
using scheduling::testing::NodeMaker;
using scheduling::testing::SliceMaker;
using scheduling::testing::WithClaim;
using testing::PodMaker;
using testing::World;

constexpr int64_t kPodCpu = 100, kPodMemory = 200'000;

class UtilizationTest : public ::testing::Test {
 protected:
  UtilizationTest() {
    world_.Node("n", 2000, 2'000'000);
    world_.Pod("p1", kPodCpu, kPodMemory, "n");
    world_.Pod("p2", kPodCpu, kPodMemory, "n");
    world_.Pod("none", -1, -1, "n");
  }
  std::expected<Utilization, const char*> Of(bool ignore_daemons = false, bool ignore_mirrors = false,
                                             std::string_view node = "n") {
    const ClusterView view = world_.View();
    return UtilizationCalculator(view).Of(world_.NodeOf(node), ignore_daemons, ignore_mirrors);
  }
  PodFacts& Pod(std::string_view name) { return world_.Pod(name, kPodCpu, kPodMemory, "n"); }

  World world_;
};

TEST_F(UtilizationTest, V25TheLargerOfCpuAndMemoryCounts) {
  EXPECT_DOUBLE_EQ(Of()->value, 0.2);
  EXPECT_DOUBLE_EQ(Of()->cpu, 0.1);
  EXPECT_EQ(Of()->resource, Utilization::Resource::kMemory);
}

TEST_F(UtilizationTest, V25IgnoredDaemonsCountNeitherAsUsedNorAsRoom) {
  Pod("ds1").daemon = true;
  PodFacts& custom = Pod("ds2");
  custom.daemon = true;
  custom.owner_kind = "CustomDaemonSet";
  EXPECT_DOUBLE_EQ(Of(true)->value, 0.25);
  EXPECT_DOUBLE_EQ(Of(false)->value, 0.4);
}

TEST_F(UtilizationTest, V25IgnoredMirrorPodsCountNeitherAsUsedNorAsRoom) {
  Pod("mirror").mirror = true;
  EXPECT_DOUBLE_EQ(Of(false, true)->value, 2.0 / 9);
}

TEST_F(UtilizationTest, V25DaemonsAndMirrorPodsCanBothBeIgnored) {
  world_.Remove("p2");
  Pod("mirror").mirror = true;
  Pod("ds").daemon = true;
  EXPECT_DOUBLE_EQ(Of(true, true)->value, 1.0 / 8);
}

TEST_F(UtilizationTest, V25PodsThatShouldLongHaveEndedDoNotCount) {
  PodMaker maker("gone", "100m", "200000");
  PodFacts& gone = world_.Pod(maker.On("n").Terminating());
  gone.deleted = world_.now - 10min;
  EXPECT_DOUBLE_EQ(Of()->value, 0.2);
  gone.deleted = world_.now - 20s;
  EXPECT_DOUBLE_EQ(Of()->value, 0.3);
}

TEST_F(UtilizationTest, V25SidecarsAndInitContainersCountAsTheSchedulerCountsThem) {
  world_.Remove("p2");
  const auto container = [](std::string_view name, std::string_view cpu, std::string_view memory, bool sidecar) {
    return "{\"name\":\"" + std::string(name) + "\"" + (sidecar ? ",\"restartPolicy\":\"Always\"" : "") +
           ",\"resources\":{\"requests\":{\"cpu\":\"" + std::string(cpu) + "\",\"memory\":\"" + std::string(memory) + "\"}}}";
  };
  PodMaker with_sidecar("sidecar", "100m", "200000"), with_init("init", "100m", "200000");
  with_sidecar.On("n").Spec("initContainers",
                            "[" + container("s", "50m", "100000", true) + "," + container("i", "5m", "100", false) + "]");
  with_init.On("n").Spec("initContainers", "[" + container("i", "50000m", "100000000", false) + "]");
  world_.Pod(with_sidecar);
  world_.Pod(with_init);
  EXPECT_DOUBLE_EQ(Of()->value, 50.25);
  EXPECT_DOUBLE_EQ(Of()->cpu, 25.125);
}

TEST_F(UtilizationTest, V25WithoutMemoryNothingCanBeSaid) {
  world_.Node("bare", 2000, -1);
  EXPECT_FALSE(Of(false, false, "bare").has_value());
}

TEST_F(UtilizationTest, V25NodesWithGpusAreJudgedByThemAlone) {
  testing::NodeMaker gpus("g", "2000m", "2000000", 100);
  world_.Node(gpus.Has(kGpuResources[0], "1")).gpu = "t4";
  PodMaker pod("train", "100m", "200000");
  world_.Pod(pod.On("g").Request(kGpuResources[0], "1"));
  EXPECT_DOUBLE_EQ(Of(false, false, "g")->value, 1);
  EXPECT_EQ(Of(false, false, "g")->resource, Utilization::Resource::kGpu);
  world_.Node("labelled", 2000, 2'000'000).gpu = "t4";
  EXPECT_DOUBLE_EQ(Of(false, false, "labelled")->value, 0);
}

TEST_F(UtilizationTest, AnyVendorsGpuMakesAGpuNodeWithoutALabel) {
  int named = 0;
  for (const std::string_view gpu : kGpuResources) {
    const std::string name = "g" + std::to_string(named++);
    testing::NodeMaker gpus(name, "2000m", "2000000", 100);
    world_.Node(gpus.Has(std::string(gpu), "4"));
    PodMaker pod("train-" + name, "100m", "200000");
    world_.Pod(pod.On(name).Request(std::string(gpu), "3"));
    EXPECT_EQ(Of(false, false, name)->resource, Utilization::Resource::kGpu) << gpu;
    EXPECT_DOUBLE_EQ(Of(false, false, name)->value, 0.75) << gpu;
  }
  testing::NodeMaker two("two", "2000m", "2000000", 100);
  world_.Node(two.Has("nvidia.com/gpu", "4").Has("amd.com/gpu", "2"));
  PodMaker pod("both", "100m", "200000");
  world_.Pod(pod.On("two").Request("nvidia.com/gpu", "1").Request("amd.com/gpu", "2"));
  EXPECT_DOUBLE_EQ(Of(false, false, "two")->value, 1) << "the one that is used most";
}

class DeviceUtilizationTest : public UtilizationTest {
 protected:
  void Tell(scheduling::DeviceKind kind, const base::Json& object) { world_.snapshot.UpsertDevices(kind, object); }
  void Slice(const SliceMaker& slice) { Tell(scheduling::DeviceKind::kResourceSlice, slice.json); }
  void Claim(const ClaimMaker& claim) { Tell(scheduling::DeviceKind::kResourceClaim, claim.json); }
};

TEST_F(DeviceUtilizationTest, ANodeWithDevicesIsJudgedByThePoolThatIsUsedMost) {
  Slice(SliceMaker("n").Devices(4));
  Slice(SliceMaker("n", "nic.example.com").Devices(2));
  Claim(ClaimMaker("c").On("n", {"gpu-1", "gpu-2"}, {"p3"}));
  EXPECT_DOUBLE_EQ(Of()->value, 0);
  EXPECT_EQ(Of()->resource, Utilization::Resource::kDevices);
  PodMaker pod("p3", "100m");
  world_.Pod(WithClaim(pod.On("n"), "c"));
  EXPECT_DOUBLE_EQ(Of()->value, 0.5);
  EXPECT_EQ(NameOf(*Of()), "gpu.example.com/n");
  EXPECT_DOUBLE_EQ(Of(true)->value, 0.5) << "also those of daemons";
  PodMaker sharing("p4", "100m");
  world_.Pod(WithClaim(sharing.On("n"), "c"));
  EXPECT_DOUBLE_EQ(Of()->value, 0.5) << "what several have is there once";
}

TEST_F(DeviceUtilizationTest, WhoAdministersADeviceDoesNotUseIt) {
  Slice(SliceMaker("n").Devices(2));
  ClaimMaker claim("c");
  claim.On("n", {"gpu-0"}, {"p3"});
  base::Ensure(claim.json, {"status", "allocation", "devices", "results"}).as_array()[0].as_object()["adminAccess"] = true;
  Claim(claim);
  PodMaker pod("p3", "100m");
  world_.Pod(WithClaim(pod.On("n"), "c"));
  EXPECT_DOUBLE_EQ(Of()->value, 0);
}

TEST_F(DeviceUtilizationTest, WhatIsChangingIsUnknown) {
  Slice(SliceMaker("n").Devices(2).Pool("n", 1, 2));
  EXPECT_STREQ(Of().error(), "its utilization is unknown: a pool of its devices is being updated");
  Slice(SliceMaker("n").Devices(2));
  Claim(ClaimMaker("c"));
  PodMaker pod("p3", "100m");
  world_.Pod(WithClaim(pod.On("n"), "c"));
  EXPECT_STREQ(Of().error(), "its utilization is unknown: a claim of a pod on it is not allocated");
}

TEST_F(DeviceUtilizationTest, DevicesOfANodesCapacityComeFirst) {
  NodeMaker maker("g", "2", "2Gi");
  world_.Node(maker.Has("nvidia.com/gpu", "2"));
  Slice(SliceMaker("g").Devices(2));
  EXPECT_EQ(Of(false, false, "g")->resource, Utilization::Resource::kGpu);
  world_.Node("l", 1000, 1000).gpu = "t4";
  EXPECT_EQ(Of(false, false, "l")->resource, Utilization::Resource::kGpu);
  world_.nodes[world_.NodeOf("l")].gpus_by_driver = true;
  Slice(SliceMaker("l").Devices(2));
  EXPECT_EQ(Of(false, false, "l")->resource, Utilization::Resource::kDevices);
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::utilization_test
