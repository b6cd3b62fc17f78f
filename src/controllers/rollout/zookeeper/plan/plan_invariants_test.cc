// What holds of every plan, whatever it is about: one step at a time, no list without servers that are only lost, and
// conditions that say what is going on.
#include <gtest/gtest.h>

#include "controllers/rollout/zookeeper/plan/plan_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::plan_invariants_test {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonArray;

using testing::kFive;
using testing::Spec;

std::string Condition(FakeFleet& fleet, std::string_view type) {
  const Json* condition = kube::FindCondition(fleet.ensemble(), type);
  if (condition == nullptr) return "absent";
  return std::string(FindString(*condition, {"status"})) + " " + std::string(FindString(*condition, {"reason"}));
}

/// Where a record has a cluster, and what the cluster has been given.
std::map<std::string, std::string> Places(const Json& status) {
  std::map<std::string, std::string> places;
  const JsonArray& records = FindArray(status, {"records"});
  for (const Json& cluster : FindArray(status, {"clusters"})) {
    const std::string name(FindString(cluster, {"name"}));
    std::string place;
    for (const char* set : {"pending", "deploying", "completed"}) {
      if (records.empty()) break;
      const JsonArray& names = FindArray(records.back(), {"currentState", set});
      if (std::ranges::find(names, Json(name)) != names.end()) place = set;
    }
    places[name] = place + " " + std::string(FindString(cluster, {"revision"}));
  }
  return places;
}

/// Clusters and records that differ.
std::set<std::string> Touched(const Json& before, const Json& after) {
  const JsonArray &was = FindArray(before, {"records"}), &is = FindArray(after, {"records"});
  const auto last = [](const JsonArray& records) { return records.empty() ? Json() : Json(records.back(), {}); };
  const bool appended = is.size() != was.size() || FindString(last(was), {"startedAt"}) != FindString(last(is), {"startedAt"});
  std::set<std::string> touched;
  const auto a = Places(before), b = Places(after);
  if (appended) {
    touched.insert("a record");
    for (const auto& [name, place] : b) {
      const std::string given = place.substr(std::min(place.find(' '), place.size()));
      const auto had = a.find(name);
      if (had != a.end() && given != had->second.substr(std::min(had->second.find(' '), had->second.size())))
        touched.insert(name);
    }
    return touched;
  }
  for (const auto& [name, place] : b) {
    const auto had = a.find(name);
    // A cluster that joins the placement is noted by the way.
    if (had == a.end() ? place != " " : had->second != place) touched.insert(name);
  }
  if (!base::Equal(*base::Find(before, {"retiredIndices"}), *base::Find(after, {"retiredIndices"}))) touched.insert("indices");
  return touched;
}

TEST(PlanInvariantsTest, EachReconcileTakesOneStepAtMost) {
  FakeFleet fleet(Spec(kFive));
  fleet.Tick();
  const std::string wishes[] = {Spec(kFive),
                                Spec(kFive, "3.8.5"),
                                Spec("m1:1 m2:1 m3:1", "3.8.6"),
                                Spec("m1:1 m3:1 m4:1", "3.8.6"),
                                Spec("m1:2 m3:2 m4:1", "3.8.7"),
                                Spec(kFive, "3.8.8")};
  int steps = 0;
  for (const std::string& wish : wishes) {
    fleet.SetSpec(wish);
    for (int ticks = 0, idle = 0; idle < 3 && ticks < 300; ++ticks) {
      const Json before = fleet.status();
      const Plan plan = fleet.Tick();
      const std::set<std::string> touched = Touched(before, plan.status);
      EXPECT_LE(touched.size(), 1u) << plan.reason << ": " << plan.message << " " << base::ToText(before) << "\n"
                                    << base::ToText(plan.status);
      EXPECT_TRUE(plan.acted || touched.empty()) << plan.reason;
      steps += static_cast<int>(touched.size());
      fleet.Work();
      idle = plan.reason == "UpToDate" ? idle + 1 : 0;
    }
    EXPECT_EQ(FindString(fleet.status(), {"phase"}), "Ready");
  }
  EXPECT_GT(steps, 60);
}

TEST(PlanInvariantsTest, AServerThatIsOnlyLostStaysInEveryList) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  const auto before = fleet.children();
  for (const char* cluster : {"m3", "m2", "m1"}) {
    fleet.SetReachable(cluster, false);
    for (int day = 0; day < 3; ++day) {
      fleet.Later(std::chrono::hours(24));
      const Plan plan = fleet.Tick();
      EXPECT_TRUE(plan.apply.empty() && plan.remove.empty()) << cluster << ": " << plan.reason;
    }
    EXPECT_EQ(Condition(fleet, "QuorumHealthy"), std::string_view(cluster) == "m3" ? "True Healthy" : "False QuorumLost");
  }
  EXPECT_EQ(fleet.children(), before);
  EXPECT_EQ(FindArray(fleet.status(), {"records"}).size(), 1u);
}

TEST(PlanInvariantsTest, DeletionGoesBeforeEverythingElse) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.SetSpec(Spec(kFive, "3.8.5"));
  fleet.Tick();
  fleet.Tick();
  fleet.SetSpec(R"({"placement": 7, "rollout": {"paused": true}})");
  base::Ensure(fleet.ensemble(), {"status", "clusterIndices"}) = "nonsense";
  fleet.Delete();
  EXPECT_EQ(fleet.Tick().reason, "DeletingZooKeeper");
}

TEST(PlanInvariantsTest, ConditionsSayWhatIsGoingOn) {
  FakeFleet fleet(Spec(kFive));
  fleet.Tick();
  EXPECT_EQ(Condition(fleet, "Scheduled"), "False ZooKeeperMissing");
  EXPECT_EQ(Condition(fleet, "QuorumHealthy"), "Unknown NotDeployed");
  EXPECT_EQ(Condition(fleet, "PlacementSafe"), "True Safe");
  EXPECT_EQ(Condition(fleet, "Ready"), "False RolloutUnderWay");
  while (fleet.Servers().empty()) {
    fleet.Tick();
    fleet.Work();
  }
  EXPECT_EQ(Condition(fleet, "Scheduled"), "True Scheduled");
  EXPECT_EQ(Condition(fleet, "QuorumHealthy"), "Unknown Bootstrapping");
  EXPECT_EQ(Condition(fleet, "Progressing"), "True Deploying");
  fleet.Settle();
  EXPECT_EQ(Condition(fleet, "QuorumHealthy"), "True Healthy");
  EXPECT_EQ(Condition(fleet, "Progressing"), "False Complete");
  EXPECT_EQ(Condition(fleet, "Degraded"), "False AsExpected");
  EXPECT_EQ(Condition(fleet, "Ready"), "True Ready");
  fleet.SetSpec(Spec(kFive, "3.8.5", R"(, "rollout": {"paused": true})"));
  fleet.Tick();
  EXPECT_EQ(Condition(fleet, "Ready"), "False RolloutDue");
  fleet.SetSpec(Spec(kFive, "3.8.5"));
  fleet.Tick();
  fleet.Tick();
  fleet.SetSpec(Spec(kFive, "3.8.5", R"(, "rollout": {"paused": true})"));
  fleet.Tick();
  EXPECT_EQ(Condition(fleet, "Progressing"), "False PausedByUser");
  EXPECT_EQ(Condition(fleet, "Degraded"), "False AsExpected") << "that is as it was asked for";
  fleet.SetSpec(Spec(kFive, "3.8.5"));
  fleet.Tick();
  fleet.Break("m2", true);
  fleet.Work();
  fleet.Tick();
  fleet.Later(std::chrono::minutes(11));
  fleet.Tick();
  EXPECT_EQ(Condition(fleet, "Degraded"), "True ProgressDeadlineExceeded");
  EXPECT_EQ(Condition(fleet, "Progressing"), "False ProgressDeadlineExceeded");
  EXPECT_EQ(Condition(fleet, "Ready"), "False RolloutUnderWay");
}

TEST(PlanInvariantsTest, ReadyIsTrueOnlyWhenEveryClusterHasAllThatIsWanted) {
  FakeFleet fleet(Spec("m1:1 m2:1 m3:1"));
  fleet.Settle();
  ASSERT_EQ(Condition(fleet, "Ready"), "True Ready");
  fleet.SetSpec(Spec(kFive));
  for (int ticks = 0; ticks < 200; ++ticks) {
    fleet.Tick();
    if (Condition(fleet, "Ready") == "True Ready") break;
    fleet.Work();
  }
  EXPECT_EQ(fleet.Servers().size(), 5u) << "also between two records";
  EXPECT_EQ(base::FindInt(fleet.status(), {"observedGeneration"}), 2);
}

TEST(PlanInvariantsTest, WhatCannotBeScheduledYetIsWantedAllTheSame) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.SetSpec(Spec(kFive, "3.8.5"));
  PlanInput input = fleet.Input();
  Json binding(*input.fleet.binding, {});
  base::Ensure(binding, {"spec", "clusters"}) =
      *base::ParseJson(R"([{"name": "m1", "replicas": 3}, {"name": "m2", "replicas": 2}])", "c");
  input.fleet.binding = &binding;
  const auto plan = PlanRollout(input);
  ASSERT_TRUE(plan);
  const Json holder = base::JsonObject{{"status", plan->status}};
  EXPECT_EQ(FindString(*kube::FindCondition(holder, "Ready"), {"reason"}), "RolloutDue");
}

TEST(PlanInvariantsTest, AClusterWithoutItsCopyIsNotReady) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  PlanInput input = fleet.Input();
  Json binding(*input.fleet.binding, {});
  base::JsonArray& statuses = base::Find(binding, {"status", "aggregatedStatus"})->as_array();
  statuses.erase(statuses.begin() + 2);
  input.fleet.binding = &binding;
  const auto plan = PlanRollout(input);
  ASSERT_TRUE(plan);
  const Json holder = base::JsonObject{{"status", plan->status}};
  EXPECT_EQ(FindString(*kube::FindCondition(holder, "Ready"), {"message"}), "m3 does not have its copy");
}

TEST(PlanInvariantsTest, AnEnsembleWithoutServersIsDegradedAndSaysWhatItsMembersSay) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  PlanInput input = fleet.Input();
  Json binding(*input.fleet.binding, {});
  for (Json& item : base::Find(binding, {"status", "aggregatedStatus"})->as_array()) {
    base::Ensure(item, {"status", "readyReplicas"}) = 0;
    base::Ensure(item, {"status", "members"}) = base::JsonArray{};
    base::Ensure(item, {"status", "problem"}) = "pod zk-0: ImagePullBackOff";
  }
  input.fleet.binding = &binding;
  const auto plan = PlanRollout(input);
  ASSERT_TRUE(plan);
  const Json holder = base::JsonObject{{"status", plan->status}};
  const Json* degraded = kube::FindCondition(holder, "Degraded");
  EXPECT_EQ(FindString(*degraded, {"status"}), "True");
  EXPECT_EQ(FindString(*degraded, {"reason"}), "QuorumLost");
  EXPECT_NE(FindString(*degraded, {"message"}).find("m2: 0 of 2 servers are ready, pod zk-0: ImagePullBackOff"),
            std::string::npos)
      << FindString(*degraded, {"message"});
}

TEST(PlanInvariantsTest, ALeaderOutOfReachIsNoLostQuorum) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  const std::string leader(FindString(fleet.status(), {"leader", "cluster"}));
  ASSERT_FALSE(leader.empty());
  fleet.SetReachable(leader, false);
  fleet.Tick();
  EXPECT_EQ(Condition(fleet, "QuorumHealthy"), "True LeaderOutOfReach");
  EXPECT_EQ(Condition(fleet, "Degraded"), "False AsExpected");
  for (const Json& cluster : base::FindArray(fleet.status(), {"clusters"})) {
    EXPECT_EQ(base::Find(cluster, {"unknownSince"}) != nullptr, FindString(cluster, {"name"}) == leader);
  }
  // Nothing begins all the same: nobody knows whether it leads still.
  fleet.SetSpec(Spec(kFive, "3.8.5"));
  const auto changes = fleet.children();
  for (int i = 0; i < 10; ++i) {
    const Plan plan = fleet.Tick();
    EXPECT_NE(plan.reason, "RecordReady");
  }
}

TEST(PlanInvariantsTest, OneVoterBecomesThree) {
  FakeFleet fleet(Spec("m1:1"));
  fleet.Settle();
  fleet.SetSpec(Spec("m1:1 m2:1 m3:1"));
  fleet.Settle();
  EXPECT_EQ(fleet.Servers().size(), 3u);
  EXPECT_EQ(Condition(fleet, "Ready"), "True Ready");
}

TEST(PlanInvariantsTest, APlacementThatIsUnsafeOrUnwiseIsACondition) {
  FakeFleet unsafe(Spec("m1:3 m2:1 m3:1"));
  const Plan plan = unsafe.Tick();
  EXPECT_EQ(Condition(unsafe, "PlacementSafe"), "False MajorityInOneCluster");
  EXPECT_EQ(plan.warnings, (std::vector<std::string>{"without m1 2 of 5 voters are left, but a majority is 3"}));
  FakeFleet even(Spec("m1:1 m2:1 m3:1 m4:1"));
  EXPECT_EQ(even.Tick().warnings, (std::vector<std::string>{"4 voters survive the loss of no more than 3 do"}));
  EXPECT_EQ(Condition(even, "PlacementSafe"), "True EvenVoters");
}

TEST(PlanInvariantsTest, WhatBelongsToAnotherEnsembleIsNotTouched) {
  FakeFleet fleet(Spec(kFive));
  // Of the ensemble "zk-m2"'s cluster... or whoever made it: the name is taken.
  const Json other = *base::ParseJson(R"({"kind": "OverridePolicy", "metadata": {"name": "zk-m2", "namespace": "data",
      "labels": {"evenkeel.dev/multiclusterzookeeper": "z"}}, "spec": {"overrideRules": []}})",
                                      "test");
  fleet.children()["OverridePolicy/zk-m2"] = other;
  for (int i = 0; i < 3; ++i) {
    const Plan plan = fleet.Tick();
    EXPECT_TRUE(plan.apply.empty() && plan.remove.empty());
  }
  EXPECT_EQ(Condition(fleet, "Scheduled"), "False NameTaken");
  fleet.children().clear();
  fleet.Settle();
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::plan_invariants_test
