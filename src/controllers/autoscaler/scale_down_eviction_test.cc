#include "controllers/autoscaler/scale_down_eviction.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::autoscaler::scale_down_eviction_test {
namespace {

TEST(GroupByPriorityTest, APodBelongsToTheHighestRangeThatDoesNotBeginAboveIt) {
  const std::vector<std::pair<int64_t, int64_t>> ranges = {{10, 4}, {1000, 3}, {2000, 2}, {2'000'000'000, 1}};
  std::deque<PodFacts> facts(5);
  const int32_t priorities[] = {0, 100, 500, 1000, 2'000'000'005};
  for (size_t i = 1; i < facts.size(); ++i) facts[i].priority = priorities[i];
  const std::vector<scheduling::PodId> pods = {0, 1, 2, 3, 4};
  const auto groups = GroupByPriority(ranges, facts, pods);
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[0].pods, (std::vector<scheduling::PodId>{0, 1, 2})) << "below all ranges: the first";
  EXPECT_EQ(groups[1].pods, std::vector<scheduling::PodId>{3});
  EXPECT_TRUE(groups[2].pods.empty());
  EXPECT_EQ(groups[3].pods, std::vector<scheduling::PodId>{4});
  EXPECT_EQ(groups[0].grace_seconds, 4);
  EXPECT_EQ(groups[3].grace_seconds, 1);
}

TEST(EvictionTest, GraceIsThePodsOwnUpToTheMost) {
  PodFacts pod;
  EXPECT_EQ(EvictionGrace(pod, 600), 30);
  pod.grace_seconds = 3600;
  EXPECT_EQ(EvictionGrace(pod, 600), 600);
}

TEST(EvictionTest, DaemonPodsAreEvictedByAnnotationOrElseByTheFlags) {
  PodFacts pod;
  const Options options;
  EXPECT_TRUE(EvictsDaemon(pod, options, false));
  EXPECT_FALSE(EvictsDaemon(pod, options, true));
  pod.ds_eviction = "true";
  EXPECT_TRUE(EvictsDaemon(pod, options, true));
  pod.ds_eviction = "false";
  EXPECT_FALSE(EvictsDaemon(pod, options, false));
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::scale_down_eviction_test
