#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "embedded/apiserver/api/api.h"
#include "embedded/nodeagent/node_agent.h"
#include "embedded/nodeagent/process_runtime.h"
#include "embedded/nodeagent/simulated_runtime.h"
#include "embedded/store/memory_store.h"

namespace evenkeel::embedded::nodeagent::node_agent_process_test {
namespace {

using namespace std::chrono_literals;
using base::FindInt;
using base::FindString;
using base::Json;
namespace resources = kube::resources;

// Real processes in real time, driven through an API.
class NodeAgentProcessTest : public ::testing::Test {
 protected:
  NodeAgentProcessTest()
      : dir_((std::filesystem::temp_directory_path() / fmt::format("evenkeel-agent-{}", getpid())).string()),
        executor_(base::NewThreadPool(6)),
        store_(store::NewMemoryStore()),
        logs_(executor_->NewStrand("logs")),
        api_({.name = "test", .store = store_.get(), .clock = &executor_->clock(), .random = base::Random(1), .logs = &logs_}),
        simulated_(NewSimulatedRuntime(executor_->clock(), base::Random(7))) {
    EXPECT_TRUE(api_.Start());
    client_ = apiserver::NewInProcessClient(api_, {.name = "system:admin", .groups = {"system:masters"}});
  }
  ~NodeAgentProcessTest() override {
    StopAgent();
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }

  void StartAgent() {
    strand_ = executor_->NewStrand("agent");
    ProcessRuntimeOptions runtime;
    runtime.state_dir = dir_;
    runtime.executor = executor_.get();
    auto made = NewProcessRuntime(std::move(runtime));
    ASSERT_TRUE(made) << made.error().message();
    process_ = *std::move(made);
    NodeAgentOptions options;
    options.client = client_.get();
    options.strand = strand_;
    options.clock = &executor_->clock();
    NodeConfig node;
    node.name = "n1";
    node.loopback_cidr = "127.10.77.0/24";
    options.nodes = {node};
    options.simulated = simulated_.get();
    options.runtimes = {{"process", process_.get()}};
    options.logs = &logs_;
    agent_ = std::make_unique<NodeAgent>(std::move(options));
    strand_->Post([this] { EXPECT_TRUE(agent_->Start()); });
  }
  void StopAgent() {
    if (strand_) strand_->Close();
    agent_.reset();
    process_.reset();
  }

  void CreatePod(const std::string& spec) {
    Json pod = *base::ParseJson(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"default",
        "annotations":{"evenkeel.dev/runtime":"process"}}})",
                                "test");
    pod.get_object()["spec"] = *base::ParseJson(spec, "test");
    pod.at("spec").get_object()["nodeName"] = "n1";
    const auto created = client_->Create(resources::Pods(), pod);
    ASSERT_TRUE(created) << created.error().message();
  }
  Json Pod() {
    auto pod = client_->Get(resources::Pods(), "default", "web");
    return pod ? *pod : Json(nullptr);
  }
  Json Container() {
    const Json pod = Pod();
    const auto& list = base::FindArray(pod, {"status", "containerStatuses"});
    return list.empty() ? Json(nullptr) : list[0];
  }
  bool Ready() {
    const Json pod = Pod();
    const Json* ready = kube::FindCondition(pod, "Ready");
    return ready != nullptr && FindString(*ready, {"status"}) == "True";
  }
  std::string Log() {
    apiserver::LogRequest request;
    request.ns = "default";
    request.pod = "web";
    request.container = "main";
    return logs_.ReadLog(request).value_or("");
  }
  static bool WaitUntil(const std::function<bool()>& done, base::Duration limit = 60s) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(20ms);
    }
    return true;
  }

  const std::string dir_;
  std::unique_ptr<base::Executor> executor_;
  std::unique_ptr<store::Store> store_;
  PodLogs logs_;
  apiserver::Api api_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<ContainerRuntime> simulated_, process_;
  std::shared_ptr<base::Strand> strand_;
  std::unique_ptr<NodeAgent> agent_;
};

TEST_F(NodeAgentProcessTest, RunsProbesUpdatesRestartsAndDeletesAProcessPod) {
  Json map = kube::NewObject(resources::ConfigMaps(), "default", "conf");
  map.get_object()["data"] = base::JsonObject{{"f", "one"}};
  ASSERT_TRUE(client_->Create(resources::ConfigMaps(), map));
  StartAgent();
  CreatePod(R"json({"terminationGracePeriodSeconds":5,"volumes":[{"name":"conf","configMap":{"name":"conf"}}],
      "containers":[{"name":"main","image":"none","command":["/bin/sh","-c"],
        "args":["echo up on $IP; trap 'echo bye; exit 0' TERM; while true; do cat $(EVENKEEL_POD_ROOT)/etc/f; echo; sleep 0.1; done"],
        "env":[{"name":"IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}}],
        "volumeMounts":[{"name":"conf","mountPath":"/etc"}],
        "readinessProbe":{"exec":{"command":["/bin/sh","-c","test -f $EVENKEEL_POD_ROOT/etc/f"]},"periodSeconds":1}}]})json");
  ASSERT_TRUE(WaitUntil([this] { return Ready(); })) << base::ToText(Pod());
  const std::string ip(FindString(Pod(), {"status", "podIP"}));
  EXPECT_TRUE(ip.starts_with("127.10.77."));
  ASSERT_TRUE(WaitUntil([&] { return Log().find("up on " + ip + "\none\n") != std::string::npos; })) << Log();

  const Json patch = {{"data", {{"f", "two"}}}};
  ASSERT_TRUE(client_->Patch(resources::ConfigMaps(), "default", "conf", client::PatchType::kMerge, patch));
  EXPECT_TRUE(WaitUntil([this] { return Log().find("two\n") != std::string::npos; }));

  const std::string before(FindString(Container(), {"containerID"}));
  StopAgent();
  const std::string pid = before.substr(before.rfind('/') + 1);
  EXPECT_FALSE(std::filesystem::exists("/proc/" + pid));
  StartAgent();
  ASSERT_TRUE(WaitUntil([this] { return FindInt(Container(), {"restartCount"}) == 1 && Ready(); })) << base::ToText(Pod());
  EXPECT_EQ(FindString(Container(), {"lastState", "terminated", "reason"}), "ContainerStatusUnknown");
  EXPECT_EQ(FindString(Pod(), {"status", "podIP"}), ip);

  ASSERT_TRUE(client_->Delete(resources::Pods(), "default", "web"));
  EXPECT_TRUE(WaitUntil([this] { return Pod().is_null(); }));
  EXPECT_TRUE(WaitUntil([this] { return std::filesystem::is_empty(dir_ + "/pods"); }));
}

TEST_F(NodeAgentProcessTest, KillsWhatIgnoresTermAfterItsGrace) {
  StartAgent();
  CreatePod(R"({"terminationGracePeriodSeconds":1,"containers":[{"name":"main","image":"none",
      "command":["/bin/sh","-c","trap '' TERM; echo up; while true; do sleep 0.1; done"]}]})");
  ASSERT_TRUE(WaitUntil([this] { return Log() == "up\n"; }));
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(client_->Delete(resources::Pods(), "default", "web"));
  EXPECT_TRUE(WaitUntil([this] { return Pod().is_null(); }));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 1s);
}

TEST_F(NodeAgentProcessTest, AFailedLivenessProbeRestartsTheContainer) {
  StartAgent();
  CreatePod(R"({"terminationGracePeriodSeconds":1,"containers":[{"name":"main","image":"none","command":["/bin/sleep","300"],
      "livenessProbe":{"tcpSocket":{"port":9},"periodSeconds":1,"failureThreshold":1}}]})");
  EXPECT_TRUE(WaitUntil([this] { return FindInt(Container(), {"restartCount"}) >= 1; })) << base::ToText(Pod());
  EXPECT_EQ(FindInt(Container(), {"lastState", "terminated", "exitCode"}), 143);
}

TEST_F(NodeAgentProcessTest, SaysThatAProcessPodNeedsACommand) {
  StartAgent();
  CreatePod(R"({"containers":[{"name":"main","image":"nginx"}]})");
  EXPECT_TRUE(WaitUntil([this] { return FindString(Container(), {"state", "waiting", "reason"}) == "CreateContainerError"; }));
  EXPECT_NE(FindString(Container(), {"state", "waiting", "message"}).find("has no command"), std::string_view::npos);
}

}  // namespace
}  // namespace evenkeel::embedded::nodeagent::node_agent_process_test
