#include "dashboard/feed.h"

#include "controllers/distribution/sharding/shard_mapping.h"
#include "dashboard/dashboard_testing.h"

namespace evenkeel::dashboard::feed_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

class FeedTest : public FleetFixture {};

TEST_F(FeedTest, TheFleetIsADocumentAndThenPatches) {
  const auto fleet = Follow("fleet");
  ASSERT_FALSE(fleet->events.empty());
  EXPECT_EQ(fleet->events.front(), "document");
  EXPECT_EQ(fleet->Text({"clusters", "member-1", "owner"}), "evenkeel-a");
  EXPECT_EQ(fleet->Text({"clusters", "member-1", "health"}), "Healthy");
  EXPECT_EQ(fleet->Number({"clusters", "member-1", "nodes", "ready"}), 1);
  EXPECT_DOUBLE_EQ(fleet->document.at("clusters").at("member-1").at("load").at("cpu").to_number<double>(), 0.25);
  EXPECT_TRUE(base::FindBool(fleet->document, {"clusters", "member-2", "hot"}));
  EXPECT_EQ(fleet->Number({"plan", "epoch"}), 3);
  EXPECT_EQ(fleet->Text({"plan", "leader"}), "evenkeel-a");
  EXPECT_TRUE(base::FindBool(fleet->document, {"replicas", "evenkeel-b", "alive"}));
  ASSERT_EQ(base::FindObject(fleet->document, {"handovers"}).size(), 1U);
  const Json& handover = base::FindObject(fleet->document, {"handovers"}).begin()->value();
  EXPECT_EQ(base::FindString(handover, {"from"}), "evenkeel-a");
  EXPECT_EQ(base::FindString(handover, {"to"}), "evenkeel-b");
  EXPECT_DOUBLE_EQ(handover.at("seconds").to_number<double>(), 2);

  fleet->patches.clear();
  members["member-1"]->Put(kube::resources::Pods(), PodObject("waits", ""));
  executor.RunFor(500ms);
  ASSERT_EQ(fleet->patches.size(), 1U);
  const Json expected = Parsed(R"({"clusters": {"member-1": {"health": "Degraded", "message": "1 pod waits for a node",
                                   "pods": {"pending": 1, "total": 2}}}})");
  EXPECT_EQ(fleet->patches[0], expected);
}

TEST_F(FeedTest, AHandOverThatNoPlanTellsOfIsSeen) {
  const auto fleet = Follow("fleet");
  // a is silent; its standby takes over by itself, 18 s after it was last heard of.
  for (int i = 0; i < 20; ++i) {
    executor.RunFor(1s);
    Renew("b");
  }
  PutReplica("b", 1, {{"member-1", kStart + 18s, 4}, {"member-2", kStart - 8s, 3}});
  executor.RunFor(1s);
  const auto& handovers = base::FindObject(fleet->document, {"handovers"});
  ASSERT_EQ(handovers.size(), 2U) << base::ToText(fleet->document);
  const Json& seen = handovers.at(base::FormatMicroTime(kStart + 18s) + " member-1");
  EXPECT_EQ(base::FindString(seen, {"from"}), "evenkeel-a");
  EXPECT_EQ(base::FindString(seen, {"to"}), "evenkeel-b");
  EXPECT_EQ(base::FindString(seen, {"reason"}), "evenkeel-a was not heard of any more");
  EXPECT_DOUBLE_EQ(seen.at("seconds").to_number<double>(), 18);

  // The plan tells of it later: it is the same one.
  controllers::distribution::PublishedPlan plan = controllers::distribution::PublishedPlan::Decode(
      hub.api().objects[controllers::distribution::ShardPlans().plural]["evenkeel/evenkeel"]);
  plan.epoch = 4;
  plan.moves.push_back({.cluster = "member-1", .from = 0, .to = 1, .epoch = 4, .time = kStart + 20s, .reason = "gone"});
  PutPlan(plan);
  executor.RunFor(1s);
  ASSERT_EQ(base::FindObject(fleet->document, {"handovers"}).size(), 2U) << base::ToText(fleet->document);
  EXPECT_EQ(fleet->Text({"handovers", base::FormatMicroTime(kStart + 20s) + " member-1", "reason"}), "gone");
}

TEST_F(FeedTest, AHandOverIsFromWhoHadTheClusterAndNotFromWhoHasTheShardNow) {
  const auto fleet = Follow("fleet");
  // a is killed, and c comes in its place in the same plan that gives its cluster to b.
  controllers::distribution::PublishedPlan plan = controllers::distribution::PublishedPlan::Decode(
      hub.api().objects[controllers::distribution::ShardPlans().plural]["evenkeel/evenkeel"]);
  plan.epoch = 4;
  plan.shards[0].replica = "id-c";
  plan.shards[0].host = "evenkeel-c";
  plan.moves.push_back({.cluster = "member-1", .from = 0, .to = 1, .epoch = 4, .time = kStart + 1s, .reason = "gone"});
  PutPlan(plan);
  executor.RunFor(1s);
  EXPECT_EQ(fleet->Text({"handovers", base::FormatMicroTime(kStart + 1s) + " member-1", "from"}), "evenkeel-a");
}

TEST_F(FeedTest, HandOversAreSeenWhereThereAreOnlyClaims) {
  namespace distribution = controllers::distribution;
  hub.api().Remove(distribution::ShardPlans(), "evenkeel/evenkeel");
  hub.api().Put(kube::resources::Deployments(),
                Parsed(R"({"metadata": {"name": "evenkeel-controller", "namespace": "evenkeel"}, "spec": {"replicas": 2,
                           "template": {"spec": {"containers": [{"env": [{"name": "ARGOCD_CONTROLLER_SHARDING_ALGORITHM", "value": "round-robin"}]}]}}}})"));
  const auto claim = [&](const std::string& first, const std::string& second, base::Time second_heard) {
    Json object = JsonObject{{"metadata", JsonObject{{"name", distribution::kShardConfigMap}, {"namespace", "evenkeel"}}}};
    base::Ensure(object, {"data", distribution::kShardMappingKey}) =
        distribution::FormatShardMapping({{0, first, executor.clock().Now()}, {1, second, second_heard}});
    hub.api().Put(kube::resources::ConfigMaps(), object);
  };
  claim("pod-x", "pod-y", kStart);
  const auto fleet = Follow("fleet");
  EXPECT_TRUE(base::FindObject(fleet->document, {"handovers"}).empty());
  std::map<std::string, std::string> owners;
  for (const auto& [name, cluster] : base::FindObject(fleet->document, {"clusters"})) {
    owners[std::string(base::FindString(cluster, {"owner"}))] = std::string(name);
  }
  ASSERT_TRUE(owners.contains("pod-x") && owners.contains("pod-y")) << base::ToText(fleet->document);
  // One lets go of its shard, as when its pod is made anew.
  executor.RunFor(5s);
  claim("pod-z", "pod-y", kStart);
  executor.RunFor(6s);
  // The other is silent until somebody else claims its shard.
  for (int i = 0; i < 4; ++i) {
    claim("pod-z", "pod-y", kStart);
    executor.RunFor(10s);
  }
  claim("pod-z", "pod-w", executor.clock().Now());
  executor.RunFor(6s);
  const auto& handovers = base::FindObject(fleet->document, {"handovers"});
  ASSERT_EQ(handovers.size(), 2U) << base::ToText(fleet->document);
  for (const auto& [id, handover] : handovers) {
    const bool let_go = base::FindString(handover, {"to"}) == "pod-z";
    EXPECT_EQ(base::FindString(handover, {"cluster"}), owners[let_go ? "pod-x" : "pod-y"]);
    EXPECT_EQ(base::FindString(handover, {"from"}), let_go ? "pod-x" : "pod-y");
    EXPECT_EQ(base::FindString(handover, {"reason"}), let_go ? "pod-x let it go" : "pod-y was not heard of any more");
    EXPECT_EQ(base::Find(handover, {"seconds"}) == nullptr, let_go) << "nobody knows how long it took";
  }
}

TEST_F(FeedTest, ChangesAreGathered) {
  const auto fleet = Follow("fleet");
  const size_t before = fleet->patches.size();
  for (int i = 0; i < 100; ++i) {
    members["member-1"]->Put(kube::resources::Pods(), PodObject("p" + std::to_string(i), "n1", "10m"));
    executor.RunFor(10ms);
  }
  executor.RunFor(500ms);
  EXPECT_LE(fleet->patches.size() - before, 6U);
  EXPECT_EQ(fleet->Number({"clusters", "member-1", "pods", "running"}), 101);
}

TEST_F(FeedTest, WhoComesLaterGoesOnFromTheSameDocument) {
  const auto first = Follow("fleet");
  members["member-1"]->Put(kube::resources::Pods(), PodObject("a", "n1"));
  const auto second = Follow("fleet");
  members["member-2"]->Put(kube::resources::Pods(), PodObject("b", "n1"));
  executor.RunFor(500ms);
  EXPECT_TRUE(base::Equal(first->document, second->document));
  EXPECT_EQ(second->Number({"clusters", "member-2", "pods", "running"}), 2);
}

TEST_F(FeedTest, AMemberThatDoesNotAnswerHoldsUpNobody) {
  unreachable = "member-2";
  const auto fleet = Follow("fleet");
  EXPECT_EQ(fleet->Text({"clusters", "member-1", "health"}), "Healthy");
  EXPECT_EQ(fleet->Text({"clusters", "member-2", "health"}), "Unreachable");
  const std::string since = fleet->Text({"clusters", "member-2", "unknownSince"});
  EXPECT_TRUE(base::ParseTime(since)) << since;
  EXPECT_EQ(fleet->Text({"clusters", "member-2", "message"}), "unknown since " + since + ": nodes: connection refused");
  executor.RunFor(60s);
  EXPECT_EQ(fleet->Text({"clusters", "member-2", "unknownSince"}), since) << "since the outage began";
  EXPECT_TRUE(base::Find(fleet->document, {"clusters", "member-1", "unknownSince"})->is_null());
}

TEST_F(FeedTest, AReplicaThatIsSilentOwnsNothing) {
  const auto fleet = Follow("fleet");
  for (int i = 0; i < 10; ++i) {
    executor.RunFor(2s);
    Renew("a");
  }
  executor.RunFor(500ms);
  EXPECT_FALSE(base::FindBool(fleet->document, {"replicas", "evenkeel-b", "alive"}));
  EXPECT_EQ(fleet->Text({"clusters", "member-2", "health"}), "Unowned");
  EXPECT_EQ(fleet->Text({"clusters", "member-1", "owner"}), "evenkeel-a");
}

TEST_F(FeedTest, AReplicaThatDiedIsShownUntilAnotherComesInItsPlace) {
  const auto fleet = Follow("fleet");
  EXPECT_TRUE(base::FindBool(fleet->document, {"replicas", "evenkeel-b", "alive"}));
  EXPECT_EQ(fleet->Text({"replicas", "evenkeel-b", "goneSince"}), "");
  for (int i = 0; i < 5; ++i) {
    executor.RunFor(5s);
    Renew("a");
  }
  executor.RunFor(1s);
  EXPECT_FALSE(base::FindBool(fleet->document, {"replicas", "evenkeel-b", "alive"}, true));
  EXPECT_EQ(fleet->Text({"replicas", "evenkeel-b", "goneSince"}), base::FormatTime(kStart));
  // The next plan does not name it any more, and still it is missing.
  controllers::distribution::PublishedPlan plan;
  plan.epoch = 4;
  plan.shards = {{.shard = 0, .replica = "id-a", .host = "evenkeel-a"}};
  PutPlan(plan);
  executor.RunFor(1s);
  EXPECT_EQ(fleet->Text({"replicas", "evenkeel-b", "goneSince"}), base::FormatTime(kStart));
  EXPECT_EQ(fleet->Number({"replicas", "evenkeel-b", "clusters"}), 0) << "the dead own nothing";
  // Another comes.
  Json lease = JsonObject{{"metadata", JsonObject{{"name", "evenkeel-c"}, {"namespace", "evenkeel"}}}};
  base::Ensure(lease, {"spec", "holderIdentity"}) = "id-c";
  for (const char* field : {"acquireTime", "renewTime"}) {
    base::Ensure(lease, {"spec", field}) = base::FormatMicroTime(executor.clock().Now());
  }
  hub.api().Put(kube::resources::Leases(), lease);
  executor.RunFor(1s);
  EXPECT_EQ(base::Find(fleet->document, {"replicas", "evenkeel-b"}), nullptr);
  EXPECT_TRUE(base::FindBool(fleet->document, {"replicas", "evenkeel-c", "alive"}));
}

TEST_F(FeedTest, NothingIsFollowedThatNobodyLooksAt) {
  EXPECT_EQ(Watches(hub.api(), "secrets"), 0);
  const auto fleet = Follow("fleet");
  EXPECT_EQ(Watches(*members["member-1"], "pods"), 1);
  feed->Unfollow(fleet);
  executor.RunFor(30s);
  EXPECT_EQ(Watches(*members["member-1"], "pods"), 1);
  executor.RunFor(1min);
  EXPECT_EQ(Watches(*members["member-1"], "pods"), 0);
  EXPECT_EQ(Watches(hub.api(), "secrets"), 0);
  const auto again = Follow("fleet");
  EXPECT_EQ(again->Number({"clusters", "member-1", "pods", "running"}), 1);
}

TEST_F(FeedTest, AMemberThatIsAskedForLeavesNothingFollowed) {
  int connected = 0;
  const auto use = [&](const auto& member) { connected += member.has_value() ? 1 : 0; };
  feed->WithMember("member-1", use);
  executor.RunFor(1s);
  EXPECT_EQ(connected, 1);
  executor.RunFor(10s);
  EXPECT_EQ(Watches(hub.api(), "secrets"), 0);
  // The same once more, and while the hub says nothing.
  hub.CutOff(true);
  feed->WithMember("member-1", use);
  executor.RunFor(10s);
  hub.CutOff(false);
  executor.RunFor(10s);
  EXPECT_EQ(connected, 1);
  EXPECT_EQ(Watches(hub.api(), "secrets"), 0);
}

TEST_F(FeedTest, NamesAreKnownWithoutFollowingMembers) {
  const auto names = Follow("names");
  EXPECT_EQ(base::FindObject(names->document, {"clusters"}).size(), 2U);
  EXPECT_TRUE(base::FindBool(names->document, {"hub", "reachable"}));
  EXPECT_EQ(Watches(*members["member-1"], "nodes"), 0);
  hub.api().Remove(kube::resources::Secrets(), "evenkeel/member-2");
  executor.RunFor(1s);
  EXPECT_EQ(base::Find(names->document, {"clusters", "member-2"}), nullptr);
  PutCluster("member-2");
  executor.RunFor(1s);
  EXPECT_NE(base::Find(names->document, {"clusters", "member-2"}), nullptr);
}

TEST_F(FeedTest, OneThatIsTooSlowIsSentNothingMore) {
  const auto fleet = Follow("fleet");
  const size_t before = fleet->events.size();
  fleet->gone = true;
  executor.RunFor(20s);
  fleet->gone = false;
  executor.RunFor(1min);
  EXPECT_EQ(fleet->events.size(), before);
}

TEST_F(FeedTest, StreamsAreKeptAlive) {
  const auto fleet = Follow("fleet");
  executor.RunFor(31s);
  EXPECT_EQ(std::ranges::count(fleet->events, "ping"), 2);
}

TEST_F(FeedTest, ViewsAndMembersThatAreNotThereAreRefused) {
  const auto unknown = Follow("foo");
  ASSERT_TRUE(unknown->refused);
  EXPECT_EQ(unknown->refused->code(), base::Code::kNotFound);
  const auto nobody = Follow("cluster/nobody");
  ASSERT_TRUE(nobody->refused);
  EXPECT_EQ(nobody->refused->message(), "there is no member nobody");
  EXPECT_FALSE(Follow("fleet")->refused);
}

TEST_F(FeedTest, AHubThatDoesNotAnswerIsSaid) {
  hub.CutOff(true);
  const auto fleet = Follow("fleet");
  executor.RunFor(3s);
  EXPECT_FALSE(base::FindBool(fleet->document, {"hub", "reachable"}, true));
  const auto member = Follow("cluster/member-1");
  executor.RunFor(3s);
  ASSERT_TRUE(member->refused);
  EXPECT_EQ(member->refused->code(), base::Code::kUnavailable);
}

TEST_F(FeedTest, AMemberThatIsReachedAnewIsReadAnew) {
  const auto cluster = Follow("cluster/member-1");
  const auto old = members["member-1"];
  members["member-1"] = std::make_shared<client::FakeApi>();
  members["member-1"]->Put(kube::resources::Nodes(), NodeObject("m1"));
  Json secret = hub.api().objects["secrets"]["evenkeel/member-1"];
  base::Ensure(secret, {"data", "config"}) = base::Base64Encode(R"({"bearerToken":"another"})");
  hub.api().Put(kube::resources::Secrets(), secret);
  executor.RunFor(2s);
  EXPECT_EQ(base::Find(cluster->document, {"nodes", "n1"}), nullptr);
  EXPECT_EQ(cluster->Text({"nodes", "m1", "state"}), "Ready");
  EXPECT_EQ(Watches(*old, "nodes"), 0);
}

TEST_F(FeedTest, AMemberThatLeavesLeavesTheFleet) {
  const auto fleet = Follow("fleet");
  hub.api().Remove(kube::resources::Secrets(), "evenkeel/member-2");
  executor.RunFor(1s);
  EXPECT_EQ(base::Find(fleet->document, {"clusters", "member-2"}), nullptr);
  EXPECT_EQ(Watches(*members["member-2"], "nodes"), 0);
}

TEST_F(FeedTest, WhoLooksAtAMemberThatLeavesIsTold) {
  const auto cluster = Follow("cluster/member-2"), balance = Follow("balance/member-2");
  executor.RunFor(1s);
  hub.api().Remove(kube::resources::Secrets(), "evenkeel/member-2");
  executor.RunFor(6s);
  for (const auto& follower : {cluster, balance}) {
    EXPECT_EQ(follower->Text({"health"}), "Unreachable");
    EXPECT_EQ(follower->Text({"message"}), "it is not in the fleet any more");
    EXPECT_EQ(follower->Text({"unread"}), "it is not in the fleet any more");
  }
  // As another cluster of that name.
  members["member-2"] = std::make_shared<client::FakeApi>();
  members["member-2"]->Put(kube::resources::Nodes(), NodeObject("m1"));
  PutCluster("member-2");
  Renew("a");
  Renew("b");
  executor.RunFor(2s);
  EXPECT_EQ(cluster->Text({"health"}), "Healthy");
  EXPECT_EQ(cluster->Text({"nodes", "m1", "state"}), "Ready");
  EXPECT_EQ(base::Find(cluster->document, {"nodes", "n1"}), nullptr);
  EXPECT_EQ(cluster->Text({"unread"}), "");
  EXPECT_EQ(balance->Text({"unread"}), "");
}

}  // namespace
}  // namespace evenkeel::dashboard::feed_test
