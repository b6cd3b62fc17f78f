// Statuses that are edited into something that did not happen.
#include <gtest/gtest.h>

#include "controllers/rollout/zookeeper/hub/rollout_objects.h"
#include "controllers/rollout/zookeeper/plan/plan_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::edited_record_test {
namespace {

using base::FindArray;
using base::Json;

using testing::kFive;
using testing::Spec;

class EditedRecordTest : public ::testing::Test {
 protected:
  /// In the middle of a change: m2 has completed it, m3 gets it, m1 waits.
  EditedRecordTest() : fleet_(Spec(kFive)) {
    fleet_.Settle();
    fleet_.SetSpec(Spec(kFive, "3.8.5"));
    fleet_.Tick();
    for (int i = 0; i < 60 && FindArray(Last(), {"currentState", "completed"}).empty(); ++i) {
      fleet_.Tick();
      fleet_.Work();
    }
    for (int i = 0; i < 60 && FindArray(Last(), {"currentState", "deploying"}).empty(); ++i) fleet_.Tick();
    EXPECT_EQ(State(), R"({"completed":["m2"],"deploying":["m3"],"pending":["m1"]})");
  }
  Json& Last() { return base::Ensure(fleet_.ensemble(), {"status", "records"}).as_array().back(); }
  std::string State() { return base::CanonicalText(Last().at("currentState")); }
  /// What is said of a record with another state and, where it is given, another order; nothing may be planned.
  std::string ErrorOf(const std::string& state, const std::string& order = "", const std::string& status = "") {
    const Json good(fleet_.ensemble(), {});
    Last().as_object()["currentState"] = *base::ParseJson(state, "state");
    if (!order.empty()) Last().as_object()["order"] = *base::ParseJson(order, "order");
    if (!status.empty()) Last().as_object()["status"] = status;
    const auto plan = PlanRollout(fleet_.Input());
    fleet_.ensemble() = good;
    const std::string prefix = "test: MultiClusterZooKeeper data/zk: status.records[1].";
    if (plan) return "planned: " + plan->reason;
    EXPECT_TRUE(plan.error().message().starts_with(prefix)) << plan.error().message();
    return plan.error().message().substr(prefix.size());
  }

  FakeFleet fleet_;
};

TEST_F(EditedRecordTest, WhatDidNotHappenIsRefused) {
  EXPECT_EQ(ErrorOf(R"({"deploying": ["m3"], "completed": ["m2", "m1"], "pending": []})"),
            "currentState.completed: \"m1\" has been given another revision");
  EXPECT_EQ(ErrorOf(R"({"deploying": [], "completed": ["m2", "m3", "m1"], "pending": []})", "", "Ready"),
            "currentState.completed: \"m1\" has been given another revision");
  EXPECT_EQ(ErrorOf(R"({"deploying": ["m1"], "completed": ["m2", "m3"], "pending": []})"),
            "currentState.deploying: \"m1\" has been given another revision, or none");
  EXPECT_EQ(ErrorOf(R"({"deploying": ["m3"], "completed": ["m2"], "pending": ["m1"]})", "", "RollingBack"),
            "currentState.deploying: \"m3\" has been given another revision, or none");
}

TEST_F(EditedRecordTest, ClustersThatAreLeftOutOrUnknownAreRefused) {
  EXPECT_EQ(ErrorOf(R"({"deploying": ["m3"], "completed": ["m2"], "pending": []})", R"(["m2", "m3"])"),
            "order: \"m1\" has servers, but is missing");
  EXPECT_EQ(ErrorOf(R"({"deploying": ["m3"], "completed": ["m2"], "pending": ["m1", "x"]})", R"(["m2", "m3", "m1", "x"])"),
            "order: \"x\" has no index in status.clusterIndices");
}

TEST_F(EditedRecordTest, WhatOnlyAsksForMoreIsDoneAgain) {
  EXPECT_EQ(ErrorOf(R"({"deploying": ["m3"], "completed": [], "pending": ["m2", "m1"]})").substr(0, 8), "planned:");
}

TEST_F(EditedRecordTest, InAFirstDeploymentTheOverridesTell) {
  FakeFleet fleet(Spec(kFive));
  while (fleet.Servers().size() < 2) {
    fleet.Tick();
    fleet.Work();
  }
  Json& last = base::Ensure(fleet.ensemble(), {"status", "records"}).as_array().back();
  last.as_object()["currentState"] =
      *base::ParseJson(R"({"deploying": [], "completed": ["m1", "m2", "m3"], "pending": []})", "state");
  last.as_object()["status"] = "Ready";
  const auto plan = PlanRollout(fleet.Input());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message(),
            "test: MultiClusterZooKeeper data/zk: status.records[0].currentState.completed: \"m2\" has not been given anything "
            "yet");
}

/// A record that names no revision, beside a spec with another placement and a ZooKeeper of this generation.
std::string Unnamed(const std::string& placement, const std::string& generation, const std::string& state) {
  return "apiVersion: evenkeel.dev/v1alpha1\nkind: MultiClusterZooKeeper\n"
         "metadata: {name: zk, namespace: data, generation: 1}\nspec: " +
         Spec(placement) + R"(
status:
  records:
  - observedGenerations: {multiclusterzookeeper: 1, zookeeper: 1}
    order: [m1, m2, m3]
    status: Deploying
    currentState: )" +
         state + R"(
    lastTransitionTime: "2026-01-01T00:00:00Z"
---
apiVersion: evenkeel.dev/v1alpha1
kind: ZooKeeper
metadata: {name: zk, namespace: data, labels: {evenkeel.dev/multiclusterzookeeper: zk}, uid: "5d")" +
         generation + "}\n";
}

TEST(UnnamedRevisionTest, NothingIsGivenThatIsNotKnown) {
  const std::string last = "{deploying: [], completed: [m1, m2], pending: [m3]}";
  const std::string first = "{deploying: [m1], completed: [], pending: [m2, m3]}";
  for (const std::string& text : {Unnamed(kFive, "", last), Unnamed(kFive, ", generation: 1", last), Unnamed(kFive, "", first),
                                  Unnamed("m1:2 m2:2 m6:1", ", generation: 1", first), Unnamed("m1:2 m2:2 m6:1", "", last)}) {
    const auto objects = kube::ParseManifests(text, "test");
    ASSERT_TRUE(objects) << objects.error().message();
    auto input = PickObjects(*objects, base::Time{});
    ASSERT_TRUE(input) << input.error().message();
    for (int turn = 0; turn < 3; ++turn) {
      const auto plan = PlanRollout(*input);
      ASSERT_TRUE(plan) << text << plan.error().message();
      input->object.object.as_object()["status"] = plan->status;
    }
  }
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::edited_record_test
