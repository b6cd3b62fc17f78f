#include "controllers/scheduler/scheduler_queue.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::scheduler::scheduler_queue_test {
namespace {

using base::Instant;
using namespace std::chrono_literals;

TEST(SchedulerQueueTest, ImportantFirstThenInOrder) {
  SchedulerQueue queue;
  const Instant now{};
  queue.Add("b", 0, now);
  queue.Add("a", 0, now);
  queue.Add("z", 5, now);
  EXPECT_EQ(queue.Pop(now), "z");
  EXPECT_EQ(queue.Pop(now), "b");
  EXPECT_EQ(queue.Pop(now), "a");
  EXPECT_EQ(queue.Pop(now), std::nullopt);
}

TEST(SchedulerQueueTest, BacksOffFromOneSecondToTen) {
  SchedulerQueue queue;
  Instant now{};
  queue.Add("a", 0, now);
  for (const auto wait : {0s, 1s, 2s, 4s, 8s, 10s, 10s}) {
    ASSERT_EQ(queue.Pop(now), "a");
    queue.Park("a", 7, now);
    ASSERT_EQ(queue.parked().count(7), 1U);
    queue.Wake(7, now);
    ASSERT_TRUE(queue.parked().empty());
    EXPECT_EQ(*queue.NextDue(now) - now, wait);
    now += wait;
  }
}

TEST(SchedulerQueueTest, ThoseLeftAsideComeUpAgainAfterFiveMinutes) {
  SchedulerQueue queue;
  const Instant now{};
  queue.Add("a", 0, now);
  ASSERT_EQ(queue.Pop(now), "a");
  queue.Park("a", 7, now);
  EXPECT_EQ(queue.Pop(now + 5min - 1ns), std::nullopt);
  EXPECT_EQ(queue.Pop(now + 5min), "a");
  EXPECT_TRUE(queue.parked().empty());
  queue.Remove("a");
  EXPECT_EQ(queue.NextDue(now), std::nullopt);
}

}  // namespace
}  // namespace evenkeel::controllers::scheduler::scheduler_queue_test
