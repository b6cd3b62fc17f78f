#include "dashboard/views.h"

#include "controllers/balancer/kinds.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "dashboard/dashboard_testing.h"
#include "dashboard/documents.h"
#include "dashboard/member_rows.h"
#include "embedded/cloud/node_group_definition.h"

namespace evenkeel::dashboard::views_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

/// What the views show of what there is; how they are followed is FeedTest's.
class ViewsTest : public FleetFixture {};

TEST_F(ViewsTest, AClusterShowsItsNodesAndWhatWaits) {
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

TEST_F(ViewsTest, ANodeThatNeverGetsReadyIsUpcomingForAWhile) {
  Json node = NodeObject("n2", false);
  base::Ensure(node, {"metadata", "creationTimestamp"}) = base::FormatTime(kStart - kOnItsWay + 10s);
  for (const bool said : {true, false}) {
    // As a kubelet says that it is not ready, and as nobody says anything.
    base::Ensure(node, {"status", "conditions"}) =
        said ? Json(JsonArray{JsonObject{
                   {"type", "Ready"}, {"status", "False"}, {"lastTransitionTime", base::FormatTime(kStart - kOnItsWay + 15s)}}})
             : Json(JsonArray{});
    members[said ? "member-1" : "member-2"]->Put(kube::resources::Nodes(), node);
  }
  const auto fleet = Follow("fleet"), cluster = Follow("cluster/member-1");
  EXPECT_EQ(cluster->Text({"nodes", "n2", "state"}), "Upcoming");
  for (const char* member : {"member-1", "member-2"}) {
    EXPECT_EQ(fleet->Text({"clusters", member, "health"}), "Healthy");
    EXPECT_EQ(fleet->Number({"clusters", member, "nodes", "upcoming"}), 1);
    EXPECT_EQ(fleet->Number({"clusters", member, "nodes", "total"}), 2);
  }
  for (int i = 0; i < 3; ++i) {
    executor.RunFor(5s);
    Renew("a");
    Renew("b");
  }
  executor.RunFor(1s);
  EXPECT_EQ(cluster->Text({"nodes", "n2", "state"}), "NotReady");
  for (const char* member : {"member-1", "member-2"}) {
    EXPECT_EQ(fleet->Text({"clusters", member, "health"}), "Degraded");
    EXPECT_EQ(fleet->Text({"clusters", member, "message"}), "1 node is not ready");
    EXPECT_EQ(fleet->Number({"clusters", member, "nodes", "upcoming"}), 0);
  }
  members["member-1"]->Put(kube::resources::Nodes(), NodeObject("n2"));
  executor.RunFor(1s);
  EXPECT_EQ(fleet->Text({"clusters", "member-1", "health"}), "Healthy");
  EXPECT_EQ(fleet->Number({"clusters", "member-1", "nodes", "notReady"}), 0);
  members["member-2"]->Remove(kube::resources::Nodes(), "n2");
  executor.RunFor(1s);
  EXPECT_EQ(fleet->Number({"clusters", "member-2", "nodes", "total"}), 1);
  EXPECT_EQ(fleet->Text({"clusters", "member-2", "health"}), "Healthy");
}

TEST_F(ViewsTest, WhatTheAutoscalerSaysIsShown) {
  Json status = JsonObject{{"metadata", JsonObject{{"name", "cluster-autoscaler-status"}, {"namespace", "kube-system"}}}};
  base::Ensure(status, {"data", "status"}) =
      "autoscalerStatus: Running\nclusterWide:\n  scaleDown: {status: CandidatesPresent, candidates: 2}\n"
      "nodeGroups:\n- name: general\n  health:\n    cloudProviderTarget: 3\n    minSize: 1\n    maxSize: 5\n"
      "    nodeCounts: {registered: {ready: 1}}\n";
  base::Ensure(status, {"data", "explanation"}) =
      R"({"nodes": {"n1": {"since": "2024-12-15T01:00:00Z", "waits": "cool-down"}},
          "pending": {"default/big": {"compute": "NodeResourcesFit: Insufficient cpu", "general": "NodeResourcesFit: Insufficient cpu",
                                      "gpu": "QUOTA"}}})";
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
  EXPECT_EQ(cluster->Text({"pending", "default/big", "why"}),
            "compute, general: NodeResourcesFit: Insufficient cpu; gpu: QUOTA")
      << "ours, whole, in the place of the scheduler's";
}

TEST_F(ViewsTest, TheAutoscalersWordsAreReadWhereItWritesThem) {
  controllers::autoscaler::Options options;
  options.ns = "autoscaling";
  options.status_config_map_name = "general-status";
  StartFeed(options);
  Json status = JsonObject{{"metadata", JsonObject{{"name", "general-status"}, {"namespace", "autoscaling"}}}};
  base::Ensure(status, {"data", "status"}) = "clusterWide: {scaleDown: {candidates: 2}}\n";
  members["member-1"]->Put(kube::resources::ConfigMaps(), status);
  const auto cluster = Follow("cluster/member-1");
  EXPECT_TRUE(base::FindBool(cluster->document, {"scaleDown", "enabled"}));
  EXPECT_EQ(cluster->Number({"scaleDown", "candidates"}), 2);
}

TEST_F(ViewsTest, AStatusThatSaysLittleIsShownAsFarAsItGoes) {
  const auto write = [&](const std::string& name, const std::string& key, const std::string& text) {
    Json object = JsonObject{{"metadata", JsonObject{{"name", name}, {"namespace", "kube-system"}}}};
    base::Ensure(object, {"data", key}) = text;
    members["member-1"]->Put(kube::resources::ConfigMaps(), object);
  };
  members["member-1"]->Put(
      embedded::cloud::NodeGroups(),
      Parsed(R"({"metadata": {"name": "general"}, "spec": {"minSize": 1, "maxSize": 5, "targetSize": 2}})"));
  const auto cluster = Follow("cluster/member-1");
  for (const char* groups : {"[{name: general}]", "[{name: general, health: 3}, 7, {name: other}, {health: {}}]",
                             "{general: 1}", "[{name: general, health: {minSize: many, nodeCounts: []}}]"}) {
    write("cluster-autoscaler-status", "status", std::string("nodeGroups: ") + groups + "\n");
    write("evenkeel-autoscaler-state", "state", R"({"cluster": [], "backoff": 3})");
    executor.RunFor(1s);
    EXPECT_EQ(cluster->Number({"groups", "general", "target"}), 2) << groups;
    EXPECT_EQ(base::Find(cluster->document, {"groups", "other"}), nullptr) << groups;
  }
  write("cluster-autoscaler-status", "status", "[1, 2]");
  write("cluster-autoscaler-status", "explanation", R"({"nodes": 1, "pending": [], "scaleDown": "off"})");
  executor.RunFor(1s);
  EXPECT_EQ(cluster->Number({"groups", "general", "max"}), 5);
}

Json EventObject(const std::string& name, base::Time time, const std::string& component) {
  return JsonObject{{"metadata", JsonObject{{"name", name}, {"namespace", "default"}}},
                    {"lastTimestamp", base::FormatTime(time)},
                    {"involvedObject", JsonObject{{"kind", "Pod"}, {"namespace", "default"}, {"name", "web"}}},
                    {"reason", "Because"},
                    {"message", "so"},
                    {"source", JsonObject{{"component", component}}}};
}

TEST_F(ViewsTest, EventsOfAllClustersAreInTheOrderOfTime) {
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

TEST_F(ViewsTest, OnlyTheLatestEventsAreKept) {
  for (int i = 0; i < 2100; ++i) {
    hub.api().Put(kube::resources::Events(), EventObject("e" + std::to_string(i), kStart + i * 1s, "evenkeel-distribution"));
  }
  const auto events = Follow("events");
  const auto& shown = base::FindObject(events->document, {"events"});
  EXPECT_EQ(shown.size(), kEventsShown);
  for (const auto& [id, event] : shown) EXPECT_GE(base::FindString(event, {"time"}), base::FormatTime(kStart + 100s));
}

TEST_F(ViewsTest, ARolloutIsATrackOfClusters) {
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
  EXPECT_EQ(rollouts->Text({"ensembles", key, "leader"}), "zk-0 in member-1");
  EXPECT_EQ(rollouts->Text({"ensembles", key, "clusters", "member-1", "state"}), "Done");
  EXPECT_EQ(rollouts->Text({"ensembles", key, "clusters", "member-2", "state"}), "Deploying");
  EXPECT_EQ(rollouts->Text({"ensembles", key, "clusters", "member-2", "members", "zk-0", "role"}), "down");
  EXPECT_EQ(rollouts->Number({"ensembles", key, "records", "0001", "generation"}), 4);
  // Two statuses that name a leader: one of them is old.
  servers("member-2", R"({"readyReplicas": 1, "members": [{"id": 11, "pod": "zk-0", "mode": "leader", "synced": true}]})");
  base::Ensure(ensemble, {"status", "leader"}) = Parsed(R"({"cluster": "member-2", "myid": 11})");
  hub.api().Put(zookeeper::MultiClusterZooKeepers(), ensemble);
  executor.RunFor(2s);
  EXPECT_EQ(rollouts->Text({"ensembles", key, "leader"}), "zk-0 in member-2");
  hub.api().Remove(zookeeper::MultiClusterZooKeepers(), key);
  executor.RunFor(500ms);
  EXPECT_TRUE(base::FindObject(rollouts->document, {"ensembles"}).empty());
}

TEST_F(ViewsTest, TheBalanceIsTheBalancersOwn) {
  namespace on_member = controllers::balancer;
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

TEST(ClusterEntryTest, WhatItsReplicaCannotReachIsUnknownSinceTheEarlierOfBoth) {
  const Json row = JsonObject{
      {"owner", nullptr}, {"wanted", "b"}, {"detail", "connection refused"}, {"unreachableSince", "2026-01-01T00:00:10Z"}};
  const Json reported = ClusterEntry(row, MemberSummary(MemberTally()), {});
  EXPECT_EQ(reported.at("health"), "Unreachable");
  EXPECT_EQ(reported.at("unknownSince"), "2026-01-01T00:00:10Z");
  EXPECT_EQ(reported.at("message"), "unknown since 2026-01-01T00:00:10Z: replica b cannot reach it: connection refused");
  const Outage outage{.error = "no route", .since = *base::ParseTime("2026-01-01T00:00:40Z")};
  const Json both = ClusterEntry(row, Json(), outage);
  EXPECT_EQ(both.at("message"), "unknown since 2026-01-01T00:00:10Z: no route");
  EXPECT_TRUE(ClusterEntry(JsonObject{{"owner", "b"}}, MemberSummary(MemberTally()), {}).at("unknownSince").is_null());
}

TEST_F(ViewsTest, WhatCannotBeReadIsSaidOnEveryPage) {
  unreachable = "member-2";
  Json ensemble = JsonObject{{"metadata", JsonObject{{"name", "zk"}, {"namespace", "default"}}}};
  base::Ensure(ensemble, {"status"}) = Parsed(R"({"phase": "Ready", "replicas": 5, "readyReplicas": 4,
                 "clusters": [{"name": "member-1", "replicas": 2}, {"name": "member-2", "replicas": 2}, {"name": "elsewhere", "replicas": 1}]})");
  hub.api().Put(controllers::rollout::zookeeper::MultiClusterZooKeepers(), ensemble);
  const auto rollouts = Follow("rollouts"), events = Follow("events");
  const auto balance = Follow("balance/member-2"), cluster = Follow("cluster/member-2");
  executor.RunFor(3s);
  const auto entry = [&](std::string_view name, std::string_view field) {
    return *base::Find(rollouts->document, {"ensembles", "default/zk", "clusters", name, field});
  };
  EXPECT_EQ(entry("member-1", "ready"), 0) << "nobody has made its servers yet";
  EXPECT_TRUE(entry("member-2", "ready").is_null());
  EXPECT_TRUE(entry("member-2", "message").get_string().starts_with("cannot be read: zookeepers"));
  EXPECT_TRUE(base::ParseTime(entry("member-2", "unknownSince").get_string()));
  EXPECT_TRUE(entry("elsewhere", "ready").is_null());
  EXPECT_EQ(entry("elsewhere", "message"), "has not been read");
  EXPECT_EQ(rollouts->Number({"ensembles", "default/zk", "servers", "healthy"}), 4);
  EXPECT_EQ(base::FindObject(events->document, {"silent"}).size(), 1U);
  EXPECT_TRUE(events->Text({"silent", "member-2"}).starts_with("events: "));
  for (const auto& follower : {balance, cluster}) {
    EXPECT_TRUE(follower->Text({"unread"}).ends_with("connection refused")) << follower->Text({"unread"});
    EXPECT_TRUE(base::ParseTime(follower->Text({"unknownSince"})));
  }
  hub.CutOff(true);
  executor.RunFor(20s);
  EXPECT_NE(rollouts->Text({"unread"}), "");
  EXPECT_NE(events->Text({"silent", "hub"}), "");
  hub.CutOff(false);
  executor.RunFor(60s);
  EXPECT_EQ(rollouts->Text({"unread"}), "");
  EXPECT_EQ(base::Find(events->document, {"silent", "hub"}), nullptr);
}

}  // namespace
}  // namespace evenkeel::dashboard::views_test
