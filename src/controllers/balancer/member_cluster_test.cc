#include "controllers/balancer/member_cluster.h"

#include "balancing/model/node_sets.h"
#include "controllers/balancer/objects_testing.h"

namespace evenkeel::controllers::balancer::member_cluster_test {
namespace {

using balancing::Cluster;
using balancing::kPartitionInTransition;
using balancing::MoveCost;
using balancing::NodeId;
using balancing::Partition;
using balancing::PartitionId;
using balancing::Replica;
using balancing::Role;
using balancing::Unit;

using base::Json;
using base::JsonArray;
using base::JsonObject;
using testing::PodObject;
using testing::PolicyOf;
using testing::World;
using namespace std::chrono_literals;

std::vector<std::string> Blocked(const Cluster& cluster, const std::string& service) {
  std::vector<std::string> names;
  for (const NodeId node : cluster.service_types[cluster.services[cluster.FindService(service)].type].blocked_nodes) {
    names.push_back(cluster.nodes[node].name);
  }
  return names;
}

TEST(MemberClusterTest, EveryPodIsAPartitionOfItsDeployment) {
  World world;
  world.Node("n1");
  world.Node("n2");
  world.Deployment("web", 2);
  world.Pod("web-a", "n1", "web", "1");
  world.Pod("web-b", "n2", "web", "250m");
  world.mirror.Upsert(testing::StatefulSetObject("db", 1));
  world.mirror.Upsert(
      PodObject("db-0", "n1", {.cpu = "2", .kind = "StatefulSet", .owner = "db", .labels = "evenkeel.dev/role=primary"}));
  const MemberCluster member = world.Build();
  const Cluster& cluster = member.cluster;
  ASSERT_EQ(cluster.services.size(), 2u);
  EXPECT_EQ(cluster.services[0].name, "default/db");
  EXPECT_TRUE(cluster.services[0].stateful);
  EXPECT_EQ(cluster.services[1].name, "default/web");
  EXPECT_FALSE(cluster.services[1].stateful);
  ASSERT_EQ(cluster.partitions.size(), 3u);
  const PartitionId web = cluster.FindPartition("default/web-a");
  const Replica& replica = cluster.replicas[cluster.partitions[web].first_replica];
  EXPECT_EQ(cluster.nodes[replica.node].name, "n1");
  EXPECT_EQ(replica.role, Role::kInstance);
  EXPECT_EQ(replica.move_cost, MoveCost::kMedium);
  EXPECT_EQ(std::vector<int64_t>(cluster.LoadsOf(replica).begin(), cluster.LoadsOf(replica).end()),
            (std::vector<int64_t>{1000, int64_t{512} << 20}));
  EXPECT_EQ(cluster.replicas[cluster.partitions[cluster.FindPartition("default/db-0")].first_replica].role, Role::kPrimary);
  EXPECT_EQ(*cluster.CapacityOf(cluster.FindNode("n1"), cluster.FindMetric("cpu")), 4000);
  EXPECT_EQ(cluster.metrics[0].services, 2u);
  EXPECT_EQ(GlobalWeight(member.settings, cluster.metrics[0]), 1);
  EXPECT_EQ(cluster.nodes[0].fault_domain_uri, "fd:/none/n1");
}

TEST(MemberClusterTest, WhatDoesNotMoveIsLoadThatStays) {
  World world;
  world.Node("n1");
  world.Deployment("web", 3);
  world.Pod("web-a", "n1", "web");
  const auto add = [&](const std::string& name, testing::PodSpec spec, const auto& edit) {
    Json pod = PodObject(name, "n1", spec);
    edit(pod);
    world.mirror.Upsert(pod);
  };
  const auto nothing = [](Json&) {};
  add("bare", {}, nothing);
  add("agent", {.kind = "DaemonSet", .owner = "agent"}, nothing);
  add("work", {.kind = "Job", .owner = "work"}, nothing);
  add("orphan", {.owner = "gone"}, nothing);
  add("clone", {.kind = "CloneSet", .owner = "clones"}, nothing);
  add("scratch", {.owner = "web-1"}, [](Json& pod) {
    base::Ensure(pod, {"spec", "volumes"}) = JsonArray{JsonObject{{"name", "v"}, {"emptyDir", JsonObject{}}}};
  });
  add("pinned", {.owner = "web-1"}, [](Json& pod) {
    base::Ensure(pod, {"metadata", "annotations", "cluster-autoscaler.kubernetes.io/safe-to-evict"}) = "false";
  });
  const MemberCluster member = world.Build();
  EXPECT_EQ(member.cluster.partitions.size(), 8u);
  const std::map<std::string, std::string> expected = {
      {"default/bare", "no controller would make another"},
      {"default/agent", "a DaemonSet has it on this node"},
      {"default/work", "a Job would lose its work"},
      {"default/orphan", "its controller ReplicaSet gone is not there"},
      {"default/clone", "it is not known what CloneSet clones would do"},
      {"default/scratch", "it keeps data on its node"},
      {"default/pinned", "its annotation cluster-autoscaler.kubernetes.io/safe-to-evict is false"}};
  EXPECT_EQ(member.fixed, expected);
  for (const Partition& partition : member.cluster.partitions) {
    EXPECT_EQ(partition.Has(kPartitionInTransition), partition.name != "default/web-a") << partition.name;
  }
}

TEST(MemberClusterTest, NodesThatTheAutoscalerOrAnOperatorTakesOutAreNotThere) {
  World world;
  for (const char* name : {"ok", "cordoned", "unready", "going", "candidate"}) world.Node(name);
  Json cordoned = testing::NodeObject("cordoned");
  base::Ensure(cordoned, {"spec", "unschedulable"}) = true;
  world.mirror.Upsert(cordoned);
  Json unready = testing::NodeObject("unready");
  base::Ensure(unready, {"status", "conditions"}) = JsonArray{JsonObject{{"type", "Ready"}, {"status", "Unknown"}}};
  world.mirror.Upsert(unready);
  for (const auto& [name, taint] : {std::pair{"going", kToBeDeletedTaint}, std::pair{"candidate", kDeletionCandidateTaint}}) {
    Json node = testing::NodeObject(name);
    base::Ensure(node, {"spec", "taints"}) = JsonArray{JsonObject{{"key", taint}, {"effect", "PreferNoSchedule"}}};
    world.mirror.Upsert(node);
  }
  world.Deployment("web", 2);
  world.Pod("web-a", "ok", "web");
  world.Pod("web-b", "candidate", "web");
  const MemberCluster member = world.Build();
  ASSERT_EQ(member.cluster.nodes.size(), 1u);
  EXPECT_EQ(member.cluster.nodes[0].name, "ok");
  EXPECT_EQ(member.cluster.partitions.size(), 1u) << "pods of a node that may go are left to the autoscaler";
  const std::map<std::string, std::string> expected = {{"candidate", "the autoscaler may remove it"},
                                                       {"cordoned", "it is cordoned"},
                                                       {"going", "the autoscaler removes it"},
                                                       {"unready", "it is not ready"}};
  EXPECT_EQ(member.left_out, expected);
}

TEST(MemberClusterTest, AServiceThatIsNotThereHasItsReason) {
  World world;
  world.Node("ok");
  for (const char* name : {"old-1", "old-2"}) {
    Json node = testing::NodeObject(name);
    base::Ensure(node, {"spec", "taints"}) =
        JsonArray{JsonObject{{"key", kDeletionCandidateTaint}, {"effect", "PreferNoSchedule"}}};
    world.mirror.Upsert(node);
  }
  for (const char* name : {"web", "rest", "new"}) world.Deployment(name, 2);
  world.Pod("web-a", "old-1", "web");
  world.Pod("web-b", "old-2", "web");
  world.Pod("web-c", "", "web");
  world.Pod("rest-a", "ok", "rest");
  world.Pod("rest-b", "old-1", "rest");
  world.Pod("new-a", "", "new");
  const MemberCluster member = world.Build();
  ASSERT_EQ(member.cluster.services.size(), 1u);
  EXPECT_EQ(WhyAbsent(member, "default/web"),
            "service default/web is not looked at: it has pods on nodes that are left out: old-1 (the autoscaler may remove "
            "it), old-2 (the autoscaler may remove it); 1 of its pods wait for a node");
  EXPECT_EQ(WhyAbsent(member, "default/new"), "service default/new is not looked at: 1 of its pods wait for a node");
  EXPECT_EQ(WhyAbsent(member, "default/nothing"), "");
}

TEST(MemberClusterTest, MetricsHaveTheUnitsOfTheirResources) {
  World world;
  world.Node("n1");
  world.Deployment("web", 1);
  world.Pod("web-a", "n1", "web");
  const MemberCluster member = world.Build();
  EXPECT_EQ(member.cluster.metrics[member.cluster.FindMetric("cpu")].unit, Unit::kMilli);
  EXPECT_EQ(member.cluster.metrics[member.cluster.FindMetric("memory")].unit, Unit::kByte);
}

TEST(MemberClusterTest, WishesAndTaintsAreBlockedNodes) {
  World world;
  world.Node("n1", "4", "disk=ssd");
  world.Node("n2", "4", "disk=ssd");
  world.Node("n3");
  world.Deployment("web", 1);
  Json pod = PodObject("web-a", "n1", {.owner = "web-1"});
  base::Ensure(pod, {"spec", "nodeSelector"}) = JsonObject{{"disk", "ssd"}};
  world.mirror.Upsert(pod);
  world.Deployment("any", 1);
  world.Pod("any-a", "n3", "any");
  const MemberCluster member = world.Build();
  EXPECT_EQ(Blocked(member.cluster, "default/web"), std::vector<std::string>{"n3"});
  EXPECT_TRUE(Blocked(member.cluster, "default/any").empty());
  EXPECT_EQ(member.cluster.service_types[member.cluster.services[member.cluster.FindService("default/web")].type].blocked_by,
            "spec.nodeSelector");
}

TEST(MemberClusterTest, ANodeWhereNothingThatMovesMayRunDoesNotLookIdle) {
  World world;
  world.Node("n1");
  Json plane = testing::NodeObject("plane");
  base::Ensure(plane, {"spec", "taints"}) =
      JsonArray{JsonObject{{"key", "node-role.kubernetes.io/control-plane"}, {"effect", "NoSchedule"}}};
  world.mirror.Upsert(plane);
  world.Deployment("web", 1);
  world.Pod("web-a", "n1", "web");
  world.mirror.Upsert(PodObject("agent", "plane", {.kind = "DaemonSet", .owner = "agent"}));
  EXPECT_EQ(world.Build().left_out.at("plane"), "no pod that may move may run there");
  world.Pod("web-b", "plane", "web");
  const MemberCluster member = world.Build();
  EXPECT_EQ(member.cluster.nodes.size(), 2u) << "a pod that runs there all the same may leave";
  EXPECT_TRUE(Blocked(member.cluster, "default/web").empty()) << "and is no violation that had to be mended";
}

TEST(MemberClusterTest, LoadsFromUsageAndAnnotations) {
  World world;
  world.policy = PolicyOf(R"({"metrics": [{"name": "cpu", "source": "Usage"}, {"name": "sessions", "source": "Annotation"}]})");
  world.Node("n1");
  world.Deployment("web", 2);
  world.Pod("web-a", "n1", "web", "1");
  Json chat = PodObject("chat-a", "n1", {.cpu = "1", .owner = "chat-1"});
  base::Ensure(chat, {"metadata", "annotations", kLoadAnnotation}) = R"({"sessions": 120, "odd": "x"})";
  world.Deployment("chat", 1);
  world.mirror.Upsert(chat);
  world.usage = DecodeUsage({*base::ParseJson(
      R"({"metadata": {"namespace": "default", "name": "web-a"}, "containers": [{"usage": {"cpu": "200m"}}, {"usage": {"cpu": "50m"}}]})",
      "test")});
  const Cluster cluster = world.Build().cluster;
  const auto loads = [&](const char* pod) {
    const auto row = cluster.LoadsOf(cluster.replicas[cluster.partitions[cluster.FindPartition(pod)].first_replica]);
    return std::vector<int64_t>(row.begin(), row.end());
  };
  EXPECT_EQ(loads("default/web-a"), std::vector<int64_t>{250}) << "and no sessions, which nobody of it declares";
  EXPECT_EQ(loads("default/chat-a"), (std::vector<int64_t>{1000, 120})) << "without usage its request counts";
  EXPECT_EQ(cluster.CapacityOf(0, cluster.FindMetric("sessions")), nullptr);
}

TEST(MemberClusterTest, SumsThatWouldNotBeExactAreScaled) {
  World world;
  world.policy = PolicyOf(R"({"metrics": [{"name": "memory"}]})");
  for (const char* name : {"n1", "n2", "n3"}) {
    Json node = testing::NodeObject(name);
    base::Ensure(node, {"status", "allocatable", "memory"}) = "3Pi";
    world.mirror.Upsert(node);
  }
  world.Deployment("web", 1);
  world.Pod("web-a", "n1", "web");
  const MemberCluster member = world.Build();
  EXPECT_EQ(member.scale, std::vector<int64_t>{1024});
  EXPECT_EQ(*member.cluster.CapacityOf(0, 0), int64_t{3} << 40);
  EXPECT_EQ(member.cluster.LoadsOf(member.cluster.replicas[0])[0], int64_t{512} << 10);
}

TEST(MemberClusterTest, AnnotationsOfKarpenterAndOursKeepPods) {
  World world;
  world.Node("n1");
  world.Deployment("web", 4);
  const auto add = [&](const char* name, const char* annotation, const char* value) {
    Json pod = PodObject(name, "n1", {.owner = "web-1"});
    base::Ensure(pod, {"metadata", "annotations", annotation}) = value;
    base::Ensure(pod, {"metadata", "annotations", "cluster-autoscaler.kubernetes.io/safe-to-evict"}) = "true";
    world.mirror.Upsert(pod);
  };
  add("a", "evenkeel.dev/do-not-disrupt", "true");
  add("b", "karpenter.sh/do-not-disrupt", "true");
  add("c", "karpenter.sh/do-not-disrupt", "false");
  const std::map<std::string, std::string> expected = {{"default/a", "its annotation evenkeel.dev/do-not-disrupt is true"},
                                                       {"default/b", "its annotation karpenter.sh/do-not-disrupt is true"}};
  EXPECT_EQ(world.Build().fixed, expected);
}

TEST(MemberClusterTest, OnUnequalNodesOnlySharesCount) {
  World world;
  world.Node("n1", "4");
  world.Node("n2", "4200m");
  world.Deployment("web", 1);
  world.Pod("web-a", "n1", "web");
  EXPECT_EQ(world.Build().settings.local_domain_weight, balancing::Settings().local_domain_weight) << "as good as equal";
  world.Node("n2", "16");
  const MemberCluster member = world.Build();
  EXPECT_EQ(member.settings.local_domain_weight, 0);
  EXPECT_TRUE(member.settings.thresholds_by_percentage);
}

TEST(MemberClusterTest, APodThatHasJustBeenMovedStays) {
  World world;
  world.Node("n1");
  world.Node("n2");
  world.Deployment("web", 2);
  world.Pod("web-a", "n2", "web");
  world.Pod("web-b", "n1", "web");
  PlanObject plan = world.Plan({world.Move("web-a", "n2")});
  plan.status[0].state = MoveState::kLanded;
  plan.status[0].evicted_at = world.now - 5min;
  plan.status[0].replacement_uid = "uid-web-a";
  plan.moves[0].pod_uid = "uid-before";
  plan.moves[0].from = "n1";
  world.past = PastMoves(std::vector{plan});
  MemberCluster member = world.Build();
  EXPECT_TRUE(member.fixed.contains("default/web-a"));
  EXPECT_FALSE(member.fixed.contains("default/web-b"));
  ASSERT_EQ(member.cluster.history.movements.size(), 1u);
  EXPECT_EQ(member.cluster.partitions[member.cluster.history.movements[0].partition].name, "default/web-a");
  world.Pod("web-a", "n2", "web", "1");
  EXPECT_FALSE(world.Build().fixed.contains("default/web-a")) << "its load has changed";
  world.Pod("web-a", "n2", "web");
  world.now += 5min;
  EXPECT_FALSE(world.Build().fixed.contains("default/web-a")) << "ten minutes have passed";
}

}  // namespace
}  // namespace evenkeel::controllers::balancer::member_cluster_test
