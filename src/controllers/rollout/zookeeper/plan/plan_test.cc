#include "controllers/rollout/zookeeper/plan/plan.h"

#include <gtest/gtest.h>

#include "controllers/rollout/zookeeper/plan/plan_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::plan_test {
namespace {

using base::FindInt;
using base::FindString;
using base::Json;
using Ids = std::set<int64_t>;

using testing::kFive;
using testing::kThree;
using testing::Mark;
using testing::Overridden;
using testing::Spec;
using testing::SpecWith;
using testing::Texts;

constexpr const char* kNewer = "3.8.5";

std::vector<std::string> Order(const FakeFleet& fleet) { return Texts(fleet.records().back().at("order")); }

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

TEST(RolloutPlanTest, SecretsStayWhereTheyAreNeededUntilTheLastClusterHasChanged) {
  const auto with = [](const char* secret) {
    return SpecWith(kThree, R"("template": {"image": {"pullSecrets": [)" + std::string(secret) + "]}}");
  };
  FakeFleet fleet(with("\"a\""));
  const auto needs = [&] {
    return std::string(FindString(*fleet.Input().fleet.zookeeper, {"metadata", "annotations", kNeedsAnnotation}));
  };
  fleet.Settle();
  EXPECT_EQ(needs(), "Secret/a");
  EXPECT_TRUE(base::FindBool(fleet.children().at("PropagationPolicy/zk-zk"), {"spec", "propagateDeps"}));
  fleet.SetSpec(with("\"b\""));
  std::set<std::string> seen;
  while (FindString(Overridden(fleet, "m1", "/spec").at("image").at("pullSecrets").as_array()[0], {}) != "b") {
    fleet.Tick();
    fleet.Work();
    seen.insert(needs());
  }
  EXPECT_EQ(seen, std::set<std::string>{"Secret/a Secret/b"}) << "m1 leads, so it is the last";
  fleet.Settle();
  EXPECT_EQ(needs(), "Secret/b");
  fleet.SetSpec(with(""));
  fleet.Settle();
  EXPECT_EQ(needs(), "");
}

TEST(RolloutPlanTest, TlsAmongServersComesAndGoesModeByMode) {
  const std::string with = SpecWith(kThree, R"("template": {"tls": {"quorumSecret": "q"}})");
  const std::string without = SpecWith(kThree, R"("template": {})");
  FakeFleet fleet(without);
  const auto modes = [&] {
    std::set<int> seen;
    for (const char* cluster : {"m1", "m2", "m3"}) {
      const Json body = Overridden(fleet, cluster, "/spec");
      const std::string_view mode = FindString(body, {"tls", "quorumMode"});
      seen.insert(mode == "Accept" ? 1 : mode == "Prefer" ? 2 : mode == "Require" ? 3 : 0);
    }
    return seen;
  };
  const auto settle = [&](int wanted) {
    for (int i = 0; i < 200 && modes() != std::set<int>{wanted}; ++i) {
      fleet.Tick();
      fleet.Work();
      ASSERT_LE(*modes().rbegin() - *modes().begin(), 1) << "two clusters would not understand each other";
    }
    fleet.Settle();
    EXPECT_EQ(modes(), std::set<int>{wanted});
  };
  fleet.Settle();
  fleet.SetSpec(with);
  settle(3);
  EXPECT_EQ(fleet.records().size(), 4u);
  for (const Json& record : fleet.records()) EXPECT_EQ(FindString(record, {"status"}), "Ready");
  fleet.SetSpec(without);
  settle(0);
  EXPECT_EQ(fleet.records().size(), 7u);
  // Taken back on the way.
  fleet.SetSpec(with);
  while (modes() != std::set<int>{1, 2}) {
    fleet.Tick();
    fleet.Work();
  }
  fleet.SetSpec(without);
  settle(0);
  FakeFleet fresh(with);
  fresh.Settle();
  EXPECT_EQ(fresh.records().size(), 1u) << "one that begins has it at once";
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
  fleet.SetSpec(Spec("m1:2 m2:1 m3:1", kNewer));
  fleet.Settle();
  ASSERT_EQ(fleet.records().size(), 3u);
  EXPECT_NE(FindString(fleet.records()[1], {"specHash"}), FindString(fleet.records()[0], {"specHash"}));
  EXPECT_EQ(FindString(fleet.records()[1], {"scheduleHash"}), FindString(fleet.records()[0], {"scheduleHash"}));
  EXPECT_EQ(FindString(fleet.records()[2], {"specHash"}), FindString(fleet.records()[1], {"specHash"}));
}

TEST(RolloutPlanTest, AReplicaMovesByComingBeforeOneGoes) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.SetSpec(Spec("m1:2 m2:1 m3:2"));
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (Ids{1, 2, 11, 21, 22}));
  EXPECT_EQ(fleet.records().size(), 3u);
  EXPECT_EQ(fleet.least_voters(), 5);
}

TEST(RolloutPlanTest, AClusterThatLeavesIsEmptiedBeforeItLosesItsCopyAndItsIndexIsGoneForGood) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.SetSpec(Spec("m1:2 m3:1 m4:2"));
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
  FakeFleet fleet(Spec(kFive, "3.8.4", rollback));
  fleet.Settle();
  fleet.SetSpec(Spec(kFive, kNewer, rollback));
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
  fleet.SetSpec(Spec("m1:2 m2:2 m3:2", "3.8.4", rollback));
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
  const std::string four = "m1:1 m2:1 m3:1 m4:1";
  fleet.SetSpec(Spec(four));
  fleet.Break("m4", true);
  const auto deploying = [&] { return Texts(fleet.records().back().at("currentState").at("deploying")); };
  for (int i = 0; i < 20 && deploying().empty(); ++i) {
    fleet.Tick();
    fleet.Work();
  }
  EXPECT_EQ(deploying(), (std::vector<std::string>{"m4"}));
  const std::string step(FindString(fleet.records().back(), {"revision"}));
  fleet.SetSpec(Spec(kFive));
  fleet.Tick();
  EXPECT_EQ(FindString(fleet.records().back(), {"revision"}), step) << "no third list of servers";
  fleet.SetSpec(Spec(kThree));
  std::set<std::string> reasons;
  while (FindString(fleet.records().back(), {"revision"}) == step && reasons.size() < 5) reasons.insert(fleet.Tick().reason);
  EXPECT_TRUE(reasons.contains("WaitingForCluster")) << "at first the schedule is still the one of before";
  EXPECT_TRUE(reasons.contains("RecordSuperseded"));
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
  fleet.SetSpec(Spec("m1:1 m2:1 m3:1 m4:1"));
  while (fleet.records().size() < 2 || fleet.records().back().at("currentState").at("deploying").as_array().empty()) {
    fleet.Tick();
    fleet.Work();
  }
  ASSERT_EQ(ListOf(fleet, "m4").size(), 4u);
  fleet.SetSpec(Spec("m1:1 m2:1 m3:1 m4:1", kNewer));
  for (int i = 0; i < 2; ++i) fleet.Tick();
  fleet.SetSpec(Spec("m1:2 m2:1 m3:1", kNewer));
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
  FakeFleet fleet(Spec(kFive, "3.8.4", rollout));
  fleet.Settle();
  fleet.SetReachable("m3", false);
  fleet.SetSpec(Spec(kFive, kNewer, rollout));
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
  fleet.SetSpec(Spec("m1:2 m2:2"));
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

TEST(RolloutPlanTest, OverridesArePutBackWhileTheSpecCannotBeUsed) {
  FakeFleet fleet(Spec(kFive, "3.8.4", R"(, "naming": {"mode": "native"})"));
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
  fleet.SetSpec(SpecWith(kFive, R"("naming": {"mode": "native"})"));
  const auto plan = PlanRollout(fleet.Input());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message(),
            "test: MultiClusterZooKeeper data/zk: spec.naming.mode: cannot change from clusterset to native while servers run: "
            "their pods would have other names");
}

TEST(RolloutPlanTest, RollbackIsNotToWhatHasBeenTakenBack) {
  const std::string rollback = R"(, "rollout": {"onFailure": "Rollback"})";
  FakeFleet fleet(Spec(kFive, "3.8.4", rollback));
  fleet.Settle();
  fleet.Break("m2", true);
  fleet.SetSpec(Spec(kFive, kNewer, rollback));
  const auto work = [&] {
    for (int i = 0; i < 5; ++i) {
      fleet.Tick();
      fleet.Work();
    }
  };
  work();
  fleet.SetSpec(Spec(kFive, "3.8.4", rollback));
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
    if (reasons.empty() || reasons.back() != plan.reason) reasons.push_back(plan.reason);
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
}  // namespace evenkeel::controllers::rollout::zookeeper::plan_test
