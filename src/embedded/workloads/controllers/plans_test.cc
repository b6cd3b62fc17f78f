#include <gtest/gtest.h>

#include "embedded/workloads/cluster/cluster_testing.h"
#include "embedded/workloads/cluster/node_lifecycle.h"
#include "embedded/workloads/controllers/deployment_plan.h"
#include "embedded/workloads/controllers/job_plan.h"
#include "embedded/workloads/controllers/replica_set.h"
#include "embedded/workloads/pods/node_fit.h"
#include "embedded/workloads/pods/pods.h"

namespace evenkeel::embedded::workloads::plans_test {
namespace {

const base::Time kNow{std::chrono::seconds(1'700'000'000)};

PodPointer MakePod(const std::string& name, const std::string& node, const std::string& phase, bool ready, int64_t age,
                   const std::string& cost = "") {
  const std::string created = base::FormatTime(kNow - std::chrono::seconds(age));
  Json pod = JsonObject{{"metadata", JsonObject{{"name", name}, {"uid", name}, {"creationTimestamp", created}}},
                        {"spec", JsonObject{{"nodeName", node}}},
                        {"status", JsonObject{{"phase", phase},
                                              {"conditions", JsonArray{JsonObject{{"type", "Ready"},
                                                                                  {"status", ready ? "True" : "False"},
                                                                                  {"lastTransitionTime", created}}}}}}};
  if (!cost.empty()) base::Ensure(pod, {"metadata", "annotations", "controller.kubernetes.io/pod-deletion-cost"}) = cost;
  return std::make_shared<const kube::Pod>(kube::Pod::Decode(pod));
}

TEST(PodOrderTest, DeletesTheLeastUsefulFirst) {
  std::vector<RankedPod> pods{
      {MakePod("old", "n", "Running", true, 10000), 0},       {MakePod("young", "n", "Running", true, 100), 0},
      {MakePod("crowded", "n", "Running", true, 10000), 2},   {MakePod("cheap", "n", "Running", true, 10000, "-5"), 0},
      {MakePod("unready", "n", "Running", false, 10000), 0},  {MakePod("pending", "n", "Pending", false, 10000), 0},
      {MakePod("unassigned", "", "Pending", false, 10000), 0}};
  SortForDeletion(pods, kNow);
  std::vector<std::string> order;
  for (const RankedPod& ranked : pods) order.push_back(ranked.pod->meta.name);
  EXPECT_EQ(order, (std::vector<std::string>{"unassigned", "pending", "unready", "cheap", "crowded", "young", "old"}));
}

TEST(ReplicaSetPlanTest, CreatesNoMoreThanABurst) {
  const Json set = Parse(R"({"spec":{"replicas":2000}})");
  EXPECT_EQ(PlanReplicaSet(set, {}, {}, kNow).create, 500);
  const Json one = Parse(R"({"spec":{"replicas":1}})");
  const std::vector<PodPointer> pods{MakePod("a", "n", "Running", true, 5), MakePod("b", "n", "Failed", false, 5),
                                     MakePod("c", "", "Pending", false, 5)};
  const ReplicaSetPlan plan = PlanReplicaSet(one, pods, pods, kNow);
  EXPECT_EQ(plan.create, 0);
  ASSERT_EQ(plan.remove.size(), 1U);
  EXPECT_EQ(plan.remove[0]->meta.name, "c");
}

TEST(DeploymentPlanTest, ScalesInProportionInTheMiddleOfARollout) {
  const Json deployment = Parse(R"({"metadata":{"name":"web","namespace":"d","uid":"u","generation":2},"spec":{"replicas":15,
    "strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":3,"maxUnavailable":2}},"selector":{"matchLabels":{"a":"b"}},
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"2"}]}}}})");
  auto set = [](const char* name, const char* image, int replicas, int available) {
    return Parse(
        R"({"metadata":{"name":")" + std::string(name) + R"(","creationTimestamp":"2023-01-01T00:00:0)" + image +
        R"(Z","annotations":{"deployment.kubernetes.io/desired-replicas":"10","deployment.kubernetes.io/max-replicas":"13"}},
                 "spec":{"replicas":)" +
        std::to_string(replicas) + R"(,"template":{"metadata":{"labels":{"a":"b","pod-template-hash":"x"}},
                 "spec":{"containers":[{"name":"c","image":")" +
        image + R"("}]}}},"status":{"replicas":)" + std::to_string(replicas) + R"(,"availableReplicas":)" +
        std::to_string(available) + "}}");
  };
  const DeploymentPlan plan = PlanDeployment(deployment, {set("web-1", "1", 8, 8), set("web-2", "2", 5, 0)}, false, kNow);
  ASSERT_EQ(plan.update.size(), 2U);
  EXPECT_EQ(FindInt(plan.update[0], {"spec", "replicas"}), 11);
  EXPECT_EQ(FindInt(plan.update[1], {"spec", "replicas"}), 7);
  EXPECT_TRUE(plan.create.is_null());
}

TEST(DeploymentPlanTest, DeletesReplicaSetsBeyondTheHistory) {
  const Json deployment = Parse(R"({"metadata":{"name":"web","namespace":"d","uid":"u","generation":1},"spec":{"replicas":0,
    "revisionHistoryLimit":1,"selector":{"matchLabels":{"a":"b"}},
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"9"}]}}}})");
  std::vector<Json> sets;
  for (const char* image : {"1", "2", "9"}) {
    sets.push_back(Parse(
        R"({"metadata":{"name":"web-)" + std::string(image) +
        R"(","generation":1,"annotations":{"deployment.kubernetes.io/revision":")" + image +
        R"("}},"spec":{"replicas":0,"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":")" +
        image + R"("}]}}},"status":{"replicas":0,"observedGeneration":1}})"));
  }
  EXPECT_EQ(PlanDeployment(deployment, sets, false, kNow).remove, (std::vector<std::string>{"web-1"}));
}

TEST(JobPlanTest, WritesIndexesAsRanges) {
  EXPECT_EQ(FormatIndexes({1, 3, 4, 5, 7, 8}), "1,3-5,7,8");
  EXPECT_EQ(ParseIndexes("1,3-5,7,8"), (std::set<int64_t>{1, 3, 4, 5, 7, 8}));
  EXPECT_TRUE(ParseIndexes("").empty());
}

TEST(NodeTaintsTest, FollowConditionsAndKeepWhatIsNotOurs) {
  const Json node = Parse(R"({"spec":{"unschedulable":true,"taints":[{"key":"mine","effect":"NoSchedule"},
    {"key":"node.kubernetes.io/not-ready","effect":"NoExecute","timeAdded":"2023-01-01T00:00:00Z"}]},
    "status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})");
  auto keys = [](const JsonArray& taints) {
    std::set<std::string> result;
    for (const Json& taint : taints)
      result.insert(std::string(FindString(taint, {"key"})) + ":" + std::string(FindString(taint, {"effect"})));
    return result;
  };
  const std::set<std::string> calm{"mine:NoSchedule", "node.kubernetes.io/unreachable:NoSchedule",
                                   "node.kubernetes.io/unschedulable:NoSchedule"};
  EXPECT_EQ(keys(TaintsOf(node, true, kNow)), calm);
  std::set<std::string> evicting = calm;
  evicting.insert("node.kubernetes.io/unreachable:NoExecute");
  EXPECT_EQ(keys(TaintsOf(node, false, kNow)), evicting);
}

TEST(NodeFitTest, UnderstandsAllOperators) {
  const kube::Node node = kube::Node::Decode(Parse(R"({"metadata":{"name":"n1","labels":{"zone":"a","cores":"8"}}})"));
  auto fits = [&](const std::string& term) {
    return MatchesNodeAffinity(
        kube::Pod::Decode(Parse(R"({"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
      {"nodeSelectorTerms":[)" + term +
                                "]}}}}}")),
        node);
  };
  EXPECT_TRUE(fits(
      R"({"matchExpressions":[{"key":"cores","operator":"Gt","values":["4"]},{"key":"zone","operator":"NotIn","values":["b"]}]})"));
  EXPECT_FALSE(fits(R"({"matchExpressions":[{"key":"cores","operator":"Lt","values":["8"]}]})"));
  EXPECT_TRUE(fits(R"({"matchExpressions":[{"key":"gpu","operator":"DoesNotExist"}]})"));
  EXPECT_FALSE(fits(R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n2"]}]})"));
  EXPECT_FALSE(fits("{}"));
}

}  // namespace
}  // namespace evenkeel::embedded::workloads::plans_test
