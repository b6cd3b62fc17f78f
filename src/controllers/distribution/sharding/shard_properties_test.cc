// What holds for any history of claims and any fleet, tried on seeded random ones.
#include <gtest/gtest.h>

#include "base/random.h"
#include "controllers/distribution/sharding/shard_mapping.h"
#include "controllers/distribution/sharding/sharding.h"

namespace evenkeel::controllers::distribution::shard_properties_test {
namespace {

using namespace std::chrono_literals;

constexpr int kHistories = 300;
constexpr int kSteps = 60;
constexpr base::Duration kTimeout = 30s;

const ShardClaim* Held(const std::vector<ShardClaim>& claims, int64_t shard) {
  const auto found = std::ranges::find(claims, shard, &ShardClaim::shard);
  return found == claims.end() ? nullptr : &*found;
}

TEST(ClaimPropertiesTest, AnyHistoryOfClaimsKeepsTheMappingSound) {
  for (uint64_t seed = 0; seed < kHistories; ++seed) {
    base::Random random(seed);
    base::Time now{std::chrono::seconds(1'734'225'184)};
    int64_t replicas = random.Between(int64_t{1}, int64_t{6});
    std::vector<ShardClaim> claims;
    for (int step = 0; step < kSteps; ++step) {
      if (random.Chance(0.1)) replicas = random.Between(int64_t{1}, int64_t{6});
      now += random.Between(base::Duration(0s), base::Duration(15s));
      const std::string host = "host-" + std::to_string(random.Below(8));
      if (random.Chance(0.1)) claims = Release(claims, host).value_or(claims);
      const ClaimRequest request{replicas, -1, host, now, kTimeout};
      const std::vector<ShardClaim> before = claims;
      const ClaimResult result = claims.empty() ? FirstClaim(request) : NextClaim(claims, request);
      claims = result.claims;
      const std::string where = "seed " + std::to_string(seed) + " step " + std::to_string(step);
      ASSERT_EQ(claims.size(), static_cast<size_t>(replicas)) << where;
      ASSERT_EQ(CheckShardMapping(claims), "") << where;
      ASSERT_LE(std::ranges::count(claims, host, &ShardClaim::controller), 1) << where << ": one host, one shard";
      std::set<std::string> hosts;
      for (const ShardClaim& claim : claims) {
        if (!claim.controller.empty()) {
          ASSERT_TRUE(hosts.insert(claim.controller).second) << where;
        }
      }
      ASSERT_LT(result.shard, replicas) << where;
      if (result.shard >= 0) {
        ASSERT_EQ(Held(claims, result.shard)->controller, host) << where;
      } else {
        for (const ShardClaim& claim : claims) {
          ASSERT_FALSE(claim.controller.empty()) << where;
          ASSERT_LE(now, *claim.heartbeat + kTimeout) << where << ": an expired claim was left";
        }
      }
      if (result.reset || before.empty()) continue;
      for (const ShardClaim& was : before) {
        const bool alive = !was.controller.empty() && was.heartbeat && now <= *was.heartbeat + kTimeout;
        if (alive && was.controller != host) {
          ASSERT_EQ(*Held(claims, was.shard), was) << where << ": taken from the living";
        }
      }
      ASSERT_EQ(*ParseShardMapping(FormatShardMapping(claims)), claims) << where;
    }
  }
}

TEST(ClaimPropertiesTest, RepairMakesAnyMappingSoundAndKeepsEachFirstValidClaim) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    base::Random random(seed);
    std::vector<ShardClaim> claims(random.Below(8));
    for (ShardClaim& claim : claims) {
      claim.shard = random.Between(int64_t{-2}, int64_t{7});
      if (random.Chance(0.7)) claim.controller = "host-" + std::to_string(random.Below(4));
      if (random.Chance(0.7)) claim.heartbeat = base::Time(std::chrono::seconds(random.Below(1000)));
    }
    const int64_t replicas = random.Between(int64_t{0}, int64_t{6});
    const auto repaired = RepairShardMapping(claims, replicas);
    ASSERT_EQ(repaired.size(), static_cast<size_t>(replicas)) << seed;
    ASSERT_EQ(CheckShardMapping(repaired), "") << seed;
    std::set<std::string> hosts;
    for (const ShardClaim& claim : repaired) {
      if (claim.controller.empty()) continue;
      ASSERT_TRUE(hosts.insert(claim.controller).second) << seed;
      ASSERT_NE(std::ranges::find(claims, claim), claims.end()) << seed << ": nothing is made up";
    }
    ASSERT_EQ(RepairShardMapping(repaired, replicas), repaired) << seed;
  }
}

TEST(AssignShardsPropertiesTest, EveryClusterHasAShardInRangeWhateverItsPin) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    base::Random random(seed);
    std::vector<Cluster> clusters(random.Below(30));
    AppCounts apps;
    for (Cluster& cluster : clusters) {
      cluster.id = random.Chance(0.05) ? "" : random.Uuid();
      cluster.server = "https://" + random.NameSuffix(8);
      if (random.Chance(0.2)) cluster.shard = random.Between(int64_t{-3}, int64_t{12});
      if (random.Chance(0.5)) apps[cluster.server] = static_cast<int64_t>(random.Below(50));
    }
    const int64_t replicas = random.Between(int64_t{0}, int64_t{8});
    for (Method method : {Method::kLegacy, Method::kRoundRobin, Method::kConsistentHashing}) {
      std::vector<Finding> findings, again;
      const ShardingOptions options{.method = method, .replicas = replicas};
      const auto shards = AssignShards(clusters, apps, options, findings);
      std::vector<Cluster> shuffled(clusters.rbegin(), clusters.rend());
      // With equal ids upstream's answer depends on the order, so only fleets without them are compared.
      if (std::ranges::count(clusters, "", &Cluster::id) <= 1) {
        ASSERT_EQ(shards, AssignShards(shuffled, apps, options, again)) << seed;
      }
      for (const Cluster& cluster : clusters) {
        ASSERT_TRUE(shards.contains(cluster.server)) << seed;
        const int64_t shard = shards.at(cluster.server);
        ASSERT_GE(shard, 0) << seed << " " << MethodName(method);
        ASSERT_LT(shard, std::max<int64_t>(replicas, 1)) << seed << " " << MethodName(method);
        if (cluster.shard && *cluster.shard >= 0 && *cluster.shard < replicas) {
          ASSERT_EQ(shard, *cluster.shard) << seed;
        }
      }
    }
  }
}

// The sharding cache's vectors (two replicas, legacy) that are about the assignment alone.
class CacheVectorsTest : public ::testing::Test {
 protected:
  static Cluster Make(const std::string& id, const std::string& server, std::optional<int64_t> shard = std::nullopt) {
    Cluster cluster;
    cluster.id = id;
    cluster.server = server;
    cluster.shard = shard;
    return cluster;
  }
  static std::map<std::string, int64_t> Assign(const std::vector<Cluster>& clusters) {
    std::vector<Finding> findings;
    return AssignShards(clusters, {}, {.method = Method::kLegacy, .replicas = 2}, findings);
  }
};

TEST_F(CacheVectorsTest, Add) {
  EXPECT_EQ(Assign({Make("2", "https://127.0.0.1:6443"), Make("1", "https://kubernetes.default.svc")}),
            (std::map<std::string, int64_t>{{"https://127.0.0.1:6443", 1}, {"https://kubernetes.default.svc", 0}}));
}

TEST_F(CacheVectorsTest, Update) {
  EXPECT_EQ(Assign({Make("1", "https://kubernetes.default.svc")}).at("https://kubernetes.default.svc"), 0);
  EXPECT_EQ(Assign({Make("4", "https://kubernetes.default.svc")}).at("https://kubernetes.default.svc"), 1);
}

TEST_F(CacheVectorsTest, UpdateServerName) {
  EXPECT_EQ(Assign({Make("2", "https://127.0.0.1:6443"), Make("1", "https://server2")}),
            (std::map<std::string, int64_t>{{"https://127.0.0.1:6443", 1}, {"https://server2", 0}}));
}

TEST_F(CacheVectorsTest, ShardOfTheResourceIsNotChanged) {
  const std::vector<Cluster> clusters = {Make("2", "a"), Make("1", "b", 1), Make("3", "c", 999)};
  EXPECT_EQ(Assign(clusters), (std::map<std::string, int64_t>{{"a", 1}, {"b", 1}, {"c", 0}}));
  EXPECT_EQ(clusters[2].shard, 999);
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::shard_properties_test
