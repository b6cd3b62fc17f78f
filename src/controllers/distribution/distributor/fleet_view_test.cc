#include "controllers/distribution/distributor/fleet_view.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "client/fake_client_testing.h"

namespace evenkeel::controllers::distribution::fleet_view_test {
namespace {

using namespace std::chrono_literals;
using base::Json;
using Lines = std::vector<std::string>;

const base::Time kNow{std::chrono::seconds(1'734'225'184)};

class FleetViewTest : public ::testing::Test {
 protected:
  client::FakeClient hub;

  void PutCluster(const std::string& name, const std::string& uid, const std::map<std::string, std::string>& more = {}) {
    std::map<std::string, std::string> data = {{"name", name}, {"server", "https://" + name}};
    for (const auto& [key, value] : more) data[key] = value;
    Json secret = {{"metadata",
                    {{"name", name},
                     {"namespace", "evenkeel"},
                     {"uid", uid},
                     {"labels", {{"argocd.argoproj.io/secret-type", "cluster"}}}}}};
    for (const auto& [key, value] : data) base::Ensure(secret, {"data", key}) = base::Base64Encode(value);
    hub.api().Put(kube::resources::Secrets(), secret);
  }
  void PutDeployment(int64_t replicas, const Json& container = base::JsonObject{}) {
    hub.api().Put(kube::resources::Deployments(),
                  {{"metadata", {{"name", "evenkeel-controller"}, {"namespace", "evenkeel"}}},
                   {"spec", {{"replicas", replicas}, {"template", {{"spec", {{"containers", base::JsonArray{container}}}}}}}}});
  }
  void PutConfigMap(std::string_view name, std::string_view key, const std::string& value) {
    hub.api().Put(kube::resources::ConfigMaps(),
                  {{"metadata", {{"name", name}, {"namespace", "evenkeel"}}}, {"data", {{key, value}}}});
  }
  void PutClaims(const std::vector<ShardClaim>& claims) {
    PutConfigMap(kShardConfigMap, kShardMappingKey, FormatShardMapping(claims));
  }
  FleetView Read(std::optional<Method> method = std::nullopt) { return ReadFleet(hub, {}, std::nullopt, method, kNow).value(); }
  ClusterExplanation Explain(const std::string& cluster, Method method) {
    return ExplainCluster(Read(method), cluster).value();
  }
};

TEST_F(FleetViewTest, ShowsTheOwnerOfEachClusterAndTheAgeOfItsHeartbeat) {
  PutCluster("a", "1");
  PutCluster("b", "2");
  PutCluster("c", "3");
  PutDeployment(3);
  PutClaims({{0, "pod-x", kNow - 4s}, {1, "pod-y", kNow - 40s}, {2, "", std::nullopt}});
  const FleetView fleet = Read(Method::kRoundRobin);
  ASSERT_EQ(fleet.rows.size(), 3u);
  EXPECT_EQ(fleet.rows[0].cluster, "a");
  EXPECT_EQ(fleet.rows[0].owner, "pod-x");
  EXPECT_EQ(fleet.rows[0].heartbeat_age, 4s);
  EXPECT_EQ(fleet.rows[0].source, "Secret evenkeel/a");
  EXPECT_EQ(fleet.rows[1].owner, "pod-y");
  EXPECT_EQ(fleet.rows[2].owner, "");
  EXPECT_EQ(fleet.rows[2].heartbeat_age, std::nullopt);
  EXPECT_EQ(fleet.claims_error, "");
  EXPECT_EQ(fleet.plan.replicas, 3);
}

TEST_F(FleetViewTest, TakesTheMethodFromTheDeploymentThenFromTheParametersThenLegacy) {
  PutDeployment(1);
  EXPECT_EQ(Read().options.method, Method::kLegacy);
  PutConfigMap("argocd-cmd-params-cm", "controller.sharding.algorithm", "round-robin");
  EXPECT_EQ(Read().options.method, Method::kRoundRobin);
  PutDeployment(1, {{"args", base::JsonArray{"run", "--sharding-method=consistent-hashing"}}});
  EXPECT_EQ(Read().options.method, Method::kConsistentHashing);
  PutDeployment(1, {{"args", base::JsonArray{"run", "--sharding-method", "legacy"}}});
  EXPECT_EQ(Read().options.method, Method::kLegacy);
  const Json variable = {{"name", "ARGOCD_CONTROLLER_SHARDING_ALGORITHM"}, {"value", "consistent-hashing"}};
  PutDeployment(1, {{"env", base::JsonArray{variable}}});
  EXPECT_EQ(Read().options.method, Method::kConsistentHashing);
  EXPECT_EQ(Read(Method::kRoundRobin).options.method, Method::kRoundRobin) << "what is asked for goes first";
}

TEST_F(FleetViewTest, SaysWhyClaimsCannotBeRead) {
  PutCluster("a", "1");
  PutDeployment(2);
  EXPECT_NE(Read().claims_error.find("not found"), std::string::npos);
  PutConfigMap(kShardConfigMap, kShardMappingKey, "{");
  const FleetView fleet = Read();
  EXPECT_NE(fleet.claims_error.find("shardControllerMapping"), std::string::npos);
  EXPECT_TRUE(std::ranges::any_of(ExplainCluster(fleet, "a")->why, [](const std::string& line) {
    return line.starts_with("nobody can be seen to hold the shard: shardControllerMapping");
  }));
}

TEST_F(FleetViewTest, NeedsTheDeploymentWithReplicasThatCanBe) {
  auto missing = ReadFleet(hub, {}, std::nullopt, std::nullopt, kNow);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), base::Code::kNotFound);
  EXPECT_NE(missing.error().message().find("Deployment evenkeel/evenkeel-controller"), std::string::npos);
  PutDeployment(2'000'000'000);
  auto absurd = ReadFleet(hub, {}, std::nullopt, std::nullopt, kNow);
  ASSERT_FALSE(absurd);
  EXPECT_EQ(absurd.error().code(), base::Code::kBadRequest);
}

TEST_F(FleetViewTest, ExplainsLegacyByTheHash) {
  PutCluster("a", "1");
  PutDeployment(3);
  PutClaims({{0, "pod-x", kNow}, {1, "pod-y", kNow}, {2, "pod-z", kNow}});
  const auto explained = Explain("a", Method::kLegacy);
  EXPECT_EQ(explained.why,
            (Lines{"legacy: FNV-1a-32 of its id 1 is 873244444, modulo 3 replicas is 1", "shard 1 is held by pod-y"}));
  EXPECT_EQ(explained.would_move, (Lines{"the Deployment evenkeel-controller is scaled to another number than 3",
                                         "pod-y sends no heartbeat for more than 30s"}));
}

TEST_F(FleetViewTest, ExplainsRoundRobinByTheRank) {
  PutCluster("a", "10");
  PutCluster("b", "2");
  PutDeployment(2);
  PutClaims({{0, "pod-x", kNow}, {1, "", std::nullopt}});
  const auto explained = Explain("https://b", Method::kRoundRobin);
  EXPECT_EQ(explained.why, (Lines{"round-robin: its id 2 has rank 1 of 2 clusters (from 0), modulo 2 replicas is 1",
                                  "no replica holds shard 1 now"}));
  EXPECT_EQ(explained.would_move.size(), 2u);
}

TEST_F(FleetViewTest, ExplainsConsistentHashingByTheRing) {
  PutCluster("a", "000000");
  PutDeployment(3);
  const auto explained = Explain("a", Method::kConsistentHashing);
  ASSERT_FALSE(explained.why.empty());
  EXPECT_EQ(explained.why[0], "consistent-hashing: the next virtual node after the hash of its id 000000 is one of shard " +
                                  std::to_string(explained.row.shard));
}

TEST_F(FleetViewTest, ExplainsPinsSkippingAndASingleReplica) {
  PutCluster("pinned", "1", {{"shard", "2"}});
  PutCluster("high", "2", {{"shard", "9"}});
  PutCluster("low", "3", {{"shard", "-1"}});
  PutDeployment(3);
  EXPECT_EQ(Explain("pinned", Method::kLegacy).why[0], "Secret evenkeel/pinned pins it to shard 2");
  EXPECT_EQ(Explain("high", Method::kLegacy).why[0],
            "Secret evenkeel/high pins it to shard 9, which does not exist with 3 replicas: shard 0");
  const auto low = Explain("low", Method::kLegacy);
  EXPECT_TRUE(low.why[0].starts_with("legacy: ")) << low.why[0];
  EXPECT_TRUE(low.why.back().starts_with("note: ShardOutOfRange: shard -1 is negative")) << low.why.back();
  PutDeployment(1);
  EXPECT_EQ(Explain("low", Method::kLegacy).why[0], "with 1 replica everything is shard 0");
  Json secret = hub.api().objects["secrets"].at("evenkeel/low");
  base::Ensure(secret, {"metadata", "annotations", "argocd.argoproj.io/skip-reconcile"}) = "true";
  hub.api().Put(kube::resources::Secrets(), secret);
  PutClaims({{0, "pod-x", kNow}});
  const auto skipped = Explain("low", Method::kLegacy);
  EXPECT_EQ(skipped.why[0], "its annotation argocd.argoproj.io/skip-reconcile is true: no replica looks after it");
  EXPECT_EQ(skipped.row.owner, "");
}

TEST_F(FleetViewTest, NamesTheClustersThereAreWhenOneIsUnknown) {
  PutDeployment(2);
  EXPECT_EQ(ExplainCluster(Read(), "x").error().message(), "cluster \"x\" is not in the fleet: there are none");
  PutCluster("a", "1");
  PutCluster("b", "2");
  const auto unknown = ExplainCluster(Read(), "x");
  EXPECT_EQ(unknown.error().code(), base::Code::kNotFound);
  EXPECT_EQ(unknown.error().message(), "cluster \"x\" is not in the fleet: there are a, b");
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::fleet_view_test
