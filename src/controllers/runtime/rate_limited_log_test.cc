#include "controllers/runtime/rate_limited_log.h"

#include <gtest/gtest.h>

#include "base/executor.h"

namespace evenkeel::controllers::runtime::rate_limited_log_test {
namespace {

using namespace std::chrono_literals;

TEST(RateLimitedLogTest, EachIsRecordedAtOnceThenOnceAMinute) {
  base::VirtualExecutor time{base::Time{}};
  RateLimitedLog log(time.clock(), "it waits", "m1");
  EXPECT_TRUE(log.Record("a pod", "refused"));
  EXPECT_FALSE(log.Record("a pod", "refused again"));
  EXPECT_TRUE(log.Record("a set", "refused")) << "another thing is no repetition";
  EXPECT_FALSE(log.Record("a pod", "refused")) << "and does not make the first one news";
  time.RunFor(59s);
  EXPECT_FALSE(log.Record("a pod", "refused"));
  time.RunFor(1s);
  EXPECT_TRUE(log.Record("a pod", "refused"));
  log.Clear();
  EXPECT_TRUE(log.Record("a pod", "refused"));
}

TEST(RateLimitedLogTest, WhatEveryStartHasIsNewsOnlyWhereItLasts) {
  base::VirtualExecutor time{base::Time{}};
  RateLimitedLog log(time.clock(), "it waits", "m1");
  for (int second = 0; second < 30; ++second) {
    EXPECT_FALSE(log.Record("caches", "not yet", 30s)) << second;
    time.RunFor(1s);
  }
  EXPECT_TRUE(log.Record("caches", "not yet", 30s));
  EXPECT_FALSE(log.Record("caches", "not yet", 30s)) << "then once a minute";
  log.Clear();
  EXPECT_FALSE(log.Record("caches", "not yet", 30s)) << "another start";
  time.RunFor(2min);
  EXPECT_FALSE(log.Record("caches", "not yet", 30s)) << "nobody waited in between";
}

}  // namespace
}  // namespace evenkeel::controllers::runtime::rate_limited_log_test
