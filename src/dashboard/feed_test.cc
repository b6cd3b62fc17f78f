#include "dashboard/feed.h"

#include "controllers/balancer/member/kinds.h"
#include "controllers/rollout/zookeeper/definitions.h"
#include "dashboard/dashboard_testing.h"
#include "dashboard/views.h"

namespace evenkeel::dashboard {
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
  EXPECT_EQ(fleet->Text({"clusters", "member-2", "message"}), "nodes: connection refused");
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

TEST_F(FeedTest, AClusterShowsItsNodesAndWhatWaits) {
  const auto cluster = Follow("cluster/member-1");
  EXPECT_EQ(cluster->Text({"nodes", "n1", "state"}), "Ready");
  EXPECT_EQ(cluster->Text({"nodes", "n1", "group"}), "general");
  EXPECT_EQ(cluster->Text({"nodes", "n1", "requested", "cpu"}), "1");
  EXPECT_EQ(cluster->Text({"owner"}), "evenkeel-a");
  EXPECT_EQ(base::FindArray(cluster->document, {"history"}).size(), 1U);
  cluster->patches.clear();
  members["member-1"]->Put(kube::resources::Pods(), PodObject("big", "", "64"));
  executor.RunFor(500ms);
  EXPECT_EQ(cluster->Text({"pending", "default/big", "cpu"}), "64");
  ASSERT_FALSE(cluster->patches.empty());
  EXPECT_EQ(base::Find(cluster->patches[0], {"nodes"}), nullptr) << "only what changes is sent";
  members["member-1"]->Put(kube::resources::Pods(), PodObject("big", "n1", "2"));
  members["member-1"]->Remove(kube::resources::Pods(), "default/web");
  executor.RunFor(500ms);
  EXPECT_EQ(base::Find(cluster->document, {"pending", "default/big"}), nullptr);
  EXPECT_EQ(cluster->Text({"nodes", "n1", "requested", "cpu"}), "2");
  members["member-1"]->Remove(kube::resources::Nodes(), "n1");
  executor.RunFor(500ms);
  EXPECT_TRUE(base::FindObject(cluster->document, {"nodes"}).empty());
}

TEST_F(FeedTest, WhatTheAutoscalerSaysIsShown) {
  Json status = JsonObject{{"metadata", JsonObject{{"name", "cluster-autoscaler-status"}, {"namespace", "kube-system"}}}};
  base::Ensure(status, {"data", "status"}) =
      "autoscalerStatus: Running\nclusterWide:\n  scaleDown: {status: CandidatesPresent, candidates: 2}\n"
      "nodeGroups:\n- name: general\n  health:\n    cloudProviderTarget: 3\n    minSize: 1\n    maxSize: 5\n"
      "    nodeCounts: {registered: {ready: 1}}\n";
  base::Ensure(status, {"data", "explanation"}) =
      R"({"nodes": {"n1": {"since": "2024-12-15T01:00:00Z", "waits": "cool-down"}},
          "pending": {"default/big": {"general": "NodeResourcesFit: Insufficient cpu"}}})";
  members["member-1"]->Put(kube::resources::ConfigMaps(), status);
  Json memory = JsonObject{{"metadata", JsonObject{{"name", "evenkeel-autoscaler-state"}, {"namespace", "kube-system"}}}};
  base::Ensure(memory, {"data", "state"}) =
      R"({"cluster": {"backoff": {"general": {"until": "2024-12-15T01:20:00Z", "errorCode": "QUOTA"}},
                      "scaleDowns": [{"node": "n9"}]}})";
  members["member-1"]->Put(kube::resources::ConfigMaps(), memory);
  members["member-1"]->Put(kube::resources::Pods(), PodObject("big", "", "64"));
  const auto cluster = Follow("cluster/member-1");
  EXPECT_EQ(cluster->Number({"groups", "general", "target"}), 3);
  EXPECT_EQ(cluster->Number({"groups", "general", "upcoming"}), 2);
  EXPECT_EQ(cluster->Text({"groups", "general", "backoffReason"}), "QUOTA");
  EXPECT_EQ(cluster->Number({"scaleDown", "candidates"}), 2);
  EXPECT_EQ(base::FindArray(cluster->document, {"scaleDown", "inProgress"}), JsonArray{"n9"});
  EXPECT_EQ(cluster->Text({"nodes", "n1", "waits"}), "cool-down");
  EXPECT_EQ(cluster->Text({"pending", "default/big", "reasons", "general"}), "NodeResourcesFit: Insufficient cpu");
}

Json EventObject(const std::string& name, base::Time time, const std::string& component) {
  return JsonObject{{"metadata", JsonObject{{"name", name}, {"namespace", "default"}}},
                    {"lastTimestamp", base::FormatTime(time)},
                    {"involvedObject", JsonObject{{"kind", "Pod"}, {"namespace", "default"}, {"name", "web"}}},
                    {"reason", "Because"},
                    {"message", "so"},
                    {"source", JsonObject{{"component", component}}}};
}

TEST_F(FeedTest, EventsOfAllClustersAreInTheOrderOfTime) {
  hub.api().Put(kube::resources::Events(), EventObject("c", kStart + 2s, "evenkeel-distribution"));
  members["member-1"]->Put(kube::resources::Events(), EventObject("a", kStart, "cluster-autoscaler"));
  members["member-2"]->Put(kube::resources::Events(), EventObject("b", kStart + 1s, "evenkeel-balancer"));
  members["member-2"]->Put(kube::resources::Events(), EventObject("noise", kStart + 1s, "kubelet"));
  const auto events = Follow("events");
  const auto controllers = [&] {
    std::map<std::string, std::string> sorted;
    for (const auto& [id, event] : base::FindObject(events->document, {"events"})) {
      sorted[std::string(id)] = base::FindString(event, {"controller"});
    }
    std::string text;
    for (const auto& [id, controller] : sorted) text += controller + " ";
    return text;
  };
  EXPECT_EQ(controllers(), "autoscaler balancer distribution ");
  members["member-1"]->Put(kube::resources::Events(), EventObject("a", kStart + 5s, "cluster-autoscaler"));
  executor.RunFor(500ms);
  EXPECT_EQ(controllers(), "balancer distribution autoscaler ") << "it happened again";
}

TEST_F(FeedTest, OnlyTheLatestEventsAreKept) {
  for (int i = 0; i < 2100; ++i) {
    hub.api().Put(kube::resources::Events(), EventObject("e" + std::to_string(i), kStart + i * 1s, "evenkeel-distribution"));
  }
  const auto events = Follow("events");
  const auto& shown = base::FindObject(events->document, {"events"});
  EXPECT_EQ(shown.size(), kEventsShown);
  for (const auto& [id, event] : shown) EXPECT_GE(base::FindString(event, {"time"}), base::FormatTime(kStart + 100s));
}

TEST_F(FeedTest, ARolloutIsATrackOfClusters) {
  namespace zookeeper = controllers::rollout::zookeeper;
  Json ensemble = JsonObject{{"metadata", JsonObject{{"name", "zk"}, {"namespace", "default"}}}};
  base::Ensure(ensemble, {"status"}) = Parsed(R"({"phase": "Deploying", "replicas": 3, "readyReplicas": 3,
                 "clusters": [{"name": "member-1", "replicas": 2, "revision": "r2"}, {"name": "member-2", "replicas": 1, "revision": "r1"}],
                 "records": [{"observedGenerations": {"zk": 4}, "order": ["member-1", "member-2"], "status": "Deploying",
                              "currentState": {"completed": ["member-1"], "deploying": ["member-2"], "pending": []},
                              "lastTransitionTime": "2024-12-15T01:00:00Z", "revision": "r2"}]})");
  hub.api().Put(zookeeper::MultiClusterZooKeepers(), ensemble);
  const auto servers = [&](const std::string& cluster, const std::string& status) {
    Json object = JsonObject{{"metadata", JsonObject{{"name", "zk"}, {"namespace", "default"}}}};
    base::Ensure(object, {"status"}) = Parsed(status);
    members[cluster]->Put(zookeeper::ZooKeepers(), object);
  };
  servers("member-1", R"({"readyReplicas": 2, "members": [{"id": 1, "pod": "zk-0", "mode": "leader", "synced": true},
                                                          {"id": 2, "pod": "zk-1", "mode": "follower", "synced": true}]})");
  servers("member-2", R"({"readyReplicas": 0, "members": [{"id": 11, "pod": "zk-0", "mode": "", "synced": false}]})");
  const auto rollouts = Follow("rollouts");
  const std::string key = "default/zk";
  EXPECT_EQ(rollouts->Number({"ensembles", key, "quorum", "margin"}), 0);
  EXPECT_EQ(rollouts->Number({"ensembles", key, "quorum", "healthy"}), 2);
  EXPECT_EQ(rollouts->Text({"ensembles", key, "leader"}), "zk-0");
  EXPECT_EQ(rollouts->Text({"ensembles", key, "clusters", "member-1", "state"}), "Done");
  EXPECT_EQ(rollouts->Text({"ensembles", key, "clusters", "member-2", "state"}), "Deploying");
  EXPECT_EQ(rollouts->Text({"ensembles", key, "clusters", "member-2", "members", "zk-0", "role"}), "down");
  EXPECT_EQ(rollouts->Number({"ensembles", key, "records", "0001", "generation"}), 4);
  hub.api().Remove(zookeeper::MultiClusterZooKeepers(), key);
  executor.RunFor(500ms);
  EXPECT_TRUE(base::FindObject(rollouts->document, {"ensembles"}).empty());
}

TEST_F(FeedTest, TheBalanceIsTheBalancersOwn) {
  namespace on_member = controllers::balancer::member;
  client::FakeApi& api = *members["member-1"];
  for (const char* name : {"n2", "n3"}) api.Put(kube::resources::Nodes(), NodeObject(name));
  api.Put(kube::resources::ReplicaSets(),
          Parsed(R"({"metadata": {"name": "web", "namespace": "default", "uid": "rs"}, "spec": {"replicas": 3}})"));
  for (const char* name : {"w1", "w2", "w3"}) {
    Json pod = PodObject(name, "n1");
    base::Ensure(pod, {"metadata", "ownerReferences"}) =
        Parsed(R"([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": true}])");
    api.Put(kube::resources::Pods(), pod);
  }
  api.Put(on_member::BalancingPolicies(),
          Parsed(R"({"metadata": {"name": "default"}, "spec": {"dryRun": true, "metrics": [{"name": "cpu"}]}})"));
  api.Put(on_member::BalancingPlans(), Parsed(R"({"metadata": {"name": "plan-1", "creationTimestamp": "2024-12-15T01:00:00Z"},
      "spec": {"policy": "default", "phase": "QuickBalancing", "deviationBefore": 1.4, "deviationAfter": 0,
               "actions": [{"pod": "default/w1", "from": "n1", "to": "n2", "loads": {"cpu": 1000}, "reason": "uneven", "energyGain": 2.5}]}})"));
  const auto balance = Follow("balance/member-1");
  executor.RunFor(3s);
  EXPECT_EQ(balance->Text({"policies", "default", "mode"}), "DryRun");
  EXPECT_EQ(balance->Number({"nodes", "n1", "loads", "cpu"}), 4000);
  EXPECT_EQ(balance->Number({"nodes", "n1", "after", "cpu"}), 3000);
  EXPECT_EQ(balance->Number({"nodes", "n2", "after", "cpu"}), 1000);
  EXPECT_EQ(balance->Number({"nodes", "n1", "capacity", "cpu"}), 4000);
  EXPECT_TRUE(base::FindBool(balance->document, {"metrics", "cpu", "imbalanced"}));
  EXPECT_TRUE(base::FindBool(balance->document, {"plan", "approvable"}));
  EXPECT_EQ(balance->Text({"plan", "movements", "0001", "state"}), "Waiting");
  EXPECT_EQ(balance->Number({"plans", "plan-1", "movements"}), 1);
  EXPECT_FALSE(base::FindArray(balance->document, {"history"}).empty());
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

}  // namespace
}  // namespace evenkeel::dashboard
