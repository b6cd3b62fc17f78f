// The filters that look at one pod and one node.
#include <gtest/gtest.h>

#include "scheduling/objects_testing.h"

namespace evenkeel::scheduling::filters_test {
namespace {

using testing::Cluster;
using testing::NodeMaker;
using testing::Parse;
using testing::PodMaker;

TEST(NodeUnschedulableTest, ACordonedNodeTakesOnlyPodsThatTolerateIt) {
  Cluster cluster;
  cluster.Add(NodeMaker("a").Cordon());
  EXPECT_EQ(cluster.Why(PodMaker("p"), "a"), "NodeUnschedulable: node(s) were unschedulable");
  EXPECT_EQ(cluster.Why(PodMaker("p").Tolerates("node.kubernetes.io/unschedulable", "Exists"), "a"), "");
  EXPECT_EQ(cluster.Why(PodMaker("p").Tolerates("", "Exists"), "a"), "");
  EXPECT_FALSE(cluster.Check(PodMaker("p"), "a").resolvable);
}

TEST(NodeDeclaredFeaturesTest, APodGoesWhereWhatItNeedsIsDeclared) {
  Cluster cluster;
  NodeMaker able("able"), other("other");
  base::Ensure(able.json, {"status", "declaredFeatures"}) =
      base::JsonArray{"UserNamespacesHostNetworkSupport", "RestartAllContainersOnContainerExits"};
  base::Ensure(other.json, {"status", "declaredFeatures"}) = base::JsonArray{"Other"};
  cluster.Add(NodeMaker("plain")).Add(able).Add(other);
  const auto with_rule = [](const char* list, const char* action) {
    PodMaker pod("p");
    pod.Spec(list, R"([{"name":"c","restartPolicyRules":[{"action":")" + std::string(action) + "\"}]}]");
    return pod;
  };
  EXPECT_EQ(cluster.Where(with_rule("containers", "RestartAllContainers")), "able");
  EXPECT_EQ(cluster.Where(with_rule("initContainers", "RestartAllContainers")), "able");
  EXPECT_EQ(cluster.Where(with_rule("containers", "Restart")), "able other plain");
  EXPECT_EQ(cluster.Why(with_rule("containers", "RestartAllContainers"), "other"),
            "NodeDeclaredFeatures: node(s) didn't match Pod's required features");
  PodMaker host("p");
  host.Spec("hostNetwork", "true").Spec("hostUsers", "false");
  EXPECT_EQ(cluster.Where(host), "able");
  EXPECT_EQ(cluster.Where(host.Spec("hostUsers", "true")), "able other plain");
}

TEST(NodeResourcesFitTest, WhatAPodHoldsWhileItIsResizedIsTaken) {
  const auto requests = [](std::string_view spec, std::string_view status, bool bound = true) {
    PodMaker pod("p");
    pod.Spec("resources", spec);
    if (bound) pod.On("a");
    if (!status.empty()) base::Ensure(pod.json, {"status"}) = Parse(status);
    return EffectiveRequests(pod.json)["cpu"];
  };
  EXPECT_EQ(requests(R"({"requests":{"cpu":"1"}})", R"({"resources":{"requests":{"cpu":"4"}}})"), 4000);
  EXPECT_EQ(requests(R"({"requests":{"cpu":"1"}})", R"({"resources":{},"allocatedResources":{"cpu":"3"}})"), 3000);
  EXPECT_EQ(requests(R"({"requests":{"cpu":"5"}})", R"({"resources":{"requests":{"cpu":"4"}}})"), 5000);
  EXPECT_EQ(requests(R"({"requests":{"cpu":"5"}})", R"({"resources":{"requests":{"cpu":"4"}},
      "conditions":[{"type":"PodResizePending","status":"True","reason":"Infeasible"}]})"),
            4000);
  EXPECT_EQ(requests(R"({"requests":{"cpu":"1"}})", R"({"resources":{"requests":{"cpu":"4"}}})", false), 1000);
}

TEST(NodeResourcesFitTest, ALimitOfThePodIsTheRequestOfWhatNoContainerRequests) {
  PodMaker pod("p", "2");
  pod.Spec("resources", R"({"limits":{"cpu":"4","memory":"1Gi","hugepages-2Mi":"4Mi"}})").Request("hugepages-2Mi", "2Mi");
  const auto requests = EffectiveRequests(pod.json);
  EXPECT_EQ(requests.at("cpu"), 2000);
  EXPECT_EQ(requests.at("memory"), int64_t{1} << 30);
  EXPECT_EQ(requests.at("hugepages-2Mi"), int64_t{4} << 20) << "huge pages are not overcommitted";
}

TEST(NodeResourcesFitTest, InitContainersThatEndAreNotResized) {
  PodMaker pod("p");
  pod.On("a");
  pod.Spec("initContainers", R"([{"name":"i","resources":{"requests":{"cpu":"1"}}}])");
  base::Ensure(pod.json, {"status"}) = Parse(
      R"({"initContainerStatuses":[{"name":"i","resources":{"requests":{"cpu":"4"}},"allocatedResources":{"cpu":"4"}}]})");
  EXPECT_EQ(EffectiveRequests(pod.json)["cpu"], 1000);
  pod.Spec("initContainers", R"([{"name":"i","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}])");
  EXPECT_EQ(EffectiveRequests(pod.json)["cpu"], 4000);
}

TEST(NodeNameTest, OnlyTheNodeAskedForFits) {
  Cluster cluster;
  cluster.Add(NodeMaker("a")).Add(NodeMaker("b"));
  EXPECT_EQ(cluster.Why(PodMaker("p").On("b"), "a", true), "NodeName: node(s) didn't match the requested node name");
  EXPECT_EQ(cluster.Why(PodMaker("p").On("b"), "b", true), "");
  EXPECT_EQ(cluster.Why(PodMaker("p").On("b"), "a"), "") << "where a bound pod is says nothing about where its class can be";
}

TEST(TaintTolerationTest, NamesTheFirstTaintThatIsNotTolerated) {
  Cluster cluster;
  cluster.Add(NodeMaker("a").Taint("soft", "x", "PreferNoSchedule").Taint("dedicated", "gpu").Taint("slow", "", "NoExecute"));
  EXPECT_EQ(cluster.Why(PodMaker("p"), "a"), "TaintToleration: node(s) had untolerated taint {dedicated: gpu}");
  PodMaker pod("p");
  pod.Tolerates("dedicated", "Equal", "gpu", "NoSchedule");
  EXPECT_EQ(cluster.Why(pod, "a"), "TaintToleration: node(s) had untolerated taint {slow: }");
  EXPECT_EQ(cluster.Why(pod.Tolerates("slow", "Exists", "", "NoSchedule"), "a"),
            "TaintToleration: node(s) had untolerated taint {slow: }")
      << "another effect";
  EXPECT_EQ(cluster.Why(pod.Tolerates("slow", "Exists", "", "NoExecute"), "a"), "");
}

TEST(NodeAffinityTest, EveryOperatorHoldsAsInKubernetes) {
  Cluster cluster;
  cluster.Add(NodeMaker("a").Label("disk", "ssd").Label("cores", "8"));
  cluster.Add(NodeMaker("b").Label("disk", "hdd").Label("cores", "many"));
  cluster.Add(NodeMaker("c"));
  const auto where = [&](std::string_view expression) {
    return cluster.Where(PodMaker("p").NodeTerms("[{\"matchExpressions\":[" + std::string(expression) + "]}]"));
  };
  EXPECT_EQ(where(R"({"key":"disk","operator":"In","values":["ssd","nvme"]})"), "a");
  EXPECT_EQ(where(R"({"key":"disk","operator":"NotIn","values":["ssd"]})"), "b c");
  EXPECT_EQ(where(R"({"key":"disk","operator":"Exists"})"), "a b");
  EXPECT_EQ(where(R"({"key":"disk","operator":"DoesNotExist"})"), "c");
  EXPECT_EQ(where(R"({"key":"cores","operator":"Gt","values":["7"]})"), "a");
  EXPECT_EQ(where(R"({"key":"cores","operator":"Gt","values":["8"]})"), "");
  EXPECT_EQ(where(R"({"key":"cores","operator":"Lt","values":["9"]})"), "a");
  EXPECT_EQ(where(R"({"key":"cores","operator":"Lt","values":["x"]})"), "");
  EXPECT_EQ(where(R"({"key":"kubernetes.io/hostname","operator":"In","values":["b"]})"), "b");
}

TEST(NodeAffinityTest, TermsAreAlternativesConditionsAddUpAndAnEmptyTermMatchesNothing) {
  Cluster cluster;
  cluster.Add(NodeMaker("a").Label("x", "1").Label("y", "1")).Add(NodeMaker("b").Label("x", "1"));
  EXPECT_EQ(cluster.Where(PodMaker("p").Spec("nodeSelector", R"({"x":"1","y":"1"})")), "a");
  EXPECT_EQ(
      cluster.Where(PodMaker("p").NodeTerms(
          R"([{"matchExpressions":[{"key":"y","operator":"Exists"}]},{"matchExpressions":[{"key":"x","operator":"Exists"}]}])")),
      "a b");
  EXPECT_EQ(cluster.Where(PodMaker("p").NodeTerms("[{}]")), "");
  EXPECT_EQ(cluster.Where(PodMaker("p").NodeTerms("[]")), "");
  EXPECT_EQ(cluster.Where(PodMaker("p")
                              .Spec("nodeSelector", R"({"y":"1"})")
                              .NodeTerms(R"([{"matchExpressions":[{"key":"x","operator":"Exists"}]}])")),
            "a");
  EXPECT_EQ(cluster.Why(PodMaker("p").NodeTerms("[{}]"), "a"),
            "NodeAffinity: node(s) didn't match Pod's node affinity/selector");
}

TEST(NodeAffinityTest, FieldsNameTheNode) {
  Cluster cluster;
  cluster.Add(NodeMaker("a")).Add(NodeMaker("b")).Add(NodeMaker("c"));
  EXPECT_EQ(
      cluster.Where(PodMaker("p").NodeTerms(R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["b"]}]}])")),
      "b");
  EXPECT_EQ(cluster.Where(
                PodMaker("p").NodeTerms(R"([{"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["b"]}]}])")),
            "a c");
  EXPECT_EQ(
      cluster.Where(PodMaker("p").NodeTerms(R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["a"]}]},)"
                                            R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["c"]}]}])")),
      "a c");
}

TEST(NodePortsTest, ThePortIsTakenForTheSameProtocolAndAnOverlappingAddress) {
  Cluster cluster;
  cluster.Add(NodeMaker("a")).Add(PodMaker("here").HostPort(8080, "127.0.0.1").On("a"));
  EXPECT_EQ(cluster.Why(PodMaker("p").HostPort(8080), "a"),
            "NodePorts: node(s) didn't have free ports for the requested pod ports");
  EXPECT_NE(cluster.Why(PodMaker("p").HostPort(8080, "127.0.0.1"), "a"), "");
  EXPECT_EQ(cluster.Why(PodMaker("p").HostPort(8080, "127.0.0.2"), "a"), "");
  EXPECT_EQ(cluster.Why(PodMaker("p").HostPort(8080, "", "UDP"), "a"), "");
  EXPECT_EQ(cluster.Why(PodMaker("p").HostPort(8081), "a"), "");
  cluster.snapshot.RemovePod("default/here");
  EXPECT_EQ(cluster.Why(PodMaker("p").HostPort(8080), "a"), "");
}

TEST(NodePortsTest, SidecarsAndHostNetworkTakePortsInitContainersDoNot) {
  Cluster cluster;
  cluster.Add(NodeMaker("a"));
  cluster.Add(PodMaker("s").On("a").Spec(
      "initContainers", R"([{"name":"i","ports":[{"hostPort":1,"containerPort":1}]},)"
                        R"({"name":"j","restartPolicy":"Always","ports":[{"hostPort":2,"containerPort":2}]}])"));
  cluster.Add(
      PodMaker("h").On("a").Spec("hostNetwork", "true").Spec("containers", R"([{"name":"c","ports":[{"containerPort":3}]}])"));
  EXPECT_EQ(cluster.Why(PodMaker("p").HostPort(1), "a"), "");
  EXPECT_NE(cluster.Why(PodMaker("p").HostPort(2), "a"), "");
  EXPECT_NE(cluster.Why(PodMaker("p").HostPort(3), "a"), "");
}

TEST(NodeResourcesFitTest, TellsEverythingThatIsMissingAndHowMuch) {
  Cluster cluster;
  cluster.Add(NodeMaker("a", "2", "1Gi", 2).Has("nvidia.com/gpu", "1")).Add(PodMaker("here", "1500m", "1Gi").On("a"));
  const Fit fit = cluster.Check(PodMaker("p", "600m", "1").Request("nvidia.com/gpu", "2"), "a");
  ASSERT_EQ(fit.filter, Filter::kNodeResourcesFit);
  ASSERT_EQ(fit.reasons.size(), 3U);
  EXPECT_EQ(fit.reasons[0].text, "Insufficient cpu");
  EXPECT_EQ(fit.reasons[0].missing(), 100);
  EXPECT_EQ(fit.reasons[0].used, 1500);
  EXPECT_EQ(fit.reasons[1].text, "Insufficient memory");
  EXPECT_EQ(fit.reasons[2].text, "Insufficient nvidia.com/gpu");
  EXPECT_EQ(fit.reasons[2].missing(), 1);
  EXPECT_FALSE(fit.resolvable) << "two GPUs are more than the node has";
  EXPECT_TRUE(cluster.Check(PodMaker("p", "600m"), "a").resolvable);
  cluster.Add(PodMaker("second").On("a"));
  EXPECT_EQ(cluster.Why(PodMaker("p", "600m"), "a"), "NodeResourcesFit: Too many pods, Insufficient cpu");
}

TEST(NodeResourcesFitTest, AFullNodeTakesWhatAsksForNothing) {
  Cluster cluster;
  cluster.Add(NodeMaker("a", "1")).Add(PodMaker("here", "3").On("a"));
  EXPECT_EQ(cluster.Why(PodMaker("p"), "a"), "");
  EXPECT_EQ(cluster.Why(PodMaker("p", "0"), "a"), "");
  EXPECT_NE(cluster.Why(PodMaker("p", "1m"), "a"), "");
  EXPECT_EQ(cluster.Why(PodMaker("p").Request("example.com/none", "1"), "a"),
            "NodeResourcesFit: Insufficient example.com/none");
}

int64_t Cpu(const PodMaker& pod) {
  const kube::ResourceList requests = EffectiveRequests(pod.json);
  const auto found = requests.find("cpu");
  return found == requests.end() ? 0 : found->second;
}

TEST(EffectiveRequestsTest, FollowKubeSchedulersSums) {
  EXPECT_EQ(Cpu(PodMaker("p", "2").Spec("initContainers", R"([{"name":"i","resources":{"requests":{"cpu":"3"}}}])")), 3000);
  EXPECT_EQ(Cpu(PodMaker("p", "2").Spec("initContainers", R"([{"name":"i","resources":{"requests":{"cpu":"1"}}}])")), 2000);
  EXPECT_EQ(Cpu(PodMaker("p", "2").Spec("initContainers",
                                        R"([{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},)"
                                        R"({"name":"i","resources":{"requests":{"cpu":"3"}}}])")),
            4000)
      << "the init container runs beside the sidecar";
  EXPECT_EQ(Cpu(PodMaker("p", "2").Spec("initContainers",
                                        R"([{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"500m"}}}])")),
            2500);
  EXPECT_EQ(Cpu(PodMaker("p", "2").Spec("overhead", R"({"cpu":"250m"})")), 2250);
  EXPECT_EQ(Cpu(PodMaker("p", "2").Spec("resources", R"({"requests":{"cpu":"5"}})").Spec("overhead", R"({"cpu":"1"})")), 6000)
      << "requests at the level of the pod stand for those of the containers";
  EXPECT_EQ(Cpu(PodMaker("p").Spec("containers", R"([{"name":"c","resources":{"limits":{"cpu":"3"}}}])")), 3000);
}

TEST(EffectiveRequestsTest, ABoundPodHoldsWhatAResizeStillHas) {
  PodMaker pod("p", "1");
  pod.On("a");
  base::Ensure(pod.json, {"status", "containerStatuses"}) =
      Parse(R"([{"name":"c","resources":{"requests":{"cpu":"3"}},"allocatedResources":{"cpu":"2"}}])");
  EXPECT_EQ(Cpu(pod), 3000);
  base::Ensure(pod.json, {"status", "containerStatuses"}) =
      Parse(R"([{"name":"c","resources":{"requests":{"cpu":"500m"}},"allocatedResources":{"cpu":"500m"}}])");
  EXPECT_EQ(Cpu(pod), 1000);
  base::Ensure(pod.json, {"status", "conditions"}) =
      Parse(R"([{"type":"PodResizePending","status":"True","reason":"Infeasible"}])");
  EXPECT_EQ(Cpu(pod), 500) << "what cannot be granted is not held";
}

TEST(CheckTest, TheFirstFilterInUpstreamsOrderIsTold) {
  Cluster cluster;
  cluster.Add(NodeMaker("a", "1").Taint("t", "v").Cordon());
  PodMaker pod("p", "2");
  pod.Spec("nodeSelector", R"({"x":"y"})");
  EXPECT_EQ(cluster.Check(pod, "a").filter, Filter::kNodeUnschedulable);
  pod.Tolerates("node.kubernetes.io/unschedulable", "Exists");
  EXPECT_EQ(cluster.Check(pod, "a").filter, Filter::kTaintToleration);
  pod.Tolerates("t", "Exists");
  EXPECT_EQ(cluster.Check(pod, "a").filter, Filter::kNodeAffinity);
  pod.Spec("nodeSelector", "{}");
  EXPECT_EQ(cluster.Check(pod, "a").filter, Filter::kNodeResourcesFit);
}

TEST(FailureMessageTest, IsUpstreamsSentence) {
  Cluster cluster;
  const auto message = [&](const PodMaker& pod, std::optional<int32_t> priority = std::nullopt) {
    const ClassId id = cluster.snapshot.InternClass(pod.json);
    std::string text = cluster.snapshot.FailureMessage(id, priority);
    cluster.snapshot.ReleaseClass(id);
    return text;
  };
  EXPECT_EQ(message(PodMaker("p")), "no nodes available to schedule pods");
  cluster.Add(NodeMaker("a", "1")).Add(NodeMaker("b").Taint("a", "b")).Add(NodeMaker("c").Taint("a", "b"));
  cluster.Add(PodMaker("full", "1").On("a").Priority(5));
  EXPECT_EQ(message(PodMaker("p", "500m")),
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {a: b}.");
  EXPECT_EQ(message(PodMaker("p", "500m"), 5),
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {a: b}. "
            "preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, "
            "2 Preemption is not helpful for scheduling.");
  EXPECT_EQ(message(PodMaker("p", "500m"), 6),
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {a: b}.");
  EXPECT_EQ(message(PodMaker("p", "500m").Spec("preemptionPolicy", "\"Never\""), 6),
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {a: b}. "
            "preemption: not eligible due to preemptionPolicy=Never.");
  EXPECT_EQ(message(PodMaker("p").Claim("data")), "0/3 nodes are available: persistentvolumeclaim \"data\" not found.");
  EXPECT_EQ(
      message(PodMaker("p", "5").NodeTerms(R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["a"]}]}])")),
      "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity].");
}

}  // namespace
}  // namespace evenkeel::scheduling::filters_test
