#include "controllers/distribution/distributor/compatible_distributor.h"

#include "controllers/distribution/distributor/distributor_testing.h"

namespace evenkeel::controllers::distribution::compatible_distributor_test {
namespace {

using namespace std::chrono_literals;

class DistributorShareTest : public DistributorTest {};

const std::vector<std::string> kThreeMembers = {"member-1", "member-2", "member-3"};

TEST_F(DistributorShareTest, ThreeReplicasShareThreeMembersOneEach) {
  PutClusters(3);
  Scale(3);
  for (const char* host : {"a", "b", "c"}) Start(host);
  Run(5s);
  ExpectOneOwnerEach(kThreeMembers);
  std::set<int64_t> shards;
  for (const auto& [host, replica] : replicas) {
    EXPECT_EQ(replica.distributor->status().owned.size(), 1u) << host;
    EXPECT_EQ(replica.distributor->status().replicas, 3);
    EXPECT_TRUE(replica.distributor->status().synced);
    EXPECT_TRUE(replica.distributor->Health());
    shards.insert(ShardOf(host));
  }
  EXPECT_EQ(shards, (std::set<int64_t>{0, 1, 2}));
  for (const ShardClaim& claim : Claims()) EXPECT_EQ(ShardOf(claim.controller), claim.shard);
  EXPECT_EQ(Events("OwnerChanged").size(), 3u);
}

TEST_F(DistributorShareTest, OneReplicaClaimsShardZeroAndLooksAfterEverything) {
  PutClusters(3);
  Scale(1);
  Start("a");
  Run(5s);
  ExpectOneOwnerEach(kThreeMembers);
  ASSERT_EQ(Claims().size(), 1u);
  EXPECT_EQ(HolderOf(0), "a");
}

TEST_F(DistributorShareTest, FollowsTheReplicasUpAndDownWithinASecond) {
  PutClusters(6);
  const std::vector<std::string> all = {"member-1", "member-2", "member-3", "member-4", "member-5", "member-6"};
  Scale(3);
  for (const char* host : {"a", "b", "c"}) Start(host);
  Run(5s);
  ExpectOneOwnerEach(all);
  Scale(5);
  for (const char* host : {"d", "e"}) Start(host);
  Run(1s);
  ExpectOneOwnerEach(all);
  EXPECT_EQ(Claims().size(), 5u);
  for (const auto& [host, replica] : replicas) EXPECT_FALSE(replica.distributor->status().owned.empty()) << host;
  Scale(2);
  for (const char* host : {"c", "d", "e"}) {
    Stop(host);
  }
  Run(1s);
  ExpectOneOwnerEach(all);
  EXPECT_EQ(Claims().size(), 2u);
}

TEST_F(DistributorShareTest, SurplusReplicasOwnNothingAndStayHealthyUntilAShardIsFree) {
  PutClusters(2);
  Scale(2);
  for (const char* host : {"a", "b", "c"}) Start(host);
  Run(5s);
  ExpectOneOwnerEach({"member-1", "member-2"});
  std::string idle;
  for (const auto& [host, replica] : replicas) {
    if (replica.distributor->status().shard == -1) idle = host;
  }
  ASSERT_FALSE(idle.empty());
  EXPECT_TRUE(replicas.at(idle).distributor->status().owned.empty());
  EXPECT_TRUE(replicas.at(idle).distributor->Health());
  const std::string other = idle == "a" ? "b" : "a";
  Stop(other);
  Run(1s);
  ExpectOneOwnerEach({"member-1", "member-2"});
  EXPECT_GE(ShardOf(idle), 0);
}

TEST_F(DistributorShareTest, ScaledToNothingItLetsGoAndSaysSo) {
  PutClusters(2);
  Scale(1);
  Distributor& a = Start("a");
  Run(5s);
  Scale(0);
  Run(1s);
  EXPECT_TRUE(OwnersNow().empty());
  ASSERT_FALSE(a.Health());
  EXPECT_NE(a.Health().error().message().find("has no replicas"), std::string::npos);
  Scale(1);
  Run(1s);
  EXPECT_TRUE(a.Health());
  ExpectOneOwnerEach({"member-1", "member-2"});
}

TEST_F(DistributorShareTest, AbsurdReplicasLeaveTheShardsAsTheyAre) {
  PutClusters(2);
  Scale(2);
  for (const char* host : {"a", "b"}) Start(host);
  Run(5s);
  Scale(2'000'000'000);
  Run(60s);
  ExpectOneOwnerEach({"member-1", "member-2"});
  EXPECT_EQ(Claims().size(), 2u);
}

TEST_F(DistributorShareTest, StoppingFreesTheClaimSoThatAnotherNeedNotWait) {
  PutClusters(2);
  Scale(2);
  for (const char* host : {"a", "b"}) Start(host);
  Run(5s);
  const int64_t shard = ShardOf("a");
  Stop("a");
  EXPECT_EQ(HolderOf(shard), "");
  Start("new");
  Run(1s);
  EXPECT_EQ(HolderOf(shard), "new");
  ExpectOneOwnerEach({"member-1", "member-2"});
}

TEST_F(DistributorShareTest, WithTheQuirkNoReleaseTheClaimIsLeftToExpire) {
  options.quirks.no_release = true;
  PutClusters(1);
  Scale(1);
  Start("a");
  Run(5s);
  Stop("a");
  EXPECT_EQ(HolderOf(0), "a");
}

TEST_F(DistributorShareTest, ACrashedOwnerIsReplacedAfterThreeHeartbeats) {
  PutClusters(3);
  Scale(3);
  for (const char* host : {"a", "b", "c"}) Start(host);
  Run(5s);
  const int64_t shard = ShardOf("a");
  Crash("a");
  Start("new");
  Run(14s);
  EXPECT_EQ(HolderOf(shard), "a") << "it may still be alive";
  EXPECT_EQ(OwnersNow().size(), 2u);
  ASSERT_TRUE(virtual_time.RunUntil([&] { return HolderOf(shard) == "new"; }, 30s));
  Run(1s);
  ExpectOneOwnerEach(kThreeMembers);
  bool told = false;
  for (const auto& event : Events("OwnerChanged")) told = told || event.message.find("took over from a") != std::string::npos;
  EXPECT_TRUE(told);
}

TEST_F(DistributorShareTest, AReplicaRestartedUnderItsNameKeepsItsShard) {
  PutClusters(3);
  Scale(3);
  for (const char* host : {"a", "b", "c"}) Start(host);
  Run(5s);
  const int64_t shard = ShardOf("b");
  Crash("b");
  Start("b");
  Run(1s);
  EXPECT_EQ(ShardOf("b"), shard);
  ExpectOneOwnerEach(kThreeMembers);
}

TEST_F(DistributorShareTest, AnExplicitShardIsTakenFromWhoeverHoldsIt) {
  PutClusters(2);
  Scale(2);
  for (const char* host : {"a", "b"}) Start(host);
  Run(5s);
  const std::string before = HolderOf(1);
  options.shard = 1;
  Start("chosen");
  Run(1s);
  EXPECT_EQ(HolderOf(1), "chosen");
  EXPECT_EQ(ShardOf("chosen"), 1);
  EXPECT_EQ(ShardOf(before), -1);
  ExpectOneOwnerEach({"member-1", "member-2"});
}

TEST_F(DistributorShareTest, TwoThatAskForOneShardTakeTurnsAndDoNotFloodTheHub) {
  PutClusters(2);
  Scale(2);
  options.shard = 1;
  for (const char* host : {"a", "b"}) Start(host);
  Run(2s);
  const uint64_t version = hub->version;
  for (int i = 0; i < 600; ++i) {
    Run(100ms);
    const Owners owners = OwnersNow();
    EXPECT_LE(owners.contains("member-2") ? owners.at("member-2").size() : 0u, 1u);
  }
  size_t writes = 0;
  for (const auto& event : hub->history) writes += event.version > version && event.plural == "configmaps";
  EXPECT_LE(writes, 14u) << "each once per heartbeat";
}

TEST_F(DistributorShareTest, AnExplicitShardBeyondTheReplicasIdles) {
  PutClusters(2);
  Scale(2);
  for (const char* host : {"a", "b"}) Start(host);
  Run(5s);
  options.shard = 7;
  Start("beyond");
  const uint64_t version = hub->version;
  Run(60s);
  EXPECT_TRUE(replicas.at("beyond").distributor->status().owned.empty());
  ExpectOneOwnerEach({"member-1", "member-2"});
  size_t writes = 0;
  for (const auto& event : hub->history) writes += event.version > version && event.plural == "configmaps";
  EXPECT_LE(writes, 20u);
}

TEST_F(DistributorShareTest, StaticModeGoesByTheOrdinalAndNeverTouchesTheConfigMap) {
  PutClusters(3);
  options.dynamic = false;
  options.static_replicas = 3;
  for (const char* host : {"controller-0", "controller-1", "controller-2"}) Start(host);
  Run(60s);
  ExpectOneOwnerEach(kThreeMembers);
  EXPECT_EQ(ShardOf("controller-2"), 2);
  EXPECT_TRUE(hub->objects["configmaps"].empty());
  EXPECT_EQ(OwnersNow().at("member-2"), (Names{"controller-1"}));
  EXPECT_TRUE(replicas.at("controller-1").distributor->Health());
}

TEST_F(DistributorShareTest, TheQuirkFrozenReplicasAssignsTwiceButTheFenceLetsOneAct) {
  options.quirks.frozen_replicas = true;
  PutClusters(4);
  Scale(1);
  Start("a");
  Run(5s);
  Scale(2);
  Start("b");
  Run(15s);
  EXPECT_EQ(replicas.at("a").distributor->status().replicas, 1);
  EXPECT_EQ(AssignedTo("a").size(), 4u) << "the old replica still thinks that all is its own";
  EXPECT_EQ(AssignedTo("b").size(), 2u);
  for (const auto& [cluster, owners] : OwnersNow()) EXPECT_EQ(owners, Names{"a"}) << cluster;
}

TEST_F(DistributorShareTest, FollowsClustersThatComeGoAndChangeTheirShard) {
  PutClusters(2);
  Scale(2);
  for (const char* host : {"a", "b"}) Start(host);
  Run(5s);
  PutCluster("member-3");
  Run(1s);
  ExpectOneOwnerEach(kThreeMembers);
  PutCluster("member-3", {{"shard", "1"}});
  Run(1s);
  EXPECT_EQ(OwnersNow().at("member-3"), (Names{HolderOf(1)}));
  hub->Remove(kube::resources::Secrets(), "evenkeel/member-1");
  Run(1s);
  ExpectOneOwnerEach({"member-2", "member-3"});
  EXPECT_EQ(WatchesOf("member-1"), 0u);
}

TEST_F(DistributorShareTest, NobodyLooksAfterASkippedCluster) {
  PutClusters(2);
  base::Json secret = hub->objects["secrets"].at("evenkeel/member-1");
  base::Ensure(secret, {"metadata", "annotations", "argocd.argoproj.io/skip-reconcile"}) = "true";
  hub->Put(kube::resources::Secrets(), secret);
  Scale(2);
  for (const char* host : {"a", "b"}) Start(host);
  Run(5s);
  EXPECT_EQ(OwnersNow(), (Owners{{"member-2", {HolderOf(1)}}})) << "it keeps its rank";
}

TEST_F(DistributorShareTest, TheLocalClusterHasItsRankOnAStockInstallation) {
  PutClusters(2);
  Scale(2);
  for (const char* host : {"a", "b"}) Start(host);
  Run(5s);
  EXPECT_EQ(OwnersNow(), (Owners{{"member-1", {HolderOf(0)}}, {"member-2", {HolderOf(1)}}})) << "Argo CD is not here";
  const auto put = [&](base::Json data) {
    hub->Put(kube::resources::ConfigMaps(), {{"metadata", {{"name", "argocd-cm"}, {"namespace", "evenkeel"}}}, {"data", data}});
    Run(30s);
  };
  put({{"url", "https://argocd.example"}});
  EXPECT_EQ(OwnersNow(), (Owners{{"member-1", {HolderOf(1)}}, {"member-2", {HolderOf(0)}}}))
      << "and nobody looks after the local one";
  put({{"cluster.inClusterEnabled", "false"}});
  EXPECT_EQ(OwnersNow(), (Owners{{"member-1", {HolderOf(0)}}, {"member-2", {HolderOf(1)}}}));
  EXPECT_FALSE(members.contains(std::string(kInClusterServer)));
}

TEST_F(DistributorShareTest, ARoleOfBeforeThatHidesArgoCdsSettingsIsEnough) {
  PutClusters(2);
  Scale(1);
  Start("a");
  replicas.at("a").hub->forbidden = "metadata.name=argocd-cm";
  Run(10s);
  ExpectOneOwnerEach({"member-1", "member-2"});
}

TEST_F(DistributorShareTest, ConsistentHashingWorksWithoutAnyApplicationsKind) {
  options.method = Method::kConsistentHashing;
  PutClusters(3);
  Scale(2);
  for (const char* host : {"a", "b"}) Start(host, {"applications", "clusters"});
  Run(5s);
  ExpectOneOwnerEach(kThreeMembers);
}

TEST_F(DistributorShareTest, SharesKarmadaClustersToo) {
  PutClusters(1);
  hub->Put(kube::resources::Secrets(), {{"metadata", {{"name", "token-of-k"}, {"namespace", "karmada"}}},
                                        {"data", {{"token", base::Base64Encode("karmada-token")}}}});
  kube::Resource clusters;
  clusters.group = "cluster.karmada.io";
  clusters.version = "v1alpha1";
  clusters.kind = "Cluster";
  clusters.plural = "clusters";
  hub->Put(clusters,
           {{"metadata", {{"name", "k"}}},
            {"spec", {{"apiEndpoint", ServerOf("k")}, {"secretRef", {{"namespace", "karmada"}, {"name", "token-of-k"}}}}}});
  Scale(1);
  Start("a");
  Run(5s);
  ExpectOneOwnerEach({"k", "member-1"});
  EXPECT_TRUE(std::ranges::any_of(connections, [](const auto& config) { return config.token == "karmada-token"; }));
}

TEST_F(DistributorShareTest, TellsItsMetrics) {
  PutClusters(1);
  Scale(1);
  Start("a");
  Run(11s);
  const std::string text = replicas.at("a").metrics->Render();
  for (const char* line :
       {"evenkeel_cluster_owner{cluster=\"member-1\",owner=\"a\",server=\"https://member-1:6443\",shard=\"0\"} 1\n",
        "evenkeel_distribution_clusters 1\n", "evenkeel_distribution_shard 0\n", "evenkeel_distribution_replicas 1\n",
        "evenkeel_distribution_moves_total 1\n", "evenkeel_distribution_heartbeat_failures_total 0\n",
        "evenkeel_distribution_heartbeat_age_seconds{owner=\"a\",shard=\"0\"}"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  replicas.at("a").distributor->Stop([] {});
  Run(2s);
  EXPECT_EQ(replicas.at("a").metrics->Render().find("evenkeel_cluster_owner{"), std::string::npos);
}

TEST_F(DistributorShareTest, TheSameSeedGivesTheSameRun) {
  auto run = [] {
    struct Whole : DistributorTest {
      void TestBody() override {}
      uint64_t Trace() {
        PutClusters(3);
        Scale(3);
        for (const char* host : {"a", "b", "c"}) Start(host);
        Run(20s);
        Crash("b");
        Start("d");
        Run(60s);
        return virtual_time.trace_hash();
      }
    };
    return Whole().Trace();
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::compatible_distributor_test
