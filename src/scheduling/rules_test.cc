// Filters one by one, for pods that run, and the fields that they name.
#include <gtest/gtest.h>

#include "scheduling/objects_testing.h"

namespace evenkeel::scheduling::rules_test {
namespace {

using testing::Cluster;
using testing::kHost;
using testing::kZone;
using testing::NodeMaker;
using testing::PodMaker;

/// "FIELD: detail" of one filter; "" when it lets the pod there.
std::string Broken(Cluster& cluster, const PodMaker& pod, std::string_view node, Filter filter) {
  const ClassId id = cluster.snapshot.InternClass(pod.json);
  const Fit fit = cluster.snapshot.CheckRule(id, cluster.Node(node), filter);
  cluster.snapshot.ReleaseClass(id);
  return fit.fits() ? "" : fit.field + ": " + fit.reasons.at(0).detail;
}

TEST(CheckRuleTest, AFilterIsAskedAloneWhateverOthersSay) {
  Cluster cluster;
  cluster.Add(NodeMaker("full", "1").Taint("dedicated", "db")).Add(PodMaker("other", "1").On("full"));
  PodMaker pod("p", "500m");
  pod.Spec("nodeSelector", R"({"disk":"ssd"})");
  EXPECT_EQ(cluster.Check(pod, "full").field, "spec.tolerations");
  EXPECT_EQ(Broken(cluster, pod, "full", Filter::kTaintToleration),
            "spec.tolerations: they do not tolerate the taint dedicated=db:NoSchedule");
  EXPECT_EQ(Broken(cluster, pod, "full", Filter::kNodeAffinity), "spec.nodeSelector: the labels of the node do not match it");
  EXPECT_EQ(Broken(cluster, pod, "full", Filter::kInterPodAffinity), "");
  EXPECT_EQ(Broken(cluster, pod, "full", Filter::kNodeResourcesFit), "") << "which is no rule of this kind";
}

TEST(CheckRuleTest, NodeAffinityIsToldFromTheSelector) {
  Cluster cluster;
  cluster.Add(NodeMaker("a").Label("disk", "ssd"));
  PodMaker pod("p");
  pod.Spec("nodeSelector", R"({"disk":"ssd"})");
  pod.Spec("affinity", R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
      {"matchExpressions":[{"key":"gpu","operator":"Exists"}]}]}}})");
  EXPECT_EQ(
      Broken(cluster, pod, "a", Filter::kNodeAffinity),
      "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution: the labels of the node do not match it");
}

TEST(CheckRuleTest, ASpreadConstraintHasItsNumberInTheSpec) {
  Cluster cluster;
  cluster.Add(NodeMaker("a").Zone("1")).Add(NodeMaker("b").Zone("2")).Add(NodeMaker("bare"));
  for (const char* name : {"1", "2"}) cluster.Add(PodMaker(name).Labels("app=web").On("a"));
  PodMaker pod("p");
  pod.Labels("app=web");
  pod.Spec("topologySpreadConstraints", R"([
      {"maxSkew":1,"topologyKey":"kubernetes.io/hostname","whenUnsatisfiable":"ScheduleAnyway","labelSelector":{"matchLabels":{"app":"web"}}},
      {"maxSkew":2,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"web"}}}])");
  EXPECT_EQ(Broken(cluster, pod, "a", Filter::kPodTopologySpread),
            "spec.topologySpreadConstraints[1]: topology.kubernetes.io/zone=1 has 3 such pods with it where the fewest are 0, "
            "and maxSkew is 2");
  EXPECT_EQ(Broken(cluster, pod, "b", Filter::kPodTopologySpread), "");
  EXPECT_EQ(Broken(cluster, pod, "bare", Filter::kPodTopologySpread),
            "spec.topologySpreadConstraints[1]: it is on a node without the label topology.kubernetes.io/zone");
  // The same constraint in another place of the list is another field, also of a pod that is like the first one otherwise.
  PodMaker other("q");
  other.Labels("app=web").Spread(2, kZone, "app=web");
  EXPECT_TRUE(Broken(cluster, other, "a", Filter::kPodTopologySpread).starts_with("spec.topologySpreadConstraints[0]: "));
}

TEST(CheckRuleTest, TermsOfAffinityHaveTheirNumbers) {
  Cluster cluster;
  cluster.Add(NodeMaker("a").Zone("1")).Add(NodeMaker("b").Zone("2"));
  cluster.Add(PodMaker("1").Labels("app=db").On("a"));
  cluster.Add(PodMaker("2").Labels("app=lone").AntiAffinity(kHost, "app=noisy").On("b"));
  const std::string required = "requiredDuringSchedulingIgnoredDuringExecution";
  PodMaker twice("p");
  // The same term twice is two terms: the third one keeps its number.
  twice.Labels("app=web").AntiAffinity(kHost, "app=x").AntiAffinity(kHost, "app=x").AntiAffinity(kZone, "app=db");
  EXPECT_EQ(Broken(cluster, twice, "a", Filter::kInterPodAffinity),
            "spec.affinity.podAntiAffinity." + required +
                "[2]: pods that it does not want to be with are in topology.kubernetes.io/zone=1");
  PodMaker follower("p");
  follower.Labels("app=web").Affinity(kZone, "app=db").Affinity(kHost, "app=db");
  EXPECT_EQ(Broken(cluster, follower, "a", Filter::kInterPodAffinity), "");
  EXPECT_EQ(Broken(cluster, follower, "b", Filter::kInterPodAffinity),
            "spec.affinity.podAffinity." + required +
                "[0]: none of the pods that it wants to be with is in topology.kubernetes.io/zone=2");
  PodMaker noisy("p");
  noisy.Labels("app=noisy");
  EXPECT_EQ(Broken(cluster, noisy, "b", Filter::kInterPodAffinity),
            ": a pod in kubernetes.io/hostname=b does not want to be with it (spec.affinity.podAntiAffinity of that pod)");
}

}  // namespace
}  // namespace evenkeel::scheduling::rules_test
