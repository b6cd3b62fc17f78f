#include "embedded/cloud/cloud.h"

#include <gtest/gtest.h>

#include "embedded/apiserver/api/api.h"
#include "embedded/cloud/cloud_nodes.h"
#include "embedded/cloud/cloud_provider.h"
#include "embedded/cloud/node_group_definition.h"
#include "embedded/nodeagent/simulated_runtime.h"
#include "embedded/store/memory_store.h"
#include "kube/object.h"

namespace evenkeel::embedded::cloud::cloud_test {
namespace {

using namespace std::chrono_literals;
using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;
using providers::NodeReference;
namespace resources = kube::resources;

// An API, an agent with one node of its own, and the cloud, in virtual time.
class CloudTest : public ::testing::Test {
 protected:
  CloudTest()
      : executor_(base::Time{std::chrono::seconds(1'700'000'000)}),
        store_(store::NewMemoryStore()),
        api_({.name = "test", .store = store_.get(), .clock = &executor_.clock(), .random = base::Random(1)}) {
    EXPECT_TRUE(api_.Start());
    client_ = apiserver::NewInProcessClient(api_, {.name = "admin", .groups = {"system:masters"}});
    const auto installed = InstallDefinition(*client_);
    EXPECT_TRUE(installed) << installed.error().message();
    logs_ = std::make_unique<nodeagent::PodLogs>(executor_.NewStrand("logs"));
    runtime_ = nodeagent::NewSimulatedRuntime(executor_.clock(), base::Random(7));
    StartCloud();
  }
  ~CloudTest() override { StopCloud(); }

  void StartCloud() {
    strand_ = executor_.NewStrand("agent");
    nodeagent::NodeAgentOptions options;
    options.client = client_.get();
    options.strand = strand_;
    options.clock = &executor_.clock();
    options.random = base::Random(3);
    options.simulated = runtime_.get();
    options.logs = logs_.get();
    options.reregister = true;
    nodeagent::NodeConfig own;
    own.name = "own-1";
    options.nodes.push_back(own);
    agent_ = std::make_unique<nodeagent::NodeAgent>(std::move(options));
    ASSERT_TRUE(agent_->Start());
    CloudOptions cloud;
    cloud.client = client_.get();
    cloud.strand = strand_;
    cloud.clock = &executor_.clock();
    cloud.random = base::Random(5);
    cloud.agent = agent_.get();
    cloud_ = std::make_unique<Cloud>(std::move(cloud));
    cloud_->Start();
  }
  // As kill -9 does: whatever was under way is lost.
  void StopCloud() {
    strand_->Close();
    cloud_.reset();
    agent_.reset();
  }
  void Restart() {
    StopCloud();
    StartCloud();
  }

  void Create(const std::string& spec = "{}", const std::string& name = "general") {
    Json group = GeneralNodeGroup();
    base::Ensure(group, {"metadata", "name"}) = name;
    base::ApplyMergePatch(group.at("spec"), *base::ParseJson(spec, "test"));
    const auto created = client_->Create(cloud::NodeGroups(), group);
    ASSERT_TRUE(created) << created.error().message();
  }
  void Merge(const std::string& spec, const std::string& name = "general") {
    const Json patch = base::JsonObject{{"spec", *base::ParseJson(spec, "test")}};
    const auto patched = client_->Patch(cloud::NodeGroups(), "", name, client::PatchType::kMerge, patch);
    ASSERT_TRUE(patched) << patched.error().message();
  }
  Json Group(const std::string& name = "general") {
    auto group = client_->Get(cloud::NodeGroups(), "", name);
    return group ? *group : Json(nullptr);
  }
  std::vector<Json> List(const kube::Resource& kind) { return client::ListAll(*client_, kind).value().items; }
  std::vector<std::string> Nodes() {
    std::vector<std::string> names;
    for (const Json& node : List(resources::Nodes())) names.emplace_back(kube::NameOf(node));
    return names;
  }
  std::vector<std::string> Instances(std::string_view state) {
    std::vector<std::string> names;
    const Json group = Group();
    for (const Json& instance : FindArray(group, {"status", "instances"})) {
      if (FindString(instance, {"state"}) == state) names.emplace_back(FindString(instance, {"node"}));
    }
    return names;
  }
  std::vector<std::string> EventReasons() {
    std::vector<std::string> reasons;
    for (const Json& event : List(resources::Events())) reasons.emplace_back(FindString(event, {"reason"}));
    std::ranges::sort(reasons);
    return reasons;
  }
  static NodeReference Reference(const std::string& node) { return {node, "embedded://general/" + node, Json(nullptr)}; }

  base::VirtualExecutor executor_;
  std::unique_ptr<store::Store> store_;
  apiserver::Api api_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<nodeagent::PodLogs> logs_;
  std::unique_ptr<nodeagent::ContainerRuntime> runtime_;
  std::shared_ptr<base::Strand> strand_;
  std::unique_ptr<nodeagent::NodeAgent> agent_;
  std::unique_ptr<Cloud> cloud_;
};

using Names = std::vector<std::string>;

TEST_F(CloudTest, NodesComeAsTheTemplateSays) {
  Create(R"({"targetSize":2,"template":{"spec":{"taints":[{"key":"spot","value":"yes","effect":"NoSchedule"}]}}})");
  executor_.RunFor(3s);
  EXPECT_EQ(Nodes(), (Names{"own-1"})) << "they take their time";
  EXPECT_EQ(Instances("Creating"), (Names{"general-1", "general-2"}));
  executor_.RunFor(10s);
  EXPECT_EQ(Nodes(), (Names{"general-1", "general-2", "own-1"}));
  EXPECT_EQ(Instances("Running"), (Names{"general-1", "general-2"}));
  EXPECT_EQ(FindInt(Group(), {"status", "readyNodes"}), 2);
  const Json node = *client_->Get(resources::Nodes(), "", "general-1");
  EXPECT_EQ(FindString(node, {"spec", "providerID"}), "embedded://general/general-1");
  EXPECT_EQ(FindString(node, {"metadata", "labels", "evenkeel.dev/node-group"}), "general");
  EXPECT_EQ(FindString(node, {"metadata", "labels", "node.kubernetes.io/instance-type"}), "general-4");
  EXPECT_EQ(FindString(node, {"metadata", "labels", "kubernetes.io/hostname"}), "general-1");
  EXPECT_EQ(FindString(node, {"status", "allocatable", "memory"}), "16Gi");
  EXPECT_EQ(FindString(FindArray(node, {"spec", "taints"})[0], {"key"}), "spot");
  const Json other = *client_->Get(resources::Nodes(), "", "general-2");
  EXPECT_NE(FindString(node, {"spec", "podCIDR"}), FindString(other, {"spec", "podCIDR"}));
}

TEST_F(CloudTest, AGroupAtRestIsNotWritten) {
  Create(R"({"targetSize":2})");
  executor_.RunFor(30s);
  const std::string before(kube::ResourceVersionOf(Group()));
  executor_.RunFor(20min);
  EXPECT_EQ(kube::ResourceVersionOf(Group()), before);
}

TEST_F(CloudTest, ScalesLikeADeployment) {
  Create();
  const Json scale = *base::ParseJson(
      R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"general"},"spec":{"replicas":3}})", "test");
  const auto scaled =
      client_->Update(cloud::NodeGroups(), scale, {.subresource = "scale", .field_manager = {}, .dry_run = false});
  ASSERT_TRUE(scaled) << scaled.error().message();
  executor_.RunFor(15s);
  EXPECT_EQ(Nodes(), (Names{"general-1", "general-2", "general-3", "own-1"}));
  Merge(R"({"targetSize":1})");
  executor_.RunFor(10s);
  EXPECT_EQ(Nodes(), (Names{"general-1", "own-1"})) << "the newest go";
}

TEST_F(CloudTest, DeletedNodesAreSwitchedOffAndGo) {
  Create(R"({"targetSize":3})");
  executor_.RunFor(15s);
  const auto provider = NewCloudProvider(*client_);
  const NodeReference node = Reference("general-2");
  ASSERT_TRUE(provider->DeleteNodes("general", std::span(&node, 1), false));
  EXPECT_EQ(FindInt(Group(), {"spec", "targetSize"}), 2);
  executor_.RunFor(1s);
  EXPECT_EQ(Instances("Deleting"), (Names{"general-2"}));
  EXPECT_EQ(Nodes().size(), 4U) << "its time has not come";
  executor_.RunFor(5s);
  EXPECT_EQ(Nodes(), (Names{"general-1", "general-3", "own-1"}));
  EXPECT_TRUE(FindArray(Group(), {"spec", "deleting"}).empty());
  EXPECT_EQ(FindInt(Group(), {"status", "readyNodes"}), 2);
  executor_.RunFor(10min);
  EXPECT_EQ(Nodes(), (Names{"general-1", "general-3", "own-1"})) << "nobody registers it again";
}

TEST_F(CloudTest, NodesHaveTheDevicesOfTheTemplate) {
  const kube::Resource& kind = *kube::FindBuiltIn("resource.k8s.io", "v1", "resourceslices");
  const auto published = [&] {
    std::string text;
    for (const Json& slice : List(kind)) {
      text += std::string(kube::NameOf(slice)) + ":" + std::to_string(base::FindInt(slice, {"spec", "pool", "generation"})) +
              ":" + std::to_string(FindArray(slice, {"spec", "devices"}).size()) + " ";
    }
    return text;
  };
  Create(R"({"targetSize":2,"template":{"resourceSlices":[{"driver":"gpu.example.com","devices":[
      {"name":"gpu-0","attributes":{"model":{"string":"a100"}},"capacity":{"memory":{"value":"40Gi"}}}]}]}})");
  executor_.RunFor(15s);
  EXPECT_EQ(published(), "general-1-gpu.example.com:1:1 general-2-gpu.example.com:1:1 ");
  const Json slice = List(kind)[0];
  EXPECT_EQ(FindString(slice, {"spec", "nodeName"}), "general-1");
  EXPECT_EQ(FindString(slice, {"spec", "pool", "name"}), "general-1");
  EXPECT_EQ(base::FindInt(slice, {"spec", "pool", "resourceSliceCount"}), 1);
  EXPECT_EQ(FindString(FindArray(slice, {"spec", "devices"})[0], {"attributes", "model", "string"}), "a100");
  Restart();
  executor_.RunFor(15s);
  EXPECT_EQ(published(), "general-1-gpu.example.com:1:1 general-2-gpu.example.com:1:1 ");
  Merge(R"({"template":{"resourceSlices":[{"driver":"gpu.example.com","devices":[{"name":"gpu-0"},{"name":"gpu-1"}]}]}})");
  executor_.RunFor(15s);
  EXPECT_EQ(published(), "general-1-gpu.example.com:2:2 general-2-gpu.example.com:2:2 ");
}

TEST_F(CloudTest, ARestartBringsTheNodesBack) {
  Create(R"({"targetSize":2})");
  executor_.RunFor(15s);
  const std::string range(FindString(*client_->Get(resources::Nodes(), "", "general-1"), {"spec", "podCIDR"}));
  Merge(R"({"template":{"metadata":{"labels":{"new":"yes"}}}})");
  Restart();
  executor_.RunFor(60s);
  const Json node = *client_->Get(resources::Nodes(), "", "general-1");
  EXPECT_EQ(FindString(node, {"spec", "podCIDR"}), range);
  EXPECT_EQ(FindString(node, {"metadata", "labels", "new"}), "") << "a new template is for new nodes";
  const Json lease = *client_->Get(resources::Leases(), "kube-node-lease", "general-1");
  const auto renewed = base::ParseTime(FindString(lease, {"spec", "renewTime"}));
  EXPECT_LT(executor_.clock().Now() - *renewed, 11s) << "somebody keeps it alive";
  Merge(R"({"targetSize":3})");
  executor_.RunFor(15s);
  EXPECT_EQ(Nodes(), (Names{"general-1", "general-2", "general-3", "own-1"}));
}

TEST_F(CloudTest, KilledAtAnyMomentItLeavesNothingBehind) {
  Create(R"({"targetSize":4})");
  const auto provider = NewCloudProvider(*client_);
  for (int step = 0; step < 60; ++step) {
    executor_.RunFor(std::chrono::milliseconds(137 * (step % 7 + 1)));
    Restart();
    if (step == 20) Merge(R"({"targetSize":2})");
    if (step == 40) {
      const NodeReference node = Reference(Instances("Running").at(0));
      ASSERT_TRUE(provider->DeleteNodes("general", std::span(&node, 1), false));
    }
  }
  executor_.RunFor(30s);
  const Names running = Instances("Running");
  EXPECT_EQ(running.size(), 1U);
  EXPECT_EQ(Nodes(), (Names{running.at(0), "own-1"}));
}

TEST_F(CloudTest, ADeletedGroupTakesItsNodesAlong) {
  Create(R"({"targetSize":2})");
  executor_.RunFor(15s);
  ASSERT_TRUE(client_->Delete(cloud::NodeGroups(), "", "general"));
  executor_.RunFor(1s);
  EXPECT_FALSE(Group().is_null()) << "it waits for its nodes";
  executor_.RunFor(10s);
  EXPECT_TRUE(Group().is_null());
  EXPECT_EQ(Nodes(), (Names{"own-1"}));
}

TEST_F(CloudTest, NodesOfAGroupThatWasRemovedByForceGo) {
  Create(R"({"targetSize":2})");
  executor_.RunFor(15s);
  StopCloud();
  ASSERT_TRUE(client_->Patch(cloud::NodeGroups(), "", "general", client::PatchType::kMerge,
                             *base::ParseJson(R"({"metadata":{"finalizers":null}})", "test")));
  ASSERT_TRUE(client_->Delete(cloud::NodeGroups(), "", "general"));
  StartCloud();
  executor_.RunFor(10s);
  EXPECT_EQ(Nodes(), (Names{"own-1"}));
}

TEST_F(CloudTest, OutOfStockInstancesStayCreating) {
  Create(R"({"targetSize":3,"cloud":{"quota":1}})");
  executor_.RunFor(15s);
  EXPECT_EQ(Nodes(), (Names{"general-1", "own-1"}));
  const Json group = Group();
  const Json& failed = FindArray(group, {"status", "instances"})[2];
  EXPECT_EQ(FindString(failed, {"state"}), "Creating");
  EXPECT_EQ(FindString(failed, {"errorClass"}), "OutOfResources");
  const Names reasons = EventReasons();
  EXPECT_TRUE(std::ranges::count(reasons, "QuotaExceeded") > 0);
  const auto provider = NewCloudProvider(*client_);
  const auto groups = provider->Refresh({});
  ASSERT_TRUE(groups) << groups.error().message();
  const providers::Instance& instance = groups->Find("general")->instances.at(2);
  EXPECT_EQ(instance.state, providers::Instance::State::kCreating);
  ASSERT_TRUE(instance.error.has_value());
  EXPECT_EQ(instance.error->error_class, providers::Instance::ErrorClass::kOutOfResources);
  const NodeReference gone{"", instance.id, Json(nullptr)};
  ASSERT_TRUE(provider->DeleteNodes("general", std::span(&gone, 1), true));
  executor_.RunFor(2s);
  EXPECT_EQ(FindArray(Group(), {"status", "instances"}).size(), 2U);
}

TEST_F(CloudTest, InstancesThatNeverRegisterRunWithoutANode) {
  Create(R"({"targetSize":2,"cloud":{"neverRegister":true}})");
  executor_.RunFor(30s);
  EXPECT_EQ(Instances("Running").size(), 2U);
  EXPECT_EQ(Nodes(), (Names{"own-1"}));
  Merge(R"({"targetSize":0})");
  executor_.RunFor(10s);
  EXPECT_TRUE(FindArray(Group(), {"status", "instances"}).empty());
}

TEST_F(CloudTest, AGroupMayNotAnswerAndNotBeReadable) {
  Create(R"({"targetSize":0,"cloud":{"silent":true}})");
  const auto provider = NewCloudProvider(*client_);
  ASSERT_TRUE(provider->Refresh({}));
  EXPECT_EQ(provider->IncreaseSize("general", 1, false).error().code(), base::Code::kTimeout);
  EXPECT_EQ(provider->Refresh({})->Find("general")->target_size, 1) << "it was carried out";
  EXPECT_EQ(provider->Refresh({})->Find("general")->set_aside, "");
  Merge(R"({"cloud":{"silent":false,"unreadable":true}})");
  ASSERT_TRUE(provider->IncreaseSize("general", 1, false));
  EXPECT_NE(provider->Refresh({})->Find("general")->set_aside, "");
}

TEST_F(CloudTest, InstancesThatRunMayShowAFailure) {
  Create(R"({"targetSize":1,"cloud":{"showFailures":true}})");
  executor_.RunFor(15s);
  Merge(R"({"targetSize":2})");
  executor_.RunFor(1s);
  const auto groups = NewCloudProvider(*client_)->Refresh({});
  const auto& instances = groups->Find("general")->instances;
  ASSERT_EQ(instances.size(), 2U);
  EXPECT_EQ(instances[0].state, providers::Instance::State::kRunning);
  EXPECT_TRUE(instances[0].error.has_value());
  EXPECT_EQ(instances[1].state, providers::Instance::State::kCreating);
  EXPECT_FALSE(instances[1].error.has_value());
  EXPECT_EQ(Nodes(), (Names{"general-1", "own-1"}));
}

TEST_F(CloudTest, ABadGroupIsToldSoAndTheOthersGoOn) {
  Create(R"({"targetSize":1,"cloud":{"provisionDelay":"soon"}})", "bad");
  Create(R"({"targetSize":1})");
  executor_.RunFor(15s);
  EXPECT_EQ(Nodes(), (Names{"general-1", "own-1"}));
  Json bad = Group("bad");
  const Json* valid = kube::FindCondition(bad, "Valid");
  ASSERT_NE(valid, nullptr);
  EXPECT_EQ(FindString(*valid, {"message"}), "NodeGroup bad: spec.cloud.provisionDelay: not a duration from 0s to 24h");
  const Names reasons = EventReasons();
  EXPECT_EQ(std::ranges::count(reasons, "InvalidNodeGroup"), 1);
  Merge(R"({"cloud":{"provisionDelay":"1s"}})", "bad");
  executor_.RunFor(5s);
  bad = Group("bad");
  EXPECT_EQ(FindString(*kube::FindCondition(bad, "Valid"), {"status"}), "True");
  EXPECT_EQ(Nodes(), (Names{"bad-1", "general-1", "own-1"}));
}

TEST_F(CloudTest, ANameThatIsTakenBecomesNoNode) {
  Create(R"({"targetSize":2})", "own");
  executor_.RunFor(15s);
  EXPECT_EQ(Nodes(), (Names{"own-1", "own-2"}));
  Merge(R"({"targetSize":0})", "own");
  executor_.RunFor(10s);
  EXPECT_EQ(Nodes(), (Names{"own-1"})) << "the one that is not the cloud's stays";
}

TEST_F(CloudTest, TheProviderKeepsToTheLimits) {
  Create(R"({"minSize":1,"maxSize":4,"targetSize":2,"cloud":{"quota":3}})");
  executor_.RunFor(15s);
  const auto provider = NewCloudProvider(*client_);
  EXPECT_EQ(provider->IncreaseSize("general", 3, false).error().message(),
            "NodeGroup general: size increase too large - desired:5 max:4");
  EXPECT_EQ(provider->IncreaseSize("general", 2, true).error().message(),
            "NodeGroup general: the cloud has no room for 4 instances: its quota is 3");
  EXPECT_EQ(FindInt(Group(), {"spec", "targetSize"}), 2) << "all or nothing";
  ASSERT_TRUE(provider->IncreaseSize("general", 1, true));
  EXPECT_FALSE(provider->DecreaseTargetSize("general", -2)) << "two exist";
  ASSERT_TRUE(provider->DecreaseTargetSize("general", -1));
  EXPECT_EQ(FindInt(Group(), {"spec", "targetSize"}), 2);
  const NodeReference stranger{"else", "embedded://general/else", Json(nullptr)};
  EXPECT_EQ(provider->DeleteNodes("general", std::span(&stranger, 1), false).error().message(),
            "NodeGroup general: node else does not belong to it");
  const std::vector<NodeReference> both{Reference("general-1"), Reference("general-2")};
  EXPECT_EQ(provider->DeleteNodes("general", both, false).error().message(),
            "NodeGroup general: min size reached, nodes will not be deleted");
  EXPECT_EQ(provider->IncreaseSize("absent", 1, false).error().code(), base::Code::kNotFound);
}

TEST_F(CloudTest, DeletingTwiceLowersTheTargetOnce) {
  Create(R"({"targetSize":3})");
  executor_.RunFor(15s);
  const auto provider = NewCloudProvider(*client_);
  const NodeReference node = Reference("general-1");
  ASSERT_TRUE(provider->DeleteNodes("general", std::span(&node, 1), false));
  ASSERT_TRUE(provider->DeleteNodes("general", std::span(&node, 1), false));
  executor_.RunFor(1s);
  ASSERT_TRUE(provider->DeleteNodes("general", std::span(&node, 1), false));
  EXPECT_EQ(FindInt(Group(), {"spec", "targetSize"}), 2);
}

TEST_F(CloudTest, TheProviderTellsNodesApartAndLeavesBadGroupsOut) {
  Create(R"({"targetSize":1})");
  Create(R"({"targetSize":0,"selector":{"matchLabels":{"evenkeel.dev/node-group":"general"}}})", "thief");
  executor_.RunFor(15s);
  const auto nodes = List(resources::Nodes());
  const auto groups = NewCloudProvider(*client_)->Refresh(nodes);
  ASSERT_TRUE(groups) << groups.error().message();
  ASSERT_EQ(groups->groups.size(), 1U);
  EXPECT_EQ(groups->group_of_node, (std::map<std::string, std::string, std::less<>>{{"general-1", "general"}}));
  const providers::NodeGroup& general = groups->groups[0];
  EXPECT_EQ(general.target_size, 1);
  EXPECT_EQ(general.price_per_hour, 0.192);
  EXPECT_EQ(FindString(*general.template_node, {"metadata", "labels", "kubernetes.io/os"}), "linux");
  EXPECT_EQ(FindString(*general.template_node, {"metadata", "labels", "evenkeel.dev/node-group"}), "general");
}

TEST(CloudAddressTest, NodesOfAllClustersHaveTheirOwn) {
  std::set<std::string> ranges, loopback;
  for (int cluster = 0; cluster < 16; ++cluster) {
    for (int slot = 0; slot < kSlots; ++slot) ranges.insert(PodRange(cluster, slot));
  }
  EXPECT_EQ(ranges.size(), 16U * kSlots);
  EXPECT_TRUE(ranges.contains("100.64.0.0/24") && ranges.contains("100.127.255.0/24"));
  for (int cluster = 0; cluster < 6; ++cluster) {
    for (int slot = 0; slot < 40; ++slot) loopback.insert(LoopbackRange(cluster, 20, slot));
  }
  EXPECT_EQ(loopback.size(), 240U);
  EXPECT_TRUE(loopback.contains("127.20.241.0/28") && loopback.contains("127.20.255.240/28"));
}

}  // namespace
}  // namespace evenkeel::embedded::cloud::cloud_test
