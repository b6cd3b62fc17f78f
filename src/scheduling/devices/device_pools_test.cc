// Pools of one node, and slices as texts.
#include "scheduling/devices/device_pools.h"

#include <gtest/gtest.h>

#include "scheduling/devices/devices_testing.h"

namespace evenkeel::scheduling::device_pools_test {
namespace {

using testing::SliceMaker;

class DevicePoolsTest : public ::testing::Test {
 protected:
  void Add(const SliceMaker& slice) {
    slices_.push_back(std::make_shared<const ResourceSlice>(DecodeResourceSlice(slice.json, selectors_)));
  }
  double Share(const std::set<std::string_view>& taken) {
    const std::vector<LocalPool> pools = LocalPools(slices_);
    EVENKEEL_CHECK(pools.size() == 1 && pools[0].complete);
    return PoolShare(pools[0], taken);
  }

  DeviceSelectors selectors_;
  NodeSlices slices_;
};

TEST_F(DevicePoolsTest, TheNewestGenerationCounts) {
  Add(SliceMaker("n").Named("old").Pool("n", 1, 1).Devices(1));
  Add(SliceMaker("n").Named("new-1").Pool("n", 2, 2).Devices(1));
  EXPECT_FALSE(LocalPools(slices_).at(0).complete);
  Add(SliceMaker("n").Named("new-2").Pool("n", 2, 2).Device("x"));
  Add(SliceMaker("n").Named("other").Pool("m", 1, 2).Devices(1));
  const std::vector<LocalPool> pools = LocalPools(slices_);
  ASSERT_EQ(pools.size(), 2U);
  EXPECT_EQ(pools[0].name.pool, "m");
  EXPECT_FALSE(pools[0].complete);
  EXPECT_TRUE(pools[1].complete);
  EXPECT_EQ(pools[1].slices.size(), 2U);
}

TEST_F(DevicePoolsTest, DevicesCountOneEach) {
  Add(SliceMaker("n").Devices(4));
  EXPECT_DOUBLE_EQ(Share({}), 0);
  EXPECT_DOUBLE_EQ(Share({"gpu-1", "elsewhere"}), 0.25);
  EXPECT_DOUBLE_EQ(Share({"gpu-0", "gpu-1", "gpu-2", "gpu-3"}), 1);
}

/// Two cards of 100 memory and 8 cores, each to be had in parts.
void AddCards(NodeSlices& slices, DeviceSelectors& selectors) {
  SliceMaker counters("n");
  counters.Named("counters")
      .Pool("n", 1, 2)
      .Spec("sharedCounters",
            R"([{"name":"a","counters":{"memory":{"value":"100"},"cores":{"value":"8"}}},
          {"name":"b","counters":{"memory":{"value":"100"},"cores":{"value":"8"}}}])");
  SliceMaker devices("n");
  devices.Named("devices").Pool("n", 1, 2);
  const auto part = [](const std::string& set, const std::string& memory, const std::string& cores) {
    return R"({"consumesCounters":[{"counterSet":")" + set + R"(","counters":{"memory":{"value":")" + memory +
           R"("},"cores":{"value":")" + cores + R"("}}}]})";
  };
  devices.Device("a-half", part("a", "50", "2")).Device("a-all", part("a", "100", "8")).Device("b-some", part("b", "10", "4"));
  devices.Device("whole-1").Device("whole-2");
  for (const SliceMaker* slice : {&counters, &devices}) {
    slices.push_back(std::make_shared<const ResourceSlice>(DecodeResourceSlice(slice->json, selectors)));
  }
}

TEST_F(DevicePoolsTest, OfPartsTheFullestCounterOfEachSetCounts) {
  AddCards(slices_, selectors_);
  EXPECT_DOUBLE_EQ(Share({"a-half"}), 0.25) << "half the memory of one of two";
  EXPECT_DOUBLE_EQ(Share({"a-half", "b-some"}), 0.5);
  EXPECT_DOUBLE_EQ(Share({"whole-1"}), 0.5);
  EXPECT_DOUBLE_EQ(Share({"a-half", "b-some", "whole-1", "whole-2"}), 0.75);
}

TEST_F(DevicePoolsTest, ASliceIsTheSameAfterItWasWritten) {
  AddCards(slices_, selectors_);
  SliceMaker all("n");
  all.Device("d", R"({"attributes":{"a":{"string":"x"},"b":{"int":1},"c":{"bool":true},"d":{"version":"1.0.0"}},
      "capacity":{"memory":{"value":"1Gi","requestPolicy":{"default":"1","validRange":{"min":"1","step":"2"}}}},
      "allowMultipleAllocations":true,"bindsToNode":true,"taints":[{"key":"k","value":"v","effect":"NoSchedule"}],
      "bindingConditions":["x"],"bindingFailureConditions":["y"]})");
  Add(all);
  SliceMaker each("n");
  Add(each.Spec("perDeviceNodeSelection", "true").Device("d", R"({"nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[
      {"key":"k","operator":"In","values":["v"]}]}]}})"));
  Add(SliceMaker("n").Everywhere().Devices(1));
  for (const auto& slice : slices_) {
    const base::Json written = WriteResourceSlice(*slice);
    const ResourceSlice again = DecodeResourceSlice(written, selectors_);
    EXPECT_EQ(base::CanonicalText(WriteResourceSlice(again)), base::CanonicalText(written));
    EXPECT_EQ(again.pool, slice->pool);
    EXPECT_EQ(again.nodes.kind, slice->nodes.kind);
    ASSERT_EQ(again.devices.size(), slice->devices.size());
    EXPECT_EQ(again.counters.size(), slice->counters.size());
    for (size_t i = 0; i < again.devices.size(); ++i) {
      EXPECT_EQ(again.devices[i].facts, slice->devices[i].facts);
      EXPECT_EQ(again.devices[i].taints.size(), slice->devices[i].taints.size());
      EXPECT_EQ(again.devices[i].consumes.size(), slice->devices[i].consumes.size());
      EXPECT_EQ(again.devices[i].nodes.terms.size(), slice->devices[i].nodes.terms.size());
    }
  }
  const std::string text = base::CanonicalText(WriteResourceSlice(*slices_[2]));
  for (const char* part : {"\"k\"", "bindsToNode", "allowMultipleAllocations", "validRange", "\"x\"", "\"y\"", "1.0.0"}) {
    EXPECT_TRUE(text.contains(part)) << part;
  }
}

TEST_F(DevicePoolsTest, NewNodesHaveTheSlicesForThemselves) {
  EXPECT_EQ(SlicesOfNewNodes({}), nullptr);
  Add(SliceMaker("n").Devices(2));
  const auto made = SlicesOfNewNodes(slices_);
  ASSERT_EQ(made->size(), 1U);
  EXPECT_EQ(made->at(0)->nodes.kind, NodeChoice::Kind::kAll);
  EXPECT_TRUE(made->at(0)->devices.at(1).binds_to_node);
  EXPECT_TRUE(SameDevices(made.get(), &slices_));
}

}  // namespace
}  // namespace evenkeel::scheduling::device_pools_test
