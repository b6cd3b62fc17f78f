#include "controllers/distribution/sharding/sharding.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace evenkeel::controllers::distribution::sharding_test {
namespace {

Cluster MakeCluster(const std::string& id, std::optional<int64_t> shard = std::nullopt) {
  Cluster cluster;
  cluster.id = id;
  cluster.name = "cluster-" + id;
  cluster.server = "https://kubernetes.default.svc?" + id;
  cluster.shard = shard;
  return cluster;
}

std::vector<Cluster> FiveClusters() {
  std::vector<Cluster> clusters;
  for (const char* id : {"1", "2", "3", "4", "5"}) clusters.push_back(MakeCluster(id));
  return clusters;
}

std::vector<Cluster> Numbered(int count) {
  std::vector<Cluster> clusters;
  for (int i = 0; i < count; ++i) clusters.push_back(MakeCluster(fmt::format("{:06}", i)));
  return clusters;
}

std::string ShardsOf(const ShardFunction& function, const std::vector<Cluster>& clusters) {
  std::string shards;
  for (const Cluster& cluster : clusters) shards += std::to_string(function.Of(&cluster));
  return shards;
}

/// The shards of nil (the local cluster) and then of the clusters, as upstream's tests list them.
std::vector<int64_t> WithNil(const ShardFunction& function, const std::vector<Cluster>& clusters) {
  std::vector<int64_t> shards = {function.Of(nullptr)};
  for (const Cluster& cluster : clusters) shards.push_back(function.Of(&cluster));
  return shards;
}

using Shards = std::vector<int64_t>;

AppCounts Loads(const std::vector<Cluster>& clusters) {
  AppCounts apps;
  for (size_t i = 0; i < clusters.size(); ++i) apps[clusters[i].server] = static_cast<int64_t>(i % 7) + 1;
  return apps;
}

TEST(LegacyShardingTest, WithOneReplicaEverythingIsShardZero) {
  const auto clusters = FiveClusters();
  EXPECT_EQ(ShardsOf(ShardFunction(Method::kLegacy, 1, clusters), clusters), "00000");
}

TEST(LegacyShardingTest, AnEmptyIdIsShardZero) {
  const Cluster local = MakeCluster("");
  EXPECT_EQ(ShardFunction(Method::kLegacy, 1, {}).Of(&local), 0);
}

TEST(LegacyShardingTest, WithoutReplicasThereIsNoShard) {
  const Cluster local = MakeCluster("");
  EXPECT_EQ(ShardFunction(Method::kLegacy, 0, {}).Of(&local), -1);
  EXPECT_EQ(ShardFunction(Method::kLegacy, 0, {}).Of(nullptr), -1);
}

TEST(LegacyShardingTest, HonoursFixedShards) {
  const auto clusters = FiveClusters();
  const ShardFunction function(Method::kLegacy, 5, clusters);
  EXPECT_EQ(WithNil(function, {clusters.begin(), clusters.begin() + 4}), (Shards{0, 4, 1, 2, 2}));
  const Cluster pinned5 = MakeCluster("5", 4), pinned4 = MakeCluster("4", 1), beyond = MakeCluster("1", 7);
  EXPECT_EQ(function.Of(&pinned5), 4);
  EXPECT_EQ(function.Of(&pinned4), 1);
  EXPECT_EQ(function.Of(&beyond), 4) << "a pin beyond the replicas falls through to the hash";
}

TEST(LegacyShardingTest, MatchesTheHashVectors) {
  std::vector<Cluster> clusters;
  for (int id = 1; id <= 10; ++id) clusters.push_back(MakeCluster(std::to_string(id)));
  const std::pair<int, std::string> vectors[] = {
      {2, "0101010100"}, {3, "1121220120"}, {4, "0123012300"}, {5, "4122301012"}, {7, "2351346505"}};
  for (const auto& [replicas, shards] : vectors) {
    EXPECT_EQ(ShardsOf(ShardFunction(Method::kLegacy, replicas, clusters), clusters), shards) << replicas << " replicas";
  }
}

TEST(HashTest, MatchesTheFnvVectors) {
  const std::pair<std::string, uint32_t> vectors[] = {{"1", 873244444u},
                                                      {"2", 923577301u},
                                                      {"3", 906799682u},
                                                      {"4", 822911587u},
                                                      {"5", 806133968u},
                                                      {"6", 856466825u},
                                                      {"", 2166136261u},
                                                      {"6d88fc37-0749-46af-a796-57f2b085622c", 2634360934u},
                                                      {"aa4ed2a1-e8d3-40fc-a8bd-90a40aad3f12", 2853210282u},
                                                      {"00000000-0000-0000-0000-000000000000", 3192360657u},
                                                      {"ffffffff-ffff-ffff-ffff-ffffffffffff", 654879633u},
                                                      {"123e4567-e89b-12d3-a456-426614174000", 3491767295u}};
  for (const auto& [text, hash] : vectors) EXPECT_EQ(base::Fnv1a32(text), hash) << text;
}

TEST(HashTest, MatchesTheBlakeVectors) {
  EXPECT_EQ(base::Blake2b64(""), 241225442164632184u);
  EXPECT_EQ(base::Blake2b64("1"), 11971653999726161180u);
  EXPECT_EQ(base::Blake2b64("00"), 2776827469101287290u);
  EXPECT_EQ(base::Blake2b64("10"), 5429088520730634226u);
  EXPECT_EQ(base::Blake2b64("000000"), 10678963063218561288u);
}

TEST(RoundRobinShardingTest, WithoutReplicasThereIsNoShard) {
  const auto clusters = FiveClusters();
  EXPECT_EQ(WithNil(ShardFunction(Method::kRoundRobin, 0, clusters), clusters), (Shards{-1, -1, -1, -1, -1, -1}));
}

TEST(RoundRobinShardingTest, TakesTurnsInTheOrderOfTheId) {
  const auto clusters = FiveClusters();
  EXPECT_EQ(WithNil(ShardFunction(Method::kRoundRobin, 1, clusters), clusters), (Shards{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(WithNil(ShardFunction(Method::kRoundRobin, 2, clusters), clusters), (Shards{0, 0, 1, 0, 1, 0}));
  EXPECT_EQ(WithNil(ShardFunction(Method::kRoundRobin, 3, clusters), clusters), (Shards{0, 0, 1, 2, 0, 1}));
}

TEST(RoundRobinShardingTest, HonoursFixedShardsWhichStillTakeARank) {
  auto clusters = FiveClusters();
  EXPECT_EQ(WithNil(ShardFunction(Method::kRoundRobin, 4, clusters), {clusters.begin(), clusters.begin() + 4}),
            (Shards{0, 0, 1, 2, 3}));
  clusters[4].shard = 1;
  const ShardFunction function(Method::kRoundRobin, 4, clusters);
  EXPECT_EQ(function.Of(&clusters[4]), 1);
  const Cluster pinned = MakeCluster("4", 1);
  EXPECT_EQ(function.Of(&pinned), 1);
}

TEST(RoundRobinShardingTest, RanksManyClustersLexicographically) {
  std::vector<Cluster> clusters;
  for (int i = 0; i < 2048; ++i) clusters.push_back(MakeCluster(std::to_string(i)));
  const ShardFunction function(Method::kRoundRobin, 4096, clusters);
  const std::pair<int, int> ranks[] = {{0, 0},     {1, 1},    {10, 2},    {100, 3},    {1000, 4},    {1001, 5},
                                       {11, 113},  {2, 1112}, {20, 1113}, {200, 1114}, {2000, 1115}, {2047, 1166},
                                       {21, 1172}, {3, 1271}, {9, 1937},  {99, 2037},  {999, 2047}};
  for (const auto& [id, rank] : ranks) EXPECT_EQ(function.Of(&clusters[static_cast<size_t>(id)]), rank) << id;
}

TEST(RoundRobinShardingTest, FollowsClustersThatAreAddedAndRemoved) {
  auto clusters = FiveClusters();
  const Cluster sixth = MakeCluster("6");
  EXPECT_EQ(ShardFunction(Method::kRoundRobin, 2, clusters).Of(&sixth), -1);
  clusters.push_back(sixth);
  EXPECT_EQ(ShardFunction(Method::kRoundRobin, 2, clusters).Of(&sixth), 1);
  clusters.pop_back();
  EXPECT_EQ(ShardFunction(Method::kRoundRobin, 2, clusters).Of(&sixth), -1);
}

TEST(RoundRobinShardingTest, ShufflesAsRanksMove) {
  std::vector<Cluster> clusters;
  for (const char* id : {"10", "20", "30", "40", "50", "60"}) clusters.push_back(MakeCluster(id));
  EXPECT_EQ(ShardsOf(ShardFunction(Method::kRoundRobin, 3, clusters), clusters), "012012");
  const Cluster first = clusters.front();
  clusters.erase(clusters.begin());
  const ShardFunction without(Method::kRoundRobin, 3, clusters);
  EXPECT_EQ(without.Of(&first), -1);
  EXPECT_EQ(ShardsOf(without, clusters), "01201");
  clusters.insert(clusters.begin() + 1, MakeCluster("25"));
  EXPECT_EQ(ShardsOf(ShardFunction(Method::kRoundRobin, 3, clusters), clusters), "012012");
}

TEST(HashRingTest, MatchesTheRingVectors) {
  const HashRing two(2);
  ASSERT_EQ(two.points().size(), 2000u);
  EXPECT_EQ(two.points()[0].hash, 12436542851892371u);
  EXPECT_EQ(two.points()[0].shard, 1);
  EXPECT_EQ(two.points()[1].hash, 38710979150741505u);
  EXPECT_EQ(two.points()[1].shard, 0);
  EXPECT_EQ(two.points()[2].hash, 41782711474407198u);
  EXPECT_EQ(two.points().back().hash, 18436406342611519498u);
  EXPECT_EQ(two.points().back().shard, 1);
  const HashRing three(3);
  ASSERT_EQ(three.points().size(), 3000u);
  EXPECT_EQ(three.points()[1].hash, 17434704996268518u);
  EXPECT_EQ(three.points()[1].shard, 2);
  EXPECT_EQ(three.points()[2].hash, 26809052346087387u);
  EXPECT_EQ(three.points()[2].shard, 2);
}

TEST(HashRingTest, CollidesFromTwelveReplicasOn) {
  const HashRing twelve(12);
  ASSERT_EQ(twelve.points().size(), 11900u);
  EXPECT_EQ(twelve.points()[0].hash, 113204015311081u);
  EXPECT_EQ(twelve.points()[0].shard, 11);
  EXPECT_EQ(twelve.points()[1].shard, 7);
  EXPECT_EQ(twelve.points()[2].shard, 3);
  auto owner = [](const HashRing& ring, uint64_t hash) {
    for (const HashRing::Point& point : ring.points()) {
      if (point.hash == hash) return point.shard;
    }
    return -1;
  };
  EXPECT_EQ(owner(twelve, base::Blake2b64("110")), 11);
  EXPECT_EQ(owner(HashRing(11), base::Blake2b64("110")), 1);
  const HashRing twenty(20);
  EXPECT_EQ(twenty.points().size(), 19100u);
  EXPECT_EQ(twenty.points().back().hash, 18444894837867065852u);
  EXPECT_EQ(twenty.points().back().shard, 16);
  EXPECT_EQ(HashRing(101).points().size(), 92900u);
  EXPECT_EQ(HashRing(128).points().size(), 117380u);
  EXPECT_EQ(HashRing(128, true).points().size(), 128000u) << "a separator mends it";
}

TEST(ConsistentHashingTest, MatchesTheAssignmentsWithoutApplications) {
  const auto clusters = Numbered(133);
  const ShardFunction three(Method::kConsistentHashing, 3, clusters);
  EXPECT_EQ(ShardsOf(three, clusters),
            "020222201220122022020100212101020101100022100212210110202201022012102111111121012211221000121222011200001121100021"
            "2002201212011100"
            "112");
  EXPECT_EQ(three.Of(nullptr), 0);
  EXPECT_EQ(ShardsOf(ShardFunction(Method::kConsistentHashing, 2, clusters), clusters),
            "000000001000101011000100111101000101100011100011110110100101011010101111111111011111101000101010011000001111100011"
            "0001001111011100"
            "110");
}

TEST(ConsistentHashingTest, BoundsLoadsOnPrefixes) {
  const auto clusters = Numbered(133);
  const AppCounts apps = Loads(clusters);
  const ShardFunction three(Method::kConsistentHashing, 3, clusters, apps);
  EXPECT_EQ(three.loads(), (Shards{182, 170, 180}));
  EXPECT_EQ(ShardsOf(three, clusters),
            "020212001200122022002100212101020101100022100212210110202201022012102111111121012211221000121222011200001121100021"
            "2002201212011100"
            "112");
  const ShardFunction two(Method::kConsistentHashing, 2, clusters, apps);
  EXPECT_EQ(two.loads(), (Shards{241, 291}));
  EXPECT_EQ(ShardsOf(two, clusters),
            "001010011101101011000100111101000101100011100011110110100101011010101111111111011111101000101010011000001111100011"
            "0001001111011100"
            "110");
}

TEST(ConsistentHashingTest, MatchesTheSmallVectors) {
  const auto clusters = Numbered(12);
  AppCounts apps;
  for (size_t i = 0; i < clusters.size(); ++i) apps[clusters[i].server] = static_cast<int64_t>(i) + 1;
  const ShardFunction loaded(Method::kConsistentHashing, 3, clusters, apps);
  EXPECT_EQ(ShardsOf(loaded, clusters), "020212001220");
  EXPECT_EQ(loaded.loads(), (Shards{31, 14, 33}));
  EXPECT_EQ(ShardsOf(ShardFunction(Method::kConsistentHashing, 3, clusters), clusters), "020222201220");
}

TEST(ConsistentHashingTest, MovesOnlyClustersOfAShardThatGoes) {
  auto clusters = Numbered(133);
  const std::string three = ShardsOf(ShardFunction(Method::kConsistentHashing, 3, clusters), clusters);
  const std::string two = ShardsOf(ShardFunction(Method::kConsistentHashing, 2, clusters), clusters);
  for (char shard : {'0', '1', '2'}) EXPECT_NEAR(std::ranges::count(three, shard), 44.33, 4.43) << shard;
  for (size_t i = 0; i < three.size(); ++i) {
    if (three[i] != '2') {
      EXPECT_EQ(two[i], three[i]) << i;
    }
  }
  const Cluster last = clusters.back();
  clusters.pop_back();
  const ShardFunction shorter(Method::kConsistentHashing, 2, clusters);
  EXPECT_EQ(shorter.Of(&last), -1);
  EXPECT_EQ(ShardsOf(shorter, clusters), two.substr(0, 132));
}

TEST(ConsistentHashingTest, HonoursAFixedShardAndNeedsReplicas) {
  const Cluster pinned = MakeCluster("1", 1);
  EXPECT_EQ(ShardFunction(Method::kConsistentHashing, 5, {}).Of(&pinned), 1);
  EXPECT_EQ(ShardFunction(Method::kConsistentHashing, 0, {}).Of(nullptr), -1);
}

TEST(AssignShardsTest, PutsAPinBeyondTheReplicasOnShardZeroAndSaysSo) {
  const std::vector<Cluster> clusters = {MakeCluster("1", 1), MakeCluster("2"), MakeCluster("3", 999)};
  std::vector<Finding> findings;
  const auto shards = AssignShards(clusters, {}, {.method = Method::kLegacy, .replicas = 2}, findings);
  EXPECT_EQ(shards.at(clusters[0].server), 1);
  EXPECT_EQ(shards.at(clusters[1].server), 1);
  EXPECT_EQ(shards.at(clusters[2].server), 0);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].reason, "ShardOutOfRange");
}

TEST(AssignShardsTest, IgnoresANegativePinUnlessTheQuirkIsAskedFor) {
  const std::vector<Cluster> clusters = {MakeCluster("1", -1)};
  std::vector<Finding> findings;
  EXPECT_EQ(AssignShards(clusters, {}, {.method = Method::kLegacy, .replicas = 3}, findings).at(clusters[0].server), 1);
  EXPECT_EQ(findings.size(), 1u);
  findings.clear();
  EXPECT_EQ(AssignShards(clusters, {}, {.method = Method::kLegacy, .replicas = 3, .negative_shard_orphans = true}, findings)
                .at(clusters[0].server),
            -1);
  EXPECT_TRUE(findings.empty());
}

TEST(AssignShardsTest, WithOneReplicaOrNoneEverythingIsShardZero) {
  const std::vector<Cluster> clusters = {MakeCluster("1"), MakeCluster("2"), MakeCluster("3", 1)};
  for (int64_t replicas : {0, 1}) {
    std::vector<Finding> findings;
    for (const auto& [server, shard] :
         AssignShards(clusters, {}, {.method = Method::kRoundRobin, .replicas = replicas}, findings)) {
      EXPECT_EQ(shard, 0) << server;
    }
  }
}

TEST(AssignShardsTest, RedistributesRoundRobinWhenAClusterComesBetween) {
  std::vector<Cluster> clusters = {MakeCluster("1"), MakeCluster("3")};
  std::vector<Finding> findings;
  const ShardingOptions options{.method = Method::kRoundRobin, .replicas = 2};
  auto shards = AssignShards(clusters, {}, options, findings);
  EXPECT_EQ(shards.at(clusters[0].server), 0);
  EXPECT_EQ(shards.at(clusters[1].server), 1);
  clusters.push_back(MakeCluster("2"));
  shards = AssignShards(clusters, {}, options, findings);
  EXPECT_EQ(shards.at(clusters[0].server), 0);
  EXPECT_EQ(shards.at(clusters[2].server), 1);
  EXPECT_EQ(shards.at(clusters[1].server), 0);
}

base::Json Application(const std::string& ns, const std::string& name, const std::string& server) {
  return {{"metadata", {{"namespace", ns}, {"name", name}}}, {"spec", {{"destination", {{"server", server}}}}}};
}

TEST(CountApplicationsTest, CountsByDestinationServerAsWritten) {
  std::vector<base::Json> apps = {Application("argocd", "app1", "cluster1"), Application("argocd", "app2", "cluster1"),
                                  Application("argocd", "app3", "cluster2"), Application("argocd", "app4", "cluster2"),
                                  Application("argocd", "app5", "cluster3"), Application("argocd", "byname", "")};
  EXPECT_EQ(CountApplications(apps, false), (AppCounts{{"cluster1", 2}, {"cluster2", 2}, {"cluster3", 1}}));
  apps.push_back(Application("team-a", "app1", "cluster3"));
  EXPECT_EQ(CountApplications(apps, false).at("cluster3"), 2);
  EXPECT_EQ(CountApplications(apps, true).at("cluster3"), 1) << "the quirk: names collapse over namespaces";
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::sharding_test
