#include "controllers/distribution/sharding/shard_plan.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace evenkeel::controllers::distribution::shard_plan_test {
namespace {

using base::Json;

Json ClusterSecret(const std::string& name, const std::string& uid) {
  return {
      {"apiVersion", "v1"},
      {"kind", "Secret"},
      {"metadata",
       {{"name", name}, {"namespace", "argocd"}, {"uid", uid}, {"labels", {{"argocd.argoproj.io/secret-type", "cluster"}}}}},
      {"data", {{"name", base::Base64Encode(name)}, {"server", base::Base64Encode("https://" + name)}}}};
}

Json App(const std::string& name, const std::string& server) {
  return {{"apiVersion", "argoproj.io/v1alpha1"},
          {"kind", "Application"},
          {"metadata", {{"name", name}, {"namespace", "argocd"}}},
          {"spec", {{"destination", {{"server", server}}}}}};
}

ShardPlanInput Read(const std::vector<Json>& objects, bool in_cluster = false) {
  std::vector<Finding> findings;
  return ReadShardPlanInput(objects, in_cluster, true, findings);
}

std::string Plan(const std::vector<Json>& objects, const ShardingOptions& options, const Json& current = base::JsonObject{}) {
  std::vector<Finding> findings;
  return base::ToText(ToJson(PlanShards(Read(objects), options, current, findings)));
}

TEST(ShardPlanTest, IsWrittenWithStableKeysInTheOrderOfTheId) {
  EXPECT_EQ(Plan({ClusterSecret("b", "2"), ClusterSecret("a", "3"), ClusterSecret("c", "1")},
                 {.method = Method::kRoundRobin, .replicas = 2}),
            R"({"method":"round-robin","replicas":2,"assignments":[)"
            R"({"cluster":"c","server":"https://c","id":"1","shard":0},)"
            R"({"cluster":"b","server":"https://b","id":"2","shard":1},)"
            R"({"cluster":"a","server":"https://a","id":"3","shard":0}],)"
            R"("shards":[{"shard":0,"clusters":2,"weight":2},{"shard":1,"clusters":1,"weight":1}],"moves":[]})");
}

TEST(ShardPlanTest, OfNothingIsEmptyShards) {
  EXPECT_EQ(Plan({}, {.method = Method::kLegacy, .replicas = 2}),
            R"({"method":"legacy","replicas":2,"assignments":[],)"
            R"("shards":[{"shard":0,"clusters":0,"weight":0},{"shard":1,"clusters":0,"weight":0}],"moves":[]})");
}

TEST(ShardPlanTest, WeighsShardsByTheirApplications) {
  std::vector<Finding> findings;
  const auto plan = PlanShards(Read({ClusterSecret("a", "1"), ClusterSecret("b", "2"), App("x", "https://b"),
                                     App("y", "https://b"), App("z", "https://elsewhere")}),
                               {.method = Method::kRoundRobin, .replicas = 2}, base::JsonObject{}, findings);
  ASSERT_EQ(plan.shards.size(), 2u);
  EXPECT_EQ(plan.shards[0].weight, 0);
  EXPECT_EQ(plan.shards[1].weight, 2);
}

TEST(ShardPlanTest, NamesTheMovesAgainstAnEarlierPlan) {
  const std::vector<Json> before = {ClusterSecret("b", "2"), ClusterSecret("c", "3"), ClusterSecret("d", "4")};
  const ShardingOptions options{.method = Method::kRoundRobin, .replicas = 2};
  const auto current = base::ParseJson(Plan(before, options), "current");
  ASSERT_TRUE(current);
  EXPECT_TRUE(Plan(before, options, *current).ends_with(R"("moves":[]})"));
  std::vector<Json> after = before;
  after.push_back(ClusterSecret("a", "1"));
  const std::string text = Plan(after, options, *current);
  EXPECT_TRUE(text.ends_with(R"("moves":[{"cluster":"b","from":0,"to":1},{"cluster":"c","from":1,"to":0},)"
                             R"({"cluster":"d","from":0,"to":1}]})"))
      << text << ": a new cluster is no move";
  EXPECT_TRUE(Plan({before[1]}, options, *current).ends_with(R"("moves":[{"cluster":"c","from":1,"to":0}]})"));
}

TEST(ShardPlanTest, ListsAShardThatOnlyAPinMakes) {
  Json pinned = ClusterSecret("a", "1");
  base::Ensure(pinned, {"data", "shard"}) = base::Base64Encode("-1");
  const std::string text = Plan({pinned}, {.method = Method::kRoundRobin, .replicas = 2, .negative_shard_orphans = true});
  EXPECT_NE(text.find(R"("shards":[{"shard":-1,"clusters":1,"weight":1},{"shard":0,)"), std::string::npos) << text;
}

TEST(ShardPlanInputTest, TakesWhatItKnowsOutOfAnyObjects) {
  const Json karmada = {{"apiVersion", "cluster.karmada.io/v1alpha1"},
                        {"kind", "Cluster"},
                        {"metadata", {{"name", "k"}, {"uid", "9"}}},
                        {"spec", {{"apiEndpoint", "https://k"}, {"secretRef", {{"namespace", "karmada"}, {"name", "k"}}}}}};
  const Json token = {{"kind", "Secret"},
                      {"metadata", {{"name", "k"}, {"namespace", "karmada"}}},
                      {"data", {{"token", base::Base64Encode("t0ken")}}}};
  const Json capi = {{"apiVersion", "cluster.x-k8s.io/v1beta1"}, {"kind", "Cluster"}, {"metadata", {{"name", "other"}}}};
  const auto input =
      Read({{{"kind", "Pod"}}, karmada, token, capi, ClusterSecret("a", "1"), App("x", "https://a"), App("x", "https://k")});
  ASSERT_EQ(input.clusters.size(), 2u);
  EXPECT_EQ(input.clusters[0].name, "a");
  EXPECT_EQ(input.clusters[1].connection->token, "t0ken");
  EXPECT_EQ(input.apps, (AppCounts{{"https://a", 1}})) << "one name counts once, as upstream has it";
}

TEST(ShardPlanInputTest, ASecretThatNobodyNeedsIsNotMissed) {
  const auto cluster = [](const std::string& server) -> Json {
    return {{"apiVersion", "cluster.karmada.io/v1alpha1"},
            {"kind", "Cluster"},
            {"metadata", {{"name", "k"}, {"uid", "9"}}},
            {"spec", {{"apiEndpoint", server}, {"secretRef", {{"namespace", "karmada"}, {"name", "k"}}}}}};
  };
  const auto found = [](const std::vector<Json>& objects, bool missing_secrets_told) {
    std::vector<Finding> findings;
    (void)ReadShardPlanInput(objects, false, true, findings, missing_secrets_told);
    return std::ranges::count(findings, "SecretNotFound", &Finding::reason);
  };
  EXPECT_EQ(found({cluster("https://k")}, true), 1);
  EXPECT_EQ(found({cluster("https://k")}, false), 0) << "a view of the fleet does not read them";
  EXPECT_EQ(found({ClusterSecret("a", "1"), cluster("https://a")}, true), 0) << "the cluster Secret says how to connect";
}

TEST(ShardPlanInputTest, KnowsArgoCdsSwitchForTheLocalCluster) {
  auto argocd_cm = [](const std::string& enabled) -> Json {
    return {{"kind", "ConfigMap"},
            {"metadata", {{"name", "argocd-cm"}, {"namespace", "argocd"}}},
            {"data", {{"cluster.inClusterEnabled", enabled}}}};
  };
  EXPECT_EQ(Read({}, true).clusters.size(), 1u);
  EXPECT_EQ(Read({argocd_cm("false")}, true).clusters.size(), 0u);
  EXPECT_EQ(Read({argocd_cm("true")}, false).clusters.size(), 1u);
}

TEST(ShardPlanInputTest, RanksAreArgoCdsOnAStockInstallation) {
  const Json argocd_cm = {{"kind", "ConfigMap"},
                          {"metadata", {{"name", "argocd-cm"}, {"namespace", "argocd"}}},
                          {"data", {{"url", "https://argocd.example"}}}};
  const auto input = Read({ClusterSecret("b", "2"), ClusterSecret("c", "3"), argocd_cm, ClusterSecret("a", "1")});
  std::vector<Finding> findings;
  const auto plan = PlanShards(input, {.method = Method::kRoundRobin, .replicas = 3}, base::JsonObject{}, findings);
  std::string shards;
  for (const auto& item : plan.assignments) shards += item.cluster + "=" + std::to_string(item.shard) + " ";
  EXPECT_EQ(shards, "in-cluster=0 a=1 b=2 c=0 ");
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::shard_plan_test
