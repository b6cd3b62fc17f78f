#include "providers/cluster_api.h"

#include <gtest/gtest.h>

#include "base/executor.h"
#include "base/input/yaml.h"
#include "providers/cluster_api_testing.h"

namespace evenkeel::providers::cluster_api_test {
namespace {

using base::Code;
using base::Json;
using testing::ClusterApiResource;
using testing::ManagementClient;

Json Yaml(std::string_view text) { return *base::ParseYamlDocument(text, "test"); }

const kube::Resource kDeployments = ClusterApiResource("MachineDeployment", "machinedeployments");
const kube::Resource kSets = ClusterApiResource("MachineSet", "machinesets");
const kube::Resource kPools = ClusterApiResource("MachinePool", "machinepools");
const kube::Resource kMachines = ClusterApiResource("Machine", "machines");

class ClusterApiTest : public ::testing::Test {
 protected:
  static std::string Bounds(int min, int max) {
    const std::string prefix = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-";
    return prefix + "min-size: '" + std::to_string(min) + "', " + prefix + "max-size: '" + std::to_string(max) + "'";
  }
  /// A deployment, the set it owns, and machines NAME-0 ... with provider ids and nodes of the same names.
  void AddDeployment(const std::string& name, int replicas, int min = 1, int max = 10, const std::string& annotations = "") {
    management.fake.api().Put(
        kDeployments, Yaml("{metadata: {name: " + name + ", namespace: ns, annotations: {" + Bounds(min, max) + annotations +
                           "}}, spec: {clusterName: c, replicas: " + std::to_string(replicas) +
                           ", selector: {matchLabels: {deployment: " + name + "}}}}"));
    management.fake.api().Put(kSets, Yaml("{metadata: {name: " + name +
                                          "-set, namespace: ns, ownerReferences: [{kind: MachineDeployment, name: " + name +
                                          "}]}, spec: {clusterName: c, replicas: " + std::to_string(replicas) + "}}"));
    for (int i = 0; i < replicas; ++i) {
      const std::string machine = name + "-" + std::to_string(i);
      AddMachine(machine, name, name + "-set",
                 "spec: {clusterName: c, providerID: 'metal://rack/" + machine +
                     "'}, status: {nodeRef: {kind: Node, name: " + machine + "}}");
      AddNode(machine, "metal://rack/" + machine);
    }
  }
  void AddMachine(const std::string& name, const std::string& label, const std::string& owner, const std::string& rest) {
    management.fake.api().Put(kMachines, Yaml("{metadata: {name: " + name + ", namespace: ns, labels: {deployment: " + label +
                                              "}, ownerReferences: [{kind: MachineSet, name: " + owner + "}]}, " + rest + "}"));
  }
  void AddNode(const std::string& name, const std::string& id, const std::string& annotations = "") {
    nodes.push_back(
        Yaml("{metadata: {name: " + name + ", annotations: {" + annotations + "}}, spec: {providerID: '" + id + "'}}"));
  }
  NodeGroups Refresh() {
    auto groups = provider->Refresh(nodes);
    EXPECT_TRUE(groups) << (groups ? "" : groups.error().message());
    return groups.value_or(NodeGroups());
  }
  NodeReference ReferenceTo(const std::string& name) const {
    for (const Json& node : nodes) {
      if (kube::NameOf(node) == name) return {name, std::string(base::FindString(node, {"spec", "providerID"})), node};
    }
    return {name, "", {}};
  }
  std::vector<NodeReference> ReferencesTo(const std::vector<std::string>& names) const {
    std::vector<NodeReference> references;
    for (const std::string& name : names) references.push_back(ReferenceTo(name));
    return references;
  }
  int64_t ReplicasOf(const kube::Resource& resource, const std::string& name) {
    return base::FindInt(management.fake.api().objects[resource.plural].at("ns/" + name), {"spec", "replicas"}, -1);
  }
  std::string MarkOf(const std::string& machine) {
    return std::string(base::FindString(management.fake.api().objects["machines"].at("ns/" + machine),
                                        {"metadata", "annotations", "cluster.x-k8s.io/delete-machine"}));
  }
  void Make(const std::vector<std::string>& discovery = {}) {
    auto options = ClusterApiOptions::From([](const char*) { return std::string(); }, discovery);
    provider = NewClusterApiProvider(connection, *options, executor.clock());
  }
  void SetUp() override { Make(); }

  std::shared_ptr<ManagementClient> connection = std::make_shared<ManagementClient>();
  ManagementClient& management = *connection;
  base::VirtualExecutor executor{base::Time(std::chrono::hours(24 * 365 * 50))};
  std::vector<Json> nodes;
  std::unique_ptr<Provider> provider;
};

TEST_F(ClusterApiTest, DeploymentsSetsAndPoolsAreGroups) {
  AddDeployment("d", 2);
  management.fake.api().Put(kSets, Yaml("{metadata: {name: s, namespace: ns, annotations: {" + Bounds(0, 3) +
                                        "}}, spec: {replicas: 1, selector: {matchLabels: {deployment: s}}}}"));
  AddMachine("s-0", "s", "s", "spec: {providerID: 'metal:///s-0'}");
  AddNode("node-s", "metal:///s-0");
  management.fake.api().Put(kPools, Yaml("{metadata: {name: p, namespace: ns, annotations: {" + Bounds(0, 4) +
                                         "}}, spec: {replicas: 1, providerIDList: ['pool://x/p-0']}}"));
  AddNode("node-p", "pool://x/p-0");
  AddNode("stranger", "metal://rack/unknown");
  const NodeGroups groups = Refresh();
  ASSERT_EQ(groups.groups.size(), 3u);
  EXPECT_EQ(groups.groups[0].id, "MachineDeployment/ns/d");
  EXPECT_EQ(groups.groups[0].target_size, 2);
  EXPECT_EQ(groups.groups[0].min_size, 1);
  EXPECT_EQ(groups.groups[0].max_size, 10);
  EXPECT_EQ(groups.groups[0].debug, "MachineDeployment/ns/d (min: 1, max: 10, replicas: 2)");
  ASSERT_EQ(groups.groups[0].instances.size(), 2u);
  EXPECT_EQ(groups.groups[0].instances[1].id, "metal://rack/d-1");
  EXPECT_EQ(groups.groups[1].id, "MachinePool/ns/p");
  EXPECT_EQ(groups.groups[1].instances.at(0).id, "pool://x/p-0");
  EXPECT_EQ(groups.groups[2].id, "MachineSet/ns/s");
  EXPECT_EQ(groups.gpu_label, "cluster-api/accelerator");
  const std::map<std::string, std::string, std::less<>> expected = {{"d-0", "MachineDeployment/ns/d"},
                                                                    {"d-1", "MachineDeployment/ns/d"},
                                                                    {"node-s", "MachineSet/ns/s"},
                                                                    {"node-p", "MachinePool/ns/p"}};
  EXPECT_EQ(groups.group_of_node, expected);
}

TEST_F(ClusterApiTest, NodesAreAlsoFoundByReferenceAndByTheirAnnotations) {
  AddDeployment("d", 0, 0, 10,
                ", capacity.cluster-autoscaler.kubernetes.io/cpu: '1', capacity.cluster-autoscaler.kubernetes.io/memory: 1Gi");
  AddMachine("by-reference", "d", "d-set", "spec: {clusterName: c}, status: {nodeRef: {name: n1}}");
  AddMachine("by-annotation", "d", "d-set", "spec: {clusterName: c}");
  AddNode("n1", "");
  AddNode("n2", "other://2", "cluster.x-k8s.io/machine: by-annotation, cluster.x-k8s.io/cluster-namespace: ns");
  const NodeGroups groups = Refresh();
  EXPECT_EQ(groups.group_of_node.size(), 2u);
  EXPECT_EQ(groups.group_of_node.at("n1"), "MachineDeployment/ns/d");
  EXPECT_EQ(groups.group_of_node.at("n2"), "MachineDeployment/ns/d");
}

TEST_F(ClusterApiTest, AGroupWithoutReplicasNeedsCapacity) {
  AddDeployment("bare", 0, 0);
  AddDeployment("known", 0, 0, 5,
                ", capacity.cluster-autoscaler.kubernetes.io/cpu: '4', capacity.cluster-autoscaler.kubernetes.io/memory: 8Gi");
  const NodeGroups groups = Refresh();
  ASSERT_EQ(groups.groups.size(), 1u);
  EXPECT_EQ(groups.groups[0].id, "MachineDeployment/ns/known");
  EXPECT_EQ(base::FindString(*groups.groups[0].template_node, {"status", "capacity", "cpu"}), "4");
}

TEST_F(ClusterApiTest, CapacityOfTheInfrastructureIsReadUntilItIsThere) {
  for (const char* reference :
       {"{apiVersion: infra.io/v1, kind: MetalTemplate, name: t}", "{apiGroup: infra.io, kind: MetalTemplate, name: t}"}) {
    management.fake.api().objects.clear();
    Make();
    AddDeployment("d", 0, 0);
    Json deployment = management.fake.api().objects["machinedeployments"].at("ns/d");
    base::Ensure(deployment, {"spec", "template", "spec", "infrastructureRef"}) = Yaml(reference);
    management.fake.api().Put(kDeployments, deployment);
    EXPECT_TRUE(Refresh().groups.empty());
    kube::Resource templates = ClusterApiResource("MetalTemplate", "metaltemplates");
    Json object = Yaml("{metadata: {name: t, namespace: ns}}");
    management.fake.api().Put(templates, object);
    EXPECT_TRUE(Refresh().groups.empty());
    base::Ensure(object, {"status", "capacity"}) = Yaml("{cpu: '2', memory: 4Gi}");
    management.fake.api().Put(templates, object);
    ASSERT_EQ(Refresh().groups.size(), 1u) << reference;
    const int reads = management.fake.Count("get metaltemplates");
    ASSERT_EQ(Refresh().groups.size(), 1u);
    EXPECT_EQ(management.fake.Count("get metaltemplates"), reads);
  }
}

TEST_F(ClusterApiTest, TheInfrastructureIsReadInAVersionThatHasItsKind) {
  management.groups =
      R"({"groups":[{"name":"cluster.x-k8s.io","preferredVersion":{"version":"v1beta1"}},
                    {"name":"infra.io","preferredVersion":{"version":"v2"},"versions":[{"version":"v2"},{"version":"v1"}]}]})";
  management.resources["/apis/infra.io/v2"] = R"({"resources":[{"name":"racks","kind":"Rack","namespaced":true}]})";
  management.fake.api().Put(ClusterApiResource("MetalTemplate", "metaltemplates"),
                            Yaml("{metadata: {name: t, namespace: ns}, status: {capacity: {cpu: '2', memory: 4Gi}}}"));
  for (const char* reference :
       {"{apiGroup: infra.io, kind: MetalTemplate, name: t}", "{apiVersion: infra.io/v2, kind: MetalTemplate, name: t}",
        "{apiVersion: infra.io/v1alpha1, kind: MetalTemplate, name: t}"}) {
    Make();
    AddDeployment("d", 0, 0);
    Json deployment = management.fake.api().objects["machinedeployments"].at("ns/d");
    base::Ensure(deployment, {"spec", "template", "spec", "infrastructureRef"}) = Yaml(reference);
    management.fake.api().Put(kDeployments, deployment);
    const NodeGroups groups = Refresh();
    ASSERT_EQ(groups.groups.size(), 1u) << reference;
    EXPECT_EQ(base::FindString(*groups.groups[0].template_node, {"status", "capacity", "cpu"}), "2") << reference;
  }
}

TEST_F(ClusterApiTest, WrongObjectsDoNotHoldUpTheOthers) {
  AddDeployment("good", 1);
  AddDeployment("bad", 1, 5, 4);
  management.fake.api().Put(kMachines, Yaml("{metadata: {name: weird, namespace: ns}, spec: {providerID: [1]}}"));
  const NodeGroups groups = Refresh();
  ASSERT_EQ(groups.groups.size(), 1u);
  EXPECT_EQ(groups.groups[0].id, "MachineDeployment/ns/good");
  EXPECT_FALSE(groups.group_of_node.contains("bad-0"));
}

TEST_F(ClusterApiTest, TwoMachinesOfOneProviderIdClaimNoNode) {
  AddDeployment("d", 1);
  AddMachine("twin", "other", "other", "spec: {providerID: 'metal://rack/d-0'}");
  EXPECT_FALSE(Refresh().group_of_node.contains("d-0"));
}

TEST_F(ClusterApiTest, DiscoveryChoosesGroups) {
  AddDeployment("a", 1, 1, 10, "");
  AddDeployment("b", 1, 1, 10, "");
  Json b = management.fake.api().objects["machinedeployments"].at("ns/b");
  base::Ensure(b, {"metadata", "labels", "team"}) = "blue";
  management.fake.api().Put(kDeployments, b);
  Make({"clusterapi:namespace=ns,clusterName=c,team=blue"});
  const NodeGroups groups = Refresh();
  ASSERT_EQ(groups.groups.size(), 1u);
  EXPECT_EQ(groups.groups[0].id, "MachineDeployment/ns/b");
  EXPECT_EQ(groups.group_of_node.size(), 1u);
  Make({"clusterapi:namespace=elsewhere"});
  EXPECT_TRUE(Refresh().groups.empty());
}

TEST_F(ClusterApiTest, AGroupThatAnotherMemberWouldClaimIsSetAside) {
  AddDeployment("ours", 1);
  AddDeployment("shared", 1);
  Json shared = management.fake.api().objects["machinedeployments"].at("ns/shared");
  base::Ensure(shared, {"metadata", "labels", "team"}) = "blue";
  management.fake.api().Put(kDeployments, shared);
  std::vector<ClusterApiRival> rivals = {{"member-2", {*ClusterApiDiscovery::Parse("clusterapi:team=blue")}}};
  ClusterApiOptions options;
  options.rivals = [&] { return rivals; };
  provider = NewClusterApiProvider(connection, options, executor.clock());
  const NodeGroups groups = Refresh();
  ASSERT_EQ(groups.groups.size(), 2U);
  EXPECT_EQ(groups.groups[0].set_aside, "");
  EXPECT_TRUE(groups.groups[1].set_aside.starts_with("member member-2 would claim it, too: ")) << groups.groups[1].set_aside;
  EXPECT_EQ(groups.group_of_node.at("shared-0"), "MachineDeployment/ns/shared") << "so that it is known why it stays";
  rivals.clear();
  EXPECT_EQ(Refresh().groups[1].set_aside, "");
  rivals = {{"member-3", {}}};
  EXPECT_NE(Refresh().groups[0].set_aside, "") << "without a discovery it claims all";
}

TEST_F(ClusterApiTest, SizesAreChangedThroughTheScaleSubresource) {
  AddDeployment("d", 2, 1, 4);
  Refresh();
  ASSERT_TRUE(provider->IncreaseSize("MachineDeployment/ns/d", 2, false));
  EXPECT_EQ(ReplicasOf(kDeployments, "d"), 4);
  EXPECT_EQ(management.patched, std::vector<std::string>{"machinedeployments/scale"});
  const auto above = provider->IncreaseSize("MachineDeployment/ns/d", 1, false);
  ASSERT_FALSE(above);
  EXPECT_EQ(above.error().message(), "Cluster API node group MachineDeployment/ns/d: a size of 5 is not from 1 to 4");
  ASSERT_TRUE(provider->DecreaseTargetSize("MachineDeployment/ns/d", -2));
  EXPECT_EQ(ReplicasOf(kDeployments, "d"), 2);
  const auto existing = provider->DecreaseTargetSize("MachineDeployment/ns/d", -1);
  ASSERT_FALSE(existing);
  EXPECT_EQ(existing.error().message(),
            "Cluster API node group MachineDeployment/ns/d: a decrease of 2 by 1 would delete some of 2 nodes that exist");
}

TEST_F(ClusterApiTest, PendingAndFailedMachinesMayBeDecreased) {
  AddDeployment("d", 1, 0, 4);
  AddMachine("pending", "d", "d-set", "spec: {clusterName: c}");
  AddMachine("failed", "d", "d-set", "spec: {clusterName: c}, status: {phase: Failed, failureMessage: quota}");
  Json deployment = management.fake.api().objects["machinedeployments"].at("ns/d");
  base::Ensure(deployment, {"spec", "replicas"}) = 3;
  management.fake.api().Put(kDeployments, deployment);
  const NodeGroups groups = Refresh();
  ASSERT_EQ(groups.groups[0].instances.size(), 3u);
  EXPECT_EQ(groups.groups[0].instances[0].error->code, "ProvisioningFailed");
  ASSERT_TRUE(provider->DecreaseTargetSize("MachineDeployment/ns/d", -1));
  ASSERT_TRUE(
      provider->DeleteNodes("MachineDeployment/ns/d", std::vector{NodeReference{"", "failed-machine-ns_failed", {}}}, false));
  EXPECT_NE(MarkOf("failed"), "");
  EXPECT_EQ(ReplicasOf(kDeployments, "d"), 1);
}

TEST_F(ClusterApiTest, AConcurrentWriteIsTakenIntoAccount) {
  AddDeployment("d", 2, 1, 10);
  Refresh();
  bool once = true;
  management.before_patch = [&] {
    if (!std::exchange(once, false)) return;
    Json deployment = management.fake.api().objects["machinedeployments"].at("ns/d");
    base::Ensure(deployment, {"spec", "replicas"}) = 5;
    management.fake.api().Put(kDeployments, deployment);
  };
  ASSERT_TRUE(provider->IncreaseSize("MachineDeployment/ns/d", 1, false));
  EXPECT_EQ(ReplicasOf(kDeployments, "d"), 6);
  EXPECT_EQ(management.patched.size(), 2u);
}

TEST_F(ClusterApiTest, DeletionMarksTheMachinesAndLowersTheReplicas) {
  AddDeployment("d", 4, 1, 10);
  Refresh();
  const std::vector<NodeReference> two = {ReferenceTo("d-1"), ReferenceTo("d-3")};
  ASSERT_TRUE(provider->DeleteNodes("MachineDeployment/ns/d", two, false));
  EXPECT_EQ(MarkOf("d-0"), "");
  EXPECT_EQ(MarkOf("d-1"), base::FormatTime(executor.clock().Now()));
  EXPECT_EQ(MarkOf("d-3"), base::FormatTime(executor.clock().Now()));
  EXPECT_EQ(ReplicasOf(kDeployments, "d"), 2);
  EXPECT_EQ(management.patched, (std::vector<std::string>{"machines", "machines", "machinedeployments/scale"}));
}

TEST_F(ClusterApiTest, AMachineOnItsWayOutIsNotCountedTwice) {
  AddDeployment("d", 4, 1, 10);
  Refresh();
  const std::vector<NodeReference> one = {ReferenceTo("d-1")};
  ASSERT_TRUE(provider->DeleteNodes("MachineDeployment/ns/d", one, false));
  ASSERT_TRUE(provider->DeleteNodes("MachineDeployment/ns/d", one, false));
  EXPECT_EQ(ReplicasOf(kDeployments, "d"), 3);
  Json machine = management.fake.api().objects["machines"].at("ns/d-1");
  base::Ensure(machine, {"metadata", "deletionTimestamp"}) = "2024-01-01T00:00:00Z";
  management.fake.api().Put(kMachines, machine);
  ASSERT_TRUE(provider->DeleteNodes("MachineDeployment/ns/d", one, false));
  EXPECT_EQ(ReplicasOf(kDeployments, "d"), 3);
}

TEST_F(ClusterApiTest, AMarkWithoutLoweredReplicasIsFinished) {
  AddDeployment("d", 4, 1, 10);
  Refresh();
  Json machine = management.fake.api().objects["machines"].at("ns/d-1");
  base::Ensure(machine, {"metadata", "annotations", "cluster.x-k8s.io/delete-machine"}) = "before";
  management.fake.api().Put(kMachines, machine);
  ASSERT_TRUE(provider->DeleteNodes("MachineDeployment/ns/d", std::vector{ReferenceTo("d-1")}, false));
  EXPECT_EQ(ReplicasOf(kDeployments, "d"), 3);
}

TEST_F(ClusterApiTest, AMarkIsTakenBackWhenTheReplicasCannotBeLowered) {
  AddDeployment("d", 2, 1, 10);
  Refresh();
  management.fake.before_write = [&](std::string_view verb, const Json& patch) {
    if (verb == "patch" && base::Find(patch, {"metadata", "annotations"}) != nullptr && management.patched.size() == 1) {
      management.fake.FailNext("patch", base::Error(Code::kForbidden, "no"));
    }
  };
  const auto refused = provider->DeleteNodes("MachineDeployment/ns/d", std::vector{ReferenceTo("d-1")}, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kForbidden);
  EXPECT_EQ(MarkOf("d-1"), "");
  EXPECT_EQ(ReplicasOf(kDeployments, "d"), 2);
}

TEST_F(ClusterApiTest, DeletionStaysWithinTheGroupAndItsBounds) {
  AddDeployment("d", 2, 2, 10);
  AddDeployment("e", 2, 0, 10);
  Refresh();
  const auto below = provider->DeleteNodes("MachineDeployment/ns/d", std::vector{ReferenceTo("d-1")}, false);
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().message(),
            "Cluster API node group MachineDeployment/ns/d: deleting 1 of 2 machines would leave less than the least, 2");
  const auto other = provider->DeleteNodes("MachineDeployment/ns/e", std::vector{ReferenceTo("d-1")}, false);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message(),
            "Cluster API node group MachineDeployment/ns/e: node d-1 is not of the group but of MachineDeployment/ns/d");
  const auto unknown = provider->DeleteNodes("MachineDeployment/ns/e", std::vector{NodeReference{"x", "y", {}}}, false);
  EXPECT_EQ(unknown.error().code(), Code::kNotFound);
  EXPECT_TRUE(management.patched.empty());
  EXPECT_EQ(provider->DeleteNodes("MachineDeployment/ns/e", {}, true).error().code(), Code::kMethodNotAllowed);
  EXPECT_EQ(provider->IncreaseSize("MachineDeployment/ns/e", 1, true).error().code(), Code::kMethodNotAllowed);
  EXPECT_EQ(provider->IncreaseSize("MachineDeployment/ns/x", 1, false).error().code(), Code::kNotFound);
}

TEST_F(ClusterApiTest, AnIdCountsWhole) {
  for (const char* pool : {"east", "west"}) {
    const std::string id = "azure:///scaleSets/" + std::string(pool) + "/0";
    management.fake.api().Put(kPools, Yaml("{metadata: {name: " + std::string(pool) + ", namespace: ns, annotations: {" +
                                           Bounds(0, 4) + "}}, spec: {replicas: 1, providerIDList: ['" + id + "']}}"));
    management.fake.api().Put(kMachines, Yaml("{metadata: {name: " + std::string(pool) +
                                              "-0, namespace: ns, ownerReferences: [{kind: MachinePool, name: " + pool +
                                              "}]}, spec: {providerID: '" + id + "'}, status: {phase: Running}}"));
    AddNode(std::string(pool) + "-0", id);
  }
  const NodeGroups groups = Refresh();
  EXPECT_EQ(groups.group_of_node.at("east-0"), "MachinePool/ns/east");
  EXPECT_EQ(groups.group_of_node.at("west-0"), "MachinePool/ns/west");
  ASSERT_TRUE(provider->DeleteNodes("MachinePool/ns/west", std::vector{ReferenceTo("west-0")}, false));
  EXPECT_EQ(ReplicasOf(kPools, "west"), 0);
  EXPECT_EQ(ReplicasOf(kPools, "east"), 1);
  EXPECT_NE(MarkOf("west-0"), "");
  EXPECT_EQ(MarkOf("east-0"), "");
}

TEST_F(ClusterApiTest, AnInstanceThatTwoPoolsListSetsBothAside) {
  for (const char* pool : {"east", "north", "west"}) {
    management.fake.api().Put(kPools,
                              Yaml("{metadata: {name: " + std::string(pool) + ", namespace: ns, annotations: {" + Bounds(0, 4) +
                                   "}}, spec: {replicas: 1, providerIDList: ['x://" + (pool[0] == 'n' ? "1" : "0") + "']}}"));
  }
  const NodeGroups groups = Refresh();
  ASSERT_EQ(groups.groups.size(), 3U);
  EXPECT_EQ(groups.groups[0].set_aside, "spec.providerIDList: x://0 is also listed in MachinePool/ns/west");
  EXPECT_EQ(groups.groups[1].set_aside, "");
  EXPECT_EQ(groups.groups[2].set_aside, "spec.providerIDList: x://0 is also listed in MachinePool/ns/east");
}

TEST_F(ClusterApiTest, AMachinePoolWithoutMachinesShrinksByItsReplicas) {
  management.fake.api().Put(kPools, Yaml("{metadata: {name: p, namespace: ns, annotations: {" + Bounds(1, 4) +
                                         "}}, spec: {replicas: 3, providerIDList: ['x://0', 'x://1', 'x://2']}}"));
  for (int i = 0; i < 3; ++i) AddNode("p-" + std::to_string(i), "x://" + std::to_string(i));
  Refresh();
  const auto below = provider->DeleteNodes("MachinePool/ns/p", ReferencesTo({"p-0", "p-1", "p-2"}), false);
  ASSERT_FALSE(below);
  EXPECT_EQ(ReplicasOf(kPools, "p"), 3);
  ASSERT_TRUE(provider->DeleteNodes("MachinePool/ns/p", ReferencesTo({"p-0", "p-2"}), false));
  EXPECT_EQ(ReplicasOf(kPools, "p"), 1);
  EXPECT_EQ(management.patched, std::vector<std::string>{"machinepools/scale"});
}

TEST_F(ClusterApiTest, ADeploymentThatIsRollingOutGivesNoNodes) {
  AddDeployment("d", 2, 0, 5);
  const auto set = [&](const char* name, const char* revision, int replicas) {
    management.fake.api().Put(kSets, Yaml("{metadata: {name: " + std::string(name) + ", namespace: ns, annotations: {" +
                                          "machinedeployment.clusters.x-k8s.io/revision: '" + revision +
                                          "'}, ownerReferences: [{kind: MachineDeployment, name: d}]}, spec: {replicas: " +
                                          std::to_string(replicas) + "}}"));
  };
  set("d-set", "9", 1);
  set("d-next", "10", 1);
  EXPECT_NE(Refresh().groups.at(0).keeps_nodes, "");
  const auto refused = provider->DeleteNodes("MachineDeployment/ns/d", std::vector{ReferenceTo("d-0")}, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "Cluster API node group MachineDeployment/ns/d: it is rolling out: a MachineSet of an older revision still has "
            "machines");
  EXPECT_EQ(ReplicasOf(kDeployments, "d"), 2);
  EXPECT_EQ(MarkOf("d-0"), "");
  set("d-set", "9", 0);
  EXPECT_EQ(Refresh().groups.at(0).keeps_nodes, "");
  ASSERT_TRUE(provider->DeleteNodes("MachineDeployment/ns/d", std::vector{ReferenceTo("d-0")}, false));
  EXPECT_EQ(ReplicasOf(kDeployments, "d"), 1);
}

TEST_F(ClusterApiTest, KindsThatAreNotServedAreNotMissed) {
  management.resources["/apis/cluster.x-k8s.io/v1beta1"] =
      R"({"resources":[{"name":"machinesets","kind":"MachineSet"},{"name":"machines","kind":"Machine"}]})";
  AddDeployment("d", 1);
  EXPECT_TRUE(Refresh().groups.empty());
}

TEST_F(ClusterApiTest, AGroupThatIsNotServedIsNamedAndAskedForAgain) {
  const std::string served = std::exchange(management.groups, "{}");
  const auto missing = provider->Refresh({});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message(), "API group cluster.x-k8s.io is not served by management");
  management.groups = served;
  EXPECT_TRUE(provider->Refresh({}));
  const size_t asked = management.raw.size();
  EXPECT_TRUE(provider->Refresh({}));
  EXPECT_EQ(management.raw.size(), asked);
}

TEST_F(ClusterApiTest, TheVersionOfTheEnvironmentGoesBeforeDiscovery) {
  management.resources["/apis/cluster.x-k8s.io/v9"] = management.resources["/apis/cluster.x-k8s.io/v1beta1"];
  ClusterApiOptions options;
  options.version = "v9";
  provider = NewClusterApiProvider(connection, options, executor.clock());
  Refresh();
  EXPECT_EQ(management.raw, std::vector<std::string>{"/apis/cluster.x-k8s.io/v9"});
}

}  // namespace
}  // namespace evenkeel::providers::cluster_api_test
