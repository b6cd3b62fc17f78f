#include "controllers/autoscaler/member/scale_down_eviction.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::autoscaler::scale_down_eviction_test {
namespace {

TEST(EvictionTest, APodBelongsToTheHighestRangeThatDoesNotBeginAboveIt) {
  const std::vector<std::pair<int64_t, int64_t>> ranges = {{10, 4}, {1000, 3}, {2000, 2}, {2'000'000'000, 1}};
  for (const int64_t priority : {-5, 0, 9, 10, 500, 999}) EXPECT_EQ(DrainRangeOf(ranges, priority), 0U) << priority;
  for (const int64_t priority : {1000, 1999}) EXPECT_EQ(DrainRangeOf(ranges, priority), 1U) << priority;
  EXPECT_EQ(DrainRangeOf(ranges, 1'999'999'999), 2U);
  EXPECT_EQ(DrainRangeOf(ranges, 2'000'000'005), 3U);
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
