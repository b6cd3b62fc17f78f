#include "controllers/rollout/zookeeper/plan.h"

#include <gtest/gtest.h>

#include "controllers/rollout/zookeeper/fake_fleet_testing.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::FindInt;
using base::FindString;
using base::Json;
using Ids = std::set<int64_t>;

std::string Spec(const std::string& clusters, const std::string& more = R"("template": {"image": {"tag": "3.8.4"}})") {
  return R"({"placement": {"clusters": [)" + clusters + "]}, " + more + "}";
}
std::string Cluster(const std::string& name, int replicas) {
  return R"({"name": ")" + name + R"(", "replicas": )" + std::to_string(replicas) + "}";
}
const std::string kFive = Cluster("m1", 2) + "," + Cluster("m2", 2) + "," + Cluster("m3", 1);
const std::string kThree = Cluster("m1", 1) + "," + Cluster("m2", 1) + "," + Cluster("m3", 1);
constexpr const char* kNewer = R"("template": {"image": {"tag": "3.8.5"}})";

std::vector<std::string> Texts(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& text : list.as_array()) texts.emplace_back(text.as_string());
  return texts;
}
std::vector<std::string> Order(const FakeFleet& fleet) { return Texts(fleet.records().back().at("order")); }

/// The value that an override sets at a path.
Json Overridden(const Json& policy, std::string_view path) {
  for (const Json& item : policy.at("spec").at("overrideRules").as_array()[0].at("overriders").at("plaintext").as_array()) {
    if (FindString(item, {"path"}) == path) return item.at("value");
  }
  return nullptr;
}
Json Overridden(FakeFleet& fleet, const std::string& cluster, std::string_view path) {
  return Overridden(fleet.children().at("OverridePolicy/zk-" + cluster), path);
}
std::string Mark(FakeFleet& fleet, const std::string& cluster) {
  return std::string(Overridden(fleet, cluster, "/spec/rolloutRevision").as_string());
}

TEST(RolloutPlanTest, OverridesAreThereBeforeAnythingIsPropagated) {
  FakeFleet fleet(Spec(kFive));
  const Plan plan = fleet.Tick();
  EXPECT_EQ(plan.reason, "ZooKeeperMissing");
  std::vector<std::string> names;
  for (const Json& object : plan.apply)
    names.push_back(std::string(FindString(object, {"kind"})) + " " + std::string(kube::NameOf(object)));
  EXPECT_EQ(names, (std::vector<std::string>{"OverridePolicy zk-m1", "OverridePolicy zk-m2", "OverridePolicy zk-m3",
                                             "ZooKeeper zk", "ServiceExport zk-headless", "ServiceExport zk-client",
                                             "PropagationPolicy zk-svc", "PropagationPolicy zk-zk"}));
  EXPECT_EQ(Overridden(fleet, "m2", "/spec/replicas"), Json(0));
  EXPECT_TRUE(fleet.records().empty());
}

TEST(RolloutPlanTest, TheFirstDeploymentGoesClusterByClusterAndThenRests) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (Ids{1, 2, 11, 12, 21}));
  EXPECT_EQ(fleet.records().size(), 1u);
  EXPECT_EQ(FindString(fleet.records().back(), {"status"}), "Ready");
  EXPECT_EQ(FindInt(fleet.status(), {"readyReplicas"}), 5);
  EXPECT_EQ(FindString(fleet.status(), {"leader", "cluster"}), "m1");
  EXPECT_EQ(FindString(*kube::FindCondition(fleet.ensemble(), "Ready"), {"status"}), "True");
  EXPECT_EQ(Texts(Overridden(fleet, "m3", "/spec/servers")).at(2),
            "server.11=zk-0.m2.zk-headless.data.svc.clusterset.local:2888:3888:participant;2181");
  const Json before = fleet.status();
  const Plan plan = fleet.Tick();
  EXPECT_TRUE(base::Equal(before, plan.status)) << "nothing is written when nothing has changed";
}

TEST(RolloutPlanTest, ANewTemplateReachesTheLeaderLastAndNobodyBeforeItsTurn) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.SetSpec(Spec(kFive, kNewer));
  fleet.Tick();
  EXPECT_EQ(Order(fleet), (std::vector<std::string>{"m2", "m3", "m1"}));
  for (const char* cluster : {"m1", "m2", "m3"})
    EXPECT_EQ(FindString(Overridden(fleet, cluster, "/spec"), {"image", "tag"}), "3.8.4");
  fleet.Tick();
  EXPECT_EQ(FindString(Overridden(fleet, "m2", "/spec"), {"image", "tag"}), "3.8.5");
  EXPECT_EQ(FindString(Overridden(fleet, "m1", "/spec"), {"image", "tag"}), "3.8.4");
  fleet.Settle();
  EXPECT_EQ(fleet.records().size(), 2u);
  EXPECT_EQ(FindString(Overridden(fleet, "m1", "/spec"), {"image", "tag"}), "3.8.5");
}

TEST(RolloutPlanTest, ThreeToFiveToThreeOneVoterAtATime) {
  FakeFleet fleet(Spec(kThree));
  fleet.Settle();
  fleet.SetSpec(Spec(kFive));
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (Ids{1, 2, 11, 12, 21}));
  EXPECT_EQ(fleet.records().size(), 3u) << "3 -> 4 -> 5";
  EXPECT_EQ(Order(fleet).front(), "m2") << "who gets a voter is first";
  fleet.SetSpec(Spec(kThree));
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (Ids{1, 11, 21}));
  EXPECT_EQ(fleet.records().size(), 5u);
  EXPECT_EQ(fleet.least_voters(), 3);
}

TEST(RolloutPlanTest, ATemplateAndAScaleAreSeparateRecords) {
  FakeFleet fleet(Spec(kThree));
  fleet.Settle();
  fleet.SetSpec(Spec(Cluster("m1", 2) + "," + Cluster("m2", 1) + "," + Cluster("m3", 1), kNewer));
  fleet.Settle();
  ASSERT_EQ(fleet.records().size(), 3u);
  EXPECT_NE(FindString(fleet.records()[1], {"specHash"}), FindString(fleet.records()[0], {"specHash"}));
  EXPECT_EQ(FindString(fleet.records()[1], {"scheduleHash"}), FindString(fleet.records()[0], {"scheduleHash"}));
  EXPECT_EQ(FindString(fleet.records()[2], {"specHash"}), FindString(fleet.records()[1], {"specHash"}));
}

TEST(RolloutPlanTest, AReplicaMovesByComingBeforeOneGoes) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.SetSpec(Spec(Cluster("m1", 2) + "," + Cluster("m2", 1) + "," + Cluster("m3", 2)));
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (Ids{1, 2, 11, 21, 22}));
  EXPECT_EQ(fleet.records().size(), 3u);
  EXPECT_EQ(fleet.least_voters(), 5);
}

TEST(RolloutPlanTest, AClusterThatLeavesIsEmptiedBeforeItLosesItsCopyAndItsIndexIsGoneForGood) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.SetSpec(Spec(Cluster("m1", 2) + "," + Cluster("m3", 1) + "," + Cluster("m4", 2)));
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (Ids{1, 2, 21, 31, 32}));
  EXPECT_EQ(FindInt(fleet.status(), {"clusterIndices", "m4"}), 3);
  EXPECT_TRUE(base::Equal(fleet.status().at("retiredIndices"), base::JsonArray{1}));
  EXPECT_FALSE(fleet.children().contains("OverridePolicy/zk-m2"));
  fleet.SetSpec(Spec(kFive));
  fleet.Settle();
  EXPECT_EQ(FindInt(fleet.status(), {"clusterIndices", "m2"}), 4) << "a cluster that comes back is a new one";
  EXPECT_EQ(fleet.Servers(), (Ids{1, 2, 21, 41, 42}));
}

TEST(RolloutPlanTest, WhileAClusterIsAwayNothingBegins) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.SetReachable("m3", false);
  fleet.SetSpec(Spec(kFive, kNewer));
  EXPECT_EQ(fleet.Tick().reason, "RecordAppended");
  const Plan plan = fleet.Tick();
  EXPECT_EQ(plan.reason, "QuorumBudgetExhausted");
  EXPECT_NE(plan.message.find("m2 is next: 1 of 5 members are down outside"), std::string::npos) << plan.message;
  EXPECT_EQ(FindString(*kube::FindCondition(fleet.ensemble(), "Progressing"), {"reason"}), "QuorumBudgetExhausted");
  fleet.SetReachable("m3", true);
  fleet.Settle();
  EXPECT_EQ(FindString(Overridden(fleet, "m3", "/spec"), {"image", "tag"}), "3.8.5");
}

TEST(RolloutPlanTest, AClusterThatIsLostInTheMiddlePausesTheRecordUntilItIsBack) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.SetSpec(Spec(kFive, kNewer));
  fleet.Tick();
  fleet.Tick();
  fleet.SetReachable("m2", false);
  EXPECT_EQ(fleet.Tick().reason, "ClusterUnreachable");
  EXPECT_EQ(FindString(*kube::FindCondition(fleet.ensemble(), "Degraded"), {"status"}), "True");
  fleet.Later(std::chrono::hours(1));
  EXPECT_TRUE(fleet.Tick().apply.empty());
  fleet.SetReachable("m2", true);
  fleet.Settle();
  EXPECT_EQ(FindString(Overridden(fleet, "m1", "/spec"), {"image", "tag"}), "3.8.5");
}

TEST(RolloutPlanTest, ABrokenTemplateStopsAtItsFirstClusterAndTheFixBeginsThere) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.SetSpec(Spec(kFive, kNewer));
  fleet.Break("m2", true);
  for (int i = 0; i < 5; ++i) {
    fleet.Tick();
    fleet.Work();
  }
  fleet.Later(std::chrono::minutes(10));
  EXPECT_EQ(fleet.Tick().reason, "ProgressDeadlineExceeded");
  EXPECT_EQ(FindString(Overridden(fleet, "m3", "/spec"), {"image", "tag"}), "3.8.4");
  fleet.SetSpec(Spec(kFive));
  EXPECT_EQ(fleet.Tick().reason, "RecordSuperseded");
  EXPECT_EQ(Order(fleet).front(), "m2");
  fleet.Break("m2", false);
  fleet.Settle();
  EXPECT_EQ(FindString(Overridden(fleet, "m2", "/spec"), {"image", "tag"}), "3.8.4");
}

TEST(RolloutPlanTest, RollbackIsOfTheOneClusterAndOfTemplatesOnly) {
  const std::string rollback = R"(, "rollout": {"onFailure": "Rollback"})";
  FakeFleet fleet(Spec(kFive, R"("template": {"image": {"tag": "3.8.4"}})" + rollback));
  fleet.Settle();
  fleet.SetSpec(Spec(kFive, kNewer + rollback));
  fleet.Break("m2", true);
  for (int i = 0; i < 5; ++i) {
    fleet.Tick();
    fleet.Work();
  }
  fleet.Later(std::chrono::minutes(10));
  EXPECT_EQ(fleet.Tick().reason, "RollingBack");
  EXPECT_EQ(FindString(Overridden(fleet, "m2", "/spec"), {"image", "tag"}), "3.8.4");
  fleet.Break("m2", false);
  for (int i = 0; i < 8; ++i) {
    fleet.Work();
    fleet.Tick();
  }
  EXPECT_EQ(FindString(fleet.status(), {"phase"}), "Failed");
  // The list of servers is another matter: it is never gone back to by itself.
  fleet.SetSpec(Spec(Cluster("m1", 2) + "," + Cluster("m2", 2) + "," + Cluster("m3", 2),
                     R"("template": {"image": {"tag": "3.8.4"}})" + rollback));
  fleet.Break("m3", true);
  for (int i = 0; i < 30 && FindString(fleet.status(), {"phase"}) != "Paused"; ++i) {
    fleet.Tick();
    fleet.Work();
    fleet.Later(std::chrono::minutes(2));
  }
  EXPECT_EQ(FindString(fleet.status(), {"phase"}), "Paused");
}

TEST(RolloutPlanTest, AMembershipStepUnderWayCanBeTakenBackButNotSkipped) {
  FakeFleet fleet(Spec(kThree));
  fleet.Settle();
  const std::string four = Cluster("m1", 1) + "," + Cluster("m2", 1) + "," + Cluster("m3", 1) + "," + Cluster("m4", 1);
  fleet.SetSpec(Spec(four));
  fleet.Break("m4", true);
  for (int i = 0; i < 6; ++i) {
    fleet.Tick();
    fleet.Work();
  }
  EXPECT_EQ(Texts(fleet.records().back().at("currentState").at("deploying")), (std::vector<std::string>{"m4"}));
  const std::string step(FindString(fleet.records().back(), {"revision"}));
  fleet.SetSpec(Spec(kFive));
  fleet.Tick();
  EXPECT_EQ(FindString(fleet.records().back(), {"revision"}), step) << "no third list of servers";
  fleet.SetSpec(Spec(kThree));
  EXPECT_EQ(fleet.Tick().reason, "WaitingForCluster") << "the schedule is still the one of before";
  EXPECT_EQ(fleet.Tick().reason, "RecordSuperseded");
  EXPECT_EQ(Order(fleet).front(), "m4");
  fleet.Break("m4", false);
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (Ids{1, 11, 21}));
}

/// The list that a cluster's servers are given.
std::vector<std::string> ListOf(FakeFleet& fleet, const std::string& cluster) {
  return Texts(Overridden(fleet, cluster, "/spec/servers"));
}

TEST(RolloutPlanTest, TheFirstListStaysOnceAServerHasIt) {
  FakeFleet fleet(Spec(kFive));
  for (int i = 0; i < 10 && (i == 0 || Overridden(fleet, "m1", "/spec/replicas") == Json(0)); ++i) fleet.Tick();
  ASSERT_EQ(Overridden(fleet, "m1", "/spec/replicas"), Json(2));
  const std::vector<std::string> first = ListOf(fleet, "m1");
  ASSERT_EQ(first.size(), 5u);
  // One record after the other is superseded before it has begun.
  fleet.SetSpec(Spec(kFive, kNewer));
  for (int i = 0; i < 2; ++i) fleet.Tick();
  fleet.SetSpec(Spec(kThree, kNewer));
  for (int i = 0; i < 12; ++i) {
    fleet.Tick();
    fleet.Work();
    if (!FindString(fleet.records().back(), {"baseRevision"}).empty()) break;
    for (const char* cluster : {"m1", "m2", "m3"}) EXPECT_EQ(ListOf(fleet, cluster), first);
  }
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (Ids{1, 11, 21}));
}

/// Until the cluster is deploying or completed in the last record.
void StartUntil(FakeFleet& fleet, const std::string& cluster) {
  for (int i = 0; i < 60; ++i) {
    if (!fleet.records().empty()) {
      const auto pending = Texts(fleet.records().back().at("currentState").at("pending"));
      if (std::ranges::find(pending, cluster) == pending.end()) return;
    }
    fleet.Tick();
    fleet.Work();
  }
  ADD_FAILURE() << cluster << " does not begin";
}

TEST(RolloutPlanTest, WhereAMajorityHasBeenStartedTheOthersAreStartedBeforeAnyRestartsEvenIfNoLeaderIsSeen) {
  FakeFleet fleet(Spec(kFive));
  StartUntil(fleet, "m2");
  fleet.SetReachable("m1", false);
  fleet.SetReachable("m2", false);
  fleet.SetSpec(Spec(kFive, kNewer));
  ASSERT_EQ(fleet.Tick().reason, "RecordSuperseded");
  EXPECT_EQ(Order(fleet), (std::vector<std::string>{"m3", "m2", "m1"}));
  fleet.SetReachable("m1", true);
  fleet.SetReachable("m2", true);
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (Ids{1, 2, 11, 12, 21}));
}

TEST(RolloutPlanTest, WithoutAMajorityWhoeverIsInTheMiddleOfAChangeStaysFirst) {
  FakeFleet fleet(Spec(kFive));
  StartUntil(fleet, "m1");
  fleet.SetSpec(Spec(kFive, kNewer));
  ASSERT_EQ(fleet.Tick().reason, "RecordSuperseded");
  EXPECT_EQ(Order(fleet), (std::vector<std::string>{"m1", "m2", "m3"}));
}

TEST(RolloutPlanTest, AListThatIsOutIsFinishedHoweverOftenItsRecordIsSuperseded) {
  FakeFleet fleet(Spec(kThree));
  fleet.Settle();
  fleet.SetSpec(Spec(kThree + "," + Cluster("m4", 1)));
  while (fleet.records().size() < 2 || fleet.records().back().at("currentState").at("deploying").as_array().empty()) {
    fleet.Tick();
    fleet.Work();
  }
  ASSERT_EQ(ListOf(fleet, "m4").size(), 4u);
  fleet.SetSpec(Spec(kThree + "," + Cluster("m4", 1), kNewer));
  for (int i = 0; i < 2; ++i) fleet.Tick();
  fleet.SetSpec(Spec(Cluster("m1", 2) + "," + Cluster("m2", 1) + "," + Cluster("m3", 1), kNewer));
  for (int i = 0; i < 3; ++i) fleet.Tick();
  for (const char* cluster : {"m1", "m2", "m3", "m4"}) {
    for (const std::string& server : ListOf(fleet, cluster)) EXPECT_FALSE(server.starts_with("server.2=")) << "a third list";
  }
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (Ids{1, 2, 11, 21}));
}

TEST(RolloutPlanTest, AnOverrideThatIsDeletedOrEditedByHandIsPutBack) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.children().erase("OverridePolicy/zk-m2");
  auto plan = PlanRollout(fleet.Input());
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->apply.size(), 1u);
  EXPECT_EQ(kube::NameOf(plan->apply[0]), "zk-m2");
  EXPECT_EQ(plan->reason, "DriftRepaired");
  EXPECT_EQ(base::FindArray(plan->status, {"records"}).size(), 1u);
}

TEST(RolloutPlanTest, AChangeTakenBackIsNotConfirmedByWhatWasReportedBeforeIt) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.Silence("m2", true);
  fleet.SetSpec(Spec(kFive, kNewer));
  EXPECT_EQ(fleet.Tick().reason, "RecordAppended");
  EXPECT_EQ(fleet.Tick().reason, "ClusterStarted");
  fleet.Work();
  fleet.SetSpec(Spec(kFive));
  EXPECT_EQ(fleet.Tick().reason, "RecordSuperseded");
  EXPECT_EQ(fleet.Tick().reason, "ClusterStarted");
  EXPECT_EQ(Order(fleet).front(), "m2");
  EXPECT_EQ(Mark(fleet, "m2"), Mark(fleet, "m1") + ".3") << "the same content for another turn";
  for (int i = 0; i < 5; ++i) {
    const Plan plan = fleet.Tick();
    EXPECT_EQ(plan.reason, "WaitingForCluster") << "it still restarts, and what it says is of its first time at this revision";
  }
  fleet.Silence("m2", false);
  fleet.Settle();
  EXPECT_EQ(FindString(fleet.records().back(), {"status"}), "Ready");
  EXPECT_EQ(FindString(Overridden(fleet, "m2", "/spec"), {"image", "tag"}), "3.8.4");
}

TEST(RolloutPlanTest, AMarkIsWrittenAgainAsItWasAfterACrashAndWhenItsOverrideIsDeleted) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.SetSpec(Spec(kFive, kNewer));
  EXPECT_EQ(fleet.Tick().reason, "RecordAppended");
  auto started = PlanRollout(fleet.Input());
  ASSERT_TRUE(started);
  ASSERT_EQ(started->apply.size(), 1u);
  EXPECT_EQ(started->reason, "ClusterStarted");
  const Json mark = Overridden(started->apply[0], "/spec/rolloutRevision");
  EXPECT_EQ(mark.as_string(), std::string(FindString(fleet.records().back(), {"revision"})) + ".2");
  // The status was written, and then it died.
  fleet.ensemble().as_object()["status"] = started->status;
  const Plan again = fleet.Tick();
  EXPECT_EQ(again.reason, "WaitingForCluster");
  ASSERT_EQ(again.apply.size(), 1u);
  EXPECT_TRUE(base::Equal(again.apply[0], started->apply[0]));
  fleet.Settle();
  fleet.children().erase("OverridePolicy/zk-m2");
  const Plan repaired = fleet.Tick();
  EXPECT_EQ(repaired.reason, "DriftRepaired");
  EXPECT_EQ(Mark(fleet, "m2"), mark.as_string());
}

TEST(RolloutPlanTest, AStatusThatCountsNoTurnsIsOfTheFirst) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  const Json counted = fleet.status();
  for (Json& cluster : base::Ensure(fleet.ensemble(), {"status", "clusters"}).as_array()) {
    EXPECT_EQ(cluster.as_object().erase("turn"), 1u);
  }
  const Plan plan = fleet.Tick();
  EXPECT_EQ(plan.reason, "UpToDate");
  EXPECT_TRUE(plan.apply.empty());
  EXPECT_TRUE(base::Equal(plan.status, counted));
}

TEST(RolloutPlanTest, AClusterThatCannotBeReachedMayBeChangedAfterTheOthers) {
  const std::string rollout = R"(, "rollout": {"allowDegraded": true, "skipUnreachable": true})";
  FakeFleet fleet(Spec(kFive, R"("template": {"image": {"tag": "3.8.4"}})" + rollout));
  fleet.Settle();
  fleet.SetReachable("m3", false);
  fleet.SetSpec(Spec(kFive, kNewer + rollout));
  for (int i = 0; i < 60 && FindString(Overridden(fleet, "m1", "/spec"), {"image", "tag"}) != "3.8.5"; ++i) {
    fleet.Tick();
    fleet.Work();
  }
  EXPECT_EQ(Order(fleet), (std::vector<std::string>{"m2", "m1", "m3"}));
  EXPECT_EQ(FindString(Overridden(fleet, "m3", "/spec"), {"image", "tag"}), "3.8.4");
  fleet.SetReachable("m3", true);
  fleet.Settle();
  EXPECT_EQ(FindString(Overridden(fleet, "m3", "/spec"), {"image", "tag"}), "3.8.5");
}

TEST(RolloutPlanTest, AServerThatGoesIsNamedToTheOtherClustersWhileItsRecordIsUnderWay) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.SetSpec(Spec(Cluster("m1", 2) + "," + Cluster("m2", 2)));
  for (int i = 0; i < 5 && fleet.records().size() < 2; ++i) fleet.Tick();
  ASSERT_EQ(fleet.records().size(), 2u);
  StartUntil(fleet, "m3");
  EXPECT_TRUE(base::Equal(Overridden(fleet, "m1", "/spec/leaving"), base::JsonArray{21}));
  EXPECT_TRUE(base::Equal(Overridden(fleet, "m2", "/spec/leaving"), base::JsonArray{21}));
  EXPECT_TRUE(Overridden(fleet, "m3", "/spec/leaving").is_null()) << "its own operator lets it go";
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (Ids{1, 2, 11, 12}));
  EXPECT_TRUE(Overridden(fleet, "m1", "/spec/leaving").is_null()) << "the id may be given to a server again";
}

/// What overrides pin that have begun, without who leaves elsewhere, which is about the record.
std::map<std::string, Json> Pinned(FakeFleet& fleet) {
  std::map<std::string, Json> pinned;
  for (const auto& [key, child] : fleet.children()) {
    if (!key.starts_with("OverridePolicy/") || Overridden(child, "/spec/rolloutRevision") == Json(kNoRevision)) continue;
    for (const char* path : {"/spec", "/spec/replicas", "/spec/myidOffset", "/spec/servers", "/spec/rolloutRevision"}) {
      pinned[key + path] = Overridden(child, path);
    }
  }
  return pinned;
}

/// Empties the status, and checks that no reconcile from then on stops a server or gives a cluster anything but what it had,
/// until the first that has been adopted.
Plan Forget(FakeFleet& fleet) {
  const auto before = Pinned(fleet);
  const Ids servers = fleet.Servers();
  fleet.ensemble().as_object().erase("status");
  const Plan plan = fleet.Tick();
  EXPECT_EQ(plan.reason, "StateAdopted");
  EXPECT_EQ(Pinned(fleet), before);
  EXPECT_EQ(fleet.Servers(), servers);
  return plan;
}

TEST(RolloutPlanTest, AStatusThatIsEmptiedIsMadeOutAgainFromWhatRuns) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.SetSpec(Spec(kFive, kNewer));
  fleet.Settle();
  const Json before = fleet.status();
  Forget(fleet);
  EXPECT_EQ(FindString(fleet.records().back(), {"revision"}), FindString(before.at("records").as_array().back(), {"revision"}));
  EXPECT_TRUE(base::Equal(fleet.status().at("clusterIndices"), before.at("clusterIndices")));
  EXPECT_EQ(FindString(fleet.status(), {"phase"}), "Ready");
  EXPECT_EQ(fleet.Tick().reason, "UpToDate");
  fleet.SetSpec(Spec(kThree));
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (Ids{1, 11, 21}));
  EXPECT_EQ(fleet.least_voters(), 3);
}

TEST(RolloutPlanTest, AStatusThatIsEmptiedAnywhereInARolloutIsMadeOutAgainFromWhatRuns) {
  const std::string four = Cluster("m1", 2) + "," + Cluster("m2", 1) + "," + Cluster("m3", 1);
  for (const std::string& to :
       {Spec(kThree, kNewer), Spec(four), Spec(Cluster("m1", 1) + "," + Cluster("m2", 1) + "," + Cluster("m4", 1))}) {
    for (int steps = 1; steps <= 24; ++steps) {
      FakeFleet fleet(Spec(kThree));
      fleet.Settle();
      fleet.SetSpec(to);
      for (int i = 0; i < steps; ++i) {
        fleet.Tick();
        fleet.Work();
      }
      Forget(fleet);
      fleet.Settle();
      EXPECT_EQ(fleet.Servers().size(), to == Spec(four) ? 4u : 3u) << steps << " " << to;
      EXPECT_GE(fleet.least_voters(), 3) << steps << " " << to;
    }
  }
}

TEST(RolloutPlanTest, AStatusThatIsEmptiedInAFirstDeploymentIsMadeOutAgain) {
  for (int steps = 1; steps <= 16; ++steps) {
    FakeFleet fleet(Spec(kFive));
    for (int i = 0; i < steps; ++i) {
      fleet.Tick();
      fleet.Work();
    }
    const auto before = fleet.children();
    fleet.ensemble().as_object().erase("status");
    fleet.Tick();
    EXPECT_EQ(fleet.children(), before) << steps;
    fleet.Settle();
    EXPECT_EQ(fleet.Servers(), (Ids{1, 2, 11, 12, 21}));
  }
}

TEST(RolloutPlanTest, WhatRunsWithoutStatusAndOverrideIsTakenFromItsReportOrNothingIsWritten) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  const auto before = fleet.children();
  fleet.children().erase("OverridePolicy/zk-m2");
  fleet.ensemble().as_object().erase("status");
  fleet.Tick();
  EXPECT_EQ(fleet.children(), before) << "it says which revision it runs, and others are pinned to the same";
  // Nobody knows what this one is.
  for (const char* cluster : {"m1", "m2", "m3"}) fleet.children().erase(std::string("OverridePolicy/zk-") + cluster);
  fleet.SetSpec(Spec(kFive, kNewer));
  fleet.ensemble().as_object().erase("status");
  const auto plan = PlanRollout(fleet.Input());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message(),
            "test: MultiClusterZooKeeper data/zk: status: it says nothing of servers that run, and m1 has no override and runs "
            "another revision than spec");
}

TEST(RolloutPlanTest, OverridesArePutBackWhileTheSpecCannotBeUsed) {
  FakeFleet fleet(Spec(kFive, R"("template": {"image": {"tag": "3.8.4"}}, "naming": {"mode": "native"})"));
  fleet.Settle();
  const auto before = fleet.children();
  EXPECT_TRUE(PlanRepair(fleet.Input())->empty());
  fleet.SetSpec(R"({"placement": {"clusters": []}, "naming": 3})");
  EXPECT_FALSE(PlanRollout(fleet.Input()));
  EXPECT_TRUE(PlanRepair(fleet.Input())->empty());
  fleet.children().erase("OverridePolicy/zk-m2");
  const auto repairs = PlanRepair(fleet.Input());
  ASSERT_TRUE(repairs);
  ASSERT_EQ(repairs->size(), 1u);
  EXPECT_TRUE(base::Equal(repairs->front(), before.at("OverridePolicy/zk-m2")));
}

TEST(RolloutPlanTest, PodsKeepTheirKindOfNamesWhileTheyRun) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.SetSpec(Spec(kFive, R"("naming": {"mode": "native"})"));
  const auto plan = PlanRollout(fleet.Input());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message(),
            "test: MultiClusterZooKeeper data/zk: spec.naming.mode: cannot change from clusterset to native while servers run: "
            "their pods would have other names");
}

TEST(RolloutPlanTest, RollbackIsNotToWhatHasBeenTakenBack) {
  const std::string rollback = R"(, "rollout": {"onFailure": "Rollback"})";
  FakeFleet fleet(Spec(kFive, R"("template": {"image": {"tag": "3.8.4"}})" + rollback));
  fleet.Settle();
  fleet.Break("m2", true);
  fleet.SetSpec(Spec(kFive, kNewer + rollback));
  const auto work = [&] {
    for (int i = 0; i < 5; ++i) {
      fleet.Tick();
      fleet.Work();
    }
  };
  work();
  fleet.SetSpec(Spec(kFive, R"("template": {"image": {"tag": "3.8.4"}})" + rollback));
  work();
  fleet.Later(std::chrono::minutes(11));
  EXPECT_EQ(fleet.Tick().reason, "ProgressDeadlineExceeded");
  EXPECT_EQ(FindString(Overridden(fleet, "m2", "/spec"), {"image", "tag"}), "3.8.4");
}

TEST(RolloutPlanTest, DeletionTakesTheOverridesLast) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.Delete();
  std::vector<std::string> reasons;
  Plan plan;
  for (int i = 0; i < 10 && !plan.finished; ++i) {
    plan = fleet.Tick();
    reasons.push_back(plan.reason);
  }
  EXPECT_EQ(reasons, (std::vector<std::string>{"DeletingZooKeeper", "DeletingPolicies", "DeletingOverrides", "Deleted"}));
  EXPECT_TRUE(fleet.Gone());
}

TEST(RolloutPlanTest, AnEditedStatusIsRefusedAsAWhole) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  const Json good = fleet.ensemble();
  const auto error = [&](std::initializer_list<std::string_view> path, Json value) {
    fleet.ensemble() = good;
    base::Ensure(fleet.ensemble(), path) = std::move(value);
    const auto plan = PlanRollout(fleet.Input());
    EXPECT_FALSE(plan);
    return plan ? "" : plan.error().message();
  };
  EXPECT_EQ(error({"status", "clusterIndices", "m2"}, 0),
            "test: MultiClusterZooKeeper data/zk: status.clusterIndices[\"m2\"]: 0 is the index of another cluster, too");
  EXPECT_EQ(error({"status", "retiredIndices"}, base::JsonArray{2}),
            "test: MultiClusterZooKeeper data/zk: status.retiredIndices[0]: 2 is the index of a cluster");
  EXPECT_EQ(error({"status", "records"}, "none"), "test: MultiClusterZooKeeper data/zk: status.records: not a list");
  for (const Json& turn : {Json(0), Json(-3), Json(1.5), Json("two"), Json(kMaxTurn + 1)}) {
    Json clusters = good.at("status").at("clusters");
    clusters.as_array()[1].as_object()["turn"] = turn;
    EXPECT_EQ(error({"status", "clusters"}, clusters),
              "test: MultiClusterZooKeeper data/zk: status.clusters[1].turn: not a whole number from 1 to 1000000000");
  }
  Json revisions = good.at("status").at("revisions");
  base::Ensure(revisions.as_array()[0], {"template", "image", "tag"}) = "latest";
  EXPECT_NE(error({"status", "revisions"}, revisions).find("its name is not the hash of its content"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper
