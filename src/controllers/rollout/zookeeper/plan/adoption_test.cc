#include "controllers/rollout/zookeeper/plan/adoption.h"

#include <gtest/gtest.h>

#include "controllers/rollout/zookeeper/plan/plan_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::adoption_test {
namespace {

using base::FindString;
using base::Json;
using testing::kFive;
using testing::kThree;
using testing::Overridden;
using testing::Spec;
using Ids = std::set<int64_t>;

constexpr const char* kNewer = "3.8.5";

/// What overrides pin that have begun, without who leaves elsewhere, which is about the record.
std::map<std::string, Json> Pinned(FakeFleet& fleet) {
  std::map<std::string, Json> pinned;
  for (const auto& [key, child] : fleet.children()) {
    if (!key.starts_with("OverridePolicy/") || Overridden(child, "/spec/rolloutRevision") == Json(kNoRevision)) continue;
    for (const char* path :
         {"/spec", "/spec/replicas", "/spec/myidOffset", "/spec/servers", "/spec/rolloutRevision", "/spec/hold"}) {
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

TEST(AdoptionTest, WhatMendsAClusterGoesThereBeforeOneThatIsOnItsWayEvenIfTheStatusIsEmptiedMeanwhile) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.SetSpec(Spec(kFive, kNewer));
  fleet.Tick();
  ASSERT_EQ(fleet.Tick().reason, "ClusterStarted");
  fleet.Crash("m3", 21);
  fleet.SetSpec(Spec(kFive, "3.8.6"));
  std::vector<std::string> reasons, order;
  for (int i = 0; i < 60 && FindString(fleet.status(), {"phase"}) != "Ready"; ++i) {
    const Plan plan = fleet.Tick();
    if (plan.acted) reasons.push_back(plan.reason);
    if (plan.reason == "ClusterStarted") order.push_back(plan.message.substr(0, 2));
    if (plan.reason == "ClusterHeld") {
      EXPECT_EQ(Overridden(fleet, "m2", "/spec/hold"), Json(true));
      Forget(fleet);
    }
    fleet.Work();
  }
  const std::vector<std::string> begun(reasons.begin(), reasons.begin() + 3);
  EXPECT_EQ(begun, (std::vector<std::string>{"RecordSuperseded", "ClusterBroughtForward", "ClusterHeld"}));
  EXPECT_EQ(FindString(fleet.status(), {"phase"}), "Ready");
  EXPECT_EQ(fleet.Servers(), (Ids{1, 2, 11, 12, 21}));
  EXPECT_EQ(order.front(), "m3");
  EXPECT_EQ(Overridden(fleet, "m2", "/spec/hold"), Json());
}

TEST(AdoptionTest, AClusterThatIsGoneBeforeAnythingBeganIsNotTakenForOneThatRuns) {
  FakeFleet fleet(Spec(kThree));
  fleet.Tick();
  fleet.SetSpec(Spec("m2:1 m3:1 m4:1"));
  EXPECT_EQ(fleet.Tick().reason, "ClusterReleased");
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (Ids{11, 21, 31}));
}

TEST(AdoptionTest, AStatusThatIsEmptiedIsMadeOutAgainFromWhatRuns) {
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

TEST(AdoptionTest, AStatusThatIsEmptiedAnywhereInARolloutIsMadeOutAgainFromWhatRuns) {
  const std::string four = "m1:2 m2:1 m3:1";
  for (const std::string& to : {Spec(kThree, kNewer), Spec(four), Spec("m1:1 m2:1 m4:1")}) {
    FakeFleet begun(Spec(kThree));
    begun.Settle();
    begun.SetSpec(to);
    for (int steps = 1; steps <= 24; ++steps) {
      begun.Tick();
      begun.Work();
      FakeFleet fleet = begun;
      Forget(fleet);
      fleet.Settle();
      EXPECT_EQ(fleet.Servers().size(), to == Spec(four) ? 4u : 3u) << steps << " " << to;
      EXPECT_GE(fleet.least_voters(), 3) << steps << " " << to;
    }
  }
}

TEST(AdoptionTest, AStatusThatIsEmptiedInAFirstDeploymentIsMadeOutAgain) {
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

TEST(AdoptionTest, WhatRunsWithoutStatusAndOverrideIsTakenFromItsReportOrNothingIsWritten) {
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

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::adoption_test
