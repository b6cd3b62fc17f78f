#include "controllers/autoscaler/run_once.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/node_group_object.h"
#include "scheduling/objects_testing.h"

namespace evenkeel::controllers::autoscaler::run_once_test {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
using scheduling::testing::NodeMaker;
using scheduling::testing::Parse;
using scheduling::testing::PodMaker;

const base::Time kNow{std::chrono::hours(500'000)};

class RunOnceTest : public ::testing::Test {
 protected:
  void Group(const std::string& name, int64_t max, const std::string& cpu = "4") {
    const Json object =
        Parse(R"({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroup", "metadata": {"name": ")" + name +
              R"("}, "spec": {"maxSize": )" + std::to_string(max) + R"(, "template": {"status": {"allocatable": {"cpu": ")" +
              cpu + R"(", "memory": "16Gi", "pods": "110"}}}}})");
    groups_.push_back({object, ""});
  }
  void Pod(const std::string& name, const std::string& cpu, const std::string& node = "") {
    Json pod = PodMaker(name, cpu, "1Gi").json;
    pod.as_object()["kind"] = "Pod";
    if (!node.empty()) base::Ensure(pod, {"spec", "nodeName"}) = node;
    base::Ensure(pod, {"status", "conditions"}) = JsonArray{
        JsonObject{{"type", "PodScheduled"}, {"status", node.empty() ? "False" : "True"}, {"reason", "Unschedulable"}}};
    objects_.Upsert(pod);
  }
  void Node(const std::string& name, const std::string& group) {
    Json node = NodeMaker(name, "4", "16Gi").Label(kNodeGroupLabel, group).json;
    node.as_object()["kind"] = "Node";
    base::Ensure(node, {"status", "conditions"}) = JsonArray{JsonObject{{"type", "Ready"}, {"status", "True"}}};
    objects_.Upsert(node);
  }
  LoopPlan Run(const Act& act = {}) {
    auto groups = DecodeNodeGroups(groups_, objects_.Nodes());
    EXPECT_TRUE(groups);
    const auto expanders = ExpanderChain::Make(options_.expander);
    LoopRequest request;
    request.now = kNow;
    request.act = act;
    return RunOnce(objects_, std::move(*groups), options_, *expanders, state_, random_, request);
  }

  Options options_;
  ClusterObjects objects_{options_};
  std::vector<kube::ManifestObject> groups_;
  AutoscalerState state_{options_};
  base::Random random_{1};
};

TEST_F(RunOnceTest, LeavesTheSnapshotAsItWas) {
  Group("a", 5);
  Node("n1", "a");
  Pod("on", "3", "n1");
  Pod("fits", "1");
  Pod("waits", "3");
  const LoopPlan plan = Run();
  EXPECT_EQ(plan.pending.size(), 2u);
  EXPECT_EQ(plan.unschedulable.size(), 1u);
  EXPECT_EQ(objects_.snapshot().depth(), 0u);
  EXPECT_EQ(objects_.snapshot().node_count(), 1u);
  EXPECT_EQ(objects_.snapshot().NodeOf(objects_.snapshot().FindPod("default/fits")), scheduling::kNone);
}

TEST_F(RunOnceTest, AGroupThatRefusesIsReplacedInTheSameLoop) {
  options_.expander = {"least-nodes"};
  Group("big", 5, "8");
  Group("small", 5, "4");
  for (const char* name : {"p1", "p2", "p3", "p4"}) Pod(name, "4");
  std::vector<std::string> asked;
  const LoopPlan plan = Run([&](const GroupChange& change) -> base::Status {
    asked.push_back(change.group + " +" + std::to_string(change.delta));
    if (change.group == "big") return base::Fail(base::Code::kUnavailable, "out of stock");
    return {};
  });
  EXPECT_EQ(asked, (std::vector<std::string>{"big +2", "small +4"}));
  ASSERT_EQ(plan.scale_ups.size(), 1u);
  EXPECT_EQ(plan.view.groups.Find("big")->target_size, 0);
  EXPECT_EQ(plan.view.groups.Find("small")->target_size, 4);
  EXPECT_TRUE(state_.cluster.IsBackedOff("big"));
  EXPECT_TRUE(state_.cluster.IsScalingUp("small"));
}

TEST_F(RunOnceTest, ALoopOf1_26EndsWithItsScaleUp) {
  Group("a", 5);
  Pod("waits", "3");
  options_.compat = Compat::k1_26;
  const LoopPlan plan = Run();
  EXPECT_EQ(plan.stopped_at, "ScaleUp");
  EXPECT_FALSE(plan.scale_down_looked);
  options_.compat = Compat::k1_37;
  EXPECT_TRUE(Run().scale_down_looked);
}

TEST_F(RunOnceTest, WithoutReadyNodesAndScaleUpFromZeroNothingIsDone) {
  Group("a", 5);
  Pod("waits", "3");
  options_.scale_up_from_zero = false;
  const LoopPlan plan = Run();
  EXPECT_EQ(plan.stopped_at, "CheckActionable");
  EXPECT_EQ(plan.status.autoscaler_status, "Initializing");
  EXPECT_TRUE(plan.changes.empty());
}

TEST_F(RunOnceTest, PodsThatNoSchedulerHasLookedAtAreNotPendingUnlessAsked) {
  Group("a", 5);
  Json pod = PodMaker("fresh", "3", "1Gi").json;
  pod.as_object()["kind"] = "Pod";
  objects_.Upsert(pod);
  EXPECT_TRUE(Run().pending.empty());
  options_.bypassed_scheduler_names = {"default-scheduler"};
  EXPECT_EQ(Run().pending.size(), 1u);
}

TEST_F(RunOnceTest, WhatIsRemovedCountsNoMore) {
  Group("a", 5);
  Node("n1", "a");
  Pod("waits", "9");
  EXPECT_EQ(Run().pending.size(), 1u);
  objects_.Remove("Pod", "default/waits");
  objects_.Remove("Node", "n1");
  const LoopPlan plan = Run();
  EXPECT_TRUE(plan.pending.empty());
  EXPECT_EQ(state_.cluster.total().registered, 0);
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::run_once_test
