#include "embedded/workloads/cluster/workloads.h"

#include <gtest/gtest.h>

#include "embedded/workloads/cluster/cluster_testing.h"

namespace evenkeel::embedded::workloads::workloads_test {
namespace {

using WorkloadsTest = ClusterTest;

TEST_F(WorkloadsTest, ADeploymentRollsOutScalesAndRollsBack) {
  AddNode("n1");
  AddNode("n2");
  Create(Deployment("web", 3, "nginx:1"));
  RunFor(10s);
  EXPECT_EQ(Status("deployments", "web", "availableReplicas"), 3);
  EXPECT_EQ(Status("deployments", "web", "updatedReplicas"), 3);
  EXPECT_EQ(Condition("deployments", "web", "Progressing", "reason"), "NewReplicaSetAvailable");
  EXPECT_EQ(Condition("deployments", "web", "Available"), "True");
  const auto first = Names("replicasets");
  ASSERT_EQ(first.size(), 1U);

  Merge("deployments", "web", R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"nginx:2"}]}}}})");
  RunFor(30s);
  EXPECT_EQ(Names("replicasets").size(), 2U);
  EXPECT_EQ(Status("deployments", "web", "updatedReplicas"), 3);
  EXPECT_EQ(Status("deployments", "web", "replicas"), 3);
  EXPECT_EQ(FindInt(Get("replicasets", first[0]), {"spec", "replicas"}), 0);
  EXPECT_EQ(FindString(Get("deployments", "web"), {"metadata", "annotations", "deployment.kubernetes.io/revision"}), "2");

  Merge("deployments", "web", R"({"spec":{"replicas":5}})");
  RunFor(10s);
  EXPECT_EQ(Status("deployments", "web", "readyReplicas"), 5);

  Json old_template = *base::Find(Get("replicasets", first[0]), {"spec", "template"});
  base::Erase(old_template, {"metadata", "labels", "pod-template-hash"});
  Json patch = JsonArray{JsonObject{{"op", "replace"}, {"path", "/spec/template"}, {"value", old_template}}};
  ASSERT_TRUE(admin->Patch(kube::resources::Deployments(), "default", "web", client::PatchType::kJson, patch).has_value());
  RunFor(30s);
  EXPECT_EQ(FindInt(Get("replicasets", first[0]), {"spec", "replicas"}), 5);
  EXPECT_EQ(FindString(Get("deployments", "web"), {"metadata", "annotations", "deployment.kubernetes.io/revision"}), "3");
  EXPECT_EQ(List("pods").size(), 5U);
}

TEST_F(WorkloadsTest, ARolloutNeverGoesBelowItsMinimum) {
  for (const char* node : {"n1", "n2", "n3"}) AddNode(node);
  Create(Deployment("web", 4, "a", R"({"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":0}})"));
  RunFor(10s);
  Merge("deployments", "web", R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"b"}]}}}})");
  for (int step = 0; step < 300; ++step) {
    RunFor(100ms);
    int ready = 0, all = 0;
    for (const Json& pod : List("pods")) {
      const kube::Pod view = kube::Pod::Decode(pod);
      if (!view.meta.deletion_time) ++all;
      if (!view.meta.deletion_time && view.ready) ++ready;
    }
    ASSERT_GE(ready, 4);
    ASSERT_LE(all, 5);
  }
  EXPECT_EQ(Status("deployments", "web", "updatedReplicas"), 4);
}

TEST_F(WorkloadsTest, RecreateStopsTheOldBeforeItStartsTheNew) {
  AddNode("n1");
  Create(Deployment("web", 2, "a", R"({"type":"Recreate"})"));
  RunFor(10s);
  Merge("deployments", "web", R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"b"}]}}}})");
  for (int step = 0; step < 100; ++step) {
    RunFor(100ms);
    std::set<std::string> images;
    for (const Json& pod : List("pods")) images.emplace(FindString(FindArray(pod, {"spec", "containers"})[0], {"image"}));
    ASSERT_LE(images.size(), 1U);
  }
  EXPECT_EQ(Status("deployments", "web", "availableReplicas"), 2);
}

TEST_F(WorkloadsTest, AStuckRolloutRunsOutOfTimeAndAPausedOneWaits) {
  AddNode("n1");
  Create(Deployment("web", 2, "a"));
  RunFor(10s);
  Merge("deployments", "web",
        R"({"spec":{"paused":true,"progressDeadlineSeconds":60,"template":{"metadata":{"annotations":{"test/stuck":"1"}}}}})");
  RunFor(5s);
  EXPECT_EQ(Names("replicasets").size(), 1U);
  EXPECT_EQ(Condition("deployments", "web", "Progressing", "reason"), "DeploymentPaused");
  Merge("deployments", "web", R"({"spec":{"paused":false}})");
  RunFor(50s);
  EXPECT_EQ(Condition("deployments", "web", "Progressing", "status"), "True");
  RunFor(60s);
  EXPECT_EQ(Condition("deployments", "web", "Progressing", "reason"), "ProgressDeadlineExceeded");
  EXPECT_EQ(Status("deployments", "web", "availableReplicas"), 2);
}

TEST_F(WorkloadsTest, KilledPodsAreReplaced) {
  AddNode("n1");
  Create(Deployment("web", 3, "a"));
  RunFor(10s);
  for (const std::string& name : Names("pods")) Delete("pods", name);
  RunFor(10s);
  EXPECT_EQ(Status("deployments", "web", "availableReplicas"), 3);
  EXPECT_EQ(List("pods").size(), 3U);
}

TEST_F(WorkloadsTest, AStatefulSetStartsUpdatesAndStopsInOrder) {
  AddNode("n1");
  Create(
      R"({"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db","namespace":"default"},"spec":{"replicas":3,"serviceName":"db",
    "selector":{"matchLabels":{"app":"db"}},"template":{"metadata":{"labels":{"app":"db"}},"spec":{"containers":[{"name":"c","image":"a"}]}},
    "volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}})");
  RunFor(500ms);
  EXPECT_EQ(Names("pods"), (std::vector<std::string>{"db-0"}));
  RunFor(1s);
  EXPECT_EQ(Names("pods"), (std::vector<std::string>{"db-0", "db-1"}));
  RunFor(10s);
  EXPECT_EQ(Status("statefulsets", "db", "readyReplicas"), 3);
  EXPECT_EQ(FindString(Get("pods", "db-2"), {"metadata", "labels", "apps.kubernetes.io/pod-index"}), "2");
  EXPECT_EQ(FindString(Get("persistentvolumeclaims", "data-db-1"), {"status", "phase"}), "Bound");
  Merge(
      "statefulsets", "db",
      R"({"spec":{"updateStrategy":{"rollingUpdate":{"partition":2}},"template":{"spec":{"containers":[{"name":"c","image":"b"}]}}}})");
  RunFor(20s);
  auto image = [&](const char* pod) {
    return std::string(FindString(FindArray(Get("pods", pod), {"spec", "containers"})[0], {"image"}));
  };
  EXPECT_EQ(image("db-2"), "b");
  EXPECT_EQ(image("db-1"), "a");
  Merge("statefulsets", "db", R"({"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}})");
  RunFor(30s);
  EXPECT_EQ(image("db-0"), "b");
  const Json set = Get("statefulsets", "db");
  EXPECT_EQ(FindString(set, {"status", "currentRevision"}), FindString(set, {"status", "updateRevision"}));
  EXPECT_EQ(FindInt(set, {"status", "updatedReplicas"}), 3);
  EXPECT_EQ(List("controllerrevisions").size(), 2U);
  Merge("statefulsets", "db", R"({"spec":{"replicas":1}})");
  RunFor(1500ms);
  EXPECT_EQ(Names("pods"), (std::vector<std::string>{"db-0", "db-1"}));
  RunFor(10s);
  EXPECT_EQ(Names("pods"), (std::vector<std::string>{"db-0"}));
}

TEST_F(WorkloadsTest, ADaemonSetFollowsTheNodes) {
  AddNode("n1", "4", R"({"disk":"ssd"})");
  AddNode("n2");
  Create(
      R"({"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"agent","namespace":"default"},"spec":{"selector":{"matchLabels":{"app":"agent"}},
    "template":{"metadata":{"labels":{"app":"agent"}},"spec":{"nodeSelector":{"disk":"ssd"},"containers":[{"name":"c","image":"a"}]}}}})");
  RunFor(5s);
  EXPECT_EQ(Status("daemonsets", "agent", "desiredNumberScheduled"), 1);
  EXPECT_EQ(Status("daemonsets", "agent", "numberAvailable"), 1);
  Merge("nodes", "n2", R"({"metadata":{"labels":{"disk":"ssd"}},"spec":{"unschedulable":true}})");
  AddNode("n3", "4", R"({"disk":"ssd"})");
  RunFor(5s);
  EXPECT_EQ(Status("daemonsets", "agent", "numberAvailable"), 3);
  Merge("daemonsets", "agent", R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"b"}]}}}})");
  RunFor(30s);
  EXPECT_EQ(Status("daemonsets", "agent", "updatedNumberScheduled"), 3);
  Merge("nodes", "n1", R"({"metadata":{"labels":{"disk":null}}})");
  RunFor(5s);
  EXPECT_EQ(Status("daemonsets", "agent", "currentNumberScheduled"), 2);
  EXPECT_EQ(List("pods").size(), 2U);
}

std::string JobText(const std::string& name, const std::string& spec, const std::string& ends) {
  return R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":")" + name + R"(","namespace":"default"},"spec":{)" +
         spec + R"("template":{"metadata":{"annotations":{"test/ends":")" + ends +
         R"("}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"a"}]}}}})";
}

TEST_F(WorkloadsTest, AJobCompletesAndIsRemovedAfterItsTime) {
  AddNode("n1");
  Create(JobText("sum", R"("completions":5,"parallelism":2,"completionMode":"Indexed","ttlSecondsAfterFinished":100,)",
                 "Succeeded"));
  RunFor(30s);
  EXPECT_EQ(Status("jobs", "sum", "succeeded"), 5);
  EXPECT_EQ(FindString(Get("jobs", "sum"), {"status", "completedIndexes"}), "0-4");
  EXPECT_EQ(Condition("jobs", "sum", "Complete"), "True");
  EXPECT_EQ(Status("jobs", "sum", "active"), 0);
  RunFor(120s);
  EXPECT_TRUE(Get("jobs", "sum").is_null());
  EXPECT_TRUE(List("pods").empty());
}

TEST_F(WorkloadsTest, AJobFailsAtItsLimits) {
  AddNode("n1");
  Create(JobText("bad", R"("backoffLimit":2,)", "Failed"));
  Create(JobText("slow", R"("activeDeadlineSeconds":30,)", "Running"));
  RunFor(20s);
  EXPECT_EQ(Condition("jobs", "bad", "Failed"), "");
  RunFor(100s);
  EXPECT_EQ(Condition("jobs", "bad", "Failed", "reason"), "BackoffLimitExceeded");
  EXPECT_EQ(Status("jobs", "bad", "failed"), 3);
  EXPECT_EQ(Condition("jobs", "slow", "Failed", "reason"), "DeadlineExceeded");
}

TEST_F(WorkloadsTest, ASuspendedJobHasNoPodsUntilItIsResumed) {
  AddNode("n1");
  Create(JobText("later", R"("suspend":true,)", "Succeeded"));
  RunFor(10s);
  EXPECT_TRUE(List("pods").empty());
  EXPECT_EQ(Condition("jobs", "later", "Suspended"), "True");
  Merge("jobs", "later", R"({"spec":{"suspend":false}})");
  RunFor(10s);
  EXPECT_EQ(Condition("jobs", "later", "Complete"), "True");
}

}  // namespace
}  // namespace evenkeel::embedded::workloads::workloads_test
