#include <gtest/gtest.h>

#include "embedded/workloads/cluster/cluster_testing.h"

namespace evenkeel::embedded::workloads::cluster_test {
namespace {

using ClusterBrainTest = ClusterTest;

TEST_F(ClusterBrainTest, ABudgetCountsWhatMayGo) {
  AddNode("n1");
  Create(Deployment("web", 4, "a"));
  Create(
      R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b","namespace":"default"},"spec":{"minAvailable":"75%","selector":{"matchLabels":{"app":"web"}}}})");
  RunFor(10s);
  EXPECT_EQ(Status("poddisruptionbudgets", "b", "expectedPods"), 4);
  EXPECT_EQ(Status("poddisruptionbudgets", "b", "desiredHealthy"), 3);
  EXPECT_EQ(Status("poddisruptionbudgets", "b", "currentHealthy"), 4);
  EXPECT_EQ(Status("poddisruptionbudgets", "b", "disruptionsAllowed"), 1);
  const std::string pod = Names("pods")[0];
  auto evict = [&](const std::string& name) {
    return admin->Post(
        kube::resources::Pods(), "default", name, "eviction",
        Parse(R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":")" + name + R"(","namespace":"default"}})"));
  };
  EXPECT_TRUE(evict(pod).has_value());
  auto second = evict(Names("pods")[1] == pod ? Names("pods")[0] : Names("pods")[1]);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), base::Code::kTooManyRequests);
  RunFor(10s);
  EXPECT_EQ(Status("poddisruptionbudgets", "b", "disruptionsAllowed"), 1);
}

TEST_F(ClusterBrainTest, DependentsFollowTheirOwnerAsAskedFor) {
  AddNode("n1");
  for (const char* name : {"back", "fore", "orph"}) Create(Deployment(name, 2, "a"));
  RunFor(10s);
  Delete("deployments", "back", "Background");
  Delete("deployments", "fore", "Foreground");
  Delete("deployments", "orph", "Orphan");
  EXPECT_TRUE(Get("deployments", "back").is_null());
  EXPECT_FALSE(Get("deployments", "fore").is_null());
  RunFor(500ms);
  EXPECT_FALSE(Get("deployments", "fore").is_null()) << "waits for its pods";
  RunFor(10s);
  EXPECT_TRUE(Get("deployments", "fore").is_null());
  EXPECT_TRUE(List("pods", "app=back").empty());
  EXPECT_TRUE(List("pods", "app=fore").empty());
  EXPECT_TRUE(Names("replicasets", "app=fore").empty());
  EXPECT_TRUE(Get("deployments", "orph").is_null());
  EXPECT_EQ(List("pods", "app=orph").size(), 2U);
  ASSERT_EQ(List("replicasets", "app=orph").size(), 1U);
  EXPECT_TRUE(FindArray(List("replicasets", "app=orph")[0], {"metadata", "ownerReferences"}).empty());
  Create(Deployment("orph", 2, "a"));
  RunFor(10s);
  EXPECT_EQ(List("replicasets", "app=orph").size(), 1U) << "adopted";
}

TEST_F(ClusterBrainTest, AnObjectOfAnOwnerThatNeverWasIsCollected) {
  Create(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"stray","namespace":"default","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"8f14e45f-ceea-4d1c-8a3b-000000000000"}]}})");
  Create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kept","namespace":"default"}})");
  RunFor(5s);
  EXPECT_TRUE(Get("configmaps", "stray").is_null());
  EXPECT_FALSE(Get("configmaps", "kept").is_null());
}

TEST_F(ClusterBrainTest, AnOwnerOfAnotherKindNameOrNamespaceIsNone) {
  const Json owner = Create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"owner","namespace":"default"}})");
  Create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}})");
  const std::string uid(base::FindString(owner, {"metadata", "uid"}));
  const auto dependent = [&](const std::string& name, const std::string& ns, const std::string& kind, const std::string& of) {
    Create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + R"(","namespace":")" + ns +
           R"(","ownerReferences":[{"apiVersion":"v1","kind":")" + kind + R"(","name":")" + of + R"(","uid":")" + uid +
           "\"}]}}");
  };
  dependent("right", "default", "ConfigMap", "owner");
  dependent("kind", "default", "Secret", "owner");
  dependent("name", "default", "ConfigMap", "nobody");
  dependent("elsewhere", "other", "ConfigMap", "owner");
  RunFor(5s);
  EXPECT_FALSE(Get("configmaps", "right").is_null());
  EXPECT_TRUE(Get("configmaps", "kind").is_null());
  EXPECT_TRUE(Get("configmaps", "name").is_null());
  EXPECT_FALSE(admin->Get(kube::resources::ConfigMaps(), "other", "elsewhere"));
  const auto events = admin->List(kube::resources::Events(), {.ns = "other"});
  ASSERT_TRUE(events);
  bool told = false;
  for (const Json& event : events->items) {
    told |= base::FindString(event, {"reason"}) == "OwnerRefInvalidNamespace" &&
            base::FindString(event, {"message"}) == "ownerRef [v1/ConfigMap, namespace: other, name: owner, uid: " + uid +
                                                        "] does not exist in namespace \"other\"";
  }
  EXPECT_TRUE(told);
}

TEST_F(ClusterBrainTest, ANamespaceGoesWithAllThatIsInIt) {
  AddNode("n1");
  Create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}})");
  RunFor(1s);
  EXPECT_FALSE(Get("serviceaccounts", "default", "team").is_null());
  std::string deployment = Deployment("web", 2, "a");
  deployment.replace(deployment.find("\"default\""), 9, "\"team\"");
  Create(deployment);
  Create(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"held","namespace":"team","finalizers":["example.com/hold"]}})");
  RunFor(5s);
  EXPECT_EQ(List("pods", "", "team").size(), 2U);
  Delete("namespaces", "team");
  RunFor(10s);
  EXPECT_TRUE(List("pods", "", "team").empty());
  EXPECT_EQ(FindString(Get("namespaces", "team"), {"status", "phase"}), "Terminating");
  EXPECT_EQ(Condition("namespaces", "team", "NamespaceFinalizersRemaining"), "True");
  Merge("configmaps", "held", R"({"metadata":{"finalizers":null}})", "team");
  RunFor(10s);
  EXPECT_TRUE(Get("namespaces", "team").is_null());
}

TEST_F(ClusterBrainTest, ADeadNodeLosesItsPods) {
  AddNode("n1");
  AddNode("n2");
  Create(Deployment("web", 4, "a"));
  RunFor(10s);
  dead.insert("n1");
  RunFor(60s);
  EXPECT_EQ(Condition("nodes", "n1", "Ready"), "Unknown");
  EXPECT_EQ(Condition("nodes", "n1", "Ready", "message"), "Kubelet stopped posting node status.");
  std::set<std::string> taints;
  const Json n1 = Get("nodes", "n1");
  for (const Json& taint : FindArray(n1, {"spec", "taints"})) {
    taints.insert(std::string(FindString(taint, {"key"})) + ":" + std::string(FindString(taint, {"effect"})));
  }
  EXPECT_TRUE(taints.contains("node.kubernetes.io/unreachable:NoExecute"));
  EXPECT_TRUE(taints.contains("node.kubernetes.io/unreachable:NoSchedule"));
  EXPECT_EQ(Condition("nodes", "n2", "Ready"), "True");
  EXPECT_EQ(Status("deployments", "web", "availableReplicas"), 2);
  RunFor(330s);
  EXPECT_EQ(Status("deployments", "web", "availableReplicas"), 4) << "replaced after the tolerated 300 s";
  nodes.erase("n1");
  Delete("nodes", "n1");
  RunFor(60s);
  EXPECT_EQ(List("pods").size(), 4U) << "those of the deleted node are collected";
}

TEST_F(ClusterBrainTest, TheSchedulerSpreadsAndSaysWhyItCannot) {
  for (const char* node : {"n1", "n2", "n3"}) AddNode(node, "1");
  Merge("nodes", "n3", R"({"spec":{"taints":[{"key":"dedicated","value":"gpu","effect":"NoSchedule"}]}})");
  RunFor(1s);
  Create(Deployment("web", 4, "a"));
  RunFor(10s);
  std::map<std::string, int> per_node;
  for (const Json& pod : List("pods")) ++per_node[std::string(FindString(pod, {"spec", "nodeName"}))];
  EXPECT_EQ(per_node, (std::map<std::string, int>{{"n1", 2}, {"n2", 2}}));
  Create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"big","namespace":"default"},"spec":{"containers":[{"name":"c","image":"a","resources":{"requests":{"cpu":"3"}}}]}})");
  RunFor(1s);
  EXPECT_EQ(Condition("pods", "big", "PodScheduled", "reason"), "Unschedulable");
  EXPECT_EQ(
      Condition("pods", "big", "PodScheduled", "message"),
      "0/3 nodes are available: 1 node(s) had untolerated taint {dedicated: gpu}, 2 Insufficient cpu. preemption: 0/3 nodes "
      "are available: 3 Preemption is not helpful for scheduling.");
  AddNode("n4", "8");
  RunFor(5s);
  EXPECT_EQ(FindString(Get("pods", "big"), {"spec", "nodeName"}), "n4");
}

TEST_F(ClusterBrainTest, ManyPodsFillManyNodesEvenly) {
  for (int i = 0; i < 50; ++i) AddNode("n" + std::to_string(i), "4");
  Create(Deployment("web", 1000, "a"));
  RunFor(60s);
  EXPECT_EQ(Status("deployments", "web", "availableReplicas"), 1000);
  std::map<std::string, int> per_node;
  for (const Json& pod : List("pods")) ++per_node[std::string(FindString(pod, {"spec", "nodeName"}))];
  for (const auto& [node, count] : per_node) EXPECT_EQ(count, 20) << node;
}

TEST_F(ClusterBrainTest, AServiceKnowsItsReadyPods) {
  AddNode("n1");
  Create(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"default"},"spec":{"selector":{"app":"web"},"ports":[{"port":80,"targetPort":8080}]}})");
  Create(Deployment("web", 2, "a"));
  RunFor(10s);
  const Json endpoints = Get("endpoints", "web");
  ASSERT_EQ(FindArray(endpoints, {"subsets"}).size(), 1U);
  EXPECT_EQ(FindArray(FindArray(endpoints, {"subsets"})[0], {"addresses"}).size(), 2U);
  EXPECT_EQ(FindInt(FindArray(FindArray(endpoints, {"subsets"})[0], {"ports"})[0], {"port"}), 8080);
  const auto slices = List("endpointslices", "kubernetes.io/service-name=web");
  counting->writes.clear();
  RunFor(60s);
  EXPECT_EQ(counting->writes, std::vector<std::string>{});
  ASSERT_EQ(slices.size(), 1U);
  EXPECT_EQ(FindArray(slices[0], {"endpoints"}).size(), 2U);
  Merge("deployments", "web", R"({"spec":{"replicas":0}})");
  RunFor(10s);
  EXPECT_TRUE(FindArray(Get("endpoints", "web"), {"subsets"}).empty());
  Delete("services", "web");
  RunFor(5s);
  EXPECT_TRUE(Get("endpoints", "web").is_null());
  EXPECT_TRUE(List("endpointslices", "kubernetes.io/service-name=web").empty());
}

TEST_F(ClusterBrainTest, AnIdleClusterWritesNothing) {
  AddNode("n1");
  AddNode("n2");
  Create(Deployment("web", 3, "a"));
  Create(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"default"},"spec":{"selector":{"app":"web"},"ports":[{"port":80}]}})");
  Create(
      R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b","namespace":"default"},"spec":{"maxUnavailable":1,"selector":{"matchLabels":{"app":"web"}}}})");
  Create(
      R"({"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"agent","namespace":"default"},"spec":{"selector":{"matchLabels":{"app":"agent"}},
    "template":{"metadata":{"labels":{"app":"agent"}},"spec":{"containers":[{"name":"c","image":"a"}]}}}})");
  Create(
      R"({"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db","namespace":"default"},"spec":{"replicas":2,"serviceName":"db",
    "selector":{"matchLabels":{"app":"db"}},"template":{"metadata":{"labels":{"app":"db"}},"spec":{"containers":[{"name":"c","image":"a"}]}}}})");
  Create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"big","namespace":"default"},"spec":{"containers":[{"name":"c","image":"a","resources":{"requests":{"cpu":"300"}}}]}})");
  RunFor(60s);
  EXPECT_GT(counting->writes.size(), 10U);
  counting->writes.clear();
  RunFor(1h);
  EXPECT_EQ(counting->writes, std::vector<std::string>{});
}

}  // namespace
}  // namespace evenkeel::embedded::workloads::cluster_test
