// What the Distributor does when the hub, a member or somebody's hand goes wrong.
#include "controllers/distribution/distributor/distributor_testing.h"

namespace evenkeel::controllers::distribution::compatible_faults_test {
namespace {

using namespace std::chrono_literals;

const base::Error kGone(base::Code::kUnavailable, "connection refused");

class DistributorFaultsTest : public DistributorTest {
 protected:
  void StartTwo() {
    PutClusters(2);
    Scale(2);
    for (const char* host : {"a", "b"}) Start(host);
    Run(5s);
    ExpectOneOwnerEach({"member-1", "member-2"});
  }
};

TEST_F(DistributorFaultsTest, IsHealthyOnlyAfterItsFirstClaim) {
  PutClusters(1);
  Distributor& a = Start("a");
  ASSERT_FALSE(a.Health());
  EXPECT_EQ(a.Health().error().message(), "no shard has been claimed yet");
  Run(5s);
  ASSERT_FALSE(a.Health());
  EXPECT_NE(a.Health().error().message().find("deployments.apps \"evenkeel-controller\" not found"), std::string::npos)
      << a.Health().error().message();
  Scale(1);
  Run(3s);
  EXPECT_TRUE(a.Health());
  ExpectOneOwnerEach({"member-1"});
}

TEST_F(DistributorFaultsTest, WithTheQuirkItIsHealthyBeforeItsFirstClaim) {
  options.quirks.healthy_before_first_claim = true;
  EXPECT_TRUE(Start("a").Health());
}

TEST_F(DistributorFaultsTest, LetsGoBeforeItsClaimExpiresAndComesBack) {
  PutClusters(1);
  Scale(1);
  Distributor& a = Start("a");
  Run(5s);
  const base::Time last = *Claims().at(0).heartbeat;
  replicas.at("a").hub->fake.CutOff(true);
  ASSERT_TRUE(virtual_time.RunUntil([&] { return !a.Health(); }, 60s));
  const auto after = virtual_time.clock().Now() - last;
  EXPECT_GE(after, 28s);
  EXPECT_LE(after, 29s) << "2 s before others may take over, and never later than the whole second that was written";
  EXPECT_EQ(a.Health().error().message(), "the heartbeat could not be written");
  Run(100ms);
  EXPECT_TRUE(a.status().owned.empty());
  EXPECT_EQ(WatchesOf("member-1"), 0u);
  Run(5min);
  EXPECT_FALSE(a.Health());
  replicas.at("a").hub->fake.CutOff(false);
  Run(3s);
  EXPECT_TRUE(a.Health());
  ExpectOneOwnerEach({"member-1"});
  bool told = false;
  for (const auto& event : Events("OwnerChanged")) {
    told = told || event.message.ends_with("the heartbeat can be written again");
  }
  EXPECT_TRUE(told);
}

TEST_F(DistributorFaultsTest, LetsGoInTimeAlthoughTheHubHangs) {
  PutClusters(1);
  Scale(1);
  Distributor& a = Start("a");
  Run(5s);
  const base::Time last = *Claims().at(0).heartbeat;
  // Every call takes longer than the whole claim lasts, and the strand waits for it.
  replicas.at("a").hub->on_call = [&] {
    executor.strands.at("distribution/a").lock()->Charge(100s);
    replicas.at("a").hub->fake.CutOff(true);
  };
  ASSERT_TRUE(virtual_time.RunUntil([&] { return a.status().owned.empty(); }, 60s));
  EXPECT_LE(virtual_time.clock().Now() - last, 29s);
  EXPECT_FALSE(a.Health());
  Run(100ms);
  EXPECT_EQ(WatchesOf("member-1"), 0u);
  EXPECT_EQ(replicas.at("a").metrics->Render().find("evenkeel_cluster_owner{"), std::string::npos);
  replicas.at("a").hub->on_call = nullptr;
  replicas.at("a").hub->fake.CutOff(false);
  Run(150s);
  EXPECT_TRUE(a.Health());
  ExpectOneOwnerEach({"member-1"});
}

TEST_F(DistributorFaultsTest, WithTheQuirkItKeepsItsClustersWithoutHeartbeat) {
  options.quirks.keeps_clusters_without_heartbeat = true;
  PutClusters(1);
  Scale(1);
  Distributor& a = Start("a");
  Run(5s);
  replicas.at("a").hub->fake.CutOff(true);
  Run(5min);
  EXPECT_FALSE(a.Health());
  EXPECT_EQ(a.status().owned, (Names{"member-1"}));
  EXPECT_EQ(WatchesOf("member-1"), 2u);
}

TEST_F(DistributorFaultsTest, ACutOffReplicaNeverOwnsTogetherWithItsSuccessor) {
  StartTwo();
  const int64_t shard = ShardOf("a");
  const std::string cluster = shard == 0 ? "member-1" : "member-2";
  Start("c");
  Run(1s);
  replicas.at("a").hub->fake.CutOff(true);
  bool taken = false;
  for (int i = 0; i < 500; ++i) {
    Run(100ms);
    const Owners owners = OwnersNow();
    if (!owners.contains(cluster)) continue;
    EXPECT_EQ(owners.at(cluster).size(), 1u);
    EXPECT_LE(WatchesOf(cluster), 2u);
    taken = taken || owners.at(cluster).front() == "c";
  }
  EXPECT_TRUE(taken);
  replicas.at("a").hub->fake.CutOff(false);
  Run(60s);
  ExpectOneOwnerEach({"member-1", "member-2"});
  EXPECT_EQ(ShardOf("a"), -1);
}

TEST_F(DistributorFaultsTest, ADeletedConfigMapIsMadeAgain) {
  StartTwo();
  hub->Remove(kube::resources::ConfigMaps(), "evenkeel/" + std::string(kShardConfigMap));
  Run(1s);
  ExpectOneOwnerEach({"member-1", "member-2"});
  EXPECT_EQ(Claims().size(), 2u);
}

TEST_F(DistributorFaultsTest, AMeddledConfigMapIsMendedWithinASecond) {
  StartTwo();
  const base::Json broken[] = {
      base::JsonObject{},
      {{kShardMappingKey, ""}},
      {{kShardMappingKey, R"([{"Shard)"}},
      {{kShardMappingKey, R"([{"ShardNumber":7,"ControllerName":"ghost","HeartbeatTime":null}])"}},
      {{kShardMappingKey, R"([{"ShardNumber":0,"ControllerName":"a","HeartbeatTime":null},{"ShardNumber":0}])"}},
      {{kShardMappingKey, R"([{"ShardNumber":"0"}])"}},
  };
  for (const base::Json& data : broken) {
    PutMapping(data);
    Run(1s);
    ExpectOneOwnerEach({"member-1", "member-2"});
    EXPECT_EQ(CheckShardMapping(Claims()), "") << base::ToText(data);
    EXPECT_EQ(Claims().size(), 2u) << base::ToText(data);
  }
  const auto told = Events("ShardMappingRepaired");
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.front().about, kShardConfigMap);
}

TEST_F(DistributorFaultsTest, AGhostWithAFreshHeartbeatIsWaitedFor) {
  PutClusters(2);
  Scale(2);
  PutMapping({{kShardMappingKey, FormatShardMapping({{0, "ghost", kStart}, {1, "", std::nullopt}})}});
  Start("a");
  Run(20s);
  EXPECT_EQ(HolderOf(0), "ghost");
  EXPECT_EQ(OwnersNow(), (Owners{{"member-2", {"a"}}}));
  Start("b");
  Run(25s);
  ExpectOneOwnerEach({"member-1", "member-2"});
}

TEST_F(DistributorFaultsTest, ConflictsAreTriedAgainAtOnce) {
  StartTwo();
  const base::Error conflict(base::Code::kConflict, "the object has been modified");
  replicas.at("a").hub->fake.FailNext("update", conflict, 20);
  Run(20s);
  EXPECT_TRUE(replicas.at("a").distributor->Health());
  ExpectOneOwnerEach({"member-1", "member-2"});
  const std::string text = replicas.at("a").metrics->Render();
  const std::string counter = "\nevenkeel_distribution_claim_conflicts_total ";
  const size_t at = text.find(counter);
  ASSERT_NE(at, std::string::npos) << text;
  // The replica's own Lease has met some of the twenty.
  EXPECT_GE(std::stoi(text.substr(at + counter.size())), 12);
}

TEST_F(DistributorFaultsTest, NewConnectionDataIsUsedAtOnce) {
  PutClusters(1);
  Scale(1);
  Start("a");
  Run(5s);
  ASSERT_EQ(connections.size(), 2u) << "one for the fence, one for the work";
  PutCluster("member-1", {{"config", R"({"bearerToken":"rotated"})"}});
  Run(1s);
  ASSERT_EQ(connections.size(), 4u);
  EXPECT_EQ(connections.back().token, "rotated");
  ExpectOneOwnerEach({"member-1"});
  PutCluster("member-1", {{"config", R"({"bearerToken":"rotated"})"}});
  Run(1s);
  EXPECT_EQ(connections.size(), 4u) << "nothing that matters has changed";
}

TEST_F(DistributorFaultsTest, AnUnreachableMemberKeepsItsOwnerAndIsReported) {
  unreachable[ServerOf("member-1")] = true;
  PutClusters(2);
  Scale(1);
  Start("a");
  Run(60s);
  EXPECT_EQ(AssignedTo("a").size(), 2u);
  EXPECT_EQ(OwnersNow().size(), 1u) << "without its fence nothing can be done for it";
  EXPECT_EQ(WatchesOf("member-2"), 2u);
  const auto told = Events("ClusterUnreachable");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].about, "member-1");
  EXPECT_NE(told[0].message.find("cluster member-1 at https://member-1:6443 cannot be reached"), std::string::npos);
}

TEST_F(DistributorFaultsTest, AMemberThatComesBackIsReportedToo) {
  PutClusters(1);
  Scale(1);
  Start("a");
  Run(5s);
  auto& api = members.at(ServerOf("member-1"));
  for (int i = 0; i < 3; ++i) {
    api->EndWatches(kGone);
    Run(100ms);
  }
  api->EndWatches(kGone);
  Run(2min);
  EXPECT_EQ(Events("ClusterReachable").size(), Events("ClusterUnreachable").size());
  EXPECT_EQ(WatchesOf("member-1"), 2u);
}

TEST_F(DistributorFaultsTest, EachFindingIsToldOnceByTheReplicaOfShardZero) {
  PutClusters(2);
  PutCluster("broken", {{"config", R"({"bearerToken":"hush-hush",)"}});
  PutCluster("low", {{"shard", "-1"}});
  PutCluster("high", {{"shard", "99"}});
  PutCluster("twin", {{"server", ServerOf("member-1") + "/"}});
  PutCluster("nameless", {{"server", ""}});
  Scale(2);
  for (const char* host : {"a", "b"}) Start(host);
  Run(5min);
  for (const char* reason : {"InvalidClusterSecret", "ShardOutOfRange", "DuplicateServer"}) {
    std::map<std::string, int> told;
    for (const auto& event : Events(reason)) {
      ++told[event.about];
      EXPECT_EQ(event.source, HolderOf(0));
      EXPECT_EQ(event.message.find("hush-hush"), std::string::npos);
    }
    EXPECT_FALSE(told.empty()) << reason;
    for (const auto& [name, times] : told) EXPECT_EQ(times, 1) << reason << " " << name;
  }
  Names assigned = AssignedTo("a");
  for (const std::string& name : AssignedTo("b")) assigned.push_back(name);
  std::ranges::sort(assigned);
  EXPECT_EQ(assigned, (Names{"broken", "high", "low", "member-1", "member-2"}));
}

TEST_F(DistributorFaultsTest, AFindingThatNobodyToldIsToldByTheNextHolderOfShardZero) {
  StartTwo();
  const std::string zero = HolderOf(0);
  Crash(zero);
  PutCluster("low", {{"shard", "-1"}});
  Run(5s);
  EXPECT_TRUE(Events("ShardOutOfRange").empty());
  Start("c");
  Run(60s);
  EXPECT_EQ(HolderOf(0), "c");
  EXPECT_EQ(Events("ShardOutOfRange").size(), 1u);
}

TEST_F(DistributorFaultsTest, AFindingThatComesBackIsToldAgain) {
  PutClusters(1);
  Scale(1);
  Start("a");
  PutCluster("low", {{"shard", "-1"}});
  Run(5s);
  PutCluster("low", {{"shard", "0"}});
  Run(5s);
  PutCluster("low", {{"shard", "-1"}});
  Run(5s);
  int64_t times = 0;
  for (const auto& [key, event] : hub->objects["events"]) {
    if (base::FindString(event, {"reason"}) == "ShardOutOfRange") times += base::FindInt(event, {"count"}, 1);
  }
  EXPECT_EQ(times, 2);
}

TEST_F(DistributorFaultsTest, AHubWithoutKarmadaIsNoHindrance) {
  PutClusters(1);
  Scale(1);
  Start("a", {"clusters"});
  Run(5s);
  ExpectOneOwnerEach({"member-1"});
}

TEST_F(DistributorFaultsTest, StopsCleanlyWhileTheHubIsAway) {
  StartTwo();
  replicas.at("a").hub->fake.CutOff(true);
  Run(1s);
  Stop("a");
  Run(60s);
  EXPECT_EQ(OwnersNow().size(), 1u);
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::compatible_faults_test
