// Events, forks and searches.
#include "scheduling/snapshot.h"

#include <gtest/gtest.h>

#include "scheduling/objects_testing.h"

namespace evenkeel::scheduling::snapshot_test {
namespace {

using testing::Cluster;
using testing::kHost;
using testing::kZone;
using testing::NodeMaker;
using testing::PodMaker;

kube::Node Decoded(const NodeMaker& node) { return kube::Node::Decode(node.json); }

std::string Text(Snapshot& snapshot, const std::vector<Placement>& placements) {
  std::string text;
  for (const Placement& placement : placements) {
    text += (text.empty() ? "" : " ") + snapshot.NodeName(placement.node) + ":" + std::to_string(placement.pods);
  }
  return text;
}

TEST(SnapshotTest, PodsThatAreAlikeShareAClassHoweverTheyAreWritten) {
  Cluster cluster;
  for (int i = 0; i < 100; ++i) cluster.Add(PodMaker("p" + std::to_string(i), "500m", "1Gi").Labels("app=web"));
  cluster.Add(PodMaker("q", "0.5", "1024Mi").Labels("app=web"));
  EXPECT_EQ(cluster.snapshot.classes().size(), 1U);
  for (int i = 0; i < 100; ++i) {
    cluster.Add(PodMaker("s" + std::to_string(i), "1").Labels("pod=s" + std::to_string(i)).Claim("data-" + std::to_string(i)));
  }
  EXPECT_EQ(cluster.snapshot.classes().specs(), 2U) << "labels and claims do not make another spec";
  for (int i = 0; i < 100; ++i) {
    cluster.Add(PodMaker("d" + std::to_string(i), "1")
                    .NodeTerms(R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n)" + std::to_string(i) +
                               "\"]}]}]"));
  }
  EXPECT_EQ(cluster.snapshot.classes().specs(), 2U) << "nor does the node of a DaemonSet's pod";
}

TEST(SnapshotTest, ClassesWithoutPodsAreForgottenInTime) {
  Cluster cluster;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "job-" + std::to_string(i);
    cluster.Add(PodMaker(name).Labels("job=" + name).AntiAffinity(kHost, "job=" + name));
    cluster.snapshot.RemovePod("default/" + name);
  }
  EXPECT_LT(cluster.snapshot.classes().size(), 2000U);
}

TEST(SnapshotTest, PodsCountOnceTheirNodeIsThere) {
  Cluster cluster;
  cluster.Add(PodMaker("early", "3").On("a"));
  EXPECT_EQ(cluster.snapshot.node_count(), 0U);
  cluster.Add(NodeMaker("a"));
  EXPECT_EQ(cluster.Why(PodMaker("p", "2"), "a"), "NodeResourcesFit: Insufficient cpu");
  cluster.snapshot.RemoveNode("a");
  EXPECT_EQ(cluster.snapshot.node_count(), 0U);
  cluster.Add(NodeMaker("a"));
  EXPECT_EQ(cluster.snapshot.PodsOn(cluster.Node("a")).size(), 1U);
  cluster.snapshot.RemoveNode("a");
  cluster.snapshot.RemovePod("default/early");
  EXPECT_EQ(cluster.Node("a"), kNone) << "nothing is left of a node without pods";
}

TEST(SnapshotTest, EndedAndReplacedPodsGiveBackTheirRoom) {
  Cluster cluster;
  cluster.Add(NodeMaker("a")).Add(PodMaker("p", "3").On("a"));
  PodMaker again("p", "1");
  base::Ensure(again.json, {"metadata", "uid"}) = "another";
  cluster.Add(again.On("a"));
  EXPECT_EQ(cluster.snapshot.Free(cluster.Node("a"), kCpu), 3000);
  base::Ensure(again.json, {"status", "phase"}) = "Succeeded";
  EXPECT_EQ(cluster.snapshot.UpsertPod(again.json), kNone);
  EXPECT_EQ(cluster.snapshot.Free(cluster.Node("a"), kCpu), 4000);
  EXPECT_EQ(cluster.snapshot.pod_count(), 0U);
}

TEST(SnapshotTest, APodThatWasPlacedStaysUntilAnEventSaysOtherwise) {
  Cluster cluster;
  cluster.Add(NodeMaker("a")).Add(NodeMaker("b")).Add(PodMaker("p", "1"));
  const PodId pod = cluster.snapshot.FindPod("default/p");
  cluster.snapshot.Place(pod, cluster.Node("a"));
  cluster.Add(PodMaker("p", "1").Labels("late=event"));
  EXPECT_EQ(cluster.snapshot.NodeOf(pod), cluster.Node("a"));
  cluster.Add(PodMaker("p", "1").On("b"));
  EXPECT_EQ(cluster.snapshot.NodeOf(pod), cluster.Node("b"));
  EXPECT_EQ(cluster.snapshot.Free(cluster.Node("a"), kCpu), 4000);
}

TEST(SnapshotTest, NewResourcesFindRoomInEveryRow) {
  Cluster cluster;
  cluster.Add(NodeMaker("a"));
  for (int i = 0; i < 20; ++i) {
    const std::string resource = "example.com/r" + std::to_string(i);
    cluster.Add(NodeMaker("n" + std::to_string(i)).Has(resource, "3"));
    cluster.Add(PodMaker("p" + std::to_string(i), "1").Request(resource, "2").On("n" + std::to_string(i)));
  }
  for (int i = 0; i < 20; ++i) {
    const NodeId node = cluster.Node("n" + std::to_string(i));
    EXPECT_EQ(cluster.snapshot.Free(node, cluster.snapshot.FindResource("example.com/r" + std::to_string(i))), 1);
    EXPECT_EQ(cluster.snapshot.Free(node, kCpu), 3000);
  }
}

TEST(SnapshotTest, ObjectsThatMakeNoSenseAreTakenForWhatCanBeRead) {
  Cluster cluster;
  cluster.Add(NodeMaker("a", "9e18", "16E", 1 << 30)).Add(NodeMaker("b", "-5", "what", -1));
  for (int i = 0; i < 100; ++i) cluster.Add(PodMaker("p" + std::to_string(i), "9e18", "16E").On("a"));
  EXPECT_EQ(cluster.Check(PodMaker("p", "9e18"), "a").filter, Filter::kNodeResourcesFit);
  EXPECT_EQ(cluster.Why(PodMaker("p"), "b"), "NodeResourcesFit: Too many pods");
  for (const char* field : {"affinity", "containers", "initContainers", "tolerations", "volumes", "topologySpreadConstraints",
                            "nodeSelector", "overhead", "resources", "nodeName", "priority"}) {
    for (const char* value : {"null", "7", "\"x\"", "[null,1,{}]", "[[]]", "{\"podAffinity\":[1]}"}) {
      cluster.snapshot.UpsertPod(PodMaker("odd").Spec(field, value).json);
      cluster.Check(PodMaker("odd").Spec(field, value), "a");
    }
  }
  const PodId nameless = cluster.snapshot.UpsertPod(testing::Parse("{}"));
  EXPECT_EQ(cluster.snapshot.FindPod(""), nameless);
}

TEST(ForkTest, NestedChangesAreTakenBackInTheirOrder) {
  Cluster cluster;
  cluster.Add(NodeMaker("a").Zone("1")).Add(PodMaker("p", "1").On("a")).Add(PodMaker("q", "1"));
  Snapshot& snapshot = cluster.snapshot;
  const NodeId a = cluster.Node("a");
  const TemplateId made = snapshot.InternTemplate(Decoded(NodeMaker("t", "2").Zone("2")));
  snapshot.Fork();
  const NodeId b = snapshot.AddNode(made, "new-1");
  snapshot.Place(snapshot.FindPod("default/q"), b);
  snapshot.Fork();
  snapshot.Unplace(snapshot.FindPod("default/p"));
  snapshot.DropNode(a);
  snapshot.AddTaint(b, {"t", "v", "NoSchedule"});
  EXPECT_EQ(snapshot.node_count(), 1U);
  EXPECT_EQ(cluster.Why(PodMaker("x", "1"), "new-1"), "TaintToleration: node(s) had untolerated taint {t: v}");
  snapshot.Revert();
  EXPECT_EQ(snapshot.node_count(), 2U);
  EXPECT_EQ(cluster.Where(PodMaker("x", "1")), "a new-1");
  EXPECT_EQ(cluster.Where(PodMaker("x", "2")), "a");
  snapshot.Fork();
  snapshot.Unplace(snapshot.FindPod("default/q"));
  snapshot.Commit();
  EXPECT_EQ(snapshot.Free(b, kCpu), 2000);
  snapshot.Revert();
  EXPECT_EQ(snapshot.node_count(), 1U);
  EXPECT_EQ(cluster.Node("new-1"), kNone);
  EXPECT_EQ(snapshot.NodeOf(snapshot.FindPod("default/q")), kNone);
  EXPECT_EQ(snapshot.depth(), 0U);
}

TEST(ForkTest, ACommittedForkIsThere) {
  Cluster cluster;
  cluster.Add(NodeMaker("b")).Add(PodMaker("p", "1").On("b")).Add(NodeMaker("c"));
  Snapshot& snapshot = cluster.snapshot;
  const TemplateId made = snapshot.InternTemplate(Decoded(NodeMaker("t")));
  {
    WhatIf what_if(snapshot);
    snapshot.AddNode(made, "a");
    snapshot.DropNode(cluster.Node("c"));
    snapshot.AddTaint(cluster.Node("b"), {"dedicated", "a", "NoSchedule"});
    what_if.Commit();
  }
  EXPECT_EQ(snapshot.NodeName(snapshot.order()[0]), "a") << "by name again";
  EXPECT_EQ(cluster.Where(PodMaker("p")), "a");
  EXPECT_EQ(cluster.Node("c"), kNone);
  EXPECT_EQ(snapshot.LabelsOf(cluster.Node("a")).Find(kHost)->compare("a"), 0) << "the host name is the node's own";
}

TEST(FindNodeTest, GoesAroundFromTheStartAndTriesTheHintFirst) {
  Cluster cluster;
  for (const char* name : {"c", "a", "d", "b"}) cluster.Add(NodeMaker(name, name == std::string("b") ? "1" : "4"));
  Snapshot& snapshot = cluster.snapshot;
  const ClassId big = snapshot.InternClass(PodMaker("p", "2").json);
  const auto find = [&](SearchOptions options) {
    const NodeId node = snapshot.FindNode(big, options);
    return node == kNone ? std::string("none") : snapshot.NodeName(node);
  };
  EXPECT_EQ(find({}), "a");
  EXPECT_EQ(find({.start = 1}), "c") << "b is too small";
  EXPECT_EQ(find({.start = 4}), "a");
  EXPECT_EQ(find({.start = 1, .hint = cluster.Node("d")}), "d");
  EXPECT_EQ(find({.start = 1, .hint = cluster.Node("b")}), "c");
  NodeSet only;
  only.Add(cluster.Node("b"));
  EXPECT_EQ(find({.only = &only}), "none");
  only.Add(cluster.Node("d"));
  EXPECT_EQ(find({.only = &only}), "d");
}

TEST(FindNodeTest, AnAnswerOfNowhereIsForgottenWhenSomethingHelps) {
  Cluster cluster;
  cluster.Add(NodeMaker("a").Zone("1")).Add(PodMaker("full", "4").On("a"));
  Snapshot& snapshot = cluster.snapshot;
  const ClassId id = snapshot.InternClass(PodMaker("p", "1").json);
  const ClassId near = snapshot.InternClass(PodMaker("p").Affinity(kZone, "app=db").json);
  EXPECT_EQ(snapshot.FindNode(id), kNone);
  EXPECT_EQ(snapshot.FindNode(near), kNone);
  cluster.Add(PodMaker("db").Labels("app=db").On("a"));
  EXPECT_EQ(snapshot.FindNode(near), cluster.Node("a"));
  EXPECT_EQ(snapshot.FindNode(id), kNone);
  cluster.Add(NodeMaker("a", "8").Zone("1"));
  EXPECT_EQ(snapshot.FindNode(id), cluster.Node("a"));
}

TEST(PlaceUpToTest, FillsNodesInOrder) {
  Cluster cluster;
  for (const char* name : {"a", "b", "c"}) cluster.Add(NodeMaker(name, "4").Zone(name[0] == 'c' ? "2" : "1"));
  cluster.Add(PodMaker("here", "3").On("a"));
  Snapshot& snapshot = cluster.snapshot;
  const auto place = [&](const PodMaker& pod, int64_t pods, SearchOptions options = {}) {
    WhatIf what_if(snapshot);
    std::vector<Placement> placements;
    const ClassId id = snapshot.InternClass(pod.json);
    const int64_t placed = snapshot.PlaceUpTo(id, pods, options, placements);
    return std::to_string(placed) + " " + Text(snapshot, placements);
  };
  EXPECT_EQ(place(PodMaker("p", "1"), 4), "4 a:1 b:3");
  EXPECT_EQ(place(PodMaker("p", "1"), 100), "9 a:1 b:4 c:4");
  EXPECT_EQ(place(PodMaker("p", "1"), 5, {.start = 2}), "5 c:4 a:1");
  EXPECT_EQ(place(PodMaker("p", "1").Labels("app=x").AntiAffinity(kHost, "app=x"), 5), "3 a:1 b:1 c:1");
  EXPECT_EQ(place(PodMaker("p", "1").HostPort(80), 5), "3 a:1 b:1 c:1");
  EXPECT_EQ(place(PodMaker("p", "1").Labels("app=x").Spread(1, kZone, "app=x"), 7), "7 a:1 c:1 b:1 c:1 b:1 c:1 b:1");
  EXPECT_EQ(place(PodMaker("p", "1").Labels("app=x").Affinity(kHost, "app=x"), 7, {.start = 1}), "4 b:4");
}

TEST(PlaceUpToTest, RealPodsKeepTheirNames) {
  Cluster cluster;
  cluster.Add(NodeMaker("a", "2")).Add(NodeMaker("b", "2"));
  std::vector<PodId> pods;
  for (const char* name : {"1", "2", "3", "4", "5"}) pods.push_back(cluster.snapshot.UpsertPod(PodMaker(name, "1").json));
  std::vector<Placement> placements;
  EXPECT_EQ(cluster.snapshot.PlaceUpTo(cluster.snapshot.ClassOf(pods[0]), pods, {}, placements), 4);
  EXPECT_EQ(cluster.snapshot.NodeOf(pods[2]), cluster.Node("b"));
  EXPECT_EQ(cluster.snapshot.NodeOf(pods[4]), kNone);
}

}  // namespace
}  // namespace evenkeel::scheduling::snapshot_test
