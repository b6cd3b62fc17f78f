#include "cli/commands/scale.h"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <ctime>
#include <filesystem>
#include <sstream>

#include "base/input/file.h"
#include "base/json.h"

namespace evenkeel::cli::scale_test {
namespace {

constexpr const char* kCluster = R"(
apiVersion: evenkeel.dev/v1alpha1
kind: NodeGroup
metadata: {name: general}
spec: {maxSize: 10, template: {status: {allocatable: {cpu: "4", memory: 16Gi, pods: "110"}}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {containers: [{name: c, resources: {requests: {cpu: "3"}}}]}
)";

class PlanScaleCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "evenkeel-scale-" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    options_.files = {folder_ + "/cluster.yaml"};
    options_.state = folder_ + "/state.json";
    options_.now = "2026-01-02T00:00:00Z";
    options_.output = "json";
    Write(kCluster);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& text) { ASSERT_TRUE(base::WriteFile(options_.files[0], text)); }

  base::Json Plan() {
    std::ostringstream out;
    const base::Status status = PlanScale(options_, out);
    EXPECT_TRUE(status) << (status ? "" : status.error().message());
    auto plan = base::ParseJson(out.str(), "plan");
    return plan ? std::move(*plan) : base::Json(base::JsonObject{});
  }
  std::string Error() {
    std::ostringstream out;
    const base::Status status = PlanScale(options_, out);
    if (status) return "no error";
    EXPECT_EQ(base::ExitStatus(status.error().code()), 2);
    EXPECT_EQ(status.error().message().find('\n'), std::string::npos) << status.error().message();
    return status.error().message();
  }

  std::string folder_;
  ScaleOptions options_;
};

TEST_F(PlanScaleCommandTest, AnswersWithTheKeysThatOthersRelyOn) {
  const base::Json plan = Plan();
  std::vector<std::string> keys;
  for (const auto& item : plan.as_object()) keys.emplace_back(item.key());
  EXPECT_EQ(keys, (std::vector<std::string>{"health", "scaleUp", "pending", "unneeded", "unremovable", "scaleDown", "upcoming",
                                            "nodeGroups", "milliseconds", "coolDown"}));
}

TEST_F(PlanScaleCommandTest, TheStateIsWrittenAndReadByTheNextCall) {
  EXPECT_EQ(Plan().at("scaleUp").as_array().size(), 1u);
  ASSERT_TRUE(std::filesystem::exists(options_.state));
  options_.now = "2026-01-02T00:00:10Z";
  const base::Json next = Plan();
  EXPECT_EQ(next.at("scaleUp").as_array().size(), 0u);
  EXPECT_EQ(base::FindInt(next, {"upcoming", "general"}), 1);
  ASSERT_TRUE(base::WriteFile(options_.state, "{\"version\":1,\"assumed\":{\"targets\":{\"general\":{}}}}"));
  EXPECT_NE(Error().find("state.json: state: assumed.targets.general"), std::string::npos);
}

TEST_F(PlanScaleCommandTest, TheTableNamesWhatGrows) {
  options_.output = "table";
  std::ostringstream out;
  ASSERT_TRUE(PlanScale(options_, out));
  EXPECT_NE(out.str().find("general    0      1    default/web"), std::string::npos) << out.str();
}

TEST_F(PlanScaleCommandTest, EqualPodsAreOneLineOfTheTableWithTheirNumber) {
  std::string cluster = kCluster;
  const auto pod = [&cluster](const std::string& name, const std::string& cpu) {
    cluster +=
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
        ", creationTimestamp: \"2026-01-01T00:00:00Z\", ownerReferences: [{kind: ReplicaSet, name: " + name.substr(0, 1) +
        ", uid: u, controller: true}]}\nspec: {containers: [{name: c, resources: {requests: {cpu: \"" + cpu + "\"}}}]}\n";
  };
  for (int i = 0; i < 48; ++i) pod("x-" + std::to_string(i), "30");
  for (int i = 0; i < 3; ++i) pod("y-" + std::to_string(i), "4");
  cluster += "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: \"1\", pods: \"9\"}}\n";
  Write(cluster);
  options_.output = "table";
  std::ostringstream out;
  ASSERT_TRUE(PlanScale(options_, out));
  EXPECT_NE(out.str().find("cluster Healthy: 1 of 1 nodes ready\n"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("\nReplicaSet default/x   48     general   NodeResourcesFit: Insufficient cpu (30 requested, "),
            std::string::npos)
      << out.str();
  EXPECT_EQ(out.str().find("default/x-"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("general    0      4    default/web, 3 of ReplicaSet default/y\n"), std::string::npos) << out.str();
}

TEST_F(PlanScaleCommandTest, TheTableSaysWhatTheNextLoopDoesForYoungPods) {
  options_.now = "2026-01-01T00:00:01Z";
  options_.output = "table";
  std::ostringstream out;
  ASSERT_TRUE(PlanScale(options_, out));
  const size_t next = out.str().find("\nThe loop at 2026-01-01T00:00:11Z");
  ASSERT_NE(next, std::string::npos) << out.str();
  EXPECT_EQ(out.str().substr(0, next).find("SCALE UP"), std::string::npos);
  EXPECT_NE(out.str().find("general    0      1    default/web", next), std::string::npos) << out.str();
}

TEST_F(PlanScaleCommandTest, FlagsOfTheAutoscalerAreRead) {
  CLI::App app;
  ScaleOptions parsed;
  const auto read = AddScaleFlags(app, parsed);
  app.parse("--scale-down-enabled=false --expander random --max-nodes-total 5 -f x --balance-similar-node-groups");
  read();
  ASSERT_EQ(parsed.flags.size(), 4u);
  options_.flags = parsed.flags;
  EXPECT_EQ(Plan().at("unremovable").as_array().size(), 0u);
  options_.flags = {{"max-nodes-total", "many"}};
  EXPECT_NE(Error().find("max-nodes-total"), std::string::npos);
}

TEST_F(PlanScaleCommandTest, BadInputIsOneLineWithTheFile) {
  std::string lost = kCluster;
  lost.replace(lost.find("{containers"), 1, "{nodeName: gone, ");
  Write(lost);
  EXPECT_NE(Error().find("cluster.yaml:7: Pod default/web: spec.nodeName: there is no Node gone"), std::string::npos)
      << Error();
  options_.now = "yesterday";
  EXPECT_NE(Error().find("--now"), std::string::npos);
  options_.now.clear();
  options_.files = {folder_ + "/none.yaml"};
  EXPECT_NE(Error().find("none.yaml"), std::string::npos);
  options_.files.clear();
  EXPECT_NE(Error().find("-f"), std::string::npos);
}

TEST_F(PlanScaleCommandTest, TenMegabytesOfGarbageAreRefusedAtOnce) {
  std::string garbage;
  uint64_t value = 1;
  while (garbage.size() < 10u << 20) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    garbage += static_cast<char>(value >> 56);
  }
  const std::clock_t began = std::clock();
  Write(garbage);
  EXPECT_NE(Error().find("cluster.yaml"), std::string::npos);
  EXPECT_LT(std::clock() - began, 2 * CLOCKS_PER_SEC) << "of processor time";
}

TEST_F(PlanScaleCommandTest, ExplainsPodsAndNodes) {
  std::ostringstream out;
  options_.output = "table";
  ASSERT_TRUE(ExplainPod(options_, "default/web", out));
  EXPECT_NE(out.str().find("group general: fits on a new node"), std::string::npos) << out.str();
  options_.output = "json";
  out.str("");
  ASSERT_TRUE(ExplainPod(options_, "default/web", out));
  const auto json = base::ParseJson(out.str(), "output");
  ASSERT_TRUE(json) << json.error().message();
  EXPECT_TRUE(base::FindBool(json->at("groups").at(0), {"fits"}));
  options_.output = "xml";
  EXPECT_EQ(ExplainPod(options_, "default/web", out).error().code(), base::Code::kBadRequest);
  options_.output.clear();
  EXPECT_FALSE(ExplainNode(options_, "gone", out));
  EXPECT_FALSE(std::filesystem::exists(options_.state)) << "explaining changes nothing";
}

}  // namespace
}  // namespace evenkeel::cli::scale_test
