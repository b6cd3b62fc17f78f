#include "controllers/autoscaler/facts/node_templates.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/scale_up/scale_up_testing.h"
#include "scheduling/devices/devices_testing.h"

namespace evenkeel::controllers::autoscaler::node_templates_test {
namespace {

using scheduling::NodeId;
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

TEST_F(NodeTemplatesTest, NewNodesHaveTheDevicesOfTheirModel) {
  using scheduling::testing::SliceMaker;
  const auto devices = [](const NodeTemplate* made) {
    return made->slices == nullptr ? size_t{0} : made->slices->front()->devices.size();
  };
  SetProviderTemplate();
  EXPECT_EQ(devices(Update()), 0u);
  const uint64_t before = Templates().device_changes();
  base::Ensure(*view.groups.Find("g")->template_node, {"resourceSlices"}) =
      scheduling::testing::Parse(R"([{"driver":"gpu.example.com","devices":[{"name":"a"},{"name":"b"}]}])");
  EXPECT_EQ(devices(Update()), 2u);
  EXPECT_NE(Templates().device_changes(), before);
  EXPECT_EQ(Templates().Find("g")->device_pools, (DevicePools{{"gpu.example.com", 1}}));
  const auto* made_once = Templates().Find("g")->slices.get();
  const uint64_t same = Templates().device_changes();
  EXPECT_EQ(Update()->slices.get(), made_once) << "the provider says the same";
  AddNode(MakeNode("n1", 1000, 1000), "g");
  const auto publish = [this](const SliceMaker& slice) {
    snapshot.UpsertDevices(scheduling::DeviceKind::kResourceSlice, slice.json);
  };
  publish(SliceMaker("n1").Devices(3));
  publish(SliceMaker("n1").Named("wide").Pool("wide").Everywhere().Devices(1));
  EXPECT_EQ(devices(Update()), 3u) << "a node that is there says it better";
  EXPECT_EQ(Templates().Find("g")->slices->size(), 1u) << "what all nodes reach is not its own";
  EXPECT_EQ(Templates().device_changes(), same) << "as many pools of each driver";
  snapshot.RemoveNode("n1");
  node_facts[0].present = false;
  EXPECT_EQ(devices(Update()), 3u) << "as the last node was";
  NodeTemplates next(snapshot, options);
  const base::Json cache = *base::ParseJson(base::ToText(Templates().CacheToJson()), "cache");
  ASSERT_TRUE(next.RestoreCache(base::Field(&cache, "cache")));
  next.Update(view, Objects());
  ASSERT_NE(next.Find("g"), nullptr);
  EXPECT_EQ(devices(next.Find("g")), 3u);
  EXPECT_EQ(next.Find("g")->device_pools, (DevicePools{{"gpu.example.com", 1}}));
  EXPECT_TRUE(scheduling::SameDevices(next.Find("g")->slices.get(), Templates().Find("g")->slices.get()));
}

TEST_F(NodeTemplatesTest, DaemonPodsOfNewNodesHaveTheirDevices) {
  using scheduling::testing::SliceMaker;
  AddNode(MakeNode("n1", 1000, 1000), "g");
  const auto tell = [this](scheduling::DeviceKind kind, const base::Json& object) { snapshot.UpsertDevices(kind, object); };
  tell(scheduling::DeviceKind::kResourceSlice, SliceMaker("n1").Devices(2).json);
  tell(scheduling::DeviceKind::kDeviceClass, scheduling::testing::DeviceClassOf("gpu"));
  tell(scheduling::DeviceKind::kResourceClaim,
       scheduling::testing::ClaimMaker("d-gpus").Of("d").On("n1", {"gpu-0"}, {"d"}).json);
  tell(scheduling::DeviceKind::kResourceClaimTemplate,
       scheduling::testing::Parse(R"({"metadata":{"name":"gpus","namespace":"default"},"spec":{"spec":{"devices":{"requests":)"
                                  R"([{"name":"r","exactly":{"deviceClassName":"gpu"}}]}}}})"));
  pod_facts[AddPod(scheduling::testing::WithOwnClaim(MakePod("d", 100, 10), "d-gpus"), "ds", "n1")].daemon = true;
  tell(scheduling::DeviceKind::kResourceClaim, scheduling::testing::ClaimMaker("two", 2).json);
  const scheduling::ClassId two = snapshot.InternClass(scheduling::testing::WithClaim(MakePod("p", 100, 10), "two").json);
  const scheduling::ClassId one = snapshot.InternClass(scheduling::testing::WithClaim(MakePod("q", 100, 10), "one").json);
  tell(scheduling::DeviceKind::kResourceClaim, scheduling::testing::ClaimMaker("one").json);
  const auto fits = [&](const NodeTemplate* made, scheduling::ClassId pod) {
    const scheduling::WhatIf what_if(snapshot);
    return snapshot.Fits(pod, AddTemplateNode(snapshot, *made, "new"));
  };
  EXPECT_FALSE(fits(Update(), two));
  EXPECT_TRUE(fits(Update(), one));
  snapshot.RemovePod("default/d");
  snapshot.RemoveNode("n1");
  node_facts[0].present = false;
  EXPECT_FALSE(fits(Update(), two)) << "also after the last node has gone";
  EXPECT_TRUE(fits(Update(), one));
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
