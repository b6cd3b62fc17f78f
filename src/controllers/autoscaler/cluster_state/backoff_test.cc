#include "controllers/autoscaler/cluster_state/backoff.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::autoscaler::backoff_test {
namespace {

using namespace std::chrono_literals;

constexpr base::Time kStart{std::chrono::seconds(1'734'225'184)};
const ErrorInfo kQuota{providers::Instance::ErrorClass::kOutOfResources, "QUOTA", "no more cpus"};
const ErrorInfo kOther{providers::Instance::ErrorClass::kOther, "timeout", "took too long"};

TEST(BackoffTest, V24WindowDoublesOnlyAfterItHasExpiredAndStopsAtTheMaximum) {
  Backoff backoff({1min, 3min, 3h});
  EXPECT_FALSE(backoff.IsBackedOff("ng", kStart));
  backoff.Fail("ng", kQuota, kStart);
  EXPECT_TRUE(backoff.IsBackedOff("ng", kStart));
  EXPECT_TRUE(backoff.IsBackedOff("ng", kStart + 1min));
  EXPECT_FALSE(backoff.IsBackedOff("ng", kStart + 1min + 1ms));
  EXPECT_EQ(backoff.Fail("ng", kQuota, kStart + 1min), kStart + 2min) << "still backed off: no doubling";
  EXPECT_FALSE(backoff.IsBackedOff("ng", kStart + 3min));
  EXPECT_EQ(backoff.Fail("ng", kQuota, kStart + 3min), kStart + 5min);
  EXPECT_FALSE(backoff.IsBackedOff("ng", kStart + 6min));
  EXPECT_EQ(backoff.Fail("ng", kQuota, kStart + 6min), kStart + 9min) << "cut at the maximum";
}

TEST(BackoffTest, V24FailureWhileBackedOffRestartsTheWindowWithTheNewError) {
  Backoff backoff({1s, 10min, 3h});
  backoff.Fail("ng", kQuota, kStart);
  base::Time now = kStart + 1001ms;
  EXPECT_FALSE(backoff.IsBackedOff("ng", now));
  EXPECT_EQ(backoff.Fail("ng", kQuota, now), now + 2s);
  now += 1s;
  ASSERT_NE(backoff.Find("ng", now), nullptr);
  EXPECT_EQ(backoff.Find("ng", now)->error.code, "QUOTA");
  EXPECT_EQ(backoff.Fail("ng", kOther, now), now + 2s);
  EXPECT_EQ(backoff.Find("ng", now)->error.code, "timeout");
  EXPECT_TRUE(backoff.IsBackedOff("ng", now + 2s));
  EXPECT_FALSE(backoff.IsBackedOff("ng", now + 2001ms));
}

TEST(BackoffTest, V24StaleEntriesAreForgotten) {
  Backoff backoff({1min, 3min, 3h});
  backoff.Fail("ng1", kQuota, kStart);
  backoff.Fail("ng2", kQuota, kStart + 1h);
  backoff.RemoveStale(kStart + 1h);
  EXPECT_EQ(backoff.entries().size(), 2u);
  backoff.RemoveStale(kStart + 4h);
  EXPECT_EQ(backoff.entries().size(), 1u);
  backoff.RemoveStale(kStart + 5h);
  EXPECT_EQ(backoff.entries().size(), 0u);
}

TEST(BackoffTest, SurvivesJson) {
  Backoff backoff({1min, 3min, 3h});
  backoff.Fail("ng1", kQuota, kStart);
  backoff.Fail("ng1", kQuota, kStart + 2min);
  backoff.Fail("ng2", kOther, kStart + 1500us);
  auto again = Backoff::FromJson(backoff.ToJson(), {1min, 3min, 3h});
  ASSERT_TRUE(again.has_value()) << again.error().message();
  EXPECT_EQ(again->ToJson(), backoff.ToJson());
  EXPECT_EQ(again->Fail("ng1", kOther, kStart + 10min), kStart + 13min) << "duration kept: 2 minutes, doubled, cut at 3";
}

TEST(BackoffTest, WrongJsonIsNamed) {
  const auto error = [](std::string_view text) { return Backoff::FromJson(*base::ParseJson(text, "test")).error().message(); };
  EXPECT_EQ(error("[]"), "state: cluster.backoff: not an object");
  EXPECT_EQ(error(R"({"a":{"seconds":1e300}})"), "state: cluster.backoff.a.seconds: not a number from 0 to 86400");
  EXPECT_EQ(error(R"({"a":{"seconds":1,"until":"x"}})"), "state: cluster.backoff.a.until: not an RFC 3339 time");
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::backoff_test
