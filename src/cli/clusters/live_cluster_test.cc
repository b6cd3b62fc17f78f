#include "cli/clusters/live_cluster.h"

#include <gtest/gtest.h>

#include "client/fake_client_testing.h"

namespace evenkeel::cli::live_cluster_test {
namespace {

namespace autoscaler = controllers::autoscaler;
using base::Json;

constexpr base::Time kNow{std::chrono::hours(500'000)};

class OneGroup final : public providers::Provider {
 public:
  std::string_view name() const override { return "one"; }
  base::Result<providers::NodeGroups> Refresh(std::span<const Json> nodes) override {
    providers::NodeGroups all;
    providers::NodeGroup group;
    group.id = "a";
    group.max_size = 5;
    for (const Json& node : nodes) {
      all.group_of_node[std::string(kube::NameOf(node))] = "a";
      ++group.target_size;
    }
    all.groups.push_back(std::move(group));
    return all;
  }
  base::Status IncreaseSize(std::string_view, int64_t, bool) override { return Asked(); }
  base::Status DeleteNodes(std::string_view, std::span<const providers::NodeReference>, bool) override { return Asked(); }
  base::Status DecreaseTargetSize(std::string_view, int64_t) override { return Asked(); }

 private:
  static base::Status Asked() {
    ADD_FAILURE() << "nothing is to be changed";
    return {};
  }
};

class LiveClusterTest : public ::testing::Test {
 protected:
  void Node(const std::string& name) {
    client.api().Put(kube::resources::Nodes(),
                     {{"metadata", {{"name", name}, {"creationTimestamp", base::FormatTime(kNow - std::chrono::hours(24))}}},
                      {"spec", base::JsonObject{}},
                      {"status",
                       {{"allocatable", {{"cpu", "4"}, {"memory", "16Gi"}, {"pods", "110"}}},
                        {"conditions", base::JsonArray{base::JsonObject{{"type", "Ready"}, {"status", "True"}}}}}}});
  }
  void Pod(const std::string& name, const std::string& cpu, const std::string& node, bool tried) {
    Json pod = {
        {"metadata",
         {{"name", name}, {"namespace", "default"}, {"creationTimestamp", base::FormatTime(kNow - std::chrono::hours(1))}}},
        {"spec",
         {{"containers", base::JsonArray{base::JsonObject{{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}}}}}};
    if (!node.empty()) base::Ensure(pod, {"spec", "nodeName"}) = node;
    if (tried) {
      base::Ensure(pod, {"status", "conditions"}) =
          base::JsonArray{base::JsonObject{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}}};
    }
    client.api().Put(kube::resources::Pods(), std::move(pod));
  }
  Json Plan() {
    autoscaler::ScaleInput input;
    input.now = kNow;
    OneGroup provider;
    const auto read = ReadLiveCluster(client, provider, input, warning);
    EXPECT_TRUE(read) << (read ? "" : read.error().message());
    auto output = autoscaler::PlanScale(std::move(input));
    EXPECT_TRUE(output) << (output ? "" : output.error().message());
    return output->result;
  }
  void State(const std::string& text) {
    client.api().Put(
        kube::resources::ConfigMaps(),
        {{"metadata", {{"name", "evenkeel-autoscaler-state"}, {"namespace", "kube-system"}}}, {"data", {{"state", text}}}});
  }

  client::FakeClient client;
  std::string warning;
};

TEST_F(LiveClusterTest, PlansAsTheControllerWouldAndWritesNothing) {
  Node("n1");
  Pod("on", "3", "n1", false);
  Pod("waits", "3", "", true);
  Pod("new", "3", "", false);
  Pod("lost", "1", "gone", false);
  const Json plan = Plan();
  ASSERT_EQ(plan.at("scaleUp").as_array().size(), 1u) << base::ToText(plan);
  EXPECT_EQ(plan.at("scaleUp").at(0).at("to"), 2) << "a pod that its scheduler has not looked at is left to it";
  EXPECT_EQ(client.Count("get ") + client.Count("list "), static_cast<int>(client.calls.size()));
  EXPECT_EQ(warning, "");
}

TEST_F(LiveClusterTest, GoesOnWithWhatTheControllerRemembers) {
  Node("n1");
  Node("n2");
  State(R"({"version": 1, "scaleDown": {"unneeded": {"n1": ")" + base::FormatTime(kNow - std::chrono::minutes(11)) + R"("}}})");
  const Json plan = Plan();
  EXPECT_EQ(plan.at("scaleDown").at("empty"), Json(base::JsonArray{"n1"})) << base::ToText(plan);
  State("{");
  EXPECT_TRUE(Plan().at("scaleDown").at("empty").as_array().empty());
  EXPECT_NE(warning, "");
}

}  // namespace
}  // namespace evenkeel::cli::live_cluster_test
