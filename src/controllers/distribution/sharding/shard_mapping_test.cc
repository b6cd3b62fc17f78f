#include "controllers/distribution/sharding/shard_mapping.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::distribution::shard_mapping_test {
namespace {

using namespace std::chrono_literals;

const base::Time kNow = base::Time(std::chrono::seconds(1'734'225'184));
constexpr base::Duration kTimeout = base::Duration(30s);

ShardClaim Held(int64_t shard, const std::string& name) { return {shard, name, kNow}; }
ShardClaim Silent(int64_t shard, const std::string& name) { return {shard, name, std::nullopt}; }
using Claims = std::vector<ShardClaim>;

ClaimRequest Request(const std::string& host, int64_t replicas, int64_t shard = -1) {
  return {replicas, shard, host, kNow, kTimeout};
}

TEST(ShardMappingTest, ReadsAndWritesWhatArgoCdWrites) {
  const std::string text =
      R"([{"ShardNumber":0,"ControllerName":"argo-cd-argocd-application-controller-6c5b5d5d66-dh2pt","HeartbeatTime":"2024-12-15T01:13:04Z"},)"
      R"({"ShardNumber":1,"ControllerName":"","HeartbeatTime":null}])";
  auto claims = ParseShardMapping(text);
  ASSERT_TRUE(claims) << claims.error().message();
  EXPECT_EQ(FormatShardMapping(*claims), text);
  EXPECT_EQ(FormatShardMapping({}), "[]");
  EXPECT_TRUE(ParseShardMapping("null")->empty());
}

TEST(ShardMappingTest, ReadsLenientlyAndTruncatesOnWriting) {
  auto claims = ParseShardMapping(
      R"([{"shardnumber":2,"CONTROLLERNAME":"a<b","HeartbeatTime":"2024-12-15T02:13:04.999+01:00","x":1},{}])");
  ASSERT_TRUE(claims) << claims.error().message();
  EXPECT_EQ(FormatShardMapping(*claims),
            R"([{"ShardNumber":2,"ControllerName":"a\u003cb","HeartbeatTime":"2024-12-15T01:13:04Z"},)"
            R"({"ShardNumber":0,"ControllerName":"","HeartbeatTime":null}])");
}

TEST(ShardMappingTest, RefusesWhatItCannotRead) {
  for (const char* text : {"", "{", "{}", "[1]", R"([{"HeartbeatTime":""}])", R"([{"ShardNumber":"0"}])"}) {
    EXPECT_FALSE(ParseShardMapping(text)) << text;
  }
}

TEST(FirstClaimTest, TakesShardZeroOrTheOneAskedFor) {
  auto any = FirstClaim(Request("test-example", 2));
  EXPECT_EQ(any.shard, 0);
  EXPECT_EQ(any.claims, (Claims{Held(0, "test-example"), Silent(1, "")}));
  auto asked = FirstClaim(Request("test-example", 2, 1));
  EXPECT_EQ(asked.shard, 1);
  EXPECT_EQ(asked.claims, (Claims{Silent(0, ""), Held(1, "test-example")}));
}

TEST(FirstClaimTest, DoesNotCrashOnAShardThatDoesNotExist) {
  auto beyond = FirstClaim(Request("test-example", 2, 2));
  EXPECT_EQ(beyond.shard, 2);
  EXPECT_EQ(beyond.claims, (Claims{Held(0, "test-example"), Silent(1, "")}));
}

struct ClaimCase {
  const char* name;
  Claims before;
  const char* host;
  int64_t replicas, asked;
  int64_t shard;
  Claims after;
};

TEST(NextClaimTest, MatchesTheProtocolVectors) {
  const ClaimCase cases[] = {
      {"shorter, existing", {Silent(0, "test-example")}, "test-example", 2, -1, 0, {Held(0, "test-example"), Silent(1, "")}},
      {"shorter, new",
       {Held(0, "test-example")},
       "test-example-1",
       2,
       -1,
       1,
       {Held(0, "test-example"), Held(1, "test-example-1")}},
      {"longer", {Held(0, "test-example"), Held(1, "test-example-1")}, "test-example", 1, -1, 0, {Held(0, "test-example")}},
      {"preset, existing",
       {Silent(1, "test-example-1"), Silent(0, "test-example")},
       "test-example-1",
       2,
       1,
       1,
       {Held(1, "test-example-1"), Silent(0, "test-example")}},
      {"preset, new",
       {Held(0, "test-example")},
       "test-example-1",
       2,
       1,
       1,
       {Held(0, "test-example"), Held(1, "test-example-1")}},
      {"preset, longer",
       {Held(0, "test-example"), Held(1, "test-example-1"), Held(2, "test-example-2")},
       "test-example",
       2,
       1,
       1,
       {Silent(0, ""), Held(1, "test-example")}},
      {"heartbeat",
       {Held(0, "test-example"), Silent(1, "test-example-1")},
       "test-example-1",
       2,
       -1,
       1,
       {Held(0, "test-example"), Held(1, "test-example-1")}},
      {"heartbeat preset",
       {Held(0, "test-example"), Silent(1, "test-example-1")},
       "test-example-1",
       2,
       1,
       1,
       {Held(0, "test-example"), Held(1, "test-example-1")}},
  };
  for (const ClaimCase& c : cases) {
    auto result = NextClaim(c.before, Request(c.host, c.replicas, c.asked));
    EXPECT_EQ(result.shard, c.shard) << c.name;
    EXPECT_EQ(result.claims, c.after) << c.name;
  }
}

TEST(NextClaimTest, StealsFromAHealthyOwnerWhenAskedByNumber) {
  auto result = NextClaim({Held(0, "a"), Held(1, "b")}, Request("c", 2, 1));
  EXPECT_EQ(result.claims[1].controller, "c");
}

TEST(NextClaimTest, ReturnsAShardBeyondTheReplicasUnclaimed) {
  auto result = NextClaim({Held(0, "a"), Held(1, "b")}, Request("c", 2, 5));
  EXPECT_EQ(result.shard, 5);
  EXPECT_EQ(result.claims, (Claims{Held(0, "a"), Held(1, "b")}));
}

TEST(NextClaimTest, ExpiresStrictlyAfterTheTimeout) {
  Claims claims = {{0, "a", kNow - 30s}};
  EXPECT_EQ(NextClaim(claims, Request("b", 1)).shard, -1);
  claims[0].heartbeat = kNow - 31s;
  auto result = NextClaim(claims, Request("b", 1));
  EXPECT_EQ(result.shard, 0);
  EXPECT_EQ(result.reason, "took over from a, silent for 31s");
}

TEST(NextClaimTest, AnEarlierExpiredEntryGoesBeforeALaterFreeOne) {
  EXPECT_EQ(NextClaim({{0, "a", kNow - 60s}, Silent(1, "")}, Request("b", 2)).shard, 0);
}

TEST(NextClaimTest, RenewsItsOwnExpiredEntry) {
  EXPECT_EQ(NextClaim({Silent(0, ""), {1, "b", kNow - 600s}}, Request("b", 2)).shard, 1);
}

TEST(NextClaimTest, HasNoShardWhenAllAreHeld) {
  auto result = NextClaim({Held(0, "a"), Held(1, "b")}, Request("c", 2));
  EXPECT_EQ(result.shard, -1);
  EXPECT_EQ(result.reason, "none is free");
}

TEST(ReleaseTest, FreesTheEntriesOfOneController) {
  EXPECT_EQ(Release({Held(0, "a"), Held(1, "b")}, "b"), (Claims{Held(0, "a"), Silent(1, "")}));
  EXPECT_EQ(Release({Held(0, "a")}, "b"), std::nullopt);
}

TEST(RepairTest, FindsAndMendsNumbersThatWouldOrphanClusters) {
  EXPECT_EQ(CheckShardMapping({Held(1, "b"), Held(0, "a")}), "");
  EXPECT_EQ(CheckShardMapping({Held(0, "a"), Held(7, "b")}), "shard 7 is not among 0..1");
  EXPECT_EQ(CheckShardMapping({Held(0, "a"), Held(0, "b")}), "shard 0 is there twice");
  EXPECT_EQ(RepairShardMapping({Held(2, "c"), Held(0, "a"), Held(0, "b"), Held(9, "d")}, 3),
            (Claims{Held(0, "a"), Silent(1, ""), Held(2, "c")}));
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::shard_mapping_test
