#include "controllers/autoscaler/cluster_state/cluster_state.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/facts/fleet_testing.h"
#include "controllers/autoscaler/options/flags.h"

namespace evenkeel::controllers::autoscaler::cluster_state_test {
namespace {

using testing::Fleet;
using testing::kStart;
using namespace std::chrono_literals;

/// What is in two groups of 10 and 20 nodes, the same kinds in both.
struct Pair {
  int ready[2] = {0, 0}, unregistered[2] = {0, 0}, long_unregistered[2] = {0, 0}, up[2] = {0, 0}, down[2] = {0, 0};
};

/// Ranges of both groups after a loop that finds all this.
std::pair<AcceptableRange, AcceptableRange> Ranges(const Pair& pair) {
  Fleet fleet(kStart - 30min);
  ClusterState state{Options{}};
  const char* names[] = {"ng1", "ng2"};
  for (int i = 0; i < 2; ++i) {
    fleet.Group(names[i], 0, 1000, 10 * (i + 1));
    fleet.Nodes(names[i], pair.ready[i]);
    for (int n = 0; n < pair.long_unregistered[i]; ++n) fleet.Instance(names[i], names[i] + ("-long-" + std::to_string(n)));
  }
  state.Update(fleet.view);
  fleet.view.now = kStart;
  for (int i = 0; i < 2; ++i) {
    for (int n = 0; n < pair.unregistered[i]; ++n) fleet.Instance(names[i], names[i] + ("-new-" + std::to_string(n)));
    state.RegisterScaleUp(names[i], pair.up[i], kStart);
    for (int n = 0; n < pair.down[i]; ++n) state.RegisterScaleDown(names[i], "node", kStart);
  }
  state.Update(fleet.view);
  return {state.Find("ng1")->range, state.Find("ng2")->range};
}

using RangePair = std::pair<AcceptableRange, AcceptableRange>;

TEST(ClusterStateTest, V20AcceptableRangesFollowRequestsAndInstancesThatNeverRegistered) {
  EXPECT_EQ(Ranges({}), (RangePair{{10, 10, 10}, {20, 20, 20}}));
  EXPECT_EQ(Ranges({.up = {3, 5}}), (RangePair{{7, 10, 10}, {15, 20, 20}}));
  EXPECT_EQ(Ranges({.down = {2, 3}}), (RangePair{{10, 12, 10}, {20, 23, 20}}));
  EXPECT_EQ(Ranges({.unregistered = {2, 3}}), (RangePair{{10, 10, 10}, {20, 20, 20}}));
  EXPECT_EQ(Ranges({.long_unregistered = {2, 3}}), (RangePair{{8, 10, 10}, {17, 20, 20}}));
  EXPECT_EQ(Ranges({{8, 17}, {1, 3}, {2, 4}, {3, 5}, {2, 3}}), (RangePair{{5, 12, 10}, {11, 23, 20}}));
}

/// Sizes found wrong with targets 10 and 20, given what was known before.
std::map<std::string, IncorrectSize, std::less<>> Wrong(const Pair& pair, std::string_view before = "{}") {
  base::Json json = base::JsonObject{{"incorrectSizes", *base::ParseJson(before, "test")}};
  auto state = ClusterState::FromJson(json, Options{});
  EXPECT_TRUE(state.has_value());
  Fleet fleet;
  const char* names[] = {"ng1", "ng2"};
  for (int i = 0; i < 2; ++i) {
    fleet.Group(names[i], 0, 1000, 10 * (i + 1));
    fleet.Nodes(names[i], pair.ready[i]);
    for (int n = 0; n < pair.unregistered[i]; ++n) fleet.Instance(names[i], names[i] + ("-new-" + std::to_string(n)));
  }
  state->Update(fleet.view);
  return state->incorrect_sizes();
}

using Sizes = std::map<std::string, IncorrectSize, std::less<>>;

TEST(ClusterStateTest, V21IncorrectSizesAreThoseThatInstancesWithoutNodesDoNotExplain) {
  EXPECT_EQ(Wrong({{10, 20}}), Sizes{});
  EXPECT_EQ(Wrong({{8, 15}}), (Sizes{{"ng1", {8, 10, kStart}}, {"ng2", {15, 20, kStart}}}));
  EXPECT_EQ(Wrong({{12, 25}}), (Sizes{{"ng1", {12, 10, kStart}}, {"ng2", {25, 20, kStart}}}));
  EXPECT_EQ(Wrong({{8, 15}, {2, 3}}), (Sizes{{"ng2", {15, 20, kStart}}}));
  const std::string at = base::FormatMicroTime(kStart - 1h);
  EXPECT_EQ(Wrong({{8, 20}}, R"({"ng1":{"current":7,"expected":10,"firstObserved":")" + at + R"("}})"),
            (Sizes{{"ng1", {8, 10, kStart}}}));
  EXPECT_EQ(Wrong({{8, 20}}, R"({"ng1":{"current":8,"expected":10,"firstObserved":")" + at + R"("}})"),
            (Sizes{{"ng1", {8, 10, kStart - 1h}}}));
}

TEST(ClusterStateTest, V21LongUnregisteredInstancesExplainSizesToo) {
  Fleet fleet(kStart - 30min);
  fleet.Group("ng1", 0, 100, 10);
  fleet.Nodes("ng1", 8);
  fleet.Instance("ng1", "old");
  ClusterState state{Options{}};
  state.Update(fleet.view);
  EXPECT_EQ(state.incorrect_sizes().size(), 1u);
  fleet.view.now = kStart;
  fleet.Instance("ng1", "new");
  state.Update(fleet.view);
  EXPECT_EQ(state.Find("ng1")->readiness.long_unregistered, 1);
  EXPECT_EQ(state.Find("ng1")->readiness.unregistered, 1);
  EXPECT_EQ(state.incorrect_sizes(), Sizes{});
}

TEST(ClusterStateTest, GroupOfWhichNothingIsThereIsNotFoundIncorrect) {
  Fleet fleet;
  fleet.Group("ng1", 0, 10, 3);
  ClusterState state{Options{}};
  state.Update(fleet.view);
  EXPECT_TRUE(state.incorrect_sizes().empty());
  EXPECT_FALSE(state.IsGroupHealthy("ng1"));
  EXPECT_FALSE(state.IsGroupHealthy("unknown"));
  state.RegisterScaleUp("ng1", 3, kStart);
  state.Recalculate(fleet.view);
  EXPECT_TRUE(state.IsGroupHealthy("ng1")) << "all of it is on its way";
}

TEST(ClusterStateTest, NodesFallIntoTheFirstClassThatApplies) {
  Fleet fleet;
  fleet.Group("ng1", 0, 10, 6);
  fleet.Node("going", "ng1").to_be_deleted = kStart;
  fleet.Node("asleep", "ng1").suspended = true;
  fleet.Node("good", "ng1");
  fleet.Node("young", "ng1", false).created = kStart - 15min + 1s;
  fleet.Node("late", "ng1", false).created = kStart - 15min;
  fleet.Node("no-gpu", "ng1", false).resource_unready = true;
  fleet.Node("alone", "", false);
  ClusterState state{Options{}};
  state.Update(fleet.view);
  const Readiness& group = state.Find("ng1")->readiness;
  EXPECT_EQ(group.registered, 6);
  EXPECT_EQ(group.deleted, 1);
  EXPECT_EQ(group.suspended, 1);
  EXPECT_EQ(group.ready, 1);
  ASSERT_EQ(group.not_started.size(), 1u);
  EXPECT_EQ(fleet.nodes[group.not_started[0]].name, "young");
  EXPECT_EQ(group.unready, 2);
  EXPECT_EQ(group.resource_unready, 1);
  EXPECT_EQ(state.total().unready, 3) << "nodes without a group count for the cluster";
  ClusterState old{DefaultsFor(Compat::k1_26)};
  old.Update(fleet.view);
  EXPECT_EQ(old.Find("ng1")->readiness.ready, 2) << "1.26 knows no suspended nodes";
}

TEST(ClusterStateTest, V23UnreadyNodesMakeTheClusterUnhealthyOnlyAboveBothLimits) {
  Options options;
  options.ok_total_unready_count = 1;
  options.max_total_unready_percentage = 10;
  Fleet fleet;
  fleet.Group("ng1", 1, 10, 1);
  fleet.Group("ng2", 1, 10, 1);
  fleet.Node("n1", "ng1", false);
  fleet.Node("n2", "ng2", false);
  ClusterState state(options);
  state.Update(fleet.view);
  EXPECT_FALSE(state.IsClusterHealthy());
  EXPECT_TRUE(state.IsGroupHealthy("ng1"));
  EXPECT_TRUE(state.IsGroupHealthy("ng2"));
  fleet.Find("n1").ready = true;
  state.Update(fleet.view);
  EXPECT_TRUE(state.IsClusterHealthy());
}

TEST(ClusterStateTest, HealthLimitsAreStrict) {
  const auto healthy = [](int unready, int total) {
    Fleet fleet;
    fleet.Group("ng1", 0, 100, total);
    fleet.Nodes("ng1", unready, false);
    fleet.Nodes("ng1", total - unready);
    ClusterState state{Options{}};
    state.Update(fleet.view);
    return state.IsClusterHealthy();
  };
  EXPECT_TRUE(healthy(3, 3));
  EXPECT_FALSE(healthy(4, 4));
  EXPECT_TRUE(healthy(9, 20)) << "exactly 45 %";
  EXPECT_FALSE(healthy(10, 20));
}

TEST(ClusterStateTest, V23ScaleUpThatTimedOutFailsBacksOffAndIsReverted) {
  Options options;
  options.max_node_provision_time = 2min;
  options.ok_total_unready_count = 1;
  options.max_total_unready_percentage = 10;
  Fleet fleet;
  fleet.Group("ng1", 1, 10, 5);
  fleet.Node("n1", "ng1");
  ClusterState state(options);
  state.RegisterScaleUp("ng1", 4, kStart - 3min);
  const StageResult result = state.Update(fleet.view);
  ASSERT_EQ(state.failures().size(), 1u);
  EXPECT_EQ(state.failures()[0].error.code, "timeout");
  EXPECT_EQ(state.failures()[0].error.message, "Scale-up timed out for node group ng1 after 3m0s");
  EXPECT_EQ(state.failures()[0].delta, 4);
  EXPECT_TRUE(state.IsClusterHealthy());
  EXPECT_FALSE(state.IsGroupHealthy("ng1"));
  EXPECT_TRUE(state.IsBackedOff("ng1"));
  EXPECT_TRUE(state.scale_ups().empty());
  ASSERT_EQ(result.events.size(), 1u);
  EXPECT_EQ(result.events[0],
            (ClusterEvent{true, "ScaleUpTimedOut", "Nodes added to group ng1 failed to register within 3m0s"}));
  ASSERT_EQ(result.changes.size(), 1u);
  EXPECT_EQ(result.changes[0].delta, -4);
  EXPECT_EQ(fleet.At("ng1").target_size, 1);

  options.compat = Compat::k1_26;
  fleet.At("ng1").target_size = 5;
  ClusterState old(options);
  old.RegisterScaleUp("ng1", 4, kStart - 3min);
  EXPECT_TRUE(old.Update(fleet.view).changes.empty()) << "1.26 leaves the target alone";
  EXPECT_EQ(fleet.At("ng1").target_size, 5);
}

TEST(ClusterStateTest, RevertLeavesWhatExists) {
  Fleet fleet;
  fleet.Group("ng1", 0, 10, 5);
  fleet.Node("n1", "ng1");
  for (const char* id : {"a", "b"}) fleet.Instance("ng1", id);
  fleet.Instance("ng1", "n1");
  ClusterState state{Options{}};
  state.RegisterScaleUp("ng1", 4, kStart - 16min);
  EXPECT_EQ(state.Update(fleet.view).changes.at(0).delta, -2);

  Fleet full;
  full.Group("ng1", 0, 10, 2);
  for (const char* id : {"a", "b"}) full.Instance("ng1", id);
  ClusterState stuck{Options{}};
  stuck.RegisterScaleUp("ng1", 2, kStart - 16min);
  const StageResult result = stuck.Update(full.view);
  EXPECT_TRUE(result.changes.empty());
  EXPECT_EQ(result.events.at(1).reason, "FailedToRevertScaleUp");
}

TEST(ClusterStateTest, RequestsMergeAndEndWhenAllNodesHaveCome) {
  Fleet fleet;
  fleet.Group("ng1", 0, 10, 5);
  fleet.Nodes("ng1", 1);
  ClusterState state{Options{}};
  state.Update(fleet.view);
  state.RegisterScaleUp("ng1", -2, kStart);
  EXPECT_TRUE(state.scale_ups().empty());
  state.RegisterScaleUp("ng1", 3, kStart);
  state.RegisterScaleUp("ng1", 1, kStart + 1min);
  EXPECT_EQ(state.scale_ups().at("ng1").increase, 4);
  EXPECT_EQ(state.scale_ups().at("ng1").expected, kStart + 16min);
  state.RegisterScaleUp("ng1", -1, kStart + 2min);
  EXPECT_EQ(state.scale_ups().at("ng1").increase, 3);
  EXPECT_EQ(state.scale_ups().at("ng1").expected, kStart + 16min) << "fewer nodes do not make it younger";
  EXPECT_TRUE(state.IsScalingUp("ng1"));
  fleet.Nodes("ng1", 4);
  state.Update(fleet.view);
  EXPECT_TRUE(state.scale_ups().empty());
  state.RegisterScaleUp("ng1", 2, kStart);
  state.RegisterScaleUp("ng1", -2, kStart);
  EXPECT_TRUE(state.scale_ups().empty());
}

TEST(ClusterStateTest, ScaleDownRequestsEndAfterFiveMinutes) {
  Fleet fleet;
  fleet.Group("ng1", 0, 10, 5);
  ClusterState state{Options{}};
  state.RegisterScaleDown("ng1", "n1", kStart - 5min);
  state.RegisterScaleDown("ng1", "n2", kStart - 5min + 1s);
  state.Update(fleet.view);
  ASSERT_EQ(state.scale_downs().size(), 1u);
  EXPECT_EQ(state.scale_downs()[0].node, "n2");
}

TEST(ClusterStateTest, NewCreationErrorsOfAScaleUpAreReportedOnceAndBackTheGroupOff) {
  Fleet fleet;
  fleet.Group("ng1", 0, 10, 4);
  fleet.Nodes("ng1", 1);
  fleet.FailedInstance("ng1", "i1", "QUOTA_EXCEEDED", "limit of 8");
  fleet.FailedInstance("ng1", "i2", "QUOTA_EXCEEDED", "limit of 9");
  ClusterState state{Options{}};
  state.RegisterScaleUp("ng1", 3, kStart - 1min);
  StageResult result = state.Update(fleet.view);
  ASSERT_EQ(result.events.size(), 1u);
  EXPECT_EQ(result.events[0],
            (ClusterEvent{true, "ScaleUpFailed",
                          "Failed adding 2 nodes to group ng1 due to OutOfResource.QUOTA_EXCEEDED; source errors: limit of 8, "
                          "limit of 9"}));
  EXPECT_EQ(state.scale_ups().at("ng1").increase, 1);
  ASSERT_NE(state.backoff().Find("ng1", kStart), nullptr);
  EXPECT_EQ(state.backoff().Find("ng1", kStart)->error.code, "QUOTA_EXCEEDED");
  auto successor = ClusterState::FromJson(state.ToJson(), Options{});
  EXPECT_TRUE(state.Update(fleet.view).events.empty()) << "seen before";
  EXPECT_TRUE(successor->Update(fleet.view).events.empty()) << "seen by the predecessor";
}

TEST(ClusterStateTest, CreationErrorsWithoutAScaleUpAreNoFailure) {
  Fleet fleet;
  fleet.Group("ng1", 0, 10, 4);
  fleet.FailedInstance("ng1", "i1", "QUOTA");
  ClusterState state{Options{}};
  EXPECT_TRUE(state.Update(fleet.view).events.empty());
  EXPECT_FALSE(state.IsBackedOff("ng1"));
}

TEST(ClusterStateTest, UpcomingNodesAreThoseOfScaleUpsUnderWay) {
  Fleet fleet;
  fleet.Group("ng1", 0, 20, 10);
  fleet.Group("ng2", 0, 20, 3);
  fleet.Nodes("ng1", 3);
  fleet.Nodes("ng1", 1, false);
  fleet.Node("z-starting", "ng1", false).created = kStart - 1min;
  fleet.Node("a-starting", "ng1", false).created = kStart - 1min;
  ClusterState state{Options{}};
  state.RegisterScaleUp("ng1", 6, kStart - 1min);
  state.Update(fleet.view);
  const auto upcoming = state.UpcomingNodes(fleet.view);
  EXPECT_EQ(upcoming.nodes, (decltype(upcoming.nodes){{"ng1", 6}})) << "10 - 3 ready - 1 unready; ng2 has no request";
  ASSERT_EQ(upcoming.registered.at("ng1").size(), 2u);
  EXPECT_EQ(fleet.nodes[upcoming.registered.at("ng1")[0]].name, "a-starting");
  state.RegisterFailedScaleUp("ng1", {}, kStart);
  EXPECT_TRUE(state.UpcomingNodes(fleet.view).nodes.empty()) << "backed off";
  ClusterState old{DefaultsFor(Compat::k1_26)};
  old.Update(fleet.view);
  EXPECT_EQ(old.UpcomingNodes(fleet.view).nodes, (decltype(upcoming.nodes){{"ng1", 6}, {"ng2", 3}})) << "1.26 counts all";
}

TEST(ClusterStateTest, SuccessfulScaleUpEndsTheBackoffOnlyWithOldRules) {
  for (const bool old : {false, true}) {
    Fleet fleet;
    fleet.Group("ng1", 0, 10, 1);
    fleet.Nodes("ng1", 1);
    ClusterState state(old ? DefaultsFor(Compat::k1_26) : Options{});
    state.RegisterScaleUp("ng1", 1, kStart - 1min);
    state.RegisterFailedScaleUp("ng1", {}, kStart - 1min);
    state.Update(fleet.view);
    EXPECT_EQ(state.IsBackedOff("ng1"), !old);
  }
}

TEST(ClusterStateTest, InstancesAreUnregisteredSinceTheyWereFirstSeenAlsoAfterARestart) {
  Fleet fleet(kStart - 20min);
  fleet.Group("ng1", 0, 10, 4);
  fleet.Node("n1", "ng1");
  fleet.Instance("ng1", "n1");
  fleet.Instance("ng1", "i1");
  fleet.Instance("ng1", "gone", providers::Instance::State::kDeleting);
  fleet.FailedInstance("ng1", "failed", "QUOTA");
  ClusterState first{Options{}};
  first.Update(fleet.view);
  ASSERT_EQ(first.unregistered().size(), 1u);
  auto second = ClusterState::FromJson(first.ToJson(), Options{});
  ASSERT_TRUE(second.has_value()) << second.error().message();
  fleet.view.now = kStart;
  second->Update(fleet.view);
  EXPECT_EQ(second->unregistered().at("i1").since, kStart - 20min);
  EXPECT_EQ(second->Find("ng1")->readiness.long_unregistered, 1);
}

TEST(ClusterStateTest, WrongJsonIsNamed) {
  const auto error = [](std::string_view text) {
    return ClusterState::FromJson(*base::ParseJson(text, "test"), Options{}).error().message();
  };
  EXPECT_EQ(error("1"), "state: cluster: not an object");
  EXPECT_EQ(error(R"({"scaleUps":{"a":{"increase":0}}})"),
            "state: cluster.scaleUps.a.increase: not a whole number from 1 to 1000000000");
  EXPECT_EQ(error(R"({"scaleDowns":[{"group":"a","node":"n"}]})"), "state: cluster.scaleDowns[0].at: missing");
  EXPECT_EQ(error(R"({"unregistered":{"i":{"since":"x"}}})"), "state: cluster.unregistered.i.since: not an RFC 3339 time");
  EXPECT_EQ(error(R"({"failedCreations":{"a":[1]}})"), "state: cluster.failedCreations.a[0]: not a text");
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::cluster_state_test
