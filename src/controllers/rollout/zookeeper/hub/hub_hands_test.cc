// What people, and others, do by hand to objects of an ensemble on the hub.
#include "controllers/rollout/zookeeper/hub/ensemble_reconciler.h"
#include "controllers/rollout/zookeeper/hub/hub_testing.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper::hub_hands_test {
namespace {

namespace karmada = kube::karmada;
using base::FindString;
using base::Json;
using testing::HubControllerTest;
using testing::Replica;
using namespace std::chrono_literals;

TEST_F(HubControllerTest, AnOverrideDeletedByHandComesBackAtOnce) {
  SetSpec("3.8.4");
  Replica replica("a", executor, api, metrics);
  ASSERT_TRUE(Settle());
  executor.RunFor(1min);
  karmada.holds = true;
  api->Remove(karmada::OverridePolicies(), "data/zk-m2");
  executor.RunFor(1s);
  ASSERT_TRUE(api->objects["overridepolicies"].contains("data/zk-m2"));
  EXPECT_EQ(TagOf("m2"), "3.8.4");
  EXPECT_TRUE(Is("Ready", 1)) << "no new record";
  EXPECT_TRUE(Reasons().contains("DriftRepaired"));
}

TEST_F(HubControllerTest, AnOverrideDeletedWhileTheSpecOrTheTemplateCannotBeUsedComesBack) {
  Replica replica("a", executor, api, metrics);
  SetSpec("3.8.4");
  ASSERT_TRUE(Settle());
  const auto comes_back = [&] {
    karmada.holds = true;
    api->Remove(karmada::OverridePolicies(), "data/zk-m2");
    executor.RunFor(35s);
    EXPECT_TRUE(api->objects["overridepolicies"].contains("data/zk-m2"));
    EXPECT_EQ(TagOf("m2"), "3.8.4");
    karmada.holds = false;
  };
  SetSpec("3.8.5", R"(, "rollout": {"order": ["m1", "m1", "m2"]})");
  executor.RunFor(5s);
  EXPECT_EQ(Condition("Degraded", "reason"), "InvalidSpec");
  comes_back();
  EXPECT_TRUE(Reasons().contains("DriftRepaired"));
  replica.hub.refuses = "ZooKeeper";
  SetSpec("no such");
  executor.RunFor(5s);
  EXPECT_EQ(Condition("Degraded", "reason"), "TemplateRefused");
  comes_back();
  SetSpec("3.8.4", R"(, "naming": {"stride": 20})");
  executor.RunFor(5s);
  EXPECT_EQ(Condition("Degraded", "reason"), "InvalidSpec") << "and not the status";
  comes_back();
  replica.hub.refuses.clear();
  replica.hub.missing = {"propagationpolicies"};
  SetSpec("3.8.4", R"(, "naming": {"stride": 10})");
  executor.RunFor(5s);
  EXPECT_EQ(Condition("Degraded", "reason"), "KindMissing");
  comes_back();
}

TEST_F(HubControllerTest, OverridesComeBackWhileNobodySaysWhichClustersThereAre) {
  Replica replica("a", executor, api, metrics);
  SetSpec("3.8.4");
  ASSERT_TRUE(Settle());
  replica.hub.away = {"clusters"};
  karmada.holds = true;
  for (const char* name : {"m1", "m2", "m3"}) api->Remove(karmada::OverridePolicies(), std::string("data/zk-") + name);
  executor.RunFor(2s);
  for (const char* name : {"m1", "m2", "m3"}) {
    ASSERT_TRUE(api->objects["overridepolicies"].contains(std::string("data/zk-") + name)) << name;
    EXPECT_EQ(TagOf(name), "3.8.4");
  }
  EXPECT_EQ(Condition("Ready", "status"), "True") << "a question that is not answered once is no news";
  executor.RunFor(5min);
  EXPECT_EQ(Condition("Ready", "reason"), "ClustersUnknown");
  EXPECT_NE(Condition("Ready", "message").find("has not said since 20"), std::string::npos);
  replica.hub.away.clear();
  karmada.holds = false;
  EXPECT_TRUE(Settle());
}

TEST_F(HubControllerTest, AClusterThatKarmadaHasForgottenIsAskedForAgain) {
  Replica replica("a", executor, api, metrics);
  karmada.forgets = "m3";
  SetSpec("3.8.4");
  executor.RunFor(50s);
  EXPECT_EQ(Condition("Scheduled", "status"), "False");
  EXPECT_NE(Condition("Scheduled", "message").find("has not scheduled m3 since"), std::string::npos);
  ASSERT_TRUE(Settle());
  EXPECT_EQ(
      FindString(api->objects["zookeepers"].at("data/zk"), {"metadata", "annotations", "evenkeel.dev/scheduling-attempt"}),
      "1");
  const auto& rebalancers = api->objects["workloadrebalancers"];
  ASSERT_EQ(rebalancers.size(), 1U);
  EXPECT_EQ(kube::NameOf(rebalancers.begin()->second), "evenkeel-data-zk-1");
  EXPECT_TRUE(Reasons().contains("ScheduleAskedAgain"));
}

TEST_F(HubControllerTest, AStatusThatIsEmptiedStopsNobody) {
  Replica replica("a", executor, api, metrics);
  SetSpec("3.8.4");
  ASSERT_TRUE(Settle());
  const auto changes = karmada.changes;
  replica.hub.writes.clear();
  Json object = Ensemble();
  object.as_object().erase("status");
  api->Put(MultiClusterZooKeepers(), object);
  ASSERT_TRUE(Settle());
  executor.RunFor(1min);
  EXPECT_EQ(karmada.changes, changes);
  for (const std::string& write : replica.hub.writes) EXPECT_EQ(write, "status MultiClusterZooKeeper zk");
  EXPECT_TRUE(Reasons().contains("StateAdopted"));
}

TEST_F(HubControllerTest, AnEditedRecordStopsEverythingAndSaysWhere) {
  Replica replica("a", executor, api, metrics);
  SetSpec("3.8.4");
  ASSERT_TRUE(Settle());
  replica.hub.writes.clear();
  Json object = Ensemble();
  base::Ensure(object, {"status", "clusterIndices", "m2"}) = 0;
  api->Put(MultiClusterZooKeepers(), object);
  SetSpec("3.8.5");
  executor.RunFor(1min);
  EXPECT_EQ(Condition("Degraded", "reason"), "InvalidStatus");
  EXPECT_NE(Condition("Degraded", "message").find("status.clusterIndices[\"m2\"]"), std::string::npos);
  EXPECT_EQ(replica.hub.writes, std::vector<std::string>{"status MultiClusterZooKeeper zk"});
}

TEST_F(HubControllerTest, OverridesOfOthersAreToldOfAtOnce) {
  SetSpec("3.8.4");
  Replica replica("a", executor, api, metrics);
  ASSERT_TRUE(Settle());
  executor.RunFor(1min);
  const auto policy = [](const kube::Resource& kind, const char* ns) {
    Json object = kube::NewObject(kind, ns, "theirs");
    base::Ensure(object, {"spec"}) = *base::ParseJson(
        R"({"resourceSelectors": [{"apiVersion": "evenkeel.dev/v1alpha1", "kind": "ZooKeeper"}], "overrideRules": [{}]})",
        "spec");
    return object;
  };
  for (const kube::Resource* kind : {&karmada::ClusterOverridePolicies(), &karmada::OverridePolicies()}) {
    const char* ns = kind->namespaced ? "data" : "";
    api->Put(*kind, policy(*kind, ns));
    executor.RunFor(1s);
    EXPECT_NE(Condition("OverridesHonoured", "message").find(kind->kind + " theirs in m1"), std::string::npos) << kind->kind;
    api->Remove(*kind, *ns == 0 ? "theirs" : "data/theirs");
    executor.RunFor(1s);
    EXPECT_EQ(Condition("OverridesHonoured", "status"), "True") << kind->kind;
  }
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::hub_hands_test
