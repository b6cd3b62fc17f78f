#include "controllers/distribution/leases/heard_heartbeats.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::distribution::heard_heartbeats_test {
namespace {

using namespace std::chrono_literals;

const base::Time kNoon{std::chrono::hours(12)};
const base::Instant kStart{std::chrono::hours(1)};

ShardClaim Claim(int64_t shard, const std::string& controller, base::Time heartbeat) { return {shard, controller, heartbeat}; }

TEST(HeardHeartbeatsTest, WhatIsFirstSeenCountsFromWhatItSaysButNotFromTheFuture) {
  HeardHeartbeats heard;
  heard.See({Claim(0, "old", kNoon - 40s), Claim(1, "ahead", kNoon + 1h), {2, "never", std::nullopt}, {3, "", std::nullopt}},
            kStart);
  const auto alive = heard.LastAlive(kNoon + 5s, kStart + 5s);
  EXPECT_EQ(alive, (std::map<int64_t, base::Time>{{0, kNoon - 40s}, {1, kNoon}}));
}

TEST(HeardHeartbeatsTest, WhatChangesCountsFromThen) {
  HeardHeartbeats heard;
  heard.See({Claim(0, "behind", kNoon - 1h)}, kStart);
  heard.See({Claim(0, "behind", kNoon - 1h)}, kStart + 5s);
  EXPECT_EQ(heard.LastAlive(kNoon + 5s, kStart + 5s).at(0), kNoon - 1h) << "the same is no change";
  heard.See({Claim(0, "behind", kNoon - 1h + 10s)}, kStart + 10s);
  EXPECT_EQ(heard.LastAlive(kNoon + 12s, kStart + 12s).at(0), kNoon + 10s);
  // The own wall clock is set: what was heard two seconds ago still was.
  EXPECT_EQ(heard.LastAlive(kNoon + 3h, kStart + 12s).at(0), kNoon + 3h - 2s);
}

TEST(HeardHeartbeatsTest, NamesTheSilentHolders) {
  HeardHeartbeats heard;
  heard.See({Claim(0, "a", kNoon), Claim(1, "b", kNoon), {2, "", std::nullopt}}, kStart);
  heard.See({Claim(0, "a", kNoon), Claim(1, "b", kNoon + 10s), {2, "", std::nullopt}}, kStart + 10s);
  EXPECT_EQ(heard.NextSilent(15s, kStart + 10s), kStart + 15s);
  EXPECT_EQ(heard.SilentFor(15s, kStart + 15s), std::vector<int64_t>{0});
  EXPECT_EQ(heard.NextSilent(15s, kStart + 15s), kStart + 25s);
  EXPECT_EQ(heard.NextSilent(15s, kStart + 25s), std::nullopt);
  EXPECT_EQ(heard.SilentFor(15s, kStart + 25s), (std::vector<int64_t>{0, 1}));
  heard.See({Claim(1, "b", kNoon + 10s)}, kStart + 25s);
  EXPECT_EQ(heard.SilentFor(15s, kStart + 25s), std::vector<int64_t>{1}) << "what is gone is forgotten";
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::heard_heartbeats_test
