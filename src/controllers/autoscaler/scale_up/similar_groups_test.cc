#include "controllers/autoscaler/scale_up/similar_groups.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/scale_up/scale_up_testing.h"
#include "scheduling/devices/devices_testing.h"

namespace evenkeel::controllers::autoscaler::similar_groups_test {
namespace {

using testing::MakeNode;

std::map<std::string, int64_t> Sizes(std::vector<GroupSize> groups, int64_t nodes) {
  std::map<std::string, int64_t> sizes;
  for (const GroupDelta& delta : Balance(std::move(groups), nodes)) sizes[delta.group] = delta.to;
  return sizes;
}
using Expected = std::map<std::string, int64_t>;

TEST(BalanceTest, V3OneGroupTakesAll) {
  EXPECT_EQ(Sizes({{"ng1", 1, 10}}, 1), (Expected{{"ng1", 2}}));
  EXPECT_EQ(Sizes({{"ng1", 1, 10}}, 4), (Expected{{"ng1", 5}}));
}

TEST(BalanceTest, V3SmallGroupsGrowFirst) {
  const std::vector<GroupSize> groups = {{"ng1", 1, 10}, {"ng2", 3, 10}, {"ng3", 5, 10}, {"ng4", 5, 10}};
  EXPECT_EQ(Sizes(groups, 1), (Expected{{"ng1", 2}}));
  EXPECT_EQ(Sizes(groups, 2), (Expected{{"ng1", 3}}));
  EXPECT_EQ(Sizes(groups, 4), (Expected{{"ng1", 4}, {"ng2", 4}}));
  const Expected five = Sizes(groups, 5);
  EXPECT_TRUE((five == Expected{{"ng1", 5}, {"ng2", 4}}) || (five == Expected{{"ng1", 4}, {"ng2", 5}}));
  EXPECT_EQ(Sizes(groups, 10), (Expected{{"ng1", 6}, {"ng2", 6}, {"ng3", 6}, {"ng4", 6}}));
}

TEST(BalanceTest, FullGroupsAreLeftOutAndTheRestIsShared) {
  EXPECT_EQ(Sizes({{"a", 1, 1}, {"b", 2, 3}, {"c", 4, 9}}, 3), (Expected{{"b", 3}, {"c", 6}}));
  EXPECT_EQ(Sizes({{"a", 1, 2}, {"b", 1, 2}}, 50), (Expected{{"a", 2}, {"b", 2}}));
  EXPECT_EQ(Sizes({{"a", 5, 3}, {"b", 1, 2}}, 1), (Expected{{"b", 2}}));
}

NodeTemplate Template(kube::Node node, kube::ResourceList requested = {}) {
  NodeTemplate made;
  made.node = std::move(node);
  made.requested = std::move(requested);
  return made;
}

TEST(SimilarGroupsTest, NodesWithOtherDevicesAreNotAlike) {
  const SimilarGroups similar{Options()};
  scheduling::DeviceSelectors selectors;
  const auto with = [&](const std::string& node, int devices) {
    NodeTemplate made = Template(MakeNode(node, 1000, 1000));
    const auto slice = scheduling::testing::SliceMaker(node).Devices(devices);
    made.slices = std::make_shared<const scheduling::NodeSlices>(scheduling::NodeSlices{
        std::make_shared<const scheduling::ResourceSlice>(scheduling::DecodeResourceSlice(slice.json, selectors))});
    return made;
  };
  EXPECT_TRUE(similar.Similar(with("a", 2), with("b", 2)));
  EXPECT_FALSE(similar.Similar(with("a", 2), with("b", 4)));
  EXPECT_FALSE(similar.Similar(with("a", 2), Template(MakeNode("b", 1000, 1000))));
}

TEST(SimilarGroupsTest, TheNameOfTheGroupItselfIsNoDifference) {
  const SimilarGroups similar{Options()};
  for (const char* label : {"evenkeel.dev/node-group", "eks.amazonaws.com/nodegroup", "alpha.eksctl.io/nodegroup-name",
                            "karpenter.sh/nodepool", "cloud.google.com/gke-nodepool", "kubernetes.azure.com/agentpool",
                            "cluster.x-k8s.io/deployment-name", "kops.k8s.io/instancegroup", "topology.ebs.csi.aws.com/zone"}) {
    EXPECT_TRUE(similar.Similar(Template(MakeNode("a", 1000, 1000, {{label, "a"}})),
                                Template(MakeNode("b", 1000, 1000, {{label, "b"}}))))
        << label;
    EXPECT_TRUE(similar.Similar(Template(MakeNode("a", 1000, 1000, {{label, "a"}})), Template(MakeNode("b", 1000, 1000))))
        << label;
  }
  EXPECT_FALSE(similar.Similar(Template(MakeNode("a", 1000, 1000, {{"team", "a"}})),
                               Template(MakeNode("b", 1000, 1000, {{"team", "b"}}))));
}

TEST(SimilarGroupsTest, MemoryMayDifferALittleAndCoresNotAtAll) {
  const SimilarGroups similar{Options()};
  const auto base = Template(MakeNode("a", 1000, 1000));
  EXPECT_TRUE(similar.Similar(base, Template(MakeNode("b", 1000, 1000))));
  EXPECT_TRUE(similar.Similar(base, Template(MakeNode("b", 1000, 986))));
  EXPECT_FALSE(similar.Similar(base, Template(MakeNode("b", 1000, 984))));
  EXPECT_FALSE(similar.Similar(base, Template(MakeNode("b", 999, 1000))));
  EXPECT_FALSE(similar.Similar(base, Template(MakeNode("b", 1000, -1))));
}

TEST(SimilarGroupsTest, FreeAmountsMayDifferByFivePercent) {
  const SimilarGroups similar{Options()};
  const auto base = Template(MakeNode("a", 1000, 1000));
  EXPECT_TRUE(similar.Similar(base, Template(MakeNode("b", 1000, 1000), {{"cpu", 50}})));
  EXPECT_FALSE(similar.Similar(base, Template(MakeNode("b", 1000, 1000), {{"cpu", 51}})));
}

TEST(SimilarGroupsTest, ZonesAreIgnoredAndOtherLabelsAreNot) {
  Options options;
  const auto base = Template(MakeNode("a", 1000, 1000, {{"topology.kubernetes.io/zone", "x"}, {"team", "red"}}));
  const auto other = Template(MakeNode("b", 1000, 1000, {{"topology.kubernetes.io/zone", "y"}, {"team", "red"}}));
  const auto blue = Template(MakeNode("c", 1000, 1000, {{"team", "blue"}}));
  EXPECT_TRUE(SimilarGroups(options).Similar(base, other));
  EXPECT_FALSE(SimilarGroups(options).Similar(base, blue));
  options.balancing_ignore_labels = {"team"};
  EXPECT_TRUE(SimilarGroups(options).Similar(base, blue));
}

TEST(SimilarGroupsTest, OnlyTheBalancingLabelsCountWhenThereAreSome) {
  Options options;
  options.balancing_labels = {"pool"};
  const SimilarGroups similar(options);
  const auto base = Template(MakeNode("a", 1000, 1000, {{"pool", "x"}}));
  EXPECT_TRUE(similar.Similar(base, Template(MakeNode("b", 9000, 1, {{"pool", "x"}}))));
  EXPECT_FALSE(similar.Similar(base, Template(MakeNode("b", 1000, 1000, {{"pool", "y"}}))));
  EXPECT_FALSE(similar.Similar(base, Template(MakeNode("b", 1000, 1000))));
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::similar_groups_test
