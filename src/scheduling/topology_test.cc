// Spread and affinity: the filters that look at where other pods are.
#include <gtest/gtest.h>

#include "scheduling/objects_testing.h"

namespace evenkeel::scheduling::topology_test {
namespace {

using testing::Cluster;
using testing::kHost;
using testing::kZone;
using testing::NodeMaker;
using testing::PodMaker;

constexpr const char* kSkew = "PodTopologySpread: node(s) didn't match pod topology spread constraints";

/// Nodes a and b in zone 1, x and y in zone 2.
Cluster& TwoZones(Cluster& cluster) {
  for (const char* name : {"a", "b"}) cluster.Add(NodeMaker(name).Zone("1"));
  for (const char* name : {"x", "y"}) cluster.Add(NodeMaker(name).Zone("2"));
  return cluster;
}

PodMaker Web(std::string_view name) { return PodMaker(name).Labels("app=web"); }

TEST(PodTopologySpreadTest, SkewIsCountedAgainstTheEmptiestDomain) {
  Cluster cluster;
  TwoZones(cluster).Add(Web("1").On("a")).Add(Web("2").On("b"));
  EXPECT_EQ(cluster.Why(Web("p").Spread(1, kZone, "app=web"), "a"), kSkew);
  EXPECT_TRUE(cluster.Check(Web("p").Spread(1, kZone, "app=web"), "a").resolvable);
  EXPECT_EQ(cluster.Where(Web("p").Spread(1, kZone, "app=web")), "x y");
  EXPECT_EQ(cluster.Where(Web("p").Spread(3, kZone, "app=web")), "a b x y");
  EXPECT_EQ(cluster.Where(Web("p").Spread(1, kHost, "app=web")), "x y");
  EXPECT_EQ(cluster.Where(PodMaker("p").Labels("app=other").Spread(1, kZone, "app=web")), "x y")
      << "a pod that its own constraint does not mean adds nothing, but two are already too many";
  EXPECT_EQ(cluster.Where(PodMaker("p").Labels("app=other").Spread(2, kZone, "app=web")), "a b x y");
}

TEST(PodTopologySpreadTest, EveryConstraintMustHold) {
  Cluster cluster;
  TwoZones(cluster).Add(Web("1").On("a")).Add(Web("2").On("x"));
  EXPECT_EQ(cluster.Where(Web("p").Spread(1, kZone, "app=web").Spread(1, kHost, "app=web")), "b y");
  cluster.Add(Web("3").On("b"));
  EXPECT_EQ(cluster.Where(Web("p").Spread(1, kZone, "app=web").Spread(1, kHost, "app=web")), "y");
}

TEST(PodTopologySpreadTest, ANodeWithoutTheLabelIsRefusedAndNotCounted) {
  Cluster cluster;
  TwoZones(cluster).Add(NodeMaker("bare")).Add(Web("1").On("bare"));
  EXPECT_EQ(cluster.Why(Web("p").Spread(1, kZone, "app=web"), "bare"), std::string(kSkew) + " (missing required label)");
  EXPECT_FALSE(cluster.Check(Web("p").Spread(1, kZone, "app=web"), "bare").resolvable);
  EXPECT_EQ(cluster.Where(Web("p").Spread(1, kZone, "app=web")), "a b x y");
  EXPECT_EQ(cluster.Where(Web("p").Spread(1, kZone, "app=web").Spread(1, kHost, "app=web")), "a b x y")
      << "the pod on the node without a zone does not count per host either";
}

TEST(PodTopologySpreadTest, OtherNamespacesAndTerminatingPodsDoNotCount) {
  Cluster cluster;
  TwoZones(cluster).Add(Web("1").On("a").Namespace("other")).Add(Web("2").On("a").Terminating());
  EXPECT_EQ(cluster.Where(Web("p").Spread(1, kZone, "app=web")), "a b x y");
  cluster.Add(Web("3").On("a"));
  EXPECT_EQ(cluster.Where(Web("p").Spread(1, kZone, "app=web")), "x y");
}

TEST(PodTopologySpreadTest, FewerDomainsThanMinDomainsCountAsAnEmptyOne) {
  Cluster cluster;
  TwoZones(cluster).Add(Web("1").On("a")).Add(Web("2").On("x"));
  EXPECT_EQ(cluster.Where(Web("p").Spread(1, kZone, "app=web", R"({"minDomains":2})")), "a b x y");
  EXPECT_EQ(cluster.Where(Web("p").Spread(1, kZone, "app=web", R"({"minDomains":3})")), "");
  EXPECT_EQ(cluster.Where(Web("p").Spread(2, kZone, "app=web", R"({"minDomains":3})")), "a b x y");
  cluster.Add(NodeMaker("z").Zone("3"));
  EXPECT_EQ(cluster.Where(Web("p").Spread(1, kZone, "app=web", R"({"minDomains":3})")), "z");
}

TEST(PodTopologySpreadTest, NodeAffinityPolicySaysWhichNodesCount) {
  Cluster cluster;
  cluster.Add(NodeMaker("a").Zone("1").Label("pool", "p")).Add(NodeMaker("x").Zone("2"));
  cluster.Add(Web("1").On("a"));
  PodMaker pod = Web("p").Spec("nodeSelector", R"({"pool":"p"})");
  EXPECT_EQ(cluster.Where(PodMaker(pod).Spread(1, kZone, "app=web")), "a")
      << "zone 2 is out of reach, so zone 1 is the emptiest";
  EXPECT_EQ(cluster.Where(PodMaker(pod).Spread(1, kZone, "app=web", R"({"nodeAffinityPolicy":"Ignore"})")), "");
}

TEST(PodTopologySpreadTest, NodeTaintsPolicySaysWhetherTaintedNodesCount) {
  Cluster cluster;
  cluster.Add(NodeMaker("a").Zone("1")).Add(NodeMaker("x").Zone("2").Taint("t", "v"));
  cluster.Add(Web("1").On("a"));
  EXPECT_EQ(cluster.Where(Web("p").Spread(1, kZone, "app=web")), "") << "zone 2 is there, empty, and cannot be used";
  EXPECT_EQ(cluster.Where(Web("p").Spread(1, kZone, "app=web", R"({"nodeTaintsPolicy":"Honor"})")), "a");
  EXPECT_EQ(cluster.Where(Web("p").Tolerates("t", "Exists").Spread(1, kZone, "app=web", R"({"nodeTaintsPolicy":"Honor"})")),
            "x");
}

TEST(PodTopologySpreadTest, MatchLabelKeysCountTheOwnRevisionOnly) {
  Cluster cluster;
  TwoZones(cluster).Add(PodMaker("1").Labels("app=web,hash=old").On("a"));
  const auto pod = [] { return PodMaker("p").Labels("app=web,hash=new"); };
  EXPECT_EQ(cluster.Where(pod().Spread(1, kZone, "app=web")), "x y");
  EXPECT_EQ(cluster.Where(pod().Spread(1, kZone, "app=web", R"({"matchLabelKeys":["hash","absent"]})")), "a b x y");
}

TEST(PodTopologySpreadTest, ScheduleAnywayRefusesNothing) {
  Cluster cluster;
  TwoZones(cluster).Add(Web("1").On("a")).Add(Web("2").On("a"));
  PodMaker pod = Web("p").Spread(1, kZone, "app=web");
  pod.json.at("spec").at("topologySpreadConstraints").at(0).as_object()["whenUnsatisfiable"] = "ScheduleAnyway";
  EXPECT_EQ(cluster.Where(pod), "a b x y");
}

TEST(InterPodAffinityTest, PodsGoWhereTheirFriendsAre) {
  Cluster cluster;
  TwoZones(cluster).Add(NodeMaker("bare")).Add(PodMaker("db").Labels("app=db").On("x"));
  EXPECT_EQ(cluster.Where(Web("p").Affinity(kZone, "app=db")), "x y");
  EXPECT_EQ(cluster.Where(Web("p").Affinity(kHost, "app=db")), "x");
  EXPECT_EQ(cluster.Why(Web("p").Affinity(kZone, "app=db"), "a"), "InterPodAffinity: node(s) didn't match pod affinity rules");
  EXPECT_EQ(cluster.Where(Web("p").Affinity(kZone, "app=none")), "");
  EXPECT_EQ(cluster.Where(Web("p").Namespace("other").Affinity(kZone, "app=db")), "") << "another namespace's pods";
  EXPECT_EQ(cluster.Where(Web("p").Namespace("other").Affinity(kZone, "app=db", R"({"namespaces":["default"]})")), "x y");
}

TEST(InterPodAffinityTest, TheFirstOfItsOwnGroupIsLetInWhereTheLabelIs) {
  Cluster cluster;
  TwoZones(cluster).Add(NodeMaker("bare"));
  EXPECT_EQ(cluster.Where(Web("p").Affinity(kZone, "app=web")), "a b x y");
  cluster.Add(Web("1").Affinity(kZone, "app=web").On("x"));
  EXPECT_EQ(cluster.Where(Web("p").Affinity(kZone, "app=web")), "x y");
  EXPECT_EQ(cluster.Where(PodMaker("p").Labels("app=other").Affinity(kZone, "app=none")), "") << "not of the group";
}

TEST(InterPodAffinityTest, ATermCountsOnlyPodsThatAllTermsMean) {
  Cluster cluster;
  TwoZones(cluster).Add(PodMaker("1").Labels("app=db").On("a")).Add(PodMaker("2").Labels("tier=back").On("a"));
  const auto pod = [] { return Web("p").Affinity(kZone, "app=db").Affinity(kHost, "tier=back"); };
  EXPECT_EQ(cluster.Where(pod()), "");
  cluster.Add(PodMaker("3").Labels("app=db,tier=back").On("b"));
  EXPECT_EQ(cluster.Where(pod()), "b");
}

TEST(InterPodAffinityTest, AntiAffinityKeepsAwayFromPodsAndDomains) {
  Cluster cluster;
  TwoZones(cluster).Add(NodeMaker("bare")).Add(PodMaker("db").Labels("app=db").On("x"));
  EXPECT_EQ(cluster.Where(Web("p").AntiAffinity(kZone, "app=db")), "a b bare");
  EXPECT_EQ(cluster.Where(Web("p").AntiAffinity(kHost, "app=db")), "a b bare y");
  EXPECT_EQ(cluster.Why(Web("p").AntiAffinity(kZone, "app=db"), "y"),
            "InterPodAffinity: node(s) didn't match pod anti-affinity rules");
}

TEST(InterPodAffinityTest, ExistingPodsKeepOthersAway) {
  Cluster cluster;
  TwoZones(cluster).Add(PodMaker("db").Labels("app=db").AntiAffinity(kZone, "app=web").On("x"));
  EXPECT_EQ(cluster.Where(Web("p")), "a b");
  EXPECT_EQ(cluster.Why(Web("p"), "y"), "InterPodAffinity: node(s) didn't satisfy existing pods anti-affinity rules");
  EXPECT_EQ(cluster.Where(Web("p").Namespace("other")), "a b x y");
  EXPECT_EQ(cluster.Where(PodMaker("p").Labels("app=other")), "a b x y");
  cluster.snapshot.RemovePod("default/db");
  EXPECT_EQ(cluster.Where(Web("p")), "a b x y");
}

TEST(InterPodAffinityTest, NamespaceSelectorFollowsTheLabelsOfNamespaces) {
  Cluster cluster;
  TwoZones(cluster).Add(PodMaker("db").Labels("app=db").Namespace("blue").On("x"));
  const auto pod = [] {
    return Web("p").AntiAffinity(kZone, "app=db", R"({"namespaceSelector":{"matchLabels":{"team":"blue"}}})");
  };
  const ClassId kept = cluster.snapshot.InternClass(pod().json);
  EXPECT_EQ(cluster.Where(pod()), "a b x y");
  cluster.snapshot.UpsertNamespace("blue", {{"team", "blue"}});
  EXPECT_EQ(cluster.Where(pod()), "a b");
  cluster.snapshot.UpsertNamespace("blue", {{"team", "red"}});
  EXPECT_EQ(cluster.Where(pod()), "a b x y");
  EXPECT_EQ(cluster.Where(Web("p").AntiAffinity(kZone, "app=db", R"({"namespaceSelector":{}})")), "a b") << "all namespaces";
  cluster.snapshot.ReleaseClass(kept);
  cluster.Add(PodMaker("guard")
                  .Labels("app=guard")
                  .On("a")
                  .AntiAffinity(kZone, "app=web", R"({"namespaceSelector":{"matchLabels":{"team":"blue"}}})"));
  EXPECT_EQ(cluster.Where(Web("p").Namespace("blue")), "a b x y");
  cluster.snapshot.UpsertNamespace("blue", {{"team", "blue"}});
  EXPECT_EQ(cluster.Where(Web("p").Namespace("blue")), "x y");
}

TEST(InterPodAffinityTest, ANegativeNamespaceSelectorMeansAllNamespacesWhereThatIsAskedFor) {
  constexpr const char* kNegative =
      R"({"namespaceSelector":{"matchExpressions":[{"key":"team","operator":"NotIn","values":["blue"]},
                                                   {"key":"private","operator":"DoesNotExist"}]}})";
  constexpr const char* kMixed =
      R"({"namespaceSelector":{"matchExpressions":[{"key":"team","operator":"NotIn","values":["blue"]},
                                                   {"key":"team","operator":"Exists"}]}})";
  for (const bool all : {false, true}) {
    Cluster cluster;
    cluster.snapshot.SetNegativeNamespacesMatchAll(all);
    TwoZones(cluster).Add(PodMaker("db").Labels("app=db").Namespace("blue").On("x"));
    cluster.snapshot.UpsertNamespace("blue", {{"team", "blue"}});
    EXPECT_EQ(cluster.Where(Web("p").AntiAffinity(kZone, "app=db", kNegative)), all ? "a b" : "a b x y");
    EXPECT_EQ(cluster.Where(Web("p").AntiAffinity(kZone, "app=db", kMixed)), "a b x y") << "it names a label, too";
    cluster.Add(PodMaker("guard").Labels("app=guard").On("a").AntiAffinity(kZone, "app=web", kNegative));
    EXPECT_EQ(cluster.Where(Web("p").Namespace("blue")), all ? "x y" : "a b x y") << "the other way round";
  }
}

TEST(InterPodAffinityTest, AnEmptyLabelNarrowsTheSelectorToo) {
  Cluster cluster;
  cluster.Add(NodeMaker("a").Zone("1")).Add(NodeMaker("b").Zone("2"));
  const auto pod = [](std::string_view name, std::string_view ver) {
    PodMaker made(name);
    made.Labels("app=web");
    base::Ensure(made.json, {"metadata", "labels", "ver"}) = ver;
    return made;
  };
  const char* keys = R"({"matchLabelKeys":["ver"]})";
  EXPECT_EQ(cluster.Where(pod("p", "").Affinity(kZone, "app=web", keys)), "a b") << "the first of its group";
  cluster.Add(pod("old", "1").On("a")).Add(pod("same", "").On("b"));
  EXPECT_EQ(cluster.Where(pod("p", "").Affinity(kZone, "app=web", keys)), "b");
  EXPECT_EQ(cluster.Where(pod("p", "").AntiAffinity(kZone, "app=web", keys)), "a");
  EXPECT_EQ(cluster.Where(pod("p", "").AntiAffinity(kZone, "app=web", R"({"mismatchLabelKeys":["ver"]})")), "b");
  EXPECT_EQ(cluster.Where(pod("p", "").Spread(1, kZone, "app=web", keys)), "a");
}

TEST(InterPodAffinityTest, MatchAndMismatchLabelKeysNarrowTheSelector) {
  Cluster cluster;
  TwoZones(cluster).Add(PodMaker("1").Labels("app=web,hash=old,tenant=t").On("a"));
  const auto pod = [] { return PodMaker("p").Labels("app=web,hash=new,tenant=t"); };
  EXPECT_EQ(cluster.Where(pod().AntiAffinity(kZone, "app=web")), "x y");
  EXPECT_EQ(cluster.Where(pod().AntiAffinity(kZone, "app=web", R"({"matchLabelKeys":["hash"]})")), "a b x y");
  EXPECT_EQ(cluster.Where(pod().AntiAffinity(kZone, "app=web", R"({"mismatchLabelKeys":["tenant"]})")), "a b x y");
  EXPECT_EQ(cluster.Where(pod().AntiAffinity(kZone, "app=web", R"({"mismatchLabelKeys":["hash"]})")), "x y");
}

TEST(InterPodAffinityTest, NodesThatChangeTheirLabelsTakeTheirPodsAlong) {
  Cluster cluster;
  TwoZones(cluster).Add(PodMaker("db").Labels("app=db").On("x"));
  const ClassId kept = cluster.snapshot.InternClass(Web("p").Affinity(kZone, "app=db").json);
  cluster.Add(NodeMaker("x").Zone("1"));
  EXPECT_EQ(cluster.Where(Web("p").Affinity(kZone, "app=db")), "a b x");
  cluster.snapshot.RemoveNode("x");
  EXPECT_EQ(cluster.Where(Web("p").Affinity(kZone, "app=db")), "");
  cluster.Add(NodeMaker("x").Zone("2"));
  EXPECT_EQ(cluster.Where(Web("p").Affinity(kZone, "app=db")), "x y") << "the pod was there all the time";
  cluster.snapshot.ReleaseClass(kept);
}

TEST(CounterTest, TheSmallestCountFollowsPodsAndNodes) {
  Counter counter(Counter::Kind::kMatching, 0, {});
  counter.eligibility.emplace();
  EXPECT_EQ(counter.smallest(), 0);
  counter.AddNode(3);
  counter.AddPods(3, 5);
  EXPECT_EQ(counter.smallest(), 5);
  counter.AddNode(1);
  EXPECT_EQ(counter.smallest(), 0);
  counter.AddPods(1, 7);
  EXPECT_EQ(counter.smallest(), 5);
  counter.AddPods(3, -2);
  EXPECT_EQ(counter.smallest(), 3);
  EXPECT_EQ(counter.domains(), 2);
  counter.AddPods(3, -3);
  counter.RemoveNode(3);
  EXPECT_EQ(counter.smallest(), 7);
  EXPECT_EQ(counter.total(), 7);
}

}  // namespace
}  // namespace evenkeel::scheduling::topology_test
