#include "controllers/autoscaler/member/member_autoscaler.h"

#include "controllers/autoscaler/member/member_testing.h"
#include "scheduling/reservations.h"

namespace evenkeel::controllers::autoscaler::member_autoscaler_test {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
using testing::kBegin;
using testing::MemberWorld;
using namespace std::chrono_literals;

constexpr const char* kStatus = "cluster-autoscaler-status";
constexpr const char* kState = "evenkeel-autoscaler-state";

class MemberAutoscalerTest : public MemberWorld {
 protected:
  /// n1 could go, n2 is needed.
  void UnderUsedPair() {
    cloud.Group("a", 0, 5, 2);
    Node("n1", "a");
    Node("n2", "a");
    Pod("small", "400m", "n1");
    Pod("large", "2500m", "n2");
  }
  int Writes(std::string_view about) {
    int count = 0;
    for (const std::string& call : connection->fake.calls) {
      const bool write = !call.starts_with("get") && !call.starts_with("list") && !call.starts_with("watch");
      count += write && call.contains(about) ? 1 : 0;
    }
    return count;
  }
};

TEST_F(MemberAutoscalerTest, GrowsAGroupForPodsThatWaitAndSaysSo) {
  cloud.Group("a", 0, 5, 1);
  Node("n1", "a");
  Pod("on", "3", "n1");
  Pod("p1", "3");
  Pod("p2", "3");
  Own();
  executor.RunFor(5s);
  EXPECT_EQ(Target("a"), 3);
  EXPECT_EQ(Events("TriggeredScaleUp", "p1"), std::vector<std::string>{"pod triggered scale-up: [{a 1->3 (max: 5)}]"});
  EXPECT_EQ(Events("TriggeredScaleUp", "p2").size(), 1u);
  EXPECT_EQ(Events("ScaledUpGroup", kStatus).size(), 2u);
  EXPECT_TRUE(Data(kStatus, "status").contains("status: InProgress")) << Data(kStatus, "status");
  EXPECT_TRUE(Data(kState, "state").contains(R"("increase":2)")) << Data(kState, "state");
  metrics->Publish();
  EXPECT_TRUE(registry.Render().contains(
      "cluster_autoscaler_scaled_up_nodes_total{cluster=\"m\",dra_drivers=\"\",gpu_name=\"\",gpu_resource_name=\"\"} 2"));
  EXPECT_TRUE(registry.Render().contains("cluster_autoscaler_cluster_safe_to_autoscale{cluster=\"m\"} 1"));
  executor.RunFor(5min);
  EXPECT_EQ(Target("a"), 3) << "the nodes are on their way, nothing more is asked for";
  Node("n3", "a");
  Node("n4", "a");
  Pod("p1", "3", "n3");
  Pod("p2", "3", "n4");
  executor.RunFor(1min);
  EXPECT_FALSE(Data(kStatus, "status").contains("InProgress"));
  member.reset();
  metrics->Publish();
  EXPECT_FALSE(registry.Render().contains("cluster_safe_to_autoscale{")) << "another replica tells of it now";
}

TEST_F(MemberAutoscalerTest, CountsNodesWithGpusAndNodesThatCouldNotBeCreated) {
  cloud.Group("a", 0, 5, 1);
  cloud.Group("b", 0, 1, 1);
  for (const char* key : {"allocatable", "capacity"}) {
    base::Ensure(*cloud.groups["a"].template_node, {"status", key, "nvidia.com/gpu"}) = "1";
  }
  Node("n1", "b");
  cloud.groups["a"].instances.push_back(
      {"fake://n2", providers::Instance::State::kCreating,
       providers::Instance::Error{providers::Instance::ErrorClass::kOutOfResources, "STOCKOUT", "none"}});
  Json pod = Pod("p1", "1");
  base::Ensure(base::Find(pod, {"spec", "containers"})->as_array()[0], {"resources", "requests", "nvidia.com/gpu"}) = "1";
  api->Put(kube::resources::Pods(), pod);
  cloud.on_delete = [&](const std::string&) { cloud.groups["a"].instances.clear(); };
  Own();
  executor.RunFor(10min);
  const std::string metrics_now = registry.Render();
  EXPECT_TRUE(metrics_now.contains(R"(cluster_autoscaler_failed_node_creations_total{cluster="m",reason="STOCKOUT"} 1)"));
  EXPECT_TRUE(metrics_now.contains("old_unregistered_nodes_removed_count{cluster=\"m\"} 0\n"));
  EXPECT_TRUE(metrics_now.contains(
      R"(cluster_autoscaler_failed_scale_ups_total{cluster="m",dra_drivers="",gpu_name="",gpu_resource_name="",reason="timeout"} 0)"))
      << "so that increase() sees the first";
  EXPECT_TRUE(metrics_now.contains("cluster_autoscaler_scaled_up_gpu_nodes_total{cluster=\"m\",gpu_name=\"nvidia.com/gpu\","))
      << metrics_now;
}

TEST_F(MemberAutoscalerTest, BesideAnotherAutoscalerItOnlyPlans) {
  UnderUsedPair();
  Pod("waits", "3900m");
  const auto renew = [&](const std::string& holder) {
    api->Put(kube::resources::Leases(), {{"metadata", {{"name", "cluster-autoscaler"}, {"namespace", "kube-system"}}},
                                         {"spec",
                                          {{"holderIdentity", holder},
                                           {"leaseDurationSeconds", 15},
                                           {"renewTime", base::FormatMicroTime(executor.clock().Now())}}}});
  };
  renew("upstream");
  Own();
  for (int i = 0; i < 600; ++i) {
    renew("upstream");
    executor.RunFor(2s);
  }
  EXPECT_EQ(Target("a"), 2);
  EXPECT_TRUE(cloud.deleted.empty());
  EXPECT_FALSE(Tainted("n1"));
  EXPECT_FALSE(Tainted("n1", "DeletionCandidateOfClusterAutoscaler"));
  const std::string why =
      "another autoscaler is at work: Lease kube-system/cluster-autoscaler of upstream is renewed; this one only plans until "
      "it "
      "is silent, or --ignore-other-autoscalers is set";
  EXPECT_EQ(Events("OtherAutoscaler", kStatus), std::vector<std::string>{why});
  EXPECT_EQ(Data(kStatus, "status"), "") << "that is the other's";
  const Json told = *base::ParseJson(Data(kStatus, "explanation"), "explanation");
  const Json& left = base::FindArray(told, {"leftAlone"}).at(0);
  EXPECT_EQ(base::FindString(left, {"type"}), "OtherAutoscaler");
  EXPECT_EQ(base::FindString(left, {"message"}), why);
  EXPECT_EQ(base::FindString(told, {"pending", "default/waits", "a"}), "grows for it: 2 to 3") << told;
  renew("");
  executor.RunFor(1min);
  EXPECT_EQ(Target("a"), 3) << "the other has let go";
  EXPECT_NE(Data(kStatus, "status"), "");
}

TEST_F(MemberAutoscalerTest, AMemberHasFlagsOfItsOwn) {
  cloud.Group("a", 0, 5, 0);
  Pod("waits", "3");
  options.max_nodes_total = 9;
  options_of = [](const std::string&) -> base::Result<Options> {
    return base::Fail(base::Code::kBadRequest, "--x: no such flag");
  };
  Own();
  executor.RunFor(1min);
  EXPECT_EQ(Target("a"), 0);
  EXPECT_EQ(Events("InvalidAutoscalerArgs", kStatus),
            std::vector<std::string>{"this cluster has no autoscaler: --x: no such flag"});
  options_of = [](const std::string&) { return Options(); };
  Own();
  executor.RunFor(1min);
  EXPECT_EQ(Target("a"), 0) << "no provider, no autoscaler";
  options_of = [](const std::string& name) {
    EXPECT_EQ(name, "m");
    Options own;
    own.cloud_provider = "fake";
    own.status_config_map_name = "own-status";
    return own;
  };
  Own();
  executor.RunFor(1min);
  EXPECT_EQ(Target("a"), 1);
  EXPECT_NE(Data("own-status", "status"), "");
}

TEST_F(MemberAutoscalerTest, InstancesThatAreOtherMembersNodesStay) {
  cloud.Group("a", 0, 5, 1);
  cloud.groups["a"].instances.push_back({"fake://theirs", providers::Instance::State::kRunning, std::nullopt});
  int asked = 0;
  nodes_elsewhere = [&](const std::string&) -> base::Result<std::map<std::string, std::string>> {
    ++asked;
    return std::map<std::string, std::string>{{"fake://theirs", "other"}};
  };
  Own();
  executor.RunFor(1h);
  EXPECT_TRUE(cloud.deleted.empty());
  EXPECT_EQ(Target("a"), 1);
  EXPECT_EQ(Events("NodeGroupSetAside", kStatus),
            std::vector<std::string>{"node group a is set aside: instance fake://theirs is a node of member other"});
  EXPECT_GT(asked, 0);
  EXPECT_LE(asked, 46);
}

TEST_F(MemberAutoscalerTest, AnInstanceIsDeletedOnlyByAnAnswerThatIsNotOld) {
  cloud.Group("a", 0, 5, 2);
  std::vector<providers::Instance>& instances = cloud.groups["a"].instances;
  instances.push_back({"fake://nobodys", providers::Instance::State::kRunning, std::nullopt});
  std::map<std::string, std::string> theirs;
  nodes_elsewhere = [&](const std::string&) -> base::Result<std::map<std::string, std::string>> { return theirs; };
  Own();
  executor.RunFor(30s);
  instances.push_back({"fake://theirs", providers::Instance::State::kRunning, std::nullopt});
  executor.RunFor(options.max_node_provision_time - 10s);
  EXPECT_EQ(cloud.deleted.size(), 1u);
  // It becomes a node just after it was asked whose nodes there are, and before it would be given up.
  theirs = {{"fake://theirs", "other"}};
  executor.RunFor(1h);
  EXPECT_EQ(cloud.deleted.size(), 1u);
  EXPECT_EQ(Events("NodeGroupSetAside", kStatus),
            std::vector<std::string>{"node group a is set aside: instance fake://theirs is a node of member other"});
}

TEST_F(MemberAutoscalerTest, ALeftoverLeaseOrASettingDoNotHoldItUp) {
  cloud.Group("a", 0, 5, 0);
  Pod("waits", "3");
  const auto lease = [&](const std::string& holder, base::Time renewed) {
    api->Put(kube::resources::Leases(),
             {{"metadata", {{"name", "karpenter-leader-election"}, {"namespace", "karpenter"}}},
              {"spec", {{"holderIdentity", holder}, {"renewTime", base::FormatMicroTime(renewed)}}}});
  };
  lease("gone", kBegin - 1h);
  Own();
  executor.RunFor(5s);
  EXPECT_EQ(Target("a"), 1);
  lease("back", executor.clock().Now());
  Pod("waits-too", "3");
  executor.RunFor(5s);
  EXPECT_EQ(Target("a"), 1);
  options.ignore_other_autoscalers = true;
  cloud.Group("a", 0, 5, 0);
  Own();
  executor.RunFor(5s);
  EXPECT_EQ(Target("a"), 2);
}

TEST_F(MemberAutoscalerTest, APodThatASchedulerGivesUpOnIsSeenAtOnce) {
  cloud.Group("a", 0, 5, 1);
  Node("n1", "a");
  Own();
  executor.RunFor(5s);
  Pod("p1", "3500m");
  Pod("p2", "3500m");
  executor.RunFor(1s);
  EXPECT_EQ(Target("a"), 2);
}

TEST_F(MemberAutoscalerTest, SaysWhyNoGroupGrowsButOnce) {
  cloud.Group("a", 0, 5, 0);
  cloud.Group("b", 0, 0, 0);
  Pod("huge", "64");
  Own();
  executor.RunFor(2min);
  EXPECT_EQ(Events("NotTriggerScaleUp", "huge"),
            std::vector<std::string>{"pod didn't trigger scale-up: 1 Insufficient cpu, 1 max node group size reached"});
}

TEST_F(MemberAutoscalerTest, TellsWhoLooksOnWhyPodsWaitAndNodesStay) {
  UnderUsedPair();
  Pod("huge", "64");
  Own();
  executor.RunFor(30s);
  const auto told = [&] { return *base::ParseJson(Data(kStatus, "explanation"), "explanation"); };
  const Json first = told();
  const JsonObject& pending = base::FindObject(first, {"pending"});
  ASSERT_EQ(pending.size(), 1U) << first;
  EXPECT_TRUE(base::FindString(pending.begin()->value(), {"a"}).starts_with("NodeResourcesFit: Insufficient cpu (64 requested"))
      << first;
  EXPECT_EQ(base::FindString(first, {"nodes", "n2", "waits"}),
            "NotUnderutilized: cpu utilization is 62.5 %, above the threshold of 50.0 %");
  EXPECT_EQ(base::FindString(first, {"nodes", "n2", "group"}), "a");
  EXPECT_TRUE(base::FindString(first, {"nodes", "n1", "waits"}).starts_with("unneeded; goes once that has lasted until "))
      << first;
  EXPECT_FALSE(base::FindString(first, {"nodes", "n1", "since"}).empty());
  EXPECT_TRUE(base::FindBool(first, {"scaleDown", "enabled"}));
  const int writes = Writes(kStatus);
  executor.RunFor(3min);
  EXPECT_EQ(told(), first) << "it says nothing that changes by itself";
  EXPECT_LE(Writes(kStatus) - writes, 4);
}

TEST_F(MemberAutoscalerTest, AGroupThatRefusesIsBackedOffAndAnotherGrowsInTheSameLoop) {
  options.expander = {"least-nodes"};
  cloud.Group("a", 0, 5, 0);
  cloud.Group("b", 0, 5, 0);
  cloud.refuses["a"] = cloud.refuses["b"] = "out of stock";
  Pod("p1", "3");
  Own();
  executor.RunFor(3s);
  EXPECT_EQ(Events("FailedToScaleUpGroup", kStatus).size(), 2u);
  cloud.refuses.clear();
  executor.RunFor(1min);
  EXPECT_EQ(Target("a") + Target("b"), 0) << "both are left alone for 5 minutes";
  EXPECT_TRUE(Data(kStatus, "status").contains("status: Backoff"));
  EXPECT_TRUE(Data(kStatus, "status").contains("errorCode: cloudProviderError"));
  Own();
  executor.RunFor(3min);
  EXPECT_EQ(Target("a") + Target("b"), 0) << "the successor knows it";
  executor.RunFor(2min);
  EXPECT_EQ(Target("a") + Target("b"), 1);
}

TEST_F(MemberAutoscalerTest, BudgetsOfServersWithoutPolicyV1HoldNodesToo) {
  UnderUsedPair();
  api->Put(*kube::FindBuiltInKind("policy/v1", "PodDisruptionBudget"),
           {{"metadata", {{"name", "none"}, {"namespace", "default"}}},
            {"spec", {{"maxUnavailable", 0}, {"selector", JsonObject{}}}},
            {"status", {{"disruptionsAllowed", 0}}}});
  Own();
  connection->not_served = "policy/v1";
  executor.RunFor(30min);
  EXPECT_TRUE(connection->evicted.empty());
  EXPECT_EQ(Target("a"), 2);
  EXPECT_FALSE(Tainted("n1"));
  EXPECT_EQ(Data(kStatus, "status").contains("CandidatesPresent"), false) << Data(kStatus, "status");
}

TEST_F(MemberAutoscalerTest, DrainsANodeAgainstItsBudgetsAndDeletesItWhenItIsEmpty) {
  UnderUsedPair();
  Own();
  connection->refusals["default/small"] = 2;
  connection->on_eviction = [this](const std::string& pod) {
    auto gone = [this, pod] {
      api->Remove(kube::resources::Pods(), pod);
      Pod("again", "400m", "n2");
    };
    timers.push_back(member->strand()->PostAfter(12s, std::move(gone)));
  };
  executor.RunFor(1min);
  EXPECT_TRUE(Tainted("n1", "DeletionCandidateOfClusterAutoscaler"));
  EXPECT_FALSE(Tainted("n1"));
  ASSERT_TRUE(executor.RunUntil([this] { return Tainted("n1"); }, 11min));
  EXPECT_TRUE(Cordoned("n1"));
  EXPECT_FALSE(Tainted("n2"));
  executor.RunFor(6s);
  EXPECT_EQ(connection->fake.Count("post pods default/small"), 1) << "after the scheduler has had 5 s to see the taint";
  executor.RunFor(20s);
  EXPECT_EQ(connection->evicted, std::vector<std::string>{"default/small"}) << "the third time";
  EXPECT_TRUE(cloud.deleted.empty()) << "the pod has not ended yet";
  executor.RunFor(20s);
  EXPECT_EQ(cloud.deleted, std::vector<std::string>{"n1"});
  EXPECT_EQ(Target("a"), 1);
  EXPECT_EQ(Events("ScaleDown", "small").size(), 1u);
  EXPECT_EQ(Events("ScaleDown", "n1").size(), 2u);
  EXPECT_TRUE(
      registry.Render().contains("cluster_autoscaler_scaled_down_nodes_total{cluster=\"m\",dra_drivers=\"\",gpu_name=\"\",gpu_"
                                 "resource_name=\"\",reason=\"underutilized\"} 1"));
}

TEST_F(MemberAutoscalerTest, GivesANodeBackWhenItsPodsMayNotGo) {
  UnderUsedPair();
  Own();
  connection->refusals["default/small"] = -1;
  ASSERT_TRUE(executor.RunUntil([this] { return Tainted("n1"); }, 11min));
  executor.RunFor(2min);
  EXPECT_TRUE(Tainted("n1")) << "evictions are tried for 2 minutes, after 5 s";
  ASSERT_TRUE(executor.RunUntil([this] { return !Tainted("n1"); }, 20s));
  EXPECT_FALSE(Cordoned("n1"));
  EXPECT_TRUE(cloud.deleted.empty());
  executor.RunFor(1s);
  ASSERT_FALSE(Events("ScaleDownFailed", "n1").empty());
  EXPECT_TRUE(Events("ScaleDownFailed", "n1").front().starts_with("failed to drain and delete node: "));
  EXPECT_TRUE(registry.Render().contains("evicted_pods_total{cluster=\"m\",eviction_result=\"failed\"} 1"));
}

/// A plan that moves a pod, until `until`.
Json PlanInFlight(base::Time until) {
  return {
      {"apiVersion", "evenkeel.dev/v1alpha1"},
      {"kind", "BalancingPlan"},
      {"metadata", {{"name", "even-1"}}},
      {"spec", {{"actions", JsonArray{{{"from", "n1"}, {"to", "n2"}, {"pod", "default/p"}, {"ownerUid", "rs"}}}}}},
      {"status",
       {{"phase", "Executing"}, {"actions", JsonArray{{{"state", "Evicted"}, {"reserveUntil", base::FormatTime(until)}}}}}}};
}

TEST_F(MemberAutoscalerTest, NoNodeGoesWhileABalancingPlanMovesPods) {
  UnderUsedPair();
  api->Put(scheduling::BalancingPlans(), PlanInFlight(kBegin + 1h));
  Own();
  executor.RunFor(30min);
  EXPECT_FALSE(Tainted("n1"));
  executor.RunFor(40min);
  EXPECT_EQ(cloud.deleted, std::vector<std::string>{"n1"}) << "no room is kept any more";
}

TEST_F(MemberAutoscalerTest, ANodeIsGivenBackWhenABalancingPlanWasFaster) {
  UnderUsedPair();
  Own();
  ASSERT_TRUE(executor.RunUntil([this] { return Tainted("n1"); }, 11min));
  api->Put(scheduling::BalancingPlans(), PlanInFlight(executor.clock().Now() + 1min));
  executor.RunFor(10s);
  EXPECT_FALSE(Tainted("n1"));
  EXPECT_TRUE(connection->evicted.empty());
  ASSERT_FALSE(Events("ScaleDownFailed", "n1").empty());
  EXPECT_EQ(Events("ScaleDownFailed", "n1").front(),
            "failed to drain and delete node: BalancingPlan even-1 moves pods, and room is kept for them");
  executor.RunFor(12min);
  EXPECT_EQ(cloud.deleted, std::vector<std::string>{"n1"}) << "it has to be unneeded anew";
}

TEST_F(MemberAutoscalerTest, GivesANodeBackWhenTheProviderFails) {
  UnderUsedPair();
  api->Remove(kube::resources::Pods(), "default/small");
  cloud.keeps = "the cloud is away";
  Own();
  ASSERT_TRUE(executor.RunUntil([this] { return Tainted("n1"); }, 11min));
  executor.RunFor(5500ms);
  ASSERT_FALSE(Events("ScaleDownFailed", "n1").empty());
  EXPECT_EQ(Events("ScaleDownFailed", "n1").front(), "failed to delete empty node: the cloud is away");
  EXPECT_EQ(Target("a"), 2);
}

TEST_F(MemberAutoscalerTest, ANodeToWhichAPodCameThatMayNotBeMovedStays) {
  UnderUsedPair();
  Own();
  connection->on_eviction = [this](const std::string& pod) {
    api->Remove(kube::resources::Pods(), pod);
    Pod("naked", "100m", "n1", false);
  };
  ASSERT_TRUE(executor.RunUntil([this] { return Tainted("n1"); }, 11min));
  executor.RunFor(1min);
  EXPECT_TRUE(cloud.deleted.empty());
  EXPECT_FALSE(Tainted("n1"));
  EXPECT_FALSE(Cordoned("n1"));
  ASSERT_EQ(Events("ScaleDownFailed", "n1").size(), 1u);
  EXPECT_TRUE(Events("ScaleDownFailed", "n1").front().contains("default/naked"));
}

TEST_F(MemberAutoscalerTest, PodsEndByPriorityEachGroupAfterTheOther) {
  options.drain_priority_config = {{0, 10}, {1000, 5}};
  UnderUsedPair();
  api->Remove(kube::resources::Pods(), "default/small");
  for (const auto& [name, priority] : {std::pair{"high", 2000}, std::pair{"low", 5}}) {
    Json pod = Pod(name, "100m", "n1");
    base::Ensure(pod, {"spec", "priority"}) = priority;
    api->Put(kube::resources::Pods(), std::move(pod));
  }
  Own();
  connection->on_eviction = [this](const std::string& pod) {
    timers.push_back(member->strand()->PostAfter(8s, [this, pod] { api->Remove(kube::resources::Pods(), pod); }));
  };
  ASSERT_TRUE(executor.RunUntil([this] { return Tainted("n1"); }, 11min));
  executor.RunFor(12s);
  EXPECT_EQ(connection->evicted, std::vector<std::string>{"default/low"});
  executor.RunFor(8s);
  EXPECT_EQ(connection->evicted, (std::vector<std::string>{"default/low", "default/high"}));
  EXPECT_TRUE(cloud.deleted.empty());
  executor.RunFor(10s);
  EXPECT_EQ(cloud.deleted, std::vector<std::string>{"n1"});
}

TEST_F(MemberAutoscalerTest, DaemonPodsAreToldToEndButNotWaitedFor) {
  UnderUsedPair();
  api->Put(kube::resources::DaemonSets(), {{"metadata", {{"name", "ds"}, {"namespace", "default"}, {"uid", "ds"}}}});
  Json daemon = Pod("daemon", "100m", "n1");
  base::Ensure(daemon, {"metadata", "ownerReferences"}) = JsonArray{
      JsonObject{{"apiVersion", "apps/v1"}, {"kind", "DaemonSet"}, {"name", "ds"}, {"uid", "ds"}, {"controller", true}}};
  api->Put(kube::resources::Pods(), std::move(daemon));
  Own();
  connection->on_eviction = [this](const std::string& pod) {
    if (pod != "default/daemon") api->Remove(kube::resources::Pods(), pod);
  };
  ASSERT_TRUE(executor.RunUntil([this] { return Tainted("n1"); }, 11min));
  executor.RunFor(6s);
  EXPECT_EQ(connection->evicted.size(), 2u);
  EXPECT_EQ(cloud.deleted, std::vector<std::string>{"n1"});
}

TEST_F(MemberAutoscalerTest, ANodeWithADelayAnnotationIsWaitedForButNotForEver) {
  UnderUsedPair();
  api->Remove(kube::resources::Pods(), "default/small");
  Json node = NodeNow("n1");
  base::Ensure(node, {"metadata", "annotations", "delay-deletion.cluster-autoscaler.kubernetes.io/backup"}) = "true";
  api->Put(kube::resources::Nodes(), std::move(node));
  Own();
  ASSERT_TRUE(executor.RunUntil([this] { return Tainted("n1"); }, 11min));
  executor.RunFor(2min);
  EXPECT_TRUE(cloud.deleted.empty());
  executor.RunFor(10s);
  EXPECT_EQ(cloud.deleted, std::vector<std::string>{"n1"});
}

TEST_F(MemberAutoscalerTest, NodesOfOneGroupAreDeletedTogetherWhenTheyAreGathered) {
  options.node_deletion_batcher_interval = 3s;
  cloud.Group("a", 0, 5, 2);
  Node("n1", "a");
  Node("n2", "a");
  int calls = 0;
  cloud.on_delete = [&](const std::string& name) {
    ++calls;
    api->Remove(kube::resources::Nodes(), name);
  };
  Own();
  ASSERT_TRUE(executor.RunUntil([this] { return Tainted("n1"); }, 11min));
  executor.RunFor(7s);
  EXPECT_EQ(calls, 0);
  executor.RunFor(2s);
  EXPECT_EQ(calls, 2);
}

TEST_F(MemberAutoscalerTest, MarksThatCannotBeTakenOffAreTriedAgain) {
  UnderUsedPair();
  Own();
  connection->refusals["default/small"] = -1;
  ASSERT_TRUE(executor.RunUntil([this] { return Tainted("n1"); }, 11min));
  executor.RunFor(122s);
  connection->fake.FailNext("update", base::Error(base::Code::kUnavailable, "no answer"), 3);
  executor.RunFor(30s);
  EXPECT_FALSE(Cordoned("n1"));
}

TEST_F(MemberAutoscalerTest, ASuccessorGoesOnWithTheTimers) {
  UnderUsedPair();
  Own();
  executor.RunFor(7min);
  EXPECT_FALSE(Tainted("n1"));
  Own();
  executor.RunFor(2min);
  EXPECT_FALSE(Tainted("n1"));
  executor.RunFor(2min);
  EXPECT_EQ(cloud.deleted, std::vector<std::string>{"n1"}) << "10 minutes after it was first seen, whoever saw it";
}

TEST_F(MemberAutoscalerTest, ASuccessorGoesOnWithTheNumberOfUnneededNodes) {
  options.max_scale_down_parallelism = 1;
  options.scale_down_unneeded_time = 1h;
  cloud.Group("a", 0, 10, 6);
  for (const char* node : {"n1", "n2", "n3", "n4", "n5", "n6"}) Node(node, "a");
  const auto unneeded = [this] {
    const auto state = base::ParseJson(Data(kState, "state"), "state");
    return state ? base::FindObject(*state, {"scaleDown", "unneeded"}).size() : 0;
  };
  std::vector<size_t> sizes;
  for (int i = 0; i < 3; ++i) {
    Own();
    executor.RunFor(8s);
    sizes.push_back(unneeded());
  }
  EXPECT_EQ(sizes, (std::vector<size_t>{2, 4, 6}));
}

TEST_F(MemberAutoscalerTest, ASuccessorDoesNotTryANodeAgainThatCouldNotBeRemoved) {
  cloud.Group("a", 0, 10, 2);
  Node("n1", "a");
  Node("n2", "a");
  Pod("big", "1500m", "n1");
  Pod("busy", "2100m", "n2");
  Pod("full", "1500m", "n2");
  Own();
  executor.RunFor(8s);
  ASSERT_TRUE(Data(kState, "state").contains("\"unremovable\":{\"n1\"")) << Data(kState, "state");
  api->Remove(kube::resources::Pods(), "default/full");
  Own();
  executor.RunFor(2min);
  EXPECT_FALSE(Data(kState, "state").contains("\"unneeded\":{\"n1\"")) << "not for 5 minutes";
  executor.RunFor(4min);
  EXPECT_TRUE(Data(kState, "state").contains("\"unneeded\":{\"n1\"")) << Data(kState, "state");
}

TEST_F(MemberAutoscalerTest, ASuccessorTakesOffTheMarksOfADeletionThatWasCutShort) {
  UnderUsedPair();
  Own();
  connection->refusals["default/small"] = -1;
  ASSERT_TRUE(executor.RunUntil([this] { return Tainted("n1"); }, 11min));
  options.scale_down_unneeded_time = 1h;
  Own();
  executor.RunFor(5s);
  EXPECT_FALSE(Tainted("n1"));
  EXPECT_FALSE(Cordoned("n1"));
  EXPECT_EQ(Events("ClusterAutoscalerCleanup", "n1"), std::vector<std::string>{"marked the node as schedulable"});
}

TEST_F(MemberAutoscalerTest, MemoryThatCannotBeReadIsKeptAndBegunAnew) {
  api->Put(kube::resources::ConfigMaps(), {{"metadata", {{"name", kState}, {"namespace", "kube-system"}}},
                                           {"data", {{"state", R"({"version": 99, "of": "a later version"})"}}}});
  UnderUsedPair();
  Own();
  executor.RunFor(5s);
  EXPECT_EQ(Events("AutoscalerStateUnreadable", kStatus).size(), 1u);
  EXPECT_EQ(Data(kState, "unreadable"), R"({"version": 99, "of": "a later version"})");
  EXPECT_TRUE(Data(kState, "state").contains("\"n1\""));
}

TEST_F(MemberAutoscalerTest, AProviderThatFailsIsAskedLessAndLess) {
  UnderUsedPair();
  cloud.down = "the cloud is away";
  Own();
  executor.RunFor(10min);
  EXPECT_LE(cloud.refreshes, 9);
  EXPECT_GE(cloud.refreshes, 6);
  EXPECT_FALSE(Events("CloudProviderError", kStatus).empty());
  cloud.down.clear();
  executor.RunFor(2min);
  EXPECT_TRUE(Data(kStatus, "status").contains("autoscalerStatus: Running"));
  const int before = cloud.refreshes;
  executor.RunFor(1min);
  EXPECT_EQ(cloud.refreshes - before, 6);
}

TEST_F(MemberAutoscalerTest, WritesNothingButItsStatusWhenNothingHappens) {
  cloud.Group("a", 1, 5, 2);
  Node("n1", "a");
  Node("n2", "a");
  Pod("p1", "3", "n1");
  Pod("p2", "3", "n2");
  Own();
  executor.RunFor(2min);
  connection->fake.calls.clear();
  executor.RunFor(30min);
  EXPECT_EQ(Writes(""), Writes(kStatus));
  EXPECT_LE(Writes(kStatus), 31);
  EXPECT_GE(Writes(kStatus), 25) << "people see that it is alive";
}

TEST_F(MemberAutoscalerTest, DecidesNothingBeforeEverythingIsListed) {
  UnderUsedPair();
  Own();
  connection->fake.CutOff(true);
  executor.RunFor(2min);
  EXPECT_EQ(cloud.refreshes, 0);
  connection->fake.CutOff(false);
  executor.RunFor(2min);
  EXPECT_GT(cloud.refreshes, 0);
}

TEST_F(MemberAutoscalerTest, GroupsBelowTheirMinimumGrowOnlyAsFarAsTheClusterMay) {
  options.enforce_node_group_min_size = true;
  options.cores_total.max = 12;
  cloud.Group("a", 5, 9, 1);
  Node("n1", "a");
  Pod("p1", "3", "n1");
  Own();
  executor.RunFor(1min);
  EXPECT_EQ(Target("a"), 3);
}

TEST_F(MemberAutoscalerTest, AGroupThatGoesWholeStaysWholeWhenOneNodeCannotGo) {
  cloud.Group("a", 0, 5, 2);
  cloud.groups["a"].options.zero_or_max_node_scaling = true;
  cloud.Group("b", 0, 1, 1);
  options.max_drain_parallelism = 5;
  Node("n1", "a");
  Node("n2", "a");
  Node("n3", "b");
  Pod("large", "2500m", "n3");
  Pod("s1", "100m", "n1");
  Pod("s2", "100m", "n2");
  Own();
  connection->refusals["default/s2"] = -1;
  ASSERT_TRUE(executor.RunUntil([this] { return Tainted("n1") && Tainted("n2"); }, 12min));
  executor.RunFor(1min);
  EXPECT_EQ(connection->evicted, std::vector<std::string>{"default/s1"});
  EXPECT_TRUE(Tainted("n1")) << "n1 is empty and waits for n2";
  ASSERT_TRUE(executor.RunUntil([this] { return !Tainted("n1") && !Tainted("n2"); }, 2min));
  EXPECT_TRUE(cloud.deleted.empty());
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::member_autoscaler_test
