#include "controllers/autoscaler/facts/node_templates.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/scale_up/scale_up_testing.h"

namespace evenkeel::controllers::autoscaler::node_templates_test {
namespace {

using scheduling::NodeId;
using testing::kMebibyte;
using testing::MakeNode;
using testing::MakePod;
using testing::ScaleUpCluster;

class NodeTemplatesTest : public ::testing::Test, protected ScaleUpCluster {
 protected:
  NodeTemplatesTest() { AddGroup("g"); }

  const NodeTemplate* Update() {
    Templates().Update(view, Objects());
    return Templates().Find("g");
  }
  void AddDaemonSet(const std::string& name, const std::string& spec) {
    base::Json json =
        scheduling::testing::Parse(R"({"metadata":{"name":")" + name + R"(","namespace":"kube-system","uid":")" + name +
                                   R"("},"spec":{"template":{"metadata":{"labels":{"app":"d"}},"spec":)" + spec + "}}}");
    daemon_sets.push_back(std::move(json));
    view.daemon_sets = &daemon_sets;
  }
  void SetProviderTemplate() {
    view.groups.Find("g")->template_node = scheduling::testing::Parse(
        R"({"metadata":{"name":"x","labels":{"topology.kubernetes.io/zone":"z"}},"spec":{"taints":[
        {"key":"dedicated","value":"a","effect":"NoSchedule"},{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]},
        "status":{"capacity":{"cpu":"4","memory":"8Gi","pods":"110"},"allocatable":{"cpu":"4","memory":"8Gi","pods":"110"}}})");
  }
  std::vector<base::Json> daemon_sets;
};

constexpr const char* kHundredMillis = R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"100m"}}}],
    "tolerations":[{"operator":"Exists"}]})";

TEST_F(NodeTemplatesTest, NewNodesTakeAsManyVolumesAsTheirModel) {
  const auto limit = [this]() -> int64_t {
    const NodeTemplate* made = Update();
    scheduling::Snapshot& all = snapshot;
    all.Fork();
    const scheduling::VolumeLimits* limits = all.VolumeLimitsOf(AddTemplateNode(all, *made, "new"));
    const int64_t count = limits == nullptr ? -1 : limits->at("csi.example.com");
    all.Revert();
    return count;
  };
  SetProviderTemplate();
  EXPECT_EQ(limit(), -1);
  base::Ensure(*view.groups.Find("g")->template_node, {"metadata", "annotations", providers::kCsiDriverAnnotation}) =
      "other=0,csi.example.com=7,broken,=3,x=y";
  EXPECT_EQ(limit(), 7);
  EXPECT_FALSE(Templates().Find("g")->volume_limits->contains("other"));
  snapshot.UpsertVolume(scheduling::VolumeKind::kCsiNode, scheduling::testing::Parse(R"({"metadata":{"name":"n1"},
      "spec":{"drivers":[{"name":"csi.example.com","allocatable":{"count":3}}]}})"));
  AddNode(MakeNode("n1", 1000, 1000), "g");
  EXPECT_EQ(limit(), 3) << "a node that is there says it better";
}

TEST_F(NodeTemplatesTest, AGoodNodeIsTheModelWithoutWhatIsItsOwn) {
  kube::Node node = MakeNode("n2", 1000, 1000, {{"pool", "x"}});
  node.taints = {{"dedicated", "a", "NoSchedule"},
                 {"node.kubernetes.io/not-ready", "", "NoSchedule"},
                 {"startup-taint.cluster-autoscaler.kubernetes.io/agent", "", "NoSchedule"},
                 {"mine", "", "NoSchedule"}};
  options.startup_taints = {"mine"};
  AddNode(node, "g");
  AddNode(MakeNode("n3", 9000, 9000), "g");
  const NodeTemplate* made = Update();
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->source, NodeTemplate::Source::kNode);
  EXPECT_EQ(made->source_node, "n2");
  EXPECT_EQ(made->node.meta.name, "template-node-for-g");
  EXPECT_EQ(made->node.meta.labels.at("kubernetes.io/hostname"), "template-node-for-g");
  EXPECT_EQ(made->node.meta.labels.at("pool"), "x");
  ASSERT_EQ(made->node.taints.size(), 1u);
  EXPECT_EQ(made->node.taints[0].key, "dedicated");
}

TEST_F(NodeTemplatesTest, NodesThatAreNotSettledAreNoModels) {
  const NodeId node = AddNode(MakeNode("n", 1000, 1000), "g");
  node_facts[node].last_transition = view.now.Read() - std::chrono::seconds(60);
  EXPECT_EQ(Update(), nullptr);
  node_facts[node].last_transition = view.now.Read() - std::chrono::seconds(61);
  EXPECT_NE(Update(), nullptr);
}

TEST_F(NodeTemplatesTest, DaemonAndStaticPodsOfTheNodeStay) {
  AddNode(MakeNode("n", 1000, 1000), "g");
  pod_facts[AddPod(MakePod("d", 100, 10), "ds", "n")].daemon = true;
  pod_facts[AddPod(MakePod("m", 50, 10), "", "n")].mirror = true;
  AddPod(MakePod("p", 300, 10), "rs", "n");
  const NodeTemplate* made = Update();
  EXPECT_EQ(made->requested, (kube::ResourceList{{"cpu", 150}, {"memory", 20}}));
  EXPECT_EQ(FreshRoom(snapshot, *made)[scheduling::kCpu], 850);
  EXPECT_EQ(FreshRoom(snapshot, *made)[scheduling::kPods], 98);
}

TEST_F(NodeTemplatesTest, OtherDaemonSetsCountOnlyWhenTheyWillMakeRoom) {
  AddNode(MakeNode("n", 1000, 1000), "g");
  pod_facts[AddPod(MakePod("d", 100, 10), "running", "n")].daemon = true;
  AddDaemonSet("running", kHundredMillis);
  AddDaemonSet("waiting", kHundredMillis);
  EXPECT_EQ(Update()->requested.at("cpu"), 100);
  AddDaemonSet("critical", R"({"priorityClassName":"system-node-critical","containers":[
      {"name":"c","resources":{"requests":{"cpu":"70m"}}}]})");
  EXPECT_EQ(Update()->requested.at("cpu"), 170);
  options.force_ds = true;
  templates = nullptr;
  EXPECT_EQ(Update()->requested.at("cpu"), 270);
}

TEST_F(NodeTemplatesTest, WhatWasKnownOfTheLastNodeIsRemembered) {
  AddNode(MakeNode("n", 1000, 1000, {{"pool", "x"}}), "g");
  const auto daemon = AddPod(MakePod("d", 100, 10), "ds", "n");
  pod_facts[daemon].daemon = true;
  Update();
  snapshot.RemovePod("default/d");
  snapshot.RemoveNode("n");
  node_facts[0].present = false;
  SetProviderTemplate();
  const NodeTemplate* made = Update();
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->source, NodeTemplate::Source::kCache);
  EXPECT_EQ(made->node.meta.labels.at("pool"), "x");
  EXPECT_EQ(FreshRoom(snapshot, *made)[scheduling::kCpu], 900);
  view.now = view.now.Read() + options.node_info_cache_expire_time + std::chrono::hours(1);
  EXPECT_EQ(Update()->source, NodeTemplate::Source::kProvider);
}

TEST_F(NodeTemplatesTest, TheProvidersTemplateGetsEveryDaemonSetThatRunsThere) {
  SetProviderTemplate();
  AddDaemonSet("fits", kHundredMillis);
  AddDaemonSet("refused-by-the-taint", R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]})");
  AddDaemonSet("elsewhere", R"({"nodeSelector":{"pool":"y"},"tolerations":[{"operator":"Exists"}],
      "containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]})");
  const NodeTemplate* made = Update();
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->source, NodeTemplate::Source::kProvider);
  EXPECT_EQ(made->requested.at("cpu"), 100);
  EXPECT_EQ(made->node.meta.labels.at("failure-domain.beta.kubernetes.io/zone"), "z");
  EXPECT_EQ(made->node.taints.size(), 1u);
}

TEST_F(NodeTemplatesTest, AnUnreadyNodeIsTheLastResort) {
  const NodeId node = AddNode(MakeNode("n", 1000, 1000), "g");
  node_facts[node].ready = false;
  EXPECT_EQ(Update()->source, NodeTemplate::Source::kUnreadyNode);
  SetProviderTemplate();
  EXPECT_EQ(Update()->source, NodeTemplate::Source::kProvider);
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::node_templates_test
