#include "controllers/distribution/leases/claim.h"

#include <gtest/gtest.h>

#include "base/executor.h"
#include "client/fake_client_testing.h"

namespace evenkeel::controllers::distribution::claim_test {
namespace {

using namespace std::chrono_literals;
using base::Code;

const base::Time kNow{std::chrono::seconds(1'734'225'184)};
const std::string kConfigMapKey = "argocd/argocd-app-controller-shard-cm";

class ClaimTest : public ::testing::Test {
 protected:
  std::shared_ptr<client::FakeApi> api = std::make_shared<client::FakeApi>();
  client::FakeClient hub{api};
  base::VirtualExecutor time{kNow};
  Options options;
  std::vector<Finding> findings;
  std::vector<std::string> warnings;

  ClaimTest() {
    options.ns = "argocd";
    options.controller_name = "argocd-application-controller";
    options.host_name = "test-host";
    options.dynamic = true;
  }

  void PutDeployment(const std::string& name, int64_t replicas) {
    api->Put(kube::resources::Deployments(),
             {{"metadata", {{"name", name}, {"namespace", "argocd"}}}, {"spec", {{"replicas", replicas}}}});
  }
  void PutMapping(const base::Json& data) {
    api->Put(kube::resources::ConfigMaps(),
             {{"metadata", {{"name", kShardConfigMap}, {"namespace", "argocd"}}}, {"data", data}});
  }
  std::string Mapping() const {
    const auto& stored = api->objects["configmaps"];
    const auto found = stored.find(kConfigMapKey);
    if (found == stored.end()) return "absent";
    return std::string(base::FindString(found->second, {"data", kShardMappingKey}));
  }
  base::Result<Claimer::Start> First() { return Claimer(hub, options, time.clock()).FirstShard(findings, warnings); }
  base::Result<ClaimResult> Claim(int64_t replicas, int64_t shard = -1) {
    return Claimer(hub, options, time.clock()).Claim(replicas, shard, findings);
  }
};

struct StartCase {
  const char* name;
  bool dynamic;
  const char* deployment;
  int64_t static_replicas, asked;
  const char* host;
  int64_t shard, replicas;
};

constexpr char kSingle[] = "argocd-application-controller";
constexpr char kMulti[] = "argocd-application-controller-multi-replicas";

TEST_F(ClaimTest, StartsAsUpstreamDoesInEveryModeAgainstOneApi) {
  PutDeployment(kSingle, 1);
  PutDeployment(kMulti, 3);
  options.quirks.single_replica_skips_claim = true;
  const StartCase cases[] = {
      {"default StatefulSet", false, kSingle, 1, -1, "test-host", 0, 1},
      {"default Deployment", true, kSingle, 0, -1, "test-host", 0, 1},
      {"Deployment multi", true, kMulti, 0, -1, "test-host", 0, 3},
      {"StatefulSet multi", false, kSingle, 3, -1, "example-shard-3", 3, 3},
      {"explicit, 1 replica", false, kSingle, 1, 3, "test-host", 0, 1},
      {"explicit too high", false, kSingle, 2, 3, "test-host", 0, 2},
      {"explicit", false, kSingle, 2, 1, "test-host", 1, 2},
      {"explicit, Deployment 1", true, kSingle, 0, 3, "test-host", 0, 1},
      {"explicit, Deployment multi", true, kMulti, 0, 3, "test-host", 0, 3},
  };
  for (const StartCase& c : cases) {
    options.dynamic = c.dynamic;
    options.controller_name = c.deployment;
    options.static_replicas = c.static_replicas;
    options.shard = c.asked;
    options.host_name = c.host;
    const auto start = First();
    ASSERT_TRUE(start) << c.name << ": " << start.error().message();
    EXPECT_EQ(start->shard, c.shard) << c.name;
    EXPECT_EQ(start->replicas, c.replicas) << c.name;
    EXPECT_EQ(api->objects["configmaps"].contains(kConfigMapKey), &c >= &cases[2]) << c.name << ": one replica claims nothing";
  }
  EXPECT_EQ(
      Mapping(),
      R"([{"ShardNumber":0,"ControllerName":"test-host","HeartbeatTime":"2024-12-15T01:13:04Z"},)"
      R"({"ShardNumber":1,"ControllerName":"","HeartbeatTime":null},{"ShardNumber":2,"ControllerName":"","HeartbeatTime":null}])");
  options.dynamic = true;
  options.shard = -1;
  options.controller_name = "missing-deployment";
  const auto missing = First();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
  EXPECT_EQ(
      missing.error().message(),
      "(dynamic cluster distribution) failed to get app controller deployment: deployments.apps \"missing-deployment\" not "
      "found");
}

TEST_F(ClaimTest, WithoutTheQuirkASingleReplicaClaimsToo) {
  PutDeployment(kSingle, 1);
  const auto start = First();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->shard, 0);
  EXPECT_EQ(Mapping(), R"([{"ShardNumber":0,"ControllerName":"test-host","HeartbeatTime":"2024-12-15T01:13:04Z"}])");
}

TEST_F(ClaimTest, ADeploymentWithoutReplicasCountIsAnError) {
  api->Put(kube::resources::Deployments(), {{"metadata", {{"name", kSingle}, {"namespace", "argocd"}}}, {"spec", {}}});
  const auto start = First();
  ASSERT_FALSE(start);
  EXPECT_EQ(start.error().message(), "(dynamic cluster distribution) failed to get app controller deployment replica count");
}

TEST_F(ClaimTest, NoReplicasIsNoShardAndTooManyIsAnError) {
  PutDeployment(kSingle, 0);
  ASSERT_TRUE(First());
  EXPECT_EQ(First()->shard, -1);
  PutDeployment(kSingle, 2'000'000'000);
  const auto absurd = First();
  ASSERT_FALSE(absurd);
  EXPECT_NE(absurd.error().message().find("spec.replicas 2000000000: there can be at most 5000 shards"), std::string::npos);
  EXPECT_EQ(Mapping(), "absent");
}

TEST_F(ClaimTest, TheFirstClaimMakesABareConfigMap) {
  PutDeployment(kSingle, 2);
  ASSERT_TRUE(First());
  const base::Json& made = api->objects["configmaps"].at(kConfigMapKey);
  EXPECT_EQ(base::Find(made, {"metadata", "labels"}), nullptr);
  EXPECT_EQ(base::Find(made, {"metadata", "ownerReferences"}), nullptr);
  EXPECT_EQ(base::FindObject(made, {"data"}).size(), 1u);
  EXPECT_EQ(hub.Count("create configmaps"), 1);
  EXPECT_EQ(hub.Count("update configmaps"), 0) << "one claim is enough";
}

TEST_F(ClaimTest, WithTheQuirkItClaimsFourTimes) {
  options.quirks.claims_four_times = true;
  PutDeployment(kSingle, 2);
  ASSERT_TRUE(First());
  EXPECT_EQ(hub.Count("create configmaps") + hub.Count("update configmaps"), 4);
  EXPECT_EQ(First()->shard, 0);
}

TEST_F(ClaimTest, LosingTheRaceToCreateIsAConflictAndTriedAgain) {
  PutDeployment(kSingle, 2);
  hub.before_write = [&](std::string_view verb, const base::Json&) {
    if (verb == "create") PutMapping({{kShardMappingKey, FormatShardMapping({{0, "winner", kNow}, {1, "", std::nullopt}})}});
  };
  const auto lost = Claim(2);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), Code::kConflict);
  const auto start = First();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->shard, 1);
}

TEST_F(ClaimTest, AConflictAtStartIsTriedAgainWithTheShardThatWasAskedFor) {
  PutDeployment(kSingle, 3);
  PutMapping({{kShardMappingKey, "[]"}});
  options.shard = 2;
  hub.FailNext("update", base::Error(Code::kConflict, "modified"));
  const auto start = First();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->shard, 2);
}

TEST_F(ClaimTest, WithTheQuirkAConflictForgetsTheShardThatWasAskedFor) {
  PutDeployment(kSingle, 3);
  PutMapping({{kShardMappingKey, "[]"}});
  options.shard = 2;
  options.quirks.conflict_forgets_shard = true;
  hub.FailNext("update", base::Error(Code::kConflict, "modified"));
  EXPECT_EQ(First()->shard, 0);
}

TEST_F(ClaimTest, FourConflictsInARowAreReportedInUpstreamsWords) {
  PutDeployment(kSingle, 3);
  PutMapping({{kShardMappingKey, "[]"}});
  hub.FailNext("update", base::Error(Code::kConflict, "modified"), 4);
  const auto start = First();
  ASSERT_FALSE(start);
  EXPECT_EQ(start.error().code(), Code::kConflict);
  EXPECT_TRUE(start.error().message().starts_with("unable to get shard due to error updating the sharding config map"))
      << start.error().message();
  EXPECT_TRUE(First());
}

TEST_F(ClaimTest, AWriteInBetweenIsAConflictAndNothingIsLost) {
  PutMapping({{kShardMappingKey, FormatShardMapping({{0, "", std::nullopt}, {1, "", std::nullopt}})}});
  hub.before_write = [&](std::string_view, const base::Json&) {
    hub.before_write = nullptr;
    PutMapping({{kShardMappingKey, FormatShardMapping({{0, "faster", kNow}, {1, "", std::nullopt}})}});
  };
  const auto lost = Claim(2);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), Code::kConflict);
  EXPECT_EQ(Claim(2)->shard, 1);
  EXPECT_NE(Mapping().find("faster"), std::string::npos);
}

TEST_F(ClaimTest, OtherErrorsNameTheConfigMap) {
  hub.FailNext("get", base::Error(Code::kForbidden, "no"));
  EXPECT_EQ(Claim(2).error().message(), "read ConfigMap argocd/argocd-app-controller-shard-cm: no");
  hub.FailNext("create", base::Error(Code::kForbidden, "no"));
  EXPECT_EQ(Claim(2).error().message(), "create ConfigMap argocd/argocd-app-controller-shard-cm: no");
  PutMapping({{kShardMappingKey, "[]"}});
  hub.FailNext("update", base::Error(Code::kForbidden, "no"));
  EXPECT_EQ(Claim(2).error().message(), "write ConfigMap argocd/argocd-app-controller-shard-cm: no");
}

TEST_F(ClaimTest, ABrokenMappingIsMendedAndReported) {
  const base::Json broken[] = {base::JsonObject{},
                               {{kShardMappingKey, "{"}},
                               {{kShardMappingKey, FormatShardMapping({{1, "other", kNow}, {1, "double", kNow}})}},
                               {{kShardMappingKey, FormatShardMapping({{-1, "low", kNow}, {1, "other", kNow}})}}};
  for (const base::Json& data : broken) {
    PutMapping(data);
    findings.clear();
    const auto claim = Claim(2);
    ASSERT_TRUE(claim) << base::ToText(data);
    EXPECT_EQ(claim->shard, 0);
    EXPECT_EQ(CheckShardMapping(*ParseShardMapping(Mapping())), "");
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].reason, "ShardMappingRepaired");
    EXPECT_EQ(findings[0].object, "ConfigMap argocd/argocd-app-controller-shard-cm");
  }
  EXPECT_NE(Mapping().find("\"other\""), std::string::npos) << "valid claims are kept";
}

TEST_F(ClaimTest, WithTheQuirkABrokenMappingIsLeftToPeople) {
  options.quirks.broken_mapping_fails = true;
  PutMapping({{kShardMappingKey, "{"}});
  EXPECT_FALSE(Claim(2));
  EXPECT_EQ(Mapping(), "{");
  EXPECT_TRUE(findings.empty());
  PutMapping({{kShardMappingKey, R"([{"ShardNumber":7},{"ShardNumber":7}])"}});
  EXPECT_EQ(Claim(2)->shard, 7) << "upstream takes numbers as they are";
}

TEST_F(ClaimTest, OtherDataOfTheConfigMapIsKept) {
  PutMapping({{kShardMappingKey, "[]"}, {"note", "mine"}});
  ASSERT_TRUE(Claim(2));
  EXPECT_EQ(base::FindString(api->objects["configmaps"].at(kConfigMapKey), {"data", "note"}), "mine");
}

TEST_F(ClaimTest, ReleasesWhatItHoldsAndOnlyThat) {
  Claimer claimer(hub, options, time.clock());
  EXPECT_FALSE(claimer.Release()) << "there is no ConfigMap";
  PutMapping({{kShardMappingKey, FormatShardMapping({{0, "other", kNow}, {1, "test-host", kNow}})}});
  hub.FailNext("update", base::Error(Code::kConflict, "modified"), 2);
  ASSERT_TRUE(claimer.Release());
  EXPECT_EQ(Mapping(), FormatShardMapping({{0, "other", kNow}, {1, "", std::nullopt}}));
  const int writes = hub.Count("update");
  ASSERT_TRUE(claimer.Release());
  EXPECT_EQ(hub.Count("update"), writes) << "it holds nothing any more";
  PutMapping({{kShardMappingKey, "{"}});
  EXPECT_TRUE(claimer.Release()) << "nothing in there can be its own";
  PutMapping({{kShardMappingKey, FormatShardMapping({{0, "test-host", kNow}})}});
  hub.FailNext("update", base::Error(Code::kConflict, "modified"), 3);
  EXPECT_FALSE(claimer.Release());
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::claim_test
