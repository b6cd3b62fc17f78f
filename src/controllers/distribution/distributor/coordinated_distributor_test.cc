#include "controllers/distribution/distributor/coordinated_distributor.h"
#include "controllers/distribution/distributor/fleet_view.h"

#include "client/fenced_client.h"
#include "controllers/distribution/distributor/distributor_testing.h"
#include "kube/karmada.h"

namespace evenkeel::controllers::distribution::coordinated_distributor_test {
namespace {

using namespace std::chrono_literals;

class CoordinatedTest : public DistributorTest {
 protected:
  CoordinatedTest() { options.mode = Mode::kCoordinated; }

  void PutKarmadaCluster(const std::string& name) {
    hub->Put(kube::resources::Secrets(),
             {{"metadata", {{"name", name}, {"namespace", "karmada"}}}, {"data", {{"token", "dA=="}}}});
    hub->Put(kube::karmada::Clusters(),
             {{"apiVersion", "cluster.karmada.io/v1alpha1"},
              {"kind", "Cluster"},
              {"metadata", {{"name", name}, {"uid", "uid-of-" + name}}},
              {"spec", {{"apiEndpoint", ServerOf(name)}, {"secretRef", {{"namespace", "karmada"}, {"name", name}}}}}});
  }
  Names All() const {
    Names names;
    for (const auto& [server, api] : members) names.push_back(server.substr(8, server.size() - 8 - 5));
    return names;
  }
  /// Every cluster has one owner, told by every second of the run.
  bool Settled(size_t clusters) const {
    const Owners owners = OwnersNow();
    return owners.size() == clusters && std::ranges::all_of(owners, [](const auto& entry) { return entry.second.size() == 1; });
  }
  void Settle(size_t clusters, base::Duration limit = 10s) {
    ASSERT_TRUE(virtual_time.RunUntil([&] { return Settled(clusters); }, limit));
    Run(1s);
    EXPECT_TRUE(Settled(clusters));
  }
  /// Runs on, and at every step no cluster has two owners. @return  the longest time that a cluster had none.
  base::Duration RunWatched(base::Duration duration, size_t clusters) {
    std::map<std::string, base::Time> unowned_since;
    base::Duration longest{};
    for (size_t i = 1; i <= clusters; ++i) unowned_since["member-" + std::to_string(i)] = virtual_time.clock().Now();
    auto look = [&] {
      const Owners owners = OwnersNow();
      for (auto& [cluster, since] : unowned_since) {
        const auto found = owners.find(cluster);
        const size_t count = found == owners.end() ? 0 : found->second.size();
        EXPECT_LE(count, 1u) << cluster;
        if (count > 0) since = virtual_time.clock().Now();
        longest = std::max(longest, virtual_time.clock().Now() - since);
      }
      return false;
    };
    virtual_time.RunUntil(look, duration);
    return longest;
  }
  PublishedPlan Plan() const {
    const auto& plans = hub->objects["shardplans"];
    const auto found = plans.find("evenkeel/evenkeel");
    return found == plans.end() ? PublishedPlan{} : PublishedPlan::Decode(found->second);
  }
  std::string OwnerOf(const std::string& cluster) const {
    const Owners owners = OwnersNow();
    const auto found = owners.find(cluster);
    return found == owners.end() || found->second.size() != 1 ? "" : found->second.front();
  }
  size_t OwnedBy(const std::string& host) const { return replicas.at(host).distributor->status().owned.size(); }
};

TEST_F(CoordinatedTest, ThreeReplicasShareNineMembersEvenly) {
  PutClusters(9);
  for (const char* host : {"a", "b", "c"}) Start(host);
  Settle(9);
  for (const char* host : {"a", "b", "c"}) {
    EXPECT_EQ(OwnedBy(host), 3u) << host;
    EXPECT_TRUE(replicas.at(host).distributor->Health()) << host;
    EXPECT_EQ(replicas.at(host).distributor->status().replicas, 3);
    EXPECT_EQ(replicas.at(host).distributor->status().epoch, Plan().epoch);
  }
  int leaders = 0;
  for (const auto& [host, replica] : replicas) leaders += replica.distributor->status().leading;
  EXPECT_EQ(leaders, 1);
}

TEST_F(CoordinatedTest, OneReplicaOwnsAllAndHandsOverWhatIsFairToTheSecond) {
  PutClusters(8);
  Start("a");
  Settle(8);
  EXPECT_EQ(OwnedBy("a"), 8u);
  Start("b");
  EXPECT_LT(RunWatched(20s, 8), 1s) << "a member changes hands without a pause";
  EXPECT_EQ(OwnedBy("a"), 4u);
  EXPECT_EQ(OwnedBy("b"), 4u);
}

TEST_F(CoordinatedTest, StoppingHandsOverWithinTwoSecondsAndLeavesNoTrace) {
  PutClusters(6);
  for (const char* host : {"a", "b", "c"}) Start(host);
  Settle(6);
  bool stopped = false;
  replicas.at("b").distributor->Stop([&] { stopped = true; });
  EXPECT_LT(RunWatched(2s, 6), 1s);
  EXPECT_TRUE(stopped);
  EXPECT_EQ(OwnedBy("b"), 0u);
  replicas.erase("b");
  Run(1s);
  EXPECT_TRUE(Settled(6));
  EXPECT_EQ(Plan().shards.size(), 2u);
  EXPECT_EQ(hub->objects["leases"].size(), 2u);
  EXPECT_EQ(hub->objects["shardreplicas"].size(), 2u);
}

TEST_F(CoordinatedTest, StoppingIsAsQuickWhileTheLowestShardIsOfOneThatCannotTellYetWhoLives) {
  PutClusters(6);
  for (const char* host : {"a", "b", "c"}) Start(host);
  Settle(6);
  const auto first = std::ranges::find_if(replicas, [this](const auto& entry) { return ShardOf(entry.first) == 0; });
  ASSERT_NE(first, replicas.end());
  Crash(first->first);
  Run(30s);
  ASSERT_EQ(hub->objects["leases"].size(), 3u) << "the dead one's Lease is left for people to see";
  Start("d");
  Settle(6);
  ASSERT_EQ(ShardOf("d"), 0);
  bool stopped = false;
  const std::string leaver = replicas.begin()->first;
  replicas.at(leaver).distributor->Stop([&] { stopped = true; });
  EXPECT_LT(RunWatched(2s, 6), 1s);
  EXPECT_TRUE(stopped);
  replicas.erase(leaver);
  EXPECT_LT(RunWatched(30s, 6), 1s);
  EXPECT_TRUE(replicas.at("d").distributor->status().leading) << "as soon as it can tell";
}

TEST_F(CoordinatedTest, ReplicasThatStopTogetherDoNotWaitForEachOther) {
  PutClusters(4);
  for (const char* host : {"a", "b"}) Start(host);
  Settle(4);
  bool stopped = false;
  replicas.at("a").distributor->Stop([&] { stopped = true; });
  replicas.at("b").distributor->Stop([] {});
  Run(2s);
  EXPECT_TRUE(stopped);
  for (const auto& [server, api] : members) {
    EXPECT_EQ(base::FindString(api->objects["leases"].at("kube-system/evenkeel-owner"), {"spec", "holderIdentity"}), "");
  }
}

TEST_F(CoordinatedTest, TheLastReplicaStopsWithoutWaitingForASuccessor) {
  PutClusters(2);
  Start("a");
  Settle(2);
  EXPECT_LT(Stop("a"), 1s);
  for (const auto& [server, api] : members) {
    EXPECT_EQ(base::FindString(api->objects["leases"].at("kube-system/evenkeel-owner"), {"spec", "holderIdentity"}), "");
  }
}

TEST_F(CoordinatedTest, ACrashedReplicasMembersGoToTheirStandbysWhenTheFenceHasRunOut) {
  PutClusters(6);
  for (const char* host : {"a", "b", "c"}) Start(host);
  Settle(6);
  Run(30s);
  const PublishedPlan before = Plan();
  Crash("c");
  const base::Duration longest = RunWatched(25s, 6);
  EXPECT_TRUE(Settled(6));
  EXPECT_LE(longest, options.lease_duration + 5s);
  for (const auto& assignment : before.assignments) {
    const auto* owner = before.FindShard(assignment.shard);
    const auto* expected = owner->host == "c" ? before.FindShard(assignment.standby) : owner;
    EXPECT_EQ(OwnerOf(assignment.cluster), expected->host) << assignment.cluster;
  }
}

TEST_F(CoordinatedTest, ARestartedHubMovesNothing) {
  PutClusters(6);
  for (const char* host : {"a", "b", "c"}) Start(host);
  Settle(6);
  Run(20s);
  const Owners before = OwnersNow();
  const int64_t epoch = Plan().epoch;
  for (auto& [host, replica] : replicas) replica.hub->fake.CutOff(true);
  EXPECT_EQ(RunWatched(3min, 6), 0s) << "the fences are in the members";
  for (auto& [host, replica] : replicas) EXPECT_FALSE(replica.distributor->Health()) << host;
  for (auto& [host, replica] : replicas) replica.hub->fake.CutOff(false);
  EXPECT_EQ(RunWatched(2min, 6), 0s);
  EXPECT_EQ(OwnersNow(), before);
  EXPECT_EQ(Plan().epoch, epoch);
  for (auto& [host, replica] : replicas) EXPECT_TRUE(replica.distributor->Health()) << host;
}

TEST_F(CoordinatedTest, AReplicaThatLosesTheHubAloneHandsItsMembersOver) {
  PutClusters(6);
  for (const char* host : {"a", "b", "c"}) Start(host);
  Settle(6);
  Run(20s);
  replicas.at("b").hub->fake.CutOff(true);
  EXPECT_LT(RunWatched(30s, 6), 1s) << "its successors ask for the members";
  EXPECT_EQ(OwnedBy("b"), 0u);
  EXPECT_TRUE(Settled(6));
  replicas.at("b").hub->fake.CutOff(false);
  EXPECT_LT(RunWatched(60s, 6), 1s);
  EXPECT_GT(OwnedBy("b"), 0u);
}

TEST_F(CoordinatedTest, TwoReplicasMayDieAtOnceTheLeaderAmongThem) {
  PutClusters(8);
  for (const char* host : {"a", "b", "c", "d"}) Start(host);
  Settle(8);
  Run(30s);
  Crash("a");
  Crash("b");
  EXPECT_LE(RunWatched(40s, 8), 2 * options.lease_duration);
  EXPECT_TRUE(Settled(8));
}

TEST_F(CoordinatedTest, PinsAndWeightsAreHonoured) {
  PutClusters(4);
  PutCluster("member-4", {{"shard", "1"}});
  for (const char* host : {"a", "b"}) Start(host);
  Settle(4);
  const PublishedPlan plan = Plan();
  EXPECT_EQ(plan.Find(ServerOf("member-4"))->shard, 1);
  EXPECT_EQ(OwnerOf("member-4"), plan.FindShard(1)->host);
}

TEST_F(CoordinatedTest, ExplainsAPinThatCannotBeHonoured) {
  PutClusters(2);
  PutCluster("member-2", {{"shard", "7"}});
  for (const char* host : {"a", "b"}) Start(host);
  Settle(2);
  client::FakeClient reader(hub);
  const auto fleet = ReadFleet(reader, options, std::nullopt, std::nullopt, virtual_time.clock().Now());
  ASSERT_TRUE(fleet) << fleet.error().message();
  const auto explanation = ExplainCluster(*fleet, "member-2");
  ASSERT_TRUE(explanation);
  EXPECT_TRUE(std::ranges::any_of(explanation->why, [](const std::string& line) {
    return line.ends_with("pins it to shard 7, which no replica has: it is placed by load");
  }));
  EXPECT_NE(std::ranges::find(explanation->would_move, "a replica gets shard 7"), explanation->would_move.end());
}

TEST_F(CoordinatedTest, AMemberThatCannotBeReachedIsUnknownSinceThen) {
  unreachable[ServerOf("member-2")] = true;
  PutClusters(2);
  const base::Time begun = virtual_time.clock().Now();
  for (const char* host : {"a", "b"}) Start(host);
  Run(30s);
  client::FakeClient reader(hub);
  const auto look = [&] {
    std::map<std::string, std::optional<base::Time>> since;
    const auto fleet = ReadFleet(reader, options, std::nullopt, std::nullopt, virtual_time.clock().Now());
    if (!fleet) return since;
    for (const FleetView::Row& row : fleet->rows) since[row.cluster] = row.unknown_since;
    return since;
  };
  const auto seen = look();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_FALSE(seen.at("member-1"));
  ASSERT_TRUE(seen.at("member-2"));
  EXPECT_LT(*seen.at("member-2") - begun, 10s);
  Run(60s);
  EXPECT_EQ(look(), seen) << "since the outage began";
}

TEST_F(CoordinatedTest, AMeddledOrDeletedPlanIsWrittenAgainWithAGreaterEpoch) {
  PutClusters(4);
  for (const char* host : {"a", "b"}) Start(host);
  Settle(4);
  const PublishedPlan before = Plan();
  hub->Remove(ShardPlans(), "evenkeel/evenkeel");
  RunWatched(10s, 4);
  EXPECT_GE(Plan().epoch, before.epoch);
  EXPECT_EQ(Plan().assignments, before.assignments);
  base::Json object = hub->objects["shardplans"].at("evenkeel/evenkeel");
  PublishedPlan meddled = Plan();
  meddled.epoch = 1;
  for (auto& assignment : meddled.assignments) assignment.shard = 77;
  meddled.WriteTo(object);
  hub->Put(ShardPlans(), object);
  RunWatched(40s, 4);
  EXPECT_GT(Plan().epoch, before.epoch);
  EXPECT_TRUE(Settled(4));
}

TEST_F(CoordinatedTest, ClustersComeAndGo) {
  PutClusters(3);
  for (const char* host : {"a", "b"}) Start(host);
  Settle(3);
  PutCluster("member-4");
  Run(2s);
  EXPECT_TRUE(Settled(4));
  hub->Remove(kube::resources::Secrets(), "evenkeel/member-2");
  Run(2s);
  EXPECT_TRUE(Settled(3));
  EXPECT_EQ(OwnersNow().count("member-2"), 0u);
}

TEST_F(CoordinatedTest, ANewReplicaGoesByThePlanWhereTheHubDoesNotSayWhichKarmadaClustersThereAre) {
  PutClusters(3);
  PutKarmadaCluster("member-4");
  Start("a");
  Settle(4);
  Crash("a");
  Start("b", {}, {"clusters"});
  Run(60s);
  EXPECT_EQ(OwnersNow().size(), 3u) << "how to connect to the fourth is not known";
  EXPECT_EQ(AssignedTo("b").size(), 4u) << "but it is in the fleet still";
  EXPECT_EQ(Plan().assignments.size(), 4u);
  PutCluster("member-5");
  Run(2s);
  EXPECT_EQ(OwnerOf("member-5"), "b");

  replicas.at("b").hub->away.clear();
  Run(90s);
  EXPECT_TRUE(Settled(5));
  EXPECT_EQ(OwnerOf("member-4"), "b");
}

TEST_F(CoordinatedTest, WhoIsGoneFromTheFleetGoesOnceTheHubSaysWhichKarmadaClustersThereAre) {
  PutClusters(2);
  Start("a");
  Settle(2);
  Crash("a");
  hub->Remove(kube::resources::Secrets(), "evenkeel/member-2");
  Start("b", {}, {"clusters"});
  Run(60s);
  EXPECT_EQ(Plan().assignments.size(), 2u) << "it may be a Karmada Cluster";
  replicas.at("b").hub->away.clear();
  Run(90s);
  EXPECT_EQ(Plan().assignments.size(), 1u);
  EXPECT_TRUE(Settled(1));
}

TEST_F(CoordinatedTest, SwitchingModesWithARollingUpdateNeverYieldsTwoOwners) {
  PutClusters(6);
  Scale(2);
  options.mode = Mode::kCompatible;
  for (const char* host : {"a", "b"}) Start(host);
  Settle(6);
  options.mode = Mode::kCoordinated;
  Start("c");
  RunWatched(10s, 6);
  for (const char* host : {"a", "b"}) {
    replicas.at(host).distributor->Stop([] {});
    RunWatched(2s, 6);
    replicas.erase(host);
    RunWatched(5s, 6);
  }
  Start("d");
  RunWatched(30s, 6);
  EXPECT_TRUE(Settled(6));
  options.mode = Mode::kCompatible;
  for (const char* host : {"e", "f"}) Start(host);
  RunWatched(10s, 6);
  for (const char* host : {"c", "d"}) {
    replicas.at(host).distributor->Stop([] {});
    RunWatched(2s, 6);
    replicas.erase(host);
    RunWatched(5s, 6);
  }
  RunWatched(30s, 6);
  EXPECT_TRUE(Settled(6));
}

TEST_F(CoordinatedTest, ClustersOfOneNameAreTwoSeries) {
  for (const char* member : {"member-1", "member-2"}) PutCluster(member, {{"name", "twin"}});
  Start("a");
  Run(30s);
  const std::string text = replicas.at("a").metrics->Render();
  for (const char* member : {"member-1", "member-2"}) {
    const std::string server = ServerOf(member);
    for (const std::string& line :
         {"evenkeel_distribution_cluster_owners{cluster=\"twin\",server=\"" + server + "\"} 1\n",
          "evenkeel_cluster_owner{cluster=\"twin\",owner=\"a\",server=\"" + server + "\",shard=\"0\"} 1\n"}) {
      EXPECT_NE(text.find(line), std::string::npos) << line << text;
    }
  }
}

TEST_F(CoordinatedTest, TellsOwnersMovesAndImbalance) {
  PutClusters(4);
  for (const char* host : {"a", "b"}) Start(host);
  Settle(4);
  Run(30s);
  std::string leader;
  for (const auto& [host, replica] : replicas) {
    if (replica.distributor->status().leading) leader = host;
  }
  const std::string text = replicas.at(leader).metrics->Render();
  for (const char* line : {"evenkeel_distribution_cluster_owners{cluster=\"member-1\",server=\"https://member-1:6443\"} 1\n",
                           "evenkeel_distribution_clusters 4\n", "evenkeel_distribution_imbalance_ratio 1\n",
                           "evenkeel_distribution_leader 1\n", "evenkeel_distribution_epoch_lag{replica=\""}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST_F(CoordinatedTest, ASecondSecretForAnOwnedClusterIsToldAndTakesNothing) {
  PutClusters(2);
  const kube::Resource& namespaces = kube::resources::Namespaces();
  auto& api = members[ServerOf("member-1")] = std::make_shared<client::FakeApi>();
  api->Put(namespaces, {{"metadata", {{"name", "kube-system"}, {"uid", "uid-of-the-api"}}}});
  hub->Put(namespaces, {{"metadata", {{"name", "kube-system"}, {"uid", "uid-of-the-hub"}}}});
  Start("a");
  Start("b");
  Settle(2);
  members[ServerOf("alias")] = api;
  PutCluster("alias", {{"shard", std::to_string(1 - ShardOf(OwnersNow().at("member-1").front()))}});
  EXPECT_EQ(RunWatched(2min, 2), 0s);
  EXPECT_FALSE(OwnersNow().contains("alias"));
  const auto told = Events("SameCluster");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].about, "alias");
  EXPECT_EQ(
      told[0].message,
      "cluster alias at https://alias:6443 is the same cluster as member-1 at https://member-1:6443 (uid uid-of-the-api) and "
      "is looked after under that name; remove one of the two");
  for (const FleetView::Row& row : View().rows) {
    if (row.cluster == "member-1") EXPECT_EQ(row.api, "uid-of-the-api");
    if (row.cluster == "alias") EXPECT_EQ(row.detail.substr(0, 34), "it is the same cluster as member-1");
  }
}

TEST_F(CoordinatedTest, FallsQuiet) {
  PutClusters(6);
  for (const char* host : {"a", "b", "c"}) Start(host);
  Settle(6);
  Run(1min);
  const uint64_t before = hub->version;
  Run(1min);
  EXPECT_LE(hub->version - before, 3u * 32u) << "nothing but each replica's Lease every 2 s";
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::coordinated_distributor_test
