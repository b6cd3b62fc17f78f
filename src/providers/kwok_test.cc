#include "providers/kwok.h"

#include <gtest/gtest.h>

#include "base/input/yaml.h"
#include "client/fake_client_testing.h"
#include "providers/kwok_config.h"

namespace evenkeel::providers::kwok_test {
namespace {

using base::Code;
using base::Json;
using client::FakeClient;

Json Yaml(std::string_view text) { return *base::ParseYamlDocument(text, "test"); }

constexpr std::string_view kConfig = R"(
apiVersion: v1alpha1
readNodesFrom: configmap
nodegroups: {fromNodeLabelKey: pool}
nodes:
  gpuConfig: {gpuLabelKey: accelerator, availableGPUTypes: {tesla: {}, ampere: {}}}
configmap: {name: kwok-provider-templates}
kwok: {}
)";
constexpr std::string_view kTemplates = R"(
apiVersion: v1
kind: Node
metadata:
  name: small
  uid: "1"
  resourceVersion: "7"
  labels: {pool: Small_A, kubernetes.io/hostname: small}
  annotations: {cluster-autoscaler.kwok.nodegroup/min-count: "1", cluster-autoscaler.kwok.nodegroup/max-count: "3"}
spec: {podCIDR: 10.0.0.0/24}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "110"}, capacity: {cpu: "2", memory: 4Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: large, labels: {pool: large}}
status: {capacity: {cpu: "16", memory: 64Gi}}
---
apiVersion: v1
kind: Node
metadata: {name: other}
status: {capacity: {cpu: "1", memory: 1Gi}}
)";

class KwokTest : public ::testing::Test {
 protected:
  void PutConfig(std::string_view config) { PutConfigMap("kwok-provider-config", "config", config); }
  void PutConfigMap(const std::string& name, const std::string& key, std::string_view text) {
    Json object = kube::NewObject(kube::resources::ConfigMaps(), "kube-system", name);
    base::Ensure(object, {"data", key}) = text;
    client.api().Put(kube::resources::ConfigMaps(), object);
  }
  void SetUp() override {
    PutConfig(kConfig);
    PutConfigMap("kwok-provider-templates", "templates", kTemplates);
  }
  std::vector<Json> Nodes() {
    std::vector<Json> nodes;
    for (const auto& [key, node] : client.api().objects["nodes"]) nodes.push_back(node);
    return nodes;
  }
  base::Result<NodeGroups> Refresh() { return provider->Refresh(Nodes()); }
  static NodeReference ReferenceTo(const Json& node) {
    return {std::string(kube::NameOf(node)), std::string(base::FindString(node, {"spec", "providerID"})), node};
  }

  FakeClient client;
  std::unique_ptr<Provider> provider = NewKwokProvider(client, {}, base::Random(1));
};

TEST_F(KwokTest, GroupsComeFromTheTemplatesWithTheirBounds) {
  const auto groups = Refresh();
  ASSERT_TRUE(groups) << groups.error().message();
  ASSERT_EQ(groups->groups.size(), 2u);
  EXPECT_EQ(groups->groups[0].id, "Small_A");
  EXPECT_EQ(groups->groups[0].min_size, 1);
  EXPECT_EQ(groups->groups[0].max_size, 3);
  EXPECT_EQ(groups->groups[0].target_size, 0);
  EXPECT_EQ(groups->groups[0].debug, "Small_A (1:3)");
  EXPECT_EQ(groups->groups[1].id, "large");
  EXPECT_EQ(groups->groups[1].min_size, 0);
  EXPECT_EQ(groups->groups[1].max_size, 200);
  EXPECT_EQ(groups->gpu_label, "accelerator");
  EXPECT_EQ(groups->gpu_types, (std::vector<std::string>{"ampere", "tesla"}));
}

TEST_F(KwokTest, TheTemplateIsAsUpstreamMakesIt) {
  const auto groups = Refresh();
  ASSERT_TRUE(groups);
  const Json& node = *groups->groups[0].template_node;
  EXPECT_EQ(kube::NameOf(node), "kwok-fake-small");
  EXPECT_EQ(base::FindString(node, {"spec", "providerID"}), "kwok:kwok-fake-small");
  EXPECT_EQ(base::FindString(node, {"metadata", "annotations", "kwok.x-k8s.io/node"}), "fake");
  EXPECT_EQ(base::FindString(node, {"metadata", "annotations", "cluster-autoscaler.kwok.nodegroup/name"}), "Small_A");
  EXPECT_EQ(base::FindString(node, {"status", "nodeInfo", "kubeletVersion"}), "fake");
  EXPECT_EQ(base::ToText(*base::Find(node, {"spec", "taints"})),
            R"([{"key":"kwok-provider","value":"true","effect":"NoSchedule"}])");
  for (const char* gone : {"uid", "resourceVersion"}) EXPECT_EQ(base::Find(node, {"metadata", gone}), nullptr) << gone;
  EXPECT_EQ(base::Find(node, {"spec", "podCIDR"}), nullptr);
  EXPECT_EQ(base::FindString(*groups->groups[1].template_node, {"status", "allocatable", "cpu"}), "16");
}

TEST_F(KwokTest, SkipTaintLeavesTheTaintOut) {
  std::string config(kConfig);
  config.replace(config.find("nodes:\n"), 7, "nodes:\n  skipTaint: true\n");
  PutConfig(config);
  const auto groups = Refresh();
  ASSERT_TRUE(groups) << groups.error().message();
  EXPECT_EQ(base::Find(*groups->groups[0].template_node, {"spec", "taints"}), nullptr);
}

TEST_F(KwokTest, AnIncreaseMakesNodesWithNamesOfTheirOwn) {
  ASSERT_TRUE(Refresh());
  ASSERT_TRUE(provider->IncreaseSize("Small_A", 2, false));
  const auto nodes = Nodes();
  ASSERT_EQ(nodes.size(), 2u);
  std::set<std::string> names;
  for (const Json& node : nodes) {
    const std::string name(kube::NameOf(node));
    names.insert(name);
    EXPECT_TRUE(name.starts_with("small-a-")) << name;
    EXPECT_EQ(name.size(), std::string("small-a-xxxxx").size());
    EXPECT_EQ(base::FindString(node, {"spec", "providerID"}), "kwok:" + name);
    EXPECT_EQ(base::FindString(node, {"metadata", "labels", "kubernetes.io/hostname"}), name);
    EXPECT_EQ(base::FindString(node, {"metadata", "annotations", "metrics.k8s.io/resource-metrics-path"}),
              "/metrics/nodes/" + name + "/metrics/resource");
  }
  EXPECT_EQ(names.size(), 2u);
  const auto groups = Refresh();
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->groups[0].target_size, 2);
  EXPECT_EQ(groups->groups[0].instances.size(), 2u);
  EXPECT_EQ(groups->groups[0].instances[0].id, "kwok:" + *names.begin());
  EXPECT_EQ(groups->groups[0].instances[0].state, Instance::State::kRunning);
  EXPECT_EQ(groups->group_of_node.at(*names.begin()), "Small_A");
}

TEST_F(KwokTest, NodesThatTheCallerHasNotSeenYetCount) {
  ASSERT_TRUE(Refresh());
  ASSERT_TRUE(provider->IncreaseSize("large", 1, false));
  const auto stale = provider->Refresh({});
  ASSERT_TRUE(stale);
  EXPECT_EQ(stale->groups[1].target_size, 1);
  ASSERT_EQ(stale->groups[1].instances.size(), 1u);
  EXPECT_EQ(stale->groups[1].instances[0].state, Instance::State::kCreating);
  EXPECT_TRUE(stale->group_of_node.empty());
  client.api().objects["nodes"].clear();
  EXPECT_EQ(provider->Refresh({})->groups[1].target_size, 0);
}

TEST_F(KwokTest, SizesStayWithinTheBounds) {
  ASSERT_TRUE(Refresh());
  const auto above = provider->IncreaseSize("Small_A", 4, false);
  ASSERT_FALSE(above);
  EXPECT_EQ(above.error().message(), "kwok node group Small_A: a size of 4 is more than the largest, 3");
  EXPECT_FALSE(provider->IncreaseSize("Small_A", 0, false));
  EXPECT_TRUE(Nodes().empty());
  ASSERT_TRUE(provider->IncreaseSize("Small_A", 1, false));
  const auto below = provider->DeleteNodes("Small_A", std::vector{ReferenceTo(Nodes()[0])}, false);
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().message(), "kwok node group Small_A: deleting 1 of 1 nodes would leave less than the least, 1");
  EXPECT_EQ(Nodes().size(), 1u);
  EXPECT_FALSE(provider->DecreaseTargetSize("Small_A", -1));
}

TEST_F(KwokTest, OnlyKwoksOwnNodesAreDeleted) {
  ASSERT_TRUE(Refresh());
  ASSERT_TRUE(provider->IncreaseSize("large", 2, false));
  Json foreign = Yaml("{metadata: {name: real, labels: {pool: large}}, spec: {providerID: 'cloud://1'}}");
  client.api().Put(kube::resources::Nodes(), foreign);
  const auto groups = Refresh();
  EXPECT_FALSE(groups->group_of_node.contains("real"));
  const auto refused = provider->DeleteNodes("large", std::vector{ReferenceTo(foreign)}, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kNotFound);
  const std::string name = groups->group_of_node.begin()->first;
  ASSERT_TRUE(provider->DeleteNodes("large", std::vector{NodeReference{"", "kwok:" + name, {}}}, false));
  EXPECT_EQ(Nodes().size(), 2u);
  EXPECT_EQ(Refresh()->groups[1].target_size, 1);
}

TEST_F(KwokTest, WhatUpstreamCannotItCannot) {
  ASSERT_TRUE(Refresh());
  EXPECT_EQ(provider->IncreaseSize("large", 1, true).error().code(), Code::kMethodNotAllowed);
  EXPECT_EQ(provider->DeleteNodes("large", {}, true).error().code(), Code::kMethodNotAllowed);
  EXPECT_EQ(provider->IncreaseSize("nobody", 1, false).error().code(), Code::kNotFound);
}

TEST_F(KwokTest, GroupsOfTheClustersNodesStayWhenTheNodesGo) {
  PutConfig("{readNodesFrom: cluster, nodegroups: {fromNodeAnnotationKey: team}}");
  Json real = Yaml(R"({metadata: {name: real, annotations: {team: blue}}, spec: {providerID: 'cloud://1'},
                       status: {allocatable: {cpu: "1"}}})");
  client.api().Put(kube::resources::Nodes(), real);
  auto groups = Refresh();
  ASSERT_TRUE(groups) << groups.error().message();
  ASSERT_EQ(groups->groups.size(), 1u);
  EXPECT_EQ(groups->groups[0].id, "blue");
  EXPECT_EQ(groups->groups[0].target_size, 0) << "the real node is not kwok's";
  ASSERT_TRUE(provider->IncreaseSize("blue", 1, false));
  EXPECT_EQ(Refresh()->groups[0].target_size, 1);
  client.api().objects["nodes"].clear();
  groups = Refresh();
  ASSERT_TRUE(groups);
  ASSERT_EQ(groups->groups.size(), 1u);
  EXPECT_EQ(groups->groups[0].target_size, 0);
}

TEST_F(KwokTest, AGroupIsFoundAgainByAnotherProcess) {
  ASSERT_TRUE(Refresh());
  ASSERT_TRUE(provider->IncreaseSize("large", 1, false));
  provider = NewKwokProvider(client, {}, base::Random(2));
  const auto groups = Refresh();
  EXPECT_EQ(groups->groups[1].target_size, 1);
  EXPECT_EQ(groups->group_of_node.begin()->second, "large");
}

TEST_F(KwokTest, AMissingConfigMapIsNamed) {
  client.api().objects["configmaps"].erase("kube-system/kwok-provider-templates");
  const auto groups = Refresh();
  ASSERT_FALSE(groups);
  EXPECT_TRUE(
      groups.error().message().starts_with("reading ConfigMap kube-system/kwok-provider-templates for the kwok provider:"))
      << groups.error().message();
  PutConfigMap("kwok-provider-config", "other", "x");
  EXPECT_EQ(Refresh().error().message(), "ConfigMap kube-system/kwok-provider-config: data.config: missing");
}

TEST(KwokOptions, TheEnvironmentGoesBeforeTheFlags) {
  const std::map<std::string, std::string> variables = {{"KWOK_PROVIDER_CONFIGMAP", "mine"}, {"POD_NAMESPACE", "ns"}};
  const auto options = KwokOptions::From([&](const char* name) { return variables.at(name); }, "flag");
  EXPECT_EQ(options.config_map, "mine");
  EXPECT_EQ(options.ns, "ns");
  const auto plain = KwokOptions::From([](const char*) { return std::string(); }, "flag");
  EXPECT_EQ(plain.config_map, "kwok-provider-config");
  EXPECT_EQ(plain.ns, "flag");
}

TEST(KwokConfig, GarbageIsNamedByField) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[]", "c: readNodesFrom: missing: cluster or configmap is expected"},
      {"{readNodesFrom: moon}", "c: readNodesFrom: \"moon\" is not cluster or configmap"},
      {"{apiVersion: v2, readNodesFrom: cluster}", "c: apiVersion: \"v2\" is not v1alpha1"},
      {"{readNodesFrom: configmap}", "c: configmap.name: missing: it has the templates"},
      {"{readNodesFrom: cluster}", "c: nodegroups: exactly one of fromNodeLabelKey and fromNodeAnnotationKey must be given"},
      {"{readNodesFrom: cluster, nodegroups: {fromNodeLabelKey: a, fromNodeAnnotationKey: b}}",
       "c: nodegroups: exactly one of fromNodeLabelKey and fromNodeAnnotationKey must be given"},
      {"{readNodesFrom: cluster, nodegroups: {fromNodeLabelKey: [1]}}", "c: nodegroups.fromNodeLabelKey: not a text"},
      {"{readNodesFrom: cluster, nodegroups: {fromNodeLabelKey: a}, nodes: {skipTaint: 3}}",
       "c: nodes.skipTaint: not true or false"},
      {"{readNodesFrom: cluster, nodegroups: {fromNodeLabelKey: a}, nodes: {gpuConfig: {}}}",
       "c: nodes.gpuConfig.gpuLabelKey: missing"},
      {"{readNodesFrom: cluster, nodegroups: {fromNodeLabelKey: a}, nodes: {gpuConfig: {gpuLabelKey: g}}}",
       "c: nodes.gpuConfig.availableGPUTypes: missing: an object with a key for each type is expected"},
  };
  for (const auto& [text, message] : cases) {
    const auto config = ParseKwokConfig(text, "c");
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().message(), message);
  }
}

TEST(KwokConfig, TemplatesMayBeAListAndGarbageIsNamedByNodeAndField) {
  const auto list = ParseKwokTemplates(
      "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Node, metadata: {name: a}, status: {capacity: {cpu: 1}}}]}",
      "t");
  ASSERT_TRUE(list) << list.error().message();
  EXPECT_EQ(list->size(), 1u);
  const std::string head = "{apiVersion: v1, kind: Node, metadata: {name: a}, ";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{apiVersion: v1, kind: Pod, metadata: {name: a}}", "t: has no Node that could serve as template"},
      {head + "status: {}}", "t:1: Node a: status.allocatable: missing: it says how much fits on a new node"},
      {head + "status: {capacity: {cpu: -1}}}", "t:1: Node a: status.capacity.cpu: less than 0"},
      {head + "status: [1]}", "t:1: Node a: status: not an object"},
      {head + "spec: {taints: [{key: k}]}, status: {capacity: {cpu: 1}}}", "t:1: Node a: spec.taints[0].effect: missing"},
  };
  for (const auto& [text, message] : cases) {
    const auto nodes = ParseKwokTemplates(text, "t");
    ASSERT_FALSE(nodes) << text;
    EXPECT_EQ(nodes.error().message(), message);
  }
  EXPECT_TRUE(ParseKwokTemplates(head + "status: {capacity: {cpu: 1x}}}", "t")
                  .error()
                  .message()
                  .starts_with("t:1: Node a: status.capacity.cpu: "));
}

TEST(KwokConfig, BoundsThatContradictEachOtherAreNamed) {
  KwokConfig config;
  config.key = "pool";
  const auto bounds = [&](const std::string& annotations) {
    const std::vector<Json> nodes = {Yaml("{metadata: {name: n, labels: {pool: p}, annotations: {" + annotations + "}}}")};
    return ReadKwokGroups(config, nodes);
  };
  const std::string prefix = "cluster-autoscaler.kwok.nodegroup/", field = "Node n: metadata.annotations." + prefix;
  EXPECT_EQ(bounds(prefix + "min-count: x").error().message(), field + "min-count: \"x\": not a whole number");
  EXPECT_EQ(bounds(prefix + "min-count: '5', " + prefix + "max-count: '4'").error().message(),
            field + "max-count: 4 is less than the least size 5");
  EXPECT_EQ(bounds(prefix + "max-count: '4', " + prefix + "desired-count: '5'").error().message(),
            field + "desired-count: 5 is not from 0 to 4");
  const auto sound = bounds(prefix + "max-count: '4', " + prefix + "name: other");
  ASSERT_TRUE(sound);
  EXPECT_EQ((*sound)[0].id, "other");
}

}  // namespace
}  // namespace evenkeel::providers::kwok_test
