#include "providers/cluster_api_objects.h"

#include <gtest/gtest.h>

#include "base/input/yaml.h"

namespace evenkeel::providers::cluster_api_objects_test {
namespace {

using base::Json;

Json Yaml(std::string_view text) { return *base::ParseYamlDocument(text, "test"); }
const ClusterApiNames kNames("cluster.x-k8s.io");
const std::string kMin = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
const std::string kMax = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";

TEST(ClusterApiObjects, ScalingBounds) {
  struct Case {
    std::string annotations;
    std::optional<std::pair<int64_t, int64_t>> bounds;
  };
  const std::vector<Case> cases = {
      {"", {{0, 0}}},
      {kMin + ": '-1'", std::nullopt},
      {kMin + ": '0'", {{0, 0}}},
      {kMax + ": '10'", {{0, 10}}},
      {kMin + ": '1', " + kMax + ": '0'", std::nullopt},
      {kMin + ": '-1', " + kMax + ": '10'", std::nullopt},
      {kMin + ": '0', " + kMax + ": '-1'", std::nullopt},
      {kMin + ": '5', " + kMax + ": '5'", {{5, 5}}},
      {kMin + ": not-an-int, " + kMax + ": '0'", std::nullopt},
      {kMin + ": '0', " + kMax + ": not-an-int", std::nullopt},
      {kMin + ": '+2', " + kMax + ": '7'", {{2, 7}}},
      {kMin + ": '99999999999999999999', " + kMax + ": '7'", std::nullopt},
  };
  for (const Case& one : cases) {
    const Json object = Yaml("{kind: MachineSet, metadata: {name: a, namespace: ns, annotations: {" + one.annotations + "}}}");
    const auto bounds = ReadScalingBounds(object, kNames);
    EXPECT_EQ(bounds.has_value(), one.bounds.has_value()) << one.annotations;
    if (bounds && one.bounds) {
      EXPECT_EQ(*bounds, *one.bounds) << one.annotations;
    }
    if (!bounds) {
      EXPECT_TRUE(bounds.error().message().starts_with("MachineSet ns/a: metadata.annotations.cluster.x-k8s.io/"))
          << bounds.error().message();
    }
  }
}

TEST(ClusterApiObjects, DiscoverySpecs) {
  const auto good = ClusterApiDiscovery::Parse("clusterapi:namespace=ns,clusterName=c,color=blue,shape=");
  ASSERT_TRUE(good) << good.error().message();
  EXPECT_EQ(good->ns, "ns");
  EXPECT_EQ(good->cluster_name, "c");
  EXPECT_EQ(good->labels.ToString(), "color=blue,shape=");
  const auto any = ClusterApiDiscovery::Parse("clusterapi:");
  ASSERT_TRUE(any);
  EXPECT_TRUE(any->labels.everything());
  const std::string flag = "--node-group-auto-discovery=";
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", ": clusterapi:KEY=VALUE,KEY=VALUE is expected"},
      {"clusterapi", ": clusterapi:KEY=VALUE,KEY=VALUE is expected"},
      {"clusterapi:a=b:c=d", ": clusterapi:KEY=VALUE,KEY=VALUE is expected"},
      {"asg:tag=a", ": only the discoverer \"clusterapi\" is known"},
      {"clusterapi:namespace", ": \"namespace\" is not KEY=VALUE"},
      {"clusterapi:a=b=c", ": \"a=b=c\" is not KEY=VALUE"},
  };
  for (const auto& [spec, message] : wrong) {
    const auto parsed = ClusterApiDiscovery::Parse(spec);
    ASSERT_FALSE(parsed) << spec;
    EXPECT_EQ(parsed.error().message(), flag + spec + message);
  }
  EXPECT_FALSE(ClusterApiDiscovery::Parse("clusterapi:-a=b"));
  EXPECT_FALSE(ClusterApiDiscovery::Parse("clusterapi:a=b c"));
}

TEST(ClusterApiObjects, SpecsAreAlternativesAndTheirPartsAreAllRequired) {
  const auto allowed = [](const std::vector<std::string>& specs) {
    const auto options = ClusterApiOptions::From([](const char*) { return std::string(); }, specs);
    EXPECT_TRUE(options);
    return IsAllowed(
        options->discovery, kNames,
        Yaml("{kind: MachineSet, metadata: {name: a, namespace: ns, labels: {color: blue}}, spec: {clusterName: c}}"));
  };
  EXPECT_TRUE(allowed({}));
  EXPECT_TRUE(allowed({"clusterapi:namespace=ns"}));
  EXPECT_FALSE(allowed({"clusterapi:namespace=other"}));
  EXPECT_TRUE(allowed({"clusterapi:clusterName=c"}));
  EXPECT_FALSE(allowed({"clusterapi:clusterName=d"}));
  EXPECT_TRUE(allowed({"clusterapi:color=blue"}));
  EXPECT_FALSE(allowed({"clusterapi:color=red"}));
  EXPECT_TRUE(allowed({"clusterapi:namespace=ns,clusterName=c,color=blue"}));
  EXPECT_FALSE(allowed({"clusterapi:namespace=ns,clusterName=d,color=blue"}));
  EXPECT_TRUE(allowed({"clusterapi:namespace=other", "clusterapi:color=blue"}));
}

TEST(ClusterApiObjects, TheEnvironmentNamesGroupAndVersion) {
  const std::map<std::string, std::string> variables = {
      {"CAPI_GROUP", "machines.example"}, {"CAPI_VERSION", "v9"}, {"CAPI_SCALE_ZERO_DEFAULT_ARCH", "arm64"}};
  const auto options = ClusterApiOptions::From([&](const char* name) { return variables.at(name); }, {});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->group, "machines.example");
  EXPECT_EQ(options->version, "v9");
  EXPECT_EQ(options->default_architecture, "arm64");
  const ClusterApiNames names(options->group);
  EXPECT_EQ(names.min_size, "machines.example/cluster-api-autoscaler-node-group-min-size");
  EXPECT_EQ(names.delete_machine, "machines.example/delete-machine");
}

TEST(ClusterApiObjects, GroupsThatAreWrongAreNamedByField) {
  Warnings warnings;
  const auto read = [&](const std::string& spec) {
    const Json object = Yaml("{kind: MachineDeployment, metadata: {name: a, namespace: ns, annotations: {" + kMax +
                             ": '3'}}, spec: " + spec + "}");
    return ReadGroup(object, kNames, warnings).error().message();
  };
  const std::string head = "MachineDeployment ns/a: ";
  EXPECT_EQ(read("{}"), head + "spec.replicas: missing");
  EXPECT_EQ(read("{replicas: -1}"), head + "spec.replicas: not a whole number of at least 0");
  EXPECT_EQ(read("{replicas: many}"), head + "spec.replicas: not a whole number of at least 0");
  EXPECT_EQ(read("{replicas: 1}"), head + "spec.selector: missing");
  EXPECT_EQ(read("{replicas: 1, selector: {}}"), head + "spec.selector: selects everything");
  EXPECT_TRUE(
      read("{replicas: 1, selector: {matchExpressions: [{key: a, operator: Eq}]}}").starts_with(head + "spec.selector: "));
}

TEST(ClusterApiObjects, GroupsThatDoNotScaleAreNone) {
  Warnings warnings;
  const auto read = [&](const std::string& annotations) {
    const Json object = Yaml("{kind: MachineSet, metadata: {name: a, namespace: ns, annotations: {" + annotations +
                             "}}, spec: {replicas: 1, selector: {matchLabels: {a: b}}}}");
    const auto group = ReadGroup(object, kNames, warnings);
    EXPECT_TRUE(group);
    return group && group->has_value();
  };
  EXPECT_FALSE(read(""));
  EXPECT_TRUE(read(kMax + ": '1'"));
  EXPECT_FALSE(read(kMax + ": '1', cluster.x-k8s.io/paused: 'true'"));
}

TEST(ClusterApiObjects, OptionsOfAGroupAndThoseThatAreWrong) {
  Warnings warnings;
  const std::string prefix = "cluster.x-k8s.io/autoscaling-options-";
  const Json object =
      Yaml("{kind: MachineSet, metadata: {name: a, namespace: ns, annotations: {" + kMax + ": '1', " + prefix +
           "scaledownutilizationthreshold: '0.3', " + prefix + "scaledowngpuutilizationthreshold: '0.4', " + prefix +
           "scaledownunneededtime: 5m, " + prefix + "scaledownunreadytime: soon, " + prefix + "maxnodeprovisiontime: 1h, " +
           prefix + "maxnodestartuptime: 2m}}, spec: {replicas: 1, selector: {matchLabels: {a: b}}}}");
  const auto group = ReadGroup(object, kNames, warnings);
  ASSERT_TRUE(group && group->has_value());
  const NodeGroupOptions& options = (*group)->group.options;
  EXPECT_EQ(options.scale_down_utilization_threshold, 0.3);
  EXPECT_EQ(options.scale_down_gpu_utilization_threshold, 0.4);
  EXPECT_EQ(options.scale_down_unneeded_time, std::chrono::minutes(5));
  EXPECT_EQ(options.scale_down_unready_time, std::nullopt);
  EXPECT_EQ(options.max_node_provision_time, std::chrono::hours(1));
  EXPECT_EQ(options.max_node_startup_time, std::chrono::minutes(2));
  EXPECT_EQ(options.zero_or_max_node_scaling, std::nullopt);
  EXPECT_EQ(warnings.now(), (std::set<std::string>{"MachineSet ns/a: metadata.annotations." + prefix +
                                                   "scaledownunreadytime: \"soon\" is not a duration such as 10m, so the "
                                                   "flag holds"}));
}

std::string Shown(const std::string& machine, std::string_view node_id = "") {
  const auto read = ReadMachine(Yaml("{kind: Machine, metadata: {name: m, namespace: ns" + machine + "}"), kNames);
  if (!read) return read.error().message();
  const auto instance = InstanceOf(*read, node_id);
  if (!instance) return "none";
  const char* states[] = {"running", "creating", "deleting"};
  return instance->id + " " + states[static_cast<int>(instance->state)] + (instance->error ? " " + instance->error->code : "");
}

TEST(ClusterApiObjects, WhatMachinesAreAsInstances) {
  const std::string gone = ", deletionTimestamp: '2024-01-01T00:00:00Z'}";
  EXPECT_EQ(Shown("}, spec: {providerID: 'x://a/1'}"), "x://a/1 running");
  EXPECT_EQ(Shown(gone + ", spec: {providerID: 'x://a/1'}"), "deleting-machine-ns_m deleting");
  EXPECT_EQ(Shown("}, spec: {}"), "pending-machine-ns_m creating");
  EXPECT_EQ(Shown("}, spec: {providerID: ''}"), "pending-machine-ns_m creating");
  EXPECT_EQ(Shown("}, status: {nodeRef: {kind: Node, name: n}}", "x://a/2"), "x://a/2 running");
  EXPECT_EQ(Shown("}, status: {nodeRef: {name: n}}", "x://a/2"), "x://a/2 running");
  EXPECT_EQ(Shown("}, status: {nodeRef: {kind: Node, name: n}}"), "none");
  EXPECT_EQ(Shown("}, status: {phase: Failed, failureMessage: quota}"), "failed-machine-ns_m creating ProvisioningFailed");
  EXPECT_EQ(Shown("}, spec: {providerID: 'x://a/1'}, status: {phase: Running, failureMessage: old, nodeRef: {name: n}}"),
            "x://a/1 running")
      << "an old failure of a machine that runs";
  EXPECT_EQ(Shown("}, spec: {}, status: {phase: Provisioning, deprecated: {v1beta1: {failureMessage: old}}}"),
            "pending-machine-ns_m creating");
  EXPECT_EQ(Shown(gone + ", status: {phase: Failed}"), "failed-machine-ns_m deleting DeletingFailed");
  EXPECT_EQ(Shown("}, spec: {providerID: 'x://a/1'}, status: {phase: Failed, nodeRef: {name: n}}"),
            "failed-machine-ns_m running");
  EXPECT_EQ(Shown("}, spec: {providerID: 7}"), "Machine ns/m: spec.providerID: not a text");
  EXPECT_EQ(Shown("}, status: {nodeRef: 7}"), "Machine ns/m: status.nodeRef: not an object");
  EXPECT_EQ(MachineOfInstance("failed-machine-ns_a_b"), "ns/a_b");
  EXPECT_EQ(MachineOfInstance("pending-machine-ns"), "");
  EXPECT_EQ(MachineOfInstance("x://a/1"), "");
}

class ClusterApiTemplateTest : public ::testing::Test {
 protected:
  std::optional<Json> Make(const std::string& annotations, const std::string& spec = "{}") {
    object =
        Yaml("{kind: MachineSet, metadata: {name: a, namespace: ns, annotations: {" + annotations + "}}, spec: " + spec + "}");
    ClusterApiGroup group;
    group.kind = "MachineSet";
    group.ns = "ns";
    group.name = "a";
    group.object = &object;
    return MakeClusterApiTemplate(group, infrastructure ? &*infrastructure : nullptr, sample ? &*sample : nullptr, "amd64",
                                  warnings);
  }
  static std::string Key(const std::string& name) { return "capacity.cluster-autoscaler.kubernetes.io/" + name; }

  Json object;
  std::optional<Json> infrastructure, sample;
  Warnings warnings;
  const std::string enough = Key("cpu") + ": '2', " + Key("memory") + ": 4Gi";
};

TEST_F(ClusterApiTemplateTest, NothingWithoutCoresAndMemory) {
  EXPECT_FALSE(Make(""));
  EXPECT_FALSE(Make(Key("cpu") + ": '2'"));
  EXPECT_FALSE(Make(Key("cpu") + ": '0', " + Key("memory") + ": 1Gi"));
  EXPECT_TRUE(warnings.now().empty());
  EXPECT_TRUE(Make(enough));
}

TEST_F(ClusterApiTemplateTest, AllAnnotations) {
  const auto node = Make(enough + ", " + Key("ephemeral-disk") + ": 100Gi, " + Key("maxPods") + ": '42', " + Key("gpu-type") +
                         ": nvidia.com/gpu, " + Key("gpu-count") + ": '2', " + Key("labels") + ": 'zone=b,x=y=z', " +
                         Key("taints") + ": 'k1=v1:NoSchedule,k2:NoExecute', " + Key("csi-driver") + ": 'csi.example.com=25'");
  ASSERT_TRUE(node);
  EXPECT_EQ(base::FindString(*node, {"metadata", "annotations", kCsiDriverAnnotation}), "csi.example.com=25");
  EXPECT_TRUE(base::Equal(*base::Find(*node, {"status", "capacity"}),
                          Yaml("{cpu: '2', memory: 4Gi, ephemeral-storage: 100Gi, pods: '42', nvidia.com/gpu: '2'}")));
  EXPECT_TRUE(base::Equal(*base::Find(*node, {"status", "capacity"}), *base::Find(*node, {"status", "allocatable"})));
  EXPECT_EQ(base::FindString(*node, {"metadata", "labels", "zone"}), "b");
  EXPECT_EQ(base::FindString(*node, {"metadata", "labels", "x"}), "y=z");
  EXPECT_EQ(base::FindString(*node, {"metadata", "labels", "kubernetes.io/arch"}), "amd64");
  EXPECT_EQ(base::FindString(*node, {"metadata", "labels", "kubernetes.io/os"}), "linux");
  EXPECT_TRUE(base::Equal(*base::Find(*node, {"spec", "taints"}),
                          Yaml("[{key: k1, value: v1, effect: NoSchedule}, {key: k2, value: '', effect: NoExecute}]")));
  EXPECT_TRUE(warnings.now().empty());
}

TEST_F(ClusterApiTemplateTest, DevicesOfADriver) {
  const auto node = Make(enough + ", " + Key("dra-driver") + ": gpu.example.com, " + Key("gpu-count") + ": '2'");
  ASSERT_TRUE(node);
  EXPECT_TRUE(base::Equal(*base::Find(*node, {"resourceSlices"}),
                          Yaml("[{driver: gpu.example.com, devices: [{name: gpu-0, attributes: {type: {string: gpu}}}, "
                               "{name: gpu-1, attributes: {type: {string: gpu}}}]}]")));
  EXPECT_EQ(base::Find(*Make(enough + ", " + Key("gpu-count") + ": '2'"), {"resourceSlices"}), nullptr);
  EXPECT_EQ(base::Find(*Make(enough + ", " + Key("dra-driver") + ": gpu.example.com"), {"resourceSlices"}), nullptr);
  EXPECT_TRUE(warnings.now().empty());
  EXPECT_EQ(base::Find(*Make(enough + ", " + Key("dra-driver") + ": d, " + Key("gpu-count") + ": '999'"), {"resourceSlices"}),
            nullptr);
  EXPECT_FALSE(warnings.now().empty());
}

TEST_F(ClusterApiTemplateTest, AnnotationsGoBeforeTheInfrastructure) {
  infrastructure = Yaml(R"({status: {capacity: {cpu: "8", memory: 16Gi, example.com/device: "1", pods: "5"},
                                     nodeInfo: {architecture: arm64, operatingSystem: windows}}})");
  const auto node = Make(Key("cpu") + ": '4'");
  ASSERT_TRUE(node);
  EXPECT_TRUE(base::Equal(*base::Find(*node, {"status", "capacity"}),
                          Yaml("{cpu: '4', memory: 16Gi, pods: '110', example.com/device: '1'}")));
  EXPECT_EQ(base::FindString(*node, {"metadata", "labels", "kubernetes.io/arch"}), "arm64");
  EXPECT_EQ(base::FindString(*node, {"metadata", "labels", "kubernetes.io/os"}), "windows");
}

TEST_F(ClusterApiTemplateTest, LabelsAndTaintsOfTheMachinesAndOfANode) {
  sample = Yaml("{metadata: {labels: {topology.kubernetes.io/zone: z, other: o}}}");
  const auto node = Make(enough + ", " + Key("taints") + ": 'a=2:NoSchedule'", R"({template: {
      metadata: {labels: {node-role.kubernetes.io/worker: "", x.node-restriction.kubernetes.io/y: "1",
                          node.cluster.x-k8s.io/z: "2", private: "3"}},
      spec: {taints: [{key: a, value: "1", effect: NoSchedule}, {key: b, effect: NoExecute}]}}})");
  ASSERT_TRUE(node);
  const auto& labels = base::FindObject(*node, {"metadata", "labels"});
  for (const char* key : {"node-role.kubernetes.io/worker", "x.node-restriction.kubernetes.io/y", "node.cluster.x-k8s.io/z",
                          "topology.kubernetes.io/zone"}) {
    EXPECT_TRUE(labels.contains(key)) << key;
  }
  EXPECT_FALSE(labels.contains("private"));
  EXPECT_FALSE(labels.contains("other"));
  EXPECT_TRUE(base::Equal(*base::Find(*node, {"spec", "taints"}),
                          Yaml("[{key: a, value: '2', effect: NoSchedule}, {key: b, value: '', effect: NoExecute}]")));
}

TEST_F(ClusterApiTemplateTest, GarbageIsWarnedOfByField) {
  EXPECT_FALSE(Make(Key("cpu") + ": two, " + Key("memory") + ": 4Gi"));
  EXPECT_TRUE(Make(enough + ", " + Key("taints") + ": 'a=b=c:NoSchedule', " + Key("labels") + ": alone"));
  EXPECT_FALSE(Make(enough + ", " + Key("maxPods") + ": '1.5'"));
  const std::string head = "MachineSet ns/a: metadata.annotations.capacity.cluster-autoscaler.kubernetes.io/";
  EXPECT_EQ(warnings.now(), (std::set<std::string>{
                                head + "cpu: \"two\" is not an amount of at least 0, so the group cannot be scaled from zero",
                                head + "labels: \"alone\" is not KEY=VALUE, so it is left out",
                                head + "maxPods: \"1.5\" is not a whole number of at least 0, so the group cannot be scaled "
                                       "from zero",
                                head + "taints: \"a=b=c:NoSchedule\" is not KEY=VALUE:EFFECT, so it is left out"}));
}

}  // namespace
}  // namespace evenkeel::providers::cluster_api_objects_test
