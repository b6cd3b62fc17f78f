#include "controllers/rollout/zookeeper/hub/hub_controller.h"

#include "controllers/rollout/zookeeper/hub/ensemble_reconciler.h"
#include "controllers/rollout/zookeeper/hub/hub_testing.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper::hub_controller_test {
namespace {

namespace karmada = kube::karmada;
using base::FindString;
using base::Json;
using base::JsonArray;
using testing::HubControllerTest;
using testing::Replica;
using namespace std::chrono_literals;

TEST_F(HubControllerTest, DeploysClusterByClusterAndThenWritesNothing) {
  SetSpec("3.8.4");
  Replica replica("a", executor, api, metrics);
  ASSERT_TRUE(Settle());
  ASSERT_EQ(karmada.changes.size(), 6u) << "each waits with no servers, then gets its revision";
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(karmada.changes[i].ends_with(" pending")) << karmada.changes[i];
  EXPECT_TRUE(karmada.changes[3].starts_with("m1 "));
  EXPECT_TRUE(karmada.changes[5].starts_with("m3 "));
  EXPECT_EQ(Ensemble().at("metadata").at("finalizers"), (JsonArray{Json(kFinalizer)}));
  const auto reasons = Reasons();
  for (const char* reason : {"RecordAppended", "ClusterStarted", "ClusterCompleted", "RecordReady"}) {
    EXPECT_TRUE(reasons.contains(reason)) << reason;
  }
  replica.hub.writes.clear();
  executor.RunFor(20min);
  EXPECT_EQ(replica.hub.writes, std::vector<std::string>{});
  replica.controller->metrics().Publish();
  EXPECT_NE(metrics.Render().find("evenkeel_rollout_quorum_margin{ensemble=\"data/zk\"} 2"), std::string::npos);
}

TEST_F(HubControllerTest, EachStatusIsWrittenBeforeWhatItSays) {
  SetSpec("3.8.4");
  Replica replica("a", executor, api, metrics);
  ASSERT_TRUE(Settle());
  replica.hub.writes.clear();
  SetSpec("3.8.5");
  ASSERT_TRUE(Settle(2));
  const auto& writes = replica.hub.writes;
  for (const char* cluster : {"m1", "m2", "m3"}) {
    const auto found = std::ranges::find(writes, std::string("update OverridePolicy zk-") + cluster);
    ASSERT_NE(found, writes.end()) << cluster;
    EXPECT_EQ(*std::prev(found), "status MultiClusterZooKeeper zk") << cluster;
  }
  EXPECT_EQ(TagOf("m1"), "3.8.5");
}

TEST_F(HubControllerTest, ACrashBetweenStatusAndOverrideLeavesNothingUndone) {
  SetSpec("3.8.4");
  auto first = std::make_unique<Replica>("a", executor, api, metrics);
  ASSERT_TRUE(Settle());
  SetSpec("3.8.5");
  ASSERT_TRUE(executor.RunUntil([&] { return Is("Deploying", 2); }, 1min));
  first->hub.dies_after_status = true;
  ASSERT_TRUE(executor.RunUntil([&] { return Deploying().size() == 1; }, 1min));
  const std::string begun = Deploying().front();
  executor.RunFor(5s);
  EXPECT_EQ(TagOf(begun), "3.8.4") << "the connection broke before";
  first.reset();
  Replica second("b", executor, api, metrics);
  ASSERT_TRUE(executor.RunUntil([&] { return TagOf(begun) == "3.8.5"; }, 1min));
  EXPECT_EQ(Deploying(), std::vector{begun});
  ASSERT_TRUE(Settle(2));
  const auto count = [&](const std::string& mark) {
    return std::ranges::count_if(karmada.changes, [&](const std::string& change) { return change.ends_with(mark); });
  };
  const std::string revision(FindString(Ensemble().at("status").at("records").as_array().back(), {"revision"}));
  EXPECT_EQ(count(revision + ".2"), 3) << "each cluster changed once";
}

TEST_F(HubControllerTest, APlanFromAnOldStatusIsNotCarriedOut) {
  SetSpec("3.8.4");
  Replica replica("a", executor, api, metrics);
  ASSERT_TRUE(Settle());
  replica.hub.writes.clear();
  int races = 0;
  replica.hub.fake.before_write = [&](std::string_view, const Json& object) {
    if (FindString(object, {"kind"}) != "MultiClusterZooKeeper" || races > 0) return;
    ++races;
    // Somebody else decides in between.
    Json other = Ensemble();
    base::Ensure(other, {"metadata", "annotations", "by"}) = "another";
    api->Put(MultiClusterZooKeepers(), std::move(other));
    replica.hub.writes.emplace_back("raced");
  };
  SetSpec("3.8.5");
  ASSERT_TRUE(Settle(2));
  EXPECT_EQ(races, 1);
  const auto raced = std::ranges::find(replica.hub.writes, "raced");
  EXPECT_EQ(*std::next(raced), "status MultiClusterZooKeeper zk") << "nothing is applied before a status has been written";
  EXPECT_EQ(FindString(Ensemble(), {"metadata", "annotations", "by"}), "another");
}

TEST_F(HubControllerTest, ALateWriterDoesNotTakeBackWhatItsSuccessorApplied) {
  SetSpec("3.8.4");
  Replica replica("a", executor, api, metrics);
  ASSERT_TRUE(Settle());
  bool once = false;
  replica.hub.fake.before_write = [&](std::string_view, const Json& object) {
    if (FindString(object, {"kind"}) != "OverridePolicy" || std::exchange(once, true)) return;
    Json policy = api->objects["overridepolicies"].at("data/zk-" + Deploying().front());
    base::Ensure(policy, {"metadata", "annotations", "by"}) = "successor";
    api->Put(karmada::OverridePolicies(), std::move(policy));
  };
  SetSpec("3.8.5");
  ASSERT_TRUE(Settle(2));
  EXPECT_TRUE(once);
  int kept = 0;
  for (const auto& [key, policy] : api->objects["overridepolicies"]) {
    kept += FindString(policy, {"metadata", "annotations", "by"}) == "successor";
  }
  EXPECT_EQ(kept, 1) << "the write that was under way failed and was decided anew";
}

TEST_F(HubControllerTest, DeletionTakesTheOverridesLastAndThenTheFinalizer) {
  SetSpec("3.8.4");
  Replica replica("a", executor, api, metrics);
  ASSERT_TRUE(Settle());
  replica.hub.writes.clear();
  Json object = Ensemble();
  base::Ensure(object, {"metadata", "deletionTimestamp"}) = "2026-01-01T00:00:00Z";
  api->Put(MultiClusterZooKeepers(), std::move(object));
  ASSERT_TRUE(executor.RunUntil([&] { return Ensemble().at("metadata").at("finalizers").as_array().empty(); }, 1min));
  EXPECT_EQ(replica.hub.writes,
            (std::vector<std::string>{
                "update PropagationPolicy zk-zk", "status MultiClusterZooKeeper zk", "delete ZooKeeper zk",
                "delete PropagationPolicy zk-svc", "delete PropagationPolicy zk-zk", "delete ServiceExport zk-client",
                "delete ServiceExport zk-headless", "delete OverridePolicy zk-m1", "delete OverridePolicy zk-m2",
                "delete OverridePolicy zk-m3", "update MultiClusterZooKeeper zk"}));
}

TEST_F(HubControllerTest, OneOfTwoReplicasActsAndTheOtherTakesOver) {
  Replica first("a", executor, api, metrics);
  executor.RunFor(1s);
  Replica second("b", executor, api, metrics);
  SetSpec("3.8.4");
  ASSERT_TRUE(Settle());
  EXPECT_TRUE(first.controller->leading());
  EXPECT_EQ(second.hub.writes, std::vector<std::string>{});
  SetSpec("3.8.5");
  ASSERT_TRUE(executor.RunUntil([&] { return Is("Deploying", 2) && Deploying().size() == 1; }, 1min));
  first.hub.fake.CutOff(true);
  ASSERT_TRUE(executor.RunUntil([&] { return second.controller->leading(); }, 1min));
  EXPECT_FALSE(first.controller->leading());
  ASSERT_TRUE(Settle(2));
  EXPECT_EQ(second.terms, 1);
  bool stopped = false;
  second.controller->Stop([&] { stopped = true; });
  ASSERT_TRUE(executor.RunUntil([&] { return stopped; }, 10s));
  first.hub.fake.CutOff(false);
  EXPECT_TRUE(executor.RunUntil([&] { return first.controller->leading(); }, 20s)) << "the Lease was given up";
}

TEST_F(HubControllerTest, NothingIsWrittenBeforeTheLeaderHasPrepared) {
  Replica replica("a", executor, api, metrics);
  replica.prepares = false;
  SetSpec("3.8.4");
  executor.RunFor(1min);
  ASSERT_TRUE(replica.controller->leading());
  EXPECT_EQ(replica.hub.writes, std::vector<std::string>{});

  const auto of_the_term_before = std::exchange(replica.waiting, nullptr);
  replica.hub.fake.CutOff(true);
  ASSERT_TRUE(executor.RunUntil([&] { return !replica.controller->leading(); }, 1min));
  replica.hub.fake.CutOff(false);
  ASSERT_TRUE(executor.RunUntil([&] { return replica.waiting != nullptr; }, 1min));
  of_the_term_before();
  executor.RunFor(1min);
  EXPECT_EQ(replica.hub.writes, std::vector<std::string>{}) << "what was prepared was another term";
  replica.waiting();
  EXPECT_TRUE(Settle());
  EXPECT_FALSE(replica.hub.writes.empty());
}

TEST_F(HubControllerTest, ADeadlineCountsFromWhenTheLeaderBeganToLook) {
  SetSpec("3.8.4");
  auto first = std::make_unique<Replica>("a", executor, api, metrics);
  ASSERT_TRUE(Settle());
  karmada.holds = true;
  SetSpec("3.8.5");
  executor.RunFor(9min);
  first.reset();
  Replica second("b", executor, api, metrics);
  executor.RunFor(9min);
  EXPECT_EQ(Phase(), "Deploying") << "what the one before wrote is of another clock";
  executor.RunFor(3min);
  EXPECT_EQ(Phase(), "Paused");
}

TEST_F(HubControllerTest, BadInputIsAConditionAndNothingElse) {
  Replica replica("a", executor, api, metrics);
  SetSpec("3.8.4", R"(, "rollout": {"order": ["m1", "m1", "m2"]})");
  executor.RunFor(5s);
  EXPECT_EQ(Condition("Degraded", "reason"), "InvalidSpec");
  EXPECT_EQ(Condition("Ready", "message"), "MultiClusterZooKeeper data/zk: spec.rollout.order[1]: \"m1\" is listed twice");
  EXPECT_EQ(replica.hub.writes, std::vector<std::string>{"status MultiClusterZooKeeper zk"}) << "once, and nothing is made";
  EXPECT_TRUE(Reasons().contains("InvalidSpec"));
  SetSpec("3.8.4");
  ASSERT_TRUE(Settle()) << "and it can be mended";
  EXPECT_EQ(Condition("Degraded", "status"), "False");
}

struct BadInput {
  const char *placement, *more, *reason, *message;
};
const std::string kLongLabel(64, 'c');
const std::string kLongDomain = R"(, "naming": {"mode": "perClusterService", "clusterDomain": ")" + std::string(60, 'd') + "." +
                                std::string(60, 'd') + "." + std::string(60, 'd') + "." + std::string(50, 'd') + "\"}";
const std::string kLongName = R"({"name": "m1", "replicas": 3, "clusterID": ")" + kLongLabel + "\"}";
const BadInput kBadInputs[] = {
    {R"({"name": "m1", "replicas": 2}, {"name": "m2", "replicas": 2}, {"name": "m3", "replicas": 1})",
     R"(, "rollout": {"order": ["m1", "m2"]})", "InvalidSpec", "spec.rollout.order: m3 is missing"},
    {R"({"name": "m1", "replicas": 2}, {"name": "m2", "replicas": 2}, {"name": "m3", "replicas": 1})",
     R"(, "rollout": {"order": ["m1", "m2", "m4"]})", "InvalidSpec", "\"m4\" is not a cluster of spec.placement"},
    {kLongName.c_str(), "", "InvalidSpec", "spec.placement.clusters[0].clusterID"},
    {R"({"name": "m1", "replicas": 2}, {"name": "m2", "replicas": 2}, {"name": "m3", "replicas": 1})", kLongDomain.c_str(),
     "InvalidSpec", "spec.naming: the server name"},
    {R"({"name": "m1", "replicas": 11})", "", "InvalidSpec", "spec.naming.stride gives a cluster 10 ids"},
    {R"({"name": "m1", "replicas": 2}, {"name": "m9", "replicas": 1})", "", "UnknownCluster", "there is no Cluster m9"},
};

/// Of the condition that tells of a row.
const char* ConditionFor(const BadInput& row) {
  return std::string_view(row.reason) == "UnknownCluster" ? "Scheduled" : "Degraded";
}
std::string SpecWith(const BadInput& row) {
  return R"({"placement": {"clusters": [)" + std::string(row.placement) + R"(]}, "template": {"image": {"tag": "3.8.5"}})" +
         row.more + "}";
}

TEST_F(HubControllerTest, BadInputToWhatIsNewMakesNothing) {
  Replica replica("a", executor, api, metrics);
  for (const BadInput& row : kBadInputs) {
    Want(SpecWith(row));
    executor.RunFor(40s);
    EXPECT_EQ(Condition(ConditionFor(row), "reason"), row.reason) << row.message;
    EXPECT_NE(Condition(ConditionFor(row), "message").find(row.message), std::string::npos)
        << Condition(ConditionFor(row), "message");
    EXPECT_EQ(Condition("Ready", "status"), "False") << row.message;
    for (const char* plural : {"zookeepers", "overridepolicies", "propagationpolicies", "serviceexports"}) {
      EXPECT_TRUE(api->objects[plural].empty()) << plural << ": " << row.message;
    }
  }
  SetSpec("3.8.4");
  EXPECT_TRUE(Settle());
}

TEST_F(HubControllerTest, BadInputToWhatRunsChangesNothing) {
  Replica replica("a", executor, api, metrics);
  SetSpec("3.8.4");
  ASSERT_TRUE(Settle());
  const auto changes = karmada.changes;
  const auto overrides = api->objects["overridepolicies"];
  for (const BadInput& row : kBadInputs) {
    replica.hub.writes.clear();
    Want(SpecWith(row));
    executor.RunFor(40s);
    EXPECT_EQ(Condition(ConditionFor(row), "reason"), row.reason) << row.message;
    for (const std::string& write : replica.hub.writes) EXPECT_EQ(write, "status MultiClusterZooKeeper zk") << row.message;
    EXPECT_EQ(base::FindArray(Ensemble(), {"status", "records"}).size(), 1u) << row.message;
  }
  EXPECT_EQ(api->objects["overridepolicies"], overrides);
  EXPECT_EQ(karmada.changes, changes);
  SetSpec("3.8.5");
  EXPECT_TRUE(Settle(2));
}

TEST_F(HubControllerTest, AnUnsafePlacementWhereSafetyIsRequiredIsRefused) {
  Replica replica("a", executor, api, metrics);
  Want(
      R"({"placement": {"clusters": [{"name": "m1", "replicas": 3}, {"name": "m2", "replicas": 1}, {"name": "m3", "replicas": 1}],
                         "requireClusterFaultTolerance": true}})");
  executor.RunFor(10s);
  EXPECT_EQ(Condition("Degraded", "reason"), "InvalidSpec");
  EXPECT_NE(Condition("Degraded", "message").find("without m1 2 of 5 voters are left"), std::string::npos);
  EXPECT_EQ(replica.hub.writes, std::vector<std::string>{"status MultiClusterZooKeeper zk"});
}

TEST_F(HubControllerTest, WhatMembersNeedIsNotedOnceAndBesideTheNotesOfOthers) {
  Replica replica("a", executor, api, metrics);
  SetSpec("3.8.4");
  ASSERT_TRUE(Settle());
  Json zookeeper = api->objects["zookeepers"].at("data/zk");
  base::Ensure(zookeeper, {"metadata", "annotations", "somebody"}) = "else";
  api->Put(ZooKeepers(), zookeeper);
  Json object = Ensemble();
  base::Ensure(object, {"spec", "template", "image", "pullSecrets"}) = base::JsonArray{"s"};
  base::Ensure(object, {"metadata", "generation"}) = 2;
  api->Put(MultiClusterZooKeepers(), object);
  ASSERT_TRUE(Settle(2));
  const Json& metadata = api->objects["zookeepers"].at("data/zk").at("metadata");
  EXPECT_EQ(FindString(metadata, {"annotations", "evenkeel.dev/needs"}), "Secret/s");
  EXPECT_EQ(FindString(metadata, {"annotations", "somebody"}), "else");
  replica.hub.writes.clear();
  executor.RunFor(1min);
  EXPECT_TRUE(replica.hub.writes.empty()) << "at rest nothing is written";
}

TEST_F(HubControllerTest, ATemplateThatTheHubRefusesChangesNothing) {
  Replica replica("a", executor, api, metrics);
  SetSpec("3.8.4");
  ASSERT_TRUE(Settle());
  replica.hub.writes.clear();
  replica.hub.refuses = "ZooKeeper";
  SetSpec("no such");
  executor.RunFor(1min);
  EXPECT_EQ(Condition("Degraded", "reason"), "TemplateRefused");
  EXPECT_EQ(base::FindArray(Ensemble(), {"status", "records"}).size(), 1u) << "no record begins";
  EXPECT_EQ(replica.hub.writes, std::vector<std::string>{"status MultiClusterZooKeeper zk"});
}

TEST_F(HubControllerTest, WithoutKarmadaItSaysWhatIsMissing) {
  Replica replica("a", executor, api, metrics);
  replica.hub.missing = {"overridepolicies"};
  SetSpec("3.8.4");
  executor.RunFor(10s);
  EXPECT_EQ(Condition("Degraded", "reason"), "KindMissing");
  EXPECT_NE(Condition("Degraded", "message").find("overridepolicies.policy.karmada.io"), std::string::npos);
  replica.hub.missing.clear();
  EXPECT_TRUE(Settle()) << "and goes on once it is there";
}

TEST_F(HubControllerTest, AnUnknownClusterIsACondition) {
  Replica replica("a", executor, api, metrics);
  api->Remove(karmada::Clusters(), "m3");
  SetSpec("3.8.4");
  executor.RunFor(10s);
  EXPECT_EQ(Condition("Scheduled", "reason"), "UnknownCluster");
  EXPECT_TRUE(api->objects["overridepolicies"].empty());
  SetCluster("m3", "True");
  EXPECT_TRUE(Settle());
}

TEST_F(HubControllerTest, AHubWithoutEnsemblesPaysForOneWatch) {
  Replica replica("a", executor, api, metrics);
  executor.RunFor(1min);
  EXPECT_EQ(replica.hub.fake.Count("list "), 1);
  EXPECT_EQ(replica.hub.writes, std::vector<std::string>{});
}

TEST_F(HubControllerTest, WhatANewerOneHasBegunIsLeftToIt) {
  SetSpec("3.8.4");
  auto newer = std::make_unique<Replica>("newer", executor, api, metrics, Forms{.orders = 2});
  ASSERT_TRUE(Settle());
  ASSERT_EQ(base::FindInt(Ensemble(), {"status", "format"}), 2);
  newer.reset();
  Replica older("older", executor, api, metrics);
  executor.RunFor(1min);
  SetSpec("3.8.5");
  const size_t changes = karmada.changes.size();
  executor.RunFor(2min);
  EXPECT_EQ(Condition("Degraded", "reason"), "WrittenByNewer");
  EXPECT_NE(Condition("Degraded", "message").find("status.format is 2"), std::string::npos);
  EXPECT_TRUE(Reasons().contains("WrittenByNewer"));
  EXPECT_EQ(TagOf("m2"), "3.8.4");
  EXPECT_EQ(karmada.changes.size(), changes);
  Replica again("again", executor, api, metrics, Forms{.orders = 2});
  older.controller->Stop([] {});
  EXPECT_TRUE(Settle(2));
  EXPECT_EQ(TagOf("m2"), "3.8.5");
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::hub_controller_test
