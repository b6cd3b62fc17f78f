#include "controllers/autoscaler/facts/resource_limits.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/scale_up/scale_up_testing.h"

namespace evenkeel::controllers::autoscaler::resource_limits_test {
namespace {

using testing::MakeNode;

TEST(ResourceLimitsTest, PartsOfCoresCountAsWholeOnes) {
  ResourceLimits limits({{"q", {{"cpu", 3}}}}, "");
  const kube::Node node = MakeNode("n", 100, 1000);
  limits.Count(node);
  EXPECT_EQ(limits.Fitting(node, 10), 2);
  EXPECT_TRUE(limits.Check(node, 2).empty());
  EXPECT_EQ(Describe(limits.Check(node, 3)), "exceeded quota: \"q\", resources: cpu");
}

TEST(ResourceLimitsTest, AllExceededResourcesAreNamed) {
  ResourceLimits limits({{"q", {{"memory", 10}, {"cpu", 1}, {"nodes", 5}}}}, "");
  EXPECT_EQ(Describe(limits.Check(MakeNode("n", 1100, 1000), 1)), "exceeded quota: \"q\", resources: cpu, memory");
}

TEST(ResourceLimitsTest, WhatIsOverTheLimitLeavesNothing) {
  ResourceLimits limits({{"q", {{"nodes", 1}}}}, "");
  const kube::Node node = MakeNode("n", 1000, 1000);
  limits.Consume(node, 3);
  EXPECT_EQ(limits.Fitting(node, 4), 0);
}

TEST(ResourceLimitsTest, SelectorsAndVirtualKubeletsAreRespected) {
  ResourceLimits limits({{"q", {{"nodes", 1}}, kube::LabelSelector::FromLabels({{"pool", "x"}})}}, "");
  limits.Count(MakeNode("a", 1000, 1, {{"pool", "y"}}));
  limits.Count(MakeNode("b", 1000, 1, {{"pool", "x"}, {"type", "virtual-kubelet"}}));
  EXPECT_EQ(limits.Fitting(MakeNode("c", 1000, 1, {{"pool", "x"}}), 5), 1);
  EXPECT_EQ(limits.Fitting(MakeNode("c", 1000, 1, {{"pool", "y"}}), 5), 5);
}

TEST(ResourceLimitsTest, GpusCountByTheirType) {
  kube::Node node = MakeNode("n", 1000, 1, {{"gpu", "k80"}});
  node.capacity["nvidia.com/gpu"] = 2;
  ResourceLimits limits({{"q", {{"k80", 5}}}}, "gpu");
  limits.Count(node);
  EXPECT_EQ(limits.Fitting(node, 5), 1);
}

TEST(ResourceLimitsTest, TheFlagsMakeTheClusterWideQuota) {
  Options options;
  options.cores_total.max = 7;
  options.memory_total.max = 2;
  options.gpu_total["k80"] = {0, 4};
  const Quota quota = ClusterWideQuota(options);
  EXPECT_EQ(quota.id, "cluster-wide");
  EXPECT_EQ(quota.limits, (std::map<std::string, int64_t>{{"cpu", 7}, {"k80", 4}, {"memory", int64_t{2} << 30}}));
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::resource_limits_test
