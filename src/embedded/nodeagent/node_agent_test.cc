#include "embedded/nodeagent/node_agent.h"

#include <gtest/gtest.h>

#include "embedded/apiserver/api/api.h"
#include "embedded/nodeagent/simulated_runtime.h"
#include "embedded/store/memory_store.h"

namespace evenkeel::embedded::nodeagent::node_agent_test {
namespace {

using namespace std::chrono_literals;
using base::FindInt;
using base::FindString;
using base::Json;
namespace resources = kube::resources;

// An API, an agent with a simulated runtime, and a clock that only moves when told to.
class NodeAgentTest : public ::testing::Test {
 protected:
  NodeAgentTest()
      : executor_(base::Time{std::chrono::sys_days{std::chrono::year{2025} / 1 / 1}}),
        store_(store::NewMemoryStore()),
        api_({.name = "test", .store = store_.get(), .clock = &executor_.clock(), .random = base::Random(1)}) {
    EXPECT_TRUE(api_.Start());
    client_ = apiserver::NewInProcessClient(api_, {.name = "system:admin", .groups = {"system:masters"}});
    strand_ = executor_.NewStrand("agent");
    logs_ = std::make_unique<PodLogs>(executor_.NewStrand("logs"));
    runtime_ = NewSimulatedRuntime(executor_.clock(), base::Random(7));
  }
  ~NodeAgentTest() override { agent_.reset(); }

  void StartAgent(int nodes = 1, bool events = true) {
    NodeAgentOptions options;
    options.client = client_.get();
    options.strand = strand_;
    options.clock = &executor_.clock();
    options.random = base::Random(3);
    options.simulated = runtime_.get();
    options.logs = logs_.get();
    options.events = events;
    for (int i = 0; i < nodes; ++i) {
      NodeConfig node;
      node.name = fmt::format("node-{}", i);
      node.pod_cidr = fmt::format("10.244.{}.0/24", i);
      node.zone = "z1";
      options.nodes.push_back(node);
    }
    agent_ = std::make_unique<NodeAgent>(std::move(options));
    const auto started = agent_->Start();
    ASSERT_TRUE(started) << started.error().message();
  }

  void CreatePod(const std::string& name, std::string_view spec = "{}", std::string_view annotations = "{}", int node = 0) {
    Json pod = kube::NewObject(resources::Pods(), "default", name);
    pod.at("metadata").get_object()["annotations"] = *base::ParseJson(annotations, "test");
    Json body = *base::ParseJson(R"({"containers":[{"name":"main","image":"img"}]})", "test");
    base::ApplyMergePatch(body, *base::ParseJson(spec, "test"));
    body.get_object()["nodeName"] = fmt::format("node-{}", node);
    pod.get_object()["spec"] = body;
    const auto created = client_->Create(resources::Pods(), pod);
    ASSERT_TRUE(created) << created.error().message();
  }

  Json Pod(const std::string& name) {
    auto pod = client_->Get(resources::Pods(), "default", name);
    return pod ? *pod : Json(nullptr);
  }
  std::string Phase(const std::string& name) { return std::string(FindString(Pod(name), {"status", "phase"})); }
  std::string Condition(const std::string& name, std::string_view type) {
    const Json pod = Pod(name);
    const Json* condition = kube::FindCondition(pod, type);
    return condition == nullptr ? "" : std::string(FindString(*condition, {"status"}));
  }
  Json Container(const std::string& name, size_t index = 0) {
    const Json pod = Pod(name);
    const auto& list = base::FindArray(pod, {"status", "containerStatuses"});
    return index < list.size() ? list[index] : Json(nullptr);
  }
  std::vector<std::string> EventReasons() {
    std::vector<std::string> reasons;
    const auto events = client::ListAll(*client_, resources::Events());
    if (!events) return reasons;
    for (const Json& event : events->items) reasons.emplace_back(FindString(event, {"reason"}));
    std::ranges::sort(reasons);
    return reasons;
  }

  base::VirtualExecutor executor_;
  std::unique_ptr<store::Store> store_;
  apiserver::Api api_;
  std::unique_ptr<client::Client> client_;
  std::shared_ptr<base::Strand> strand_;
  std::unique_ptr<PodLogs> logs_;
  std::unique_ptr<ContainerRuntime> runtime_;
  std::unique_ptr<NodeAgent> agent_;
};

TEST_F(NodeAgentTest, RegistersNodesAndRenewsTheirLeases) {
  StartAgent(2);
  executor_.RunFor(1s);
  const auto node = client_->Get(resources::Nodes(), "", "node-1");
  ASSERT_TRUE(node) << node.error().message();
  EXPECT_EQ(FindString(*node, {"metadata", "labels", "kubernetes.io/hostname"}), "node-1");
  EXPECT_EQ(FindString(*node, {"metadata", "labels", "topology.kubernetes.io/zone"}), "z1");
  EXPECT_EQ(FindString(*node, {"status", "allocatable", "cpu"}), "4");
  EXPECT_EQ(FindString(*kube::FindCondition(*node, "Ready"), {"status"}), "True");
  const auto first = client_->Get(resources::Leases(), "kube-node-lease", "node-1");
  ASSERT_TRUE(first) << first.error().message();
  executor_.RunFor(11s);
  const auto second = client_->Get(resources::Leases(), "kube-node-lease", "node-1");
  EXPECT_NE(FindString(*first, {"spec", "renewTime"}), FindString(*second, {"spec", "renewTime"}));
  EXPECT_EQ(FindInt(*second, {"spec", "leaseDurationSeconds"}), 40);
  agent_->StopNode("node-1");
  executor_.RunFor(1min);
  const auto third = client_->Get(resources::Leases(), "kube-node-lease", "node-1");
  EXPECT_EQ(FindString(*third, {"spec", "renewTime"}), FindString(*second, {"spec", "renewTime"}));
}

class DeviceNodeTest : public NodeAgentTest {
 protected:
  static const kube::Resource& Kind(const std::string& plural) { return *kube::FindBuiltIn("resource.k8s.io", "v1", plural); }
  static Json Slice(const std::string& name, const std::string& driver, const std::string& devices) {
    return *base::ParseJson(
        R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":")" + name +
            R"("},"spec":{"driver":")" + driver +
            R"(","nodeName":"node-0","pool":{"name":"node-0","generation":1,"resourceSliceCount":1},"devices":)" + devices +
            "}}",
        "test");
  }
  std::vector<Json> Slices() { return client::ListAll(*client_, Kind("resourceslices")).value().items; }
  /// NAME:GENERATION:DEVICES of each.
  std::string Published() {
    std::string text;
    for (const Json& slice : Slices()) {
      text += fmt::format("{}:{}:{} ", kube::NameOf(slice), FindInt(slice, {"spec", "pool", "generation"}),
                          base::FindArray(slice, {"spec", "devices"}).size());
    }
    return text;
  }
  void PatchClaim(const std::string& patch) {
    const auto patched = client_->Patch(Kind("resourceclaims"), "default", "gpu", client::PatchType::kMerge,
                                        *base::ParseJson(patch, "test"), {.subresource = "status", .field_manager = ""});
    ASSERT_TRUE(patched) << patched.error().message();
  }
};

TEST_F(DeviceNodeTest, DevicesArePublishedAndOwnedByTheNode) {
  StartAgent();
  executor_.RunFor(1s);
  EXPECT_EQ(Published(), "");
  const std::vector<Json> one = {Slice("a", "a.org", R"([{"name":"x"}])"), Slice("b", "b.org", R"([{"name":"x"}])")};
  agent_->SetDevices("node-0", one);
  executor_.RunFor(1s);
  EXPECT_EQ(Published(), "a:1:1 b:1:1 ");
  const Json node = *client_->Get(resources::Nodes(), "", "node-0");
  EXPECT_EQ(FindString(base::FindArray(Slices()[0], {"metadata", "ownerReferences"})[0], {"uid"}), kube::UidOf(node));
  agent_->SetDevices("node-0", {Slice("a", "a.org", R"([{"name":"x"},{"name":"y"}])"), one[1]});
  executor_.RunFor(1s);
  EXPECT_EQ(Published(), "a:2:2 b:1:1 ");
  agent_->SetDevices("node-0", {one[1]});
  executor_.RunFor(1s);
  EXPECT_EQ(Published(), "b:1:1 ");
}

TEST_F(DeviceNodeTest, WhatOthersChangeStaysAndWhatIsGoneComesBack) {
  StartAgent();
  agent_->SetDevices("node-0", {Slice("a", "a.org", R"([{"name":"x"}])")});
  executor_.RunFor(1s);
  const Json taint =
      *base::ParseJson(R"({"spec":{"devices":[{"name":"x","taints":[{"key":"broken","effect":"NoSchedule"}]}]}})", "test");
  ASSERT_TRUE(client_->Patch(Kind("resourceslices"), "", "a", client::PatchType::kMerge, taint));
  executor_.RunFor(11min);
  EXPECT_EQ(base::FindArray(base::FindArray(Slices()[0], {"spec", "devices"})[0], {"taints"}).size(), 1u);
  ASSERT_TRUE(client_->Delete(Kind("resourceslices"), "", "a"));
  executor_.RunFor(6min);
  EXPECT_EQ(Published(), "a:1:1 ");
}

TEST_F(DeviceNodeTest, APodStartsOnceItsClaimIsReservedForIt) {
  StartAgent();
  executor_.RunFor(1s);
  CreatePod("p", R"({"resourceClaims":[{"name":"g","resourceClaimName":"gpu"}]})");
  executor_.RunFor(5s);
  const auto told = [&] {
    std::string last;
    const auto events = client::ListAll(*client_, resources::Events());
    for (const Json& event : events->items) {
      if (FindString(event, {"reason"}) == "FailedPrepareDynamicResources") last = FindString(event, {"message"});
    }
    return last;
  };
  EXPECT_EQ(told(),
            "Failed to prepare dynamic resources: prepare dynamic resources: fetch ResourceClaim gpu: "
            "resourceclaims.resource.k8s.io \"gpu\" not found");
  EXPECT_EQ(Phase("p"), "Pending");
  const auto claim = client_->Create(
      Kind("resourceclaims"),
      *base::ParseJson(
          R"({"metadata":{"name":"gpu","namespace":"default"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}}})",
          "test"));
  ASSERT_TRUE(claim);
  executor_.RunFor(5s);
  const std::string uid(kube::UidOf(Pod("p")));
  EXPECT_EQ(told(), "Failed to prepare dynamic resources: prepare dynamic resources: pod p (" + uid +
                        ") is not allowed to use ResourceClaim gpu (" + std::string(kube::UidOf(*claim)) + ")");
  EXPECT_EQ(Phase("p"), "Pending");
  PatchClaim(R"({"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d.org","pool":"n","device":"a"}]}},
      "reservedFor":[{"resource":"pods","name":"p","uid":")" +
             uid + R"("}]}})");
  executor_.RunFor(10s);
  EXPECT_EQ(Phase("p"), "Running");
}

TEST_F(DeviceNodeTest, AClaimFromATemplateHasToBeThePodsOwn) {
  StartAgent();
  executor_.RunFor(1s);
  CreatePod("p", R"({"resourceClaims":[{"name":"g","resourceClaimTemplateName":"t"}]})");
  executor_.RunFor(3s);
  EXPECT_EQ(Phase("p"), "Pending");
  const std::string uid(kube::UidOf(Pod("p")));
  ASSERT_TRUE(client_->Create(
      Kind("resourceclaims"),
      *base::ParseJson(
          R"({"metadata":{"name":"gpu","namespace":"default"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}}})",
          "test")));
  PatchClaim(R"({"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d.org","pool":"n","device":"a"}]}},
      "reservedFor":[{"resource":"pods","name":"p","uid":")" +
             uid + R"("}]}})");
  const auto patched = client_->Patch(
      resources::Pods(), "default", "p", client::PatchType::kMerge,
      *base::ParseJson(R"({"status":{"resourceClaimStatuses":[{"name":"g","resourceClaimName":"gpu"}]}})", "test"),
      {.subresource = "status", .field_manager = ""});
  ASSERT_TRUE(patched) << patched.error().message();
  executor_.RunFor(5s);
  EXPECT_EQ(Phase("p"), "Pending");
  const Json owner = base::JsonObject{
      {"metadata",
       base::JsonObject{{"ownerReferences", base::JsonArray{kube::ControllerReference(resources::Pods(), "p", uid)}}}}};
  ASSERT_TRUE(client_->Patch(Kind("resourceclaims"), "default", "gpu", client::PatchType::kMerge, owner));
  executor_.RunFor(10s);
  EXPECT_EQ(Phase("p"), "Running");
}

TEST_F(NodeAgentTest, APodBecomesReadyAndIsDeletedGracefully) {
  StartAgent();
  executor_.RunFor(1s);
  CreatePod("web", R"({"containers":[{"name":"main","image":"img","readinessProbe":{"httpGet":{"port":80}}}]})");
  executor_.RunFor(100ms);
  EXPECT_EQ(Phase("web"), "Pending");
  EXPECT_EQ(FindString(Container("web"), {"state", "waiting", "reason"}), "ContainerCreating");
  executor_.RunFor(3s);
  EXPECT_EQ(Phase("web"), "Running");
  EXPECT_EQ(Condition("web", "Ready"), "True");
  EXPECT_EQ(Condition("web", "Initialized"), "True");
  EXPECT_TRUE(FindString(Pod("web"), {"status", "podIP"}).starts_with("10.244.0."));
  ASSERT_TRUE(client_->Delete(resources::Pods(), "default", "web"));
  executor_.RunFor(50ms);
  EXPECT_TRUE(Pod("web").is_object());
  executor_.RunFor(2s);
  EXPECT_TRUE(Pod("web").is_null());
  EXPECT_EQ(agent_->pods(), 0u);
  EXPECT_EQ(EventReasons(), (std::vector<std::string>{"Created", "Killing", "Started"}));
}

TEST_F(NodeAgentTest, ACrashingContainerBacksOff) {
  StartAgent();
  CreatePod("bad", "{}", R"({"evenkeel.dev/simulate-exit":"code=1,after=1s","evenkeel.dev/simulate-start":"0s"})");
  executor_.RunFor(2500ms);
  EXPECT_EQ(FindString(Container("bad"), {"state", "waiting", "reason"}), "CrashLoopBackOff");
  EXPECT_EQ(FindInt(Container("bad"), {"restartCount"}), 1);
  EXPECT_EQ(FindInt(Container("bad"), {"lastState", "terminated", "exitCode"}), 1);
  EXPECT_EQ(Phase("bad"), "Running");
  EXPECT_EQ(Condition("bad", "Ready"), "False");
  executor_.RunFor(10s);
  EXPECT_EQ(FindInt(Container("bad"), {"restartCount"}), 2);
  executor_.RunFor(9s);
  EXPECT_EQ(FindInt(Container("bad"), {"restartCount"}), 2);
  executor_.RunFor(13s);
  EXPECT_EQ(FindInt(Container("bad"), {"restartCount"}), 3);
}

TEST_F(NodeAgentTest, JobPodsSucceedAndSidecarsEndWithThem) {
  StartAgent();
  CreatePod(
      "job",
      R"({"restartPolicy":"Never","initContainers":[{"name":"setup","image":"i"},{"name":"side","image":"s","restartPolicy":"Always"}]})");
  executor_.RunFor(20s);
  EXPECT_EQ(Phase("job"), "Succeeded");
  const Json pod = Pod("job");
  for (const Json& status : base::FindArray(pod, {"status", "initContainerStatuses"})) {
    EXPECT_EQ(FindInt(status, {"state", "terminated", "exitCode"}, -1), 0) << base::ToText(status);
  }
  CreatePod("fail", R"({"restartPolicy":"Never"})", R"({"evenkeel.dev/simulate-exit":"code=4,after=1s"})");
  executor_.RunFor(5s);
  EXPECT_EQ(Phase("fail"), "Failed");
}

TEST_F(NodeAgentTest, UnreadinessFollowsTheAnnotation) {
  StartAgent();
  CreatePod("web", "{}", R"({"evenkeel.dev/simulate-unready":"true"})");
  executor_.RunFor(3s);
  EXPECT_EQ(Phase("web"), "Running");
  EXPECT_EQ(Condition("web", "Ready"), "False");
  const Json patch = *base::ParseJson(R"({"metadata":{"annotations":{"evenkeel.dev/simulate-unready":null}}})", "test");
  ASSERT_TRUE(client_->Patch(resources::Pods(), "default", "web", client::PatchType::kMerge, patch));
  executor_.RunFor(1s);
  EXPECT_EQ(Condition("web", "Ready"), "True");
}

TEST_F(NodeAgentTest, RejectsWhatDoesNotFit) {
  StartAgent();
  const char* big = R"({"containers":[{"name":"main","image":"img","resources":{"requests":{"cpu":"3"}}}]})";
  CreatePod("a", big);
  executor_.RunFor(3s);
  CreatePod("b", big);
  executor_.RunFor(3s);
  EXPECT_EQ(Phase("a"), "Running");
  EXPECT_EQ(Phase("b"), "Failed");
  EXPECT_EQ(FindString(Pod("b"), {"status", "reason"}), "OutOfcpu");
  ASSERT_TRUE(client_->Delete(resources::Pods(), "default", "a"));
  executor_.RunFor(3s);
  CreatePod("c", big);
  executor_.RunFor(3s);
  EXPECT_EQ(Phase("c"), "Running");
}

TEST_F(NodeAgentTest, ANewAgentAdoptsWhatRuns) {
  StartAgent();
  CreatePod("web");
  executor_.RunFor(3s);
  const Json before = Pod("web");
  agent_.reset();
  executor_.RunFor(30s);
  StartAgent();
  executor_.RunFor(30s);
  CreatePod("other");
  executor_.RunFor(3s);
  EXPECT_TRUE(base::Equal(before.at("status"), Pod("web").at("status")));
  EXPECT_NE(FindString(Pod("other"), {"status", "podIP"}), FindString(Pod("web"), {"status", "podIP"}));
}

TEST_F(NodeAgentTest, AStoppedNodeLeavesItsPodsAloneUntilItIsBack) {
  StartAgent(2);
  executor_.RunFor(1s);
  agent_->StopNode("node-1");
  CreatePod("late", "{}", "{}", 1);
  executor_.RunFor(10s);
  EXPECT_EQ(Phase("late"), "Pending");
  agent_->StartNode("node-1");
  executor_.RunFor(3s);
  EXPECT_EQ(Phase("late"), "Running");
}

TEST_F(NodeAgentTest, FinalizersKeepTheObjectButNotTheContainer) {
  StartAgent();
  CreatePod("kept", R"({"restartPolicy":"Never"})");
  const Json patch = *base::ParseJson(R"({"metadata":{"finalizers":["x.io/keep"]}})", "test");
  ASSERT_TRUE(client_->Patch(resources::Pods(), "default", "kept", client::PatchType::kMerge, patch));
  executor_.RunFor(3s);
  ASSERT_TRUE(client_->Delete(resources::Pods(), "default", "kept"));
  executor_.RunFor(60s);
  EXPECT_TRUE(Pod("kept").is_object());
  const uint64_t steps = executor_.steps();
  executor_.RunFor(60s);
  EXPECT_LT(executor_.steps() - steps, 100u);
}

TEST_F(NodeAgentTest, SimulatedLogsSaySo) {
  StartAgent();
  CreatePod("web");
  executor_.RunFor(100ms);
  apiserver::LogRequest request;
  request.ns = "default";
  request.pod = "web";
  request.container = "main";
  const auto waiting = logs_->ReadLog(request);
  ASSERT_FALSE(waiting);
  EXPECT_EQ(waiting.error().message(), "container \"main\" in pod \"web\" is waiting to start: ContainerCreating");
  executor_.RunFor(3s);
  const auto text = logs_->ReadLog(request);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("simulated"), std::string::npos);
  request.previous = true;
  EXPECT_FALSE(logs_->ReadLog(request));
  request.container = "none";
  EXPECT_FALSE(logs_->ReadLog(request));
}

TEST_F(NodeAgentTest, AThousandPodsOnAHundredNodesCostLittleWhenIdle) {
  StartAgent(100, false);
  executor_.RunFor(1s);
  for (int i = 0; i < 1000; ++i) {
    CreatePod(fmt::format("p{}", i),
              R"({"containers":[{"name":"main","image":"img","livenessProbe":{"tcpSocket":{"port":80}}}]})", "{}", i % 100);
  }
  executor_.RunFor(5s);
  const auto pods = client::ListAll(*client_, resources::Pods());
  ASSERT_TRUE(pods);
  size_t running = 0;
  for (const Json& pod : pods->items) running += FindString(pod, {"status", "phase"}) == "Running" ? 1 : 0;
  EXPECT_EQ(running, 1000u);
  const uint64_t steps = executor_.steps();
  const std::string version = pods->resource_version;
  executor_.RunFor(100s);
  // Ten lease renewals per node and little else.
  EXPECT_LT(executor_.steps() - steps, 2500u);
  const auto later = client::ListAll(*client_, resources::Pods());
  ASSERT_TRUE(later);
  for (size_t i = 0; i < pods->items.size(); ++i) {
    ASSERT_EQ(kube::ResourceVersionOf(pods->items[i]), kube::ResourceVersionOf(later->items[i]));
  }
}

}  // namespace
}  // namespace evenkeel::embedded::nodeagent::node_agent_test
