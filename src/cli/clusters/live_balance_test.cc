#include "cli/clusters/live_balance.h"

#include <gtest/gtest.h>

#include "client/fake_client_testing.h"
#include "controllers/balancer/kinds.h"

namespace evenkeel::cli::live_balance_test {
namespace {

using base::Json;
namespace on_member = controllers::balancer;

constexpr base::Time kNow{std::chrono::hours(500'000)};

class LiveBalanceTest : public ::testing::Test {
 protected:
  LiveBalanceTest() {
    for (const std::string name : {"n0", "n1"}) {
      client.api().Put(kube::resources::Nodes(),
                       {{"metadata", {{"name", name}, {"creationTimestamp", base::FormatTime(kNow - std::chrono::hours(24))}}},
                        {"spec", base::JsonObject{}},
                        {"status",
                         {{"allocatable", {{"cpu", "4"}, {"memory", "16Gi"}, {"pods", "110"}}},
                          {"conditions", base::JsonArray{base::JsonObject{{"type", "Ready"}, {"status", "True"}}}}}}});
    }
    const Json owner = {
        {"apiVersion", "apps/v1"}, {"kind", "ReplicaSet"}, {"name", "web"}, {"uid", "rs"}, {"controller", true}};
    client.api().Put(kube::resources::ReplicaSets(),
                     {{"metadata", {{"name", "web"}, {"namespace", "default"}, {"uid", "rs"}}}, {"spec", {{"replicas", 4}}}});
    for (const std::string name : {"web-0", "web-1", "web-2", "web-3"}) {
      client.api().Put(
          kube::resources::Pods(),
          {{"metadata",
            {{"name", name},
             {"namespace", "default"},
             {"uid", name},
             {"ownerReferences", base::JsonArray{owner}},
             {"creationTimestamp", base::FormatTime(kNow - std::chrono::hours(1))}}},
           {"spec",
            {{"nodeName", "n0"},
             {"containers",
              base::JsonArray{base::JsonObject{{"name", "c"}, {"resources", {{"requests", {{"cpu", "500m"}}}}}}}}}},
           {"status",
            {{"phase", "Running"}, {"conditions", base::JsonArray{base::JsonObject{{"type", "Ready"}, {"status", "True"}}}}}}});
    }
  }
  void Policy(const std::string& name, const Json& metric) {
    client.api().Put(on_member::BalancingPolicies(),
                     {{"metadata", {{"name", name}, {"uid", name}}}, {"spec", {{"metrics", base::JsonArray{metric}}}}});
  }

  client::FakeClient client;
};

TEST_F(LiveBalanceTest, PlansAsTheMembersBalancerWouldAndChangesNothing) {
  Policy("even", {{"name", "cpu"}});
  const uint64_t version = client.api().version;
  const auto live = ReadLiveBalance(client, "", kNow);
  ASSERT_TRUE(live.has_value()) << live.error().message();
  EXPECT_EQ(live->policy.name, "even");
  EXPECT_EQ(live->outlook.member.cluster.nodes.size(), 2u);
  EXPECT_FALSE(live->outlook.balanced);
  ASSERT_EQ(live->outlook.plan.Actions().size(), 2u);
  EXPECT_EQ(live->outlook.member.cluster.nodes[live->outlook.plan.Actions()[0].to].name, "n1");
  ASSERT_EQ(live->memory.groups.size(), 1u);
  EXPECT_TRUE(live->warnings.empty());
  EXPECT_EQ(client.api().version, version);
}

TEST_F(LiveBalanceTest, TakesTheFirstValidPolicyOrTheOneThatIsNamed) {
  Policy("a", {{"name", "cpu"}, {"weight", -1}});
  Policy("b", {{"name", "cpu"}, {"balancingThreshold", 0}});
  Policy("c", {{"name", "cpu"}});
  EXPECT_EQ(ReadLiveBalance(client, "", kNow)->policy.name, "b");
  EXPECT_EQ(ReadLiveBalance(client, "c", kNow)->policy.name, "c");
  const auto invalid = ReadLiveBalance(client, "a", kNow);
  ASSERT_FALSE(invalid.has_value());
  EXPECT_EQ(invalid.error().message(), "BalancingPolicy a: spec.metrics[0].weight: not a number from 0 to 1000000");
}

TEST_F(LiveBalanceTest, AMetricThatNobodyHasIsAWarning) {
  Policy("typo", {{"name", "cpus"}});
  const auto live = ReadLiveBalance(client, "", kNow);
  ASSERT_TRUE(live.has_value()) << live.error().message();
  ASSERT_EQ(live->warnings.size(), 1u);
  EXPECT_TRUE(live->warnings[0].starts_with("spec.metrics[0]: no node has the resource \"cpus\"")) << live->warnings[0];
}

TEST_F(LiveBalanceTest, PodsThatStayHaveTheMembersReasons) {
  Policy("even", {{"name", "cpu"}});
  Json pod = client.api().objects["pods"].at("default/web-0");
  base::Ensure(pod, {"spec", "nodeSelector", "disk"}) = "ssd";
  client.api().Put(kube::resources::Pods(), pod);
  Json kept = client.api().objects["pods"].at("default/web-1");
  base::Ensure(kept, {"metadata", "annotations", "karpenter.sh/do-not-disrupt"}) = "true";
  client.api().Put(kube::resources::Pods(), kept);
  const auto live = ReadLiveBalance(client, "", kNow);
  ASSERT_TRUE(live.has_value()) << live.error().message();
  Json explanation = {
      {"replicas", base::JsonArray{base::JsonObject{{"partition", "default/web-0"}, {"moves", false}, {"why", ""}},
                                   base::JsonObject{{"partition", "default/web-1"}, {"moves", false}, {"why", ""}},
                                   base::JsonObject{{"partition", "default/web-2"}, {"moves", true}, {"why", "x"}}}}};
  AddReasonsOfMember(live->outlook.member.fixed, live->outlook.broken, explanation);
  const base::JsonArray& replicas = base::FindArray(explanation, {"replicas"});
  EXPECT_TRUE(base::FindString(replicas[0], {"why"}).starts_with("spec.nodeSelector is not kept on n0: "))
      << base::ToText(explanation);
  EXPECT_EQ(base::FindString(replicas[1], {"why"}), "its annotation karpenter.sh/do-not-disrupt is true");
  EXPECT_EQ(base::FindString(replicas[2], {"why"}), "x");
}

TEST_F(LiveBalanceTest, WithoutAPolicyThereIsNothingToPlan) {
  const auto none = ReadLiveBalance(client, "", kNow);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code(), base::Code::kNotFound);
  EXPECT_TRUE(none.error().message().contains("has no BalancingPolicy: ")) << none.error().message();
  const auto unnamed = ReadLiveBalance(client, "gold", kNow);
  ASSERT_FALSE(unnamed.has_value());
  EXPECT_TRUE(unnamed.error().message().contains("has no BalancingPolicy gold: ")) << unnamed.error().message();
}

}  // namespace
}  // namespace evenkeel::cli::live_balance_test
