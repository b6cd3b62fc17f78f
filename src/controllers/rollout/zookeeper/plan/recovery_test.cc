#include "controllers/rollout/zookeeper/plan/recovery.h"

#include <gtest/gtest.h>

#include "controllers/rollout/zookeeper/plan/plan_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::recovery_test {
namespace {

using base::FindString;
using base::Json;
using namespace std::chrono_literals;
using ServerIds = std::set<int64_t>;

std::string SpecOf(const std::string& placement, const std::string& more = "") {
  return testing::Spec(placement, "3.8.4", R"(, "rollout": {"allowDegraded": true})" + more);
}
std::string Request(const std::string& name, const std::string& survivors, const std::string& lost) {
  return R"(, "forceRecovery": {"request": ")" + name + R"(", "survivors": )" + survivors + R"(, "lost": )" + lost +
         R"(, "acknowledgeDataLoss": true})";
}

class RecoveryTest : public ::testing::Test {
 protected:
  explicit RecoveryTest(const std::string& placement = "m1:2 m2:2 m3:1") : fleet(SpecOf(placement)) { fleet.Settle(); }

  void Lose(const std::vector<std::string>& clusters, base::Duration since = 2min) {
    for (const std::string& cluster : clusters) fleet.Destroy(cluster);
    fleet.Work();
    fleet.Tick();
    fleet.Later(since);
    fleet.Tick();
  }
  std::string Condition(std::string_view type, std::string_view field) {
    const Json* condition = kube::FindCondition(fleet.ensemble(), type);
    return condition == nullptr ? "" : std::string(FindString(*condition, {field}));
  }
  /// What the plan says to the request.
  std::string Ask(const std::string& placement, const std::string& request) {
    fleet.SetSpec(SpecOf(placement, request));
    const Plan plan = fleet.Tick();
    return plan.reason + ": " + plan.message;
  }
  Json Overridden(const std::string& cluster, std::string_view path) {
    const Json* value = OverriddenBy(fleet.children().at("OverridePolicy/zk-" + cluster), path);
    return value == nullptr ? Json() : *value;
  }

  FakeFleet fleet;
};

TEST_F(RecoveryTest, NothingHappensByItself) {
  Lose({"m1", "m2"});
  const std::string before = base::ToText(Overridden("m3", "/spec"));
  for (int i = 0; i < 50; ++i) {
    const Plan plan = fleet.Tick();
    EXPECT_TRUE(plan.apply.empty() && plan.remove.empty()) << plan.reason;
    fleet.Later(1min);
    fleet.Work();
  }
  EXPECT_EQ(base::ToText(Overridden("m3", "/spec")), before);
  EXPECT_EQ(Condition("QuorumHealthy", "status"), "False");
  EXPECT_EQ(Condition("Recovering", "status"), "");
}

TEST_F(RecoveryTest, TheSurvivorGoesOnAndTheEnsembleGrowsBackWithOtherIds) {
  for (const char* cluster : {"m4", "m5"}) fleet.SetReachable(cluster, true);
  Lose({"m1", "m2"});
  EXPECT_TRUE(
      Ask("m3:1 m4:2 m5:2", Request("flood", R"(["m3"])", R"(["m1", "m2"])")).starts_with("RecoveryStarted: flood: 1 servers"));
  EXPECT_EQ(Condition("Recovering", "status"), "True");
  EXPECT_EQ(FindString(fleet.records().back(), {"status"}), "Deploying");
  EXPECT_EQ(Overridden("m1", "/spec/replicas"), Json(0));
  EXPECT_EQ(Overridden("m1", "/spec/abandoned"), Json(true)) << "should it come back, it is to stop";
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (ServerIds{21, 31, 32, 41, 42}));
  EXPECT_EQ(Condition("Recovering", "reason"), "RecoveryCompleted");
  EXPECT_EQ(Condition("Ready", "status"), "True");
  EXPECT_FALSE(fleet.children().contains("OverridePolicy/zk-m1")) << "it is released";
  // It is not asked for again by staying there, nor when it is taken away and put back.
  const size_t records = fleet.records().size();
  fleet.SetSpec(SpecOf("m3:1 m4:2 m5:2"));
  fleet.Settle();
  fleet.Destroy("m4");
  Lose({"m5"});
  EXPECT_NE(Ask("m3:1 m4:2 m5:2", Request("flood", R"(["m3"])", R"(["m1", "m2"])")).substr(0, 8), "Recovery");
  EXPECT_EQ(fleet.records().size(), records);
  // Another disaster is another request.
  EXPECT_TRUE(Ask("m3:1", Request("fire", R"(["m3"])", R"(["m4", "m5"])")).starts_with("RecoveryStarted"));
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), ServerIds{21});
}

TEST_F(RecoveryTest, APlaceThatIsBuiltAnewGetsOtherIds) {
  Lose({"m1", "m2"});
  Ask("m3:1", Request("flood", R"(["m3"])", R"(["m1", "m2"])"));
  // Before the lost ones have been released.
  fleet.SetReachable("m1", true);
  fleet.SetReachable("m2", true);
  fleet.SetSpec(SpecOf("m1:1 m2:1 m3:1"));
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (ServerIds{21, 31, 41}));
}

TEST_F(RecoveryTest, TwoSurvivorsNeedEachOther) {
  Lose({"m1"});
  EXPECT_EQ(Ask("m2:2 m3:1", Request("a", R"(["m2", "m3"])", R"(["m1"])")),
            "RecoveryRefused: a: the survivors are a majority: they find together by themselves");
  EXPECT_EQ(Condition("Recovering", "reason"), "RecoveryRefused");
}

TEST_F(RecoveryTest, WhatMayServeYetIsNotRecovered) {
  const std::string ask_m3 = R"(["m3"])", lost = R"(["m1", "m2"])";
  EXPECT_EQ(Ask("m3:1", Request("1", ask_m3, lost)).substr(0, 18), "RecoveryRefused: 1") << "all is well";
  fleet.SetSpec(SpecOf("m1:2 m2:2 m3:1"));
  fleet.Settle();
  Lose({"m1", "m2"}, 10s);
  EXPECT_EQ(Ask("m3:1", Request("2", ask_m3, lost)), "RecoveryRefused: 2: the quorum has not been missed for 1m0s yet");
  fleet.Later(2min);
  EXPECT_EQ(fleet.Tick().reason.substr(0, 8) == "Recovery", false) << "a request that was refused does not take effect later";
  EXPECT_EQ(Ask("m3:1", Request("3", ask_m3, R"(["m1"])")),
            "RecoveryRefused: 3: m2 has 2 servers, and is named neither as a survivor nor as lost");
  fleet.SetReachable("m2", true);
  fleet.Work();
  EXPECT_TRUE(Ask("m3:1", Request("4", ask_m3, lost)).starts_with("RecoveryRefused: 4: m2 can be reached, and "));
  fleet.SetReachable("m2", false);
  fleet.SetReachable("m3", false);
  EXPECT_EQ(Ask("m3:1", Request("5", ask_m3, lost)), "RecoveryRefused: 5: m3, a survivor, cannot be reached");
  fleet.SetReachable("m3", true);
  EXPECT_TRUE(Ask("m3:1", Request("6", ask_m3, lost)).starts_with("RecoveryStarted: 6"));
}

TEST_F(RecoveryTest, AServerThatWasLetGoAndIsStillWantedIsCalledBackOnce) {
  const auto mark = [this] { return std::string(Overridden("m2", "/spec/rolloutRevision").as_string()); };
  const std::string before = mark();
  fleet.LetGo("m2", 12);
  fleet.SetReachable("m2", false);
  EXPECT_NE(fleet.Tick().reason, "ServerCalledBack") << "who knows what it does now";
  fleet.SetReachable("m2", true);
  Plan plan = fleet.Tick();
  EXPECT_EQ(plan.reason + ": " + plan.message,
            "ServerCalledBack: server 12 in m2 was let go by the others, and is to be taken in again");
  EXPECT_EQ(mark(), before + ".2");
  EXPECT_EQ(fleet.Tick().reason, "UpToDate") << "it is told once";
  fleet.Settle();
  EXPECT_EQ(Condition("Ready", "status"), "True");
  EXPECT_EQ(mark(), before + ".2");
  // Also one that is on its way out, as long as its cluster has not been told.
  fleet.SetSpec(SpecOf("m1:1 m2:2 m3:1"));
  fleet.Tick();
  fleet.LetGo("m2", 12);
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (ServerIds{1, 11, 12, 21}));
}

class SevenTest : public RecoveryTest {
 protected:
  SevenTest() : RecoveryTest("m1:3 m2:2 m3:2") {}
};

TEST_F(SevenTest, OfThreeSurvivorsNoneIsDoneWithout) {
  Lose({"m2", "m3"});
  EXPECT_TRUE(Ask("m1:3", Request("flood", R"(["m1"])", R"(["m2", "m3"])")).starts_with("RecoveryStarted"));
  fleet.Tick();
  const Json body = Overridden("m1", "/spec");
  const Json* recovery = base::Find(body, {"recovery"});
  ASSERT_NE(recovery, nullptr);
  EXPECT_EQ(base::ToText(recovery->at("absent")), "[11]") << "a majority of four is three";
  EXPECT_EQ(base::FindArray(*recovery, {"servers"}).size(), 4u);
  EXPECT_EQ(Overridden("m1", "/spec/servers").as_array().size(), 3u) << "it does not stay";
  // Another template meanwhile does not make them forget.
  fleet.SetSpec(SpecOf("m1:3", Request("flood", R"(["m1"])", R"(["m2", "m3"])") + R"(, "revisionHistoryLimit": 5)"));
  base::Ensure(fleet.ensemble(), {"spec", "template", "image", "tag"}) = "3.8.5";
  EXPECT_EQ(fleet.Tick().reason, "RecordSuperseded");
  fleet.Tick();
  EXPECT_NE(base::Find(Overridden("m1", "/spec"), {"recovery"}), nullptr);
  fleet.Settle();
  // The next template does.
  base::Ensure(fleet.ensemble(), {"spec", "template", "image", "tag"}) = "3.8.6";
  fleet.Settle();
  EXPECT_EQ(base::Find(Overridden("m1", "/spec"), {"recovery"}), nullptr);
  EXPECT_EQ(fleet.Servers(), (ServerIds{1, 2, 3}));
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::recovery_test
