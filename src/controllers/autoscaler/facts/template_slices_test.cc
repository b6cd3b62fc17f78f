#include "controllers/autoscaler/facts/template_slices.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::autoscaler::template_slices_test {
namespace {

using base::FindInt;
using base::FindString;
using base::Json;

Json Parse(const std::string& text) { return *base::ParseJson(text, "test"); }

TEST(TemplateSlicesTest, SlicesAreCompleted) {
  const Json node = Parse(R"({"resourceSlices":[
      {"driver":"gpu.org","devices":[{"name":"gpu-0"}]},
      {"driver":"gpu.org","sharedCounters":[{"name":"s","counters":{"c":{"value":"1"}}}]},
      {"driver":"nic.org","pool":{"name":"rack-1"},"devices":[{"name":"nic-0"}]}]})");
  const std::vector<Json> slices = SlicesOfTemplate(node, "n1");
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(FindString(slices[0], {"metadata", "name"}), "n1-gpu.org-0");
  EXPECT_EQ(FindString(slices[1], {"metadata", "name"}), "n1-gpu.org-1");
  EXPECT_EQ(FindString(slices[2], {"metadata", "name"}), "n1-nic.org");
  EXPECT_EQ(FindString(slices[0], {"spec", "pool", "name"}), "n1");
  EXPECT_EQ(FindInt(slices[1], {"spec", "pool", "resourceSliceCount"}), 2);
  EXPECT_EQ(FindString(slices[2], {"spec", "pool", "name"}), "rack-1");
  EXPECT_EQ(FindInt(slices[2], {"spec", "pool", "resourceSliceCount"}), 1);
  for (const Json& slice : slices) {
    EXPECT_EQ(FindString(slice, {"spec", "nodeName"}), "n1");
    EXPECT_EQ(FindInt(slice, {"spec", "pool", "generation"}), 1);
  }
  EXPECT_TRUE(SlicesOfTemplate(Parse("{}"), "n1").empty());
}

TEST(TemplateSlicesTest, PoolsAreCountedByDriver) {
  const Json node = Parse(R"({"resourceSlices":[
      {"driver":"gpu.org","devices":[{"name":"gpu-0"}]},
      {"driver":"gpu.org","sharedCounters":[{"name":"s","counters":{"c":{"value":"1"}}}]},
      {"driver":"nic.org","pool":{"name":"a"},"devices":[{"name":"nic-0"}]},
      {"driver":"nic.org","pool":{"name":"b"},"devices":[{"name":"nic-1"}]}, 7]})");
  const DevicePools wanted{{"gpu.org", 1}, {"nic.org", 2}};
  EXPECT_EQ(PoolsOfTemplate(node), wanted);
  scheduling::DeviceSelectors selectors;
  scheduling::NodeSlices slices;
  for (const Json& slice : SlicesOfTemplate(node, "n")) {
    slices.push_back(std::make_shared<const scheduling::ResourceSlice>(scheduling::DecodeResourceSlice(slice, selectors)));
  }
  EXPECT_EQ(CompletePools(slices), wanted);
  slices.erase(slices.begin());
  EXPECT_EQ(CompletePools(slices), (DevicePools{{"nic.org", 2}})) << "one of two slices of the other pool";
  EXPECT_FALSE(HasPools(CompletePools(slices), wanted));
  EXPECT_EQ(DriverNames({{"nic.org", 2}, {"gpu.org", 1}}), "gpu.org,nic.org");
  EXPECT_EQ(DriverNames({}), "");
  EXPECT_TRUE(HasPools(wanted, CompletePools(slices)));
}

TEST(TemplateSlicesTest, WhatIsWrongIsNamed) {
  const auto problem = [](const std::string& slices) {
    const Json list = Parse(slices);
    const auto status = CheckTemplateSlices(base::Field(&list, "NodeGroup g", "slices"));
    return status ? "" : status.error().message();
  };
  EXPECT_EQ(problem(R"([{"driver":"gpu.org","devices":[{"name":"gpu-0"}]}])"), "");
  EXPECT_NE(problem("{}"), "");
  EXPECT_NE(problem("[1]"), "");
  EXPECT_EQ(problem(R"([{"devices":[]}])"), "NodeGroup g: slices[0]: driver: Required value");
  EXPECT_EQ(problem(R"([{"driver":"gpu.org","devices":[{"name":"a"}]},{"driver":"gpu.org","devices":[{"name":"a"}]}])"),
            "NodeGroup g: slices[1]: device \"a\" is in the pool already");
  EXPECT_EQ(problem(R"([{"driver":"gpu.org","allNodes":true}])"),
            "NodeGroup g: slices[0]: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, `nodeSelector`, "
            "`allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set");
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::template_slices_test
