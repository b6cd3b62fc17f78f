#include "balancing/rules/throttles.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace evenkeel::balancing::throttles_test {
namespace {

using enum Movement::Phase;

void RecordMany(MovementThrottles& throttles, const Settings& settings, Movement::Phase phase, int count, double now) {
  for (int i = 0; i < count; ++i) throttles.Record(settings, phase, "p" + std::to_string(i), now);
}

TEST(SlidingCounterTest, EventsCountFromTheirInstantUntilJustBeforeOneWindowLater) {
  SlidingCounter counter;
  counter.Record(10, 2, 60);
  counter.Record(20, 1, 60);
  EXPECT_EQ(counter.Count(9.99, 60), 0);
  EXPECT_EQ(counter.Count(10, 60), 2);
  EXPECT_EQ(counter.Count(69.99, 60), 3);
  EXPECT_EQ(counter.Count(70, 60), 1);
  EXPECT_EQ(counter.Count(80, 60), 0);
  EXPECT_EQ(counter.Count(20, 0), 0) << "a window of 0 counts nothing";
}

TEST(SlidingCounterTest, AnInstantBeforeTheLatestCountsAsThatOne) {
  SlidingCounter counter;
  counter.Record(10, 1, 60);
  counter.Record(5, 1, 60);
  EXPECT_EQ(counter.Count(5, 60), 0);
  EXPECT_EQ(counter.Count(69, 60), 2);
}

TEST(SlidingCounterTest, CountsAsAListOfAllEventsDoes) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    base::Random random(seed);
    SlidingCounter counter;
    std::vector<std::pair<double, int64_t>> events;
    double now = 0;
    for (int step = 0; step < 60; ++step) {
      now += static_cast<double>(random.Below(5));
      if (random.Chance(0.6)) {
        events.emplace_back(now, static_cast<int64_t>(1 + random.Below(3)));
        counter.Record(now, events.back().second, 10);
      }
      int64_t expected = 0;
      for (const auto& [at, number] : events) expected += at > now - 10 && at <= now ? number : 0;
      ASSERT_EQ(counter.Count(now, 10), expected) << "seed " << seed << " step " << step;
      const base::Json json = counter.ToJson();
      const auto copy = SlidingCounter::Read(base::Field(&json, "test"));
      ASSERT_TRUE(copy.has_value());
      ASSERT_EQ(copy->Count(now, 10), expected) << "seed " << seed << " step " << step;
      ASSERT_LE(counter.ToJson().as_array().size(), 11u) << "what has left the window is forgotten";
    }
  }
}

TEST(MovementThrottlesTest, TheSmallerOfNumberAndShareApplies) {
  EXPECT_EQ(MovementLimit(0, 0, 100), kUnlimited);
  EXPECT_EQ(MovementLimit(7, 0, 100), 7);
  EXPECT_EQ(MovementLimit(0, 0.011, 100), 2) << "rounded up";
  EXPECT_EQ(MovementLimit(0, 0.07, 100), 7) << "0.07 * 100 is a little more in doubles";
  EXPECT_EQ(MovementLimit(27, 0.32, 100), 27);
  EXPECT_EQ(MovementLimit(27, 0.23, 100), 23);
}

TEST(MovementThrottlesTest, T8GlobalLimitCountsBalancingAndPlacementUntilTheWindowHasPassed) {
  Settings settings;
  settings.global_movement_throttle_threshold = 10;
  MovementThrottles throttles;
  RecordMany(throttles, settings, kBalancing, 4, 0);
  RecordMany(throttles, settings, kPlacement, 5, 100);
  RecordMany(throttles, settings, kConstraintCheck, 50, 100);
  EXPECT_EQ(throttles.Allowed(settings, kBalancing, 1000, 100).remaining, 1);
  throttles.Record(settings, kBalancing, "p", 101);
  const Allowance allowance = throttles.Allowed(settings, kPlacement, 1000, 101);
  EXPECT_EQ(allowance.remaining, 0);
  EXPECT_EQ(allowance.why, "10 of 10 movements were made in the last 10m (GlobalMovementThrottleThreshold)");
  EXPECT_EQ(throttles.Allowed(settings, kConstraintCheck, 1000, 101).remaining, kUnlimited);
  EXPECT_EQ(throttles.Allowed(settings, kPlacement, 1000, 600).remaining, 4);
  EXPECT_EQ(throttles.Allowed(settings, kPlacement, 1000, 701).remaining, 10);
  settings.global_movement_throttle_threshold = 0;
  EXPECT_EQ(throttles.Allowed(settings, kPlacement, 1000, 101).why, "");
  settings.global_movement_throttle_threshold = 10;
  settings.global_movement_throttle_counting_interval = 0;
  EXPECT_EQ(throttles.Allowed(settings, kPlacement, 1000, 101).remaining, kUnlimited);
}

TEST(MovementThrottlesTest, LimitsOfOnePhaseCountItsOwnMovements) {
  Settings settings;
  settings.global_movement_throttle_threshold_for_balancing = 5;
  settings.global_movement_throttle_threshold_percentage_for_placement = 0.02;
  MovementThrottles throttles;
  RecordMany(throttles, settings, kBalancing, 3, 0);
  EXPECT_EQ(throttles.Allowed(settings, kBalancing, 100, 1).remaining, 2);
  EXPECT_EQ(throttles.Allowed(settings, kPlacement, 100, 1).remaining, 2);
  RecordMany(throttles, settings, kPlacement, 2, 1);
  EXPECT_EQ(throttles.Allowed(settings, kBalancing, 100, 1).remaining, 2);
  EXPECT_EQ(throttles.Allowed(settings, kPlacement, 100, 1).remaining, 0);
  EXPECT_NE(throttles.Allowed(settings, kPlacement, 100, 1).why.find("PercentageForPlacement"), std::string::npos);
}

TEST(MovementThrottlesTest, B31WhatIsAllowedAndTheShareCapTheMovementsOfARun) {
  Settings settings;
  settings.global_movement_throttle_threshold_for_balancing = 10;
  settings.global_movement_throttle_counting_interval = 24 * 3600;
  settings.max_percentage_to_move = 1;
  MovementThrottles throttles;
  EXPECT_EQ(MovementSlots(settings, throttles, kBalancing, {9, 9}, 0), 9);
  RecordMany(throttles, settings, kBalancing, 6, 0);
  EXPECT_EQ(MovementSlots(settings, throttles, kBalancing, {109, 109}, 12 * 3600), 4);
  EXPECT_EQ(MovementSlots(settings, throttles, kBalancing, {3, 3}, 12 * 3600), 3);
  EXPECT_EQ(MovementSlots(settings, throttles, kConstraintCheck, {3, 3}, 12 * 3600), kUnlimited);
}

TEST(MovementThrottlesTest, B29TheSmallestOfShareAndLimitsCapsARun) {
  Settings settings;
  const auto slots = [&](double share, int64_t limit, double limit_share) {
    settings.max_percentage_to_move = share;
    settings.global_movement_throttle_threshold = limit;
    settings.global_movement_throttle_threshold_percentage = limit_share;
    return MovementSlots(settings, {}, kBalancing, {100, 100}, 0);
  };
  EXPECT_EQ(slots(0.23, 27, 0.32), 23);
  EXPECT_EQ(slots(0.5, 27, 0.32), 27);
  EXPECT_EQ(slots(0.5, 40, 0.32), 32);
  EXPECT_EQ(slots(0, 40, 0.32), 0);
}

TEST(MovementThrottlesTest, ARunMovesAShareOfItsGroupAndLimitsAreSharesOfTheCluster) {
  Settings settings;
  settings.max_percentage_to_move = 0.5;
  settings.global_movement_throttle_threshold_percentage = 0.02;
  EXPECT_EQ(MovementSlots(settings, {}, kBalancing, {10, 1000}, 0), 5);
  EXPECT_EQ(MovementSlots(settings, {}, kBalancing, {100, 1000}, 0), 20);
}

TEST(MovementThrottlesTest, APartitionThatMovedTooOftenInBalancingIsThrottledForAWindow) {
  Settings settings;
  settings.movement_per_partition_throttle_threshold = 3;
  MovementThrottles throttles;
  for (const double now : {0.0, 1.0, 2.0}) throttles.Record(settings, kBalancing, "a/0", now);
  for (int i = 0; i < 9; ++i) throttles.Record(settings, kPlacement, "b/0", 2);
  throttles.Record(settings, kBalancing, "c/0", 2);
  EXPECT_TRUE(throttles.PartitionThrottled(settings, "a/0", 2));
  EXPECT_FALSE(throttles.PartitionThrottled(settings, "b/0", 2));
  EXPECT_FALSE(throttles.PartitionThrottled(settings, "unknown", 2));
  EXPECT_EQ(throttles.ThrottledPartitions(settings, 599), std::vector<std::string>{"a/0"});
  EXPECT_EQ(throttles.ThrottledPartitions(settings, 600), std::vector<std::string>{});
  settings.movement_per_partition_throttle_threshold = 0;
  EXPECT_FALSE(throttles.PartitionThrottled(settings, "a/0", 2)) << "a limit of 0 limits nothing";
}

TEST(MovementThrottlesTest, PartitionsThatNoLongerMoveAreForgotten) {
  const Settings settings;
  MovementThrottles throttles;
  RecordMany(throttles, settings, kBalancing, 1000, 0);
  RecordMany(throttles, settings, kBalancing, 100, 10'000);
  RecordMany(throttles, settings, kBalancing, 901, 10'000);
  EXPECT_LE(throttles.ToJson().at("partitions").as_object().size(), 901u);
}

TEST(MovementThrottlesTest, SurviveAsJson) {
  Settings settings;
  settings.movement_per_partition_throttle_threshold = 2;
  MovementThrottles throttles;
  RecordMany(throttles, settings, kBalancing, 5, 1.25);
  RecordMany(throttles, settings, kPlacement, 3, 2.5);
  RecordMany(throttles, settings, kBalancing, 2, 1000);
  const auto parsed = base::ParseJson(base::ToText(throttles.ToJson()), "test");
  ASSERT_TRUE(parsed.has_value());
  const auto copy = MovementThrottles::Read(base::Field(&*parsed, "test"));
  ASSERT_TRUE(copy.has_value()) << copy.error().message();
  EXPECT_EQ(*copy, throttles);
  EXPECT_EQ(copy->Allowed(settings, kBalancing, 0, 1000).remaining, throttles.Allowed(settings, kBalancing, 0, 1000).remaining);
  for (const std::string_view wrong :
       {R"([])", R"({"placement": 1})", R"({"balancing": [[1, 2], [1, 2]]})", R"({"balancing": [[1, 0]]})",
        R"({"balancing": [[1, 1.5]]})", R"({"partitions": {"a": [["x", 1]]}})", R"({"placement": [[1]]})"}) {
    const auto json = base::ParseJson(wrong, "test");
    const auto refused = MovementThrottles::Read(base::Field(&*json, "test"));
    ASSERT_FALSE(refused.has_value()) << wrong;
    EXPECT_EQ(refused.error().code(), base::Code::kBadRequest);
  }
}

TEST(MovementThrottlesTest, AreMadeOfTheMovementsThatAStateTellsOf) {
  Settings settings;
  settings.movement_per_partition_throttle_threshold = 1;
  settings.global_movement_throttle_threshold = 10;
  Cluster cluster;
  cluster.partitions.push_back({.name = "s/0"});
  cluster.history.movements = {{.at = 500, .partition = 0, .phase = kBalancing},
                               {.at = 10, .partition = kNoId, .phase = kBalancing},
                               {.at = 400, .partition = kNoId, .phase = kPlacement}};
  const MovementThrottles throttles = ThrottlesOf(settings, cluster);
  EXPECT_EQ(throttles.Allowed(settings, kBalancing, 0, 500).remaining, 7);
  EXPECT_EQ(throttles.Allowed(settings, kBalancing, 0, 700).remaining, 8);
  EXPECT_EQ(throttles.ThrottledPartitions(settings, 500), std::vector<std::string>{"s/0"});
}

}  // namespace
}  // namespace evenkeel::balancing::throttles_test
