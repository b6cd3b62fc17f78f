#include "controllers/autoscaler/loop/run_once.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/facts/node_group_object.h"
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
    base::Ensure(pod, {"metadata", "annotations", "cluster-autoscaler.kubernetes.io/safe-to-evict"}) = "true";
    pod.as_object()["kind"] = "Pod";
    if (!node.empty()) base::Ensure(pod, {"spec", "nodeName"}) = node;
    base::Ensure(pod, {"status", "conditions"}) = JsonArray{
        JsonObject{{"type", "PodScheduled"}, {"status", node.empty() ? "False" : "True"}, {"reason", "Unschedulable"}}};
    mirror_.Upsert(pod);
  }
  void Node(const std::string& name, const std::string& group) {
    Json node = NodeMaker(name, "4", "16Gi").Label(kNodeGroupLabel, group).json;
    node.as_object()["kind"] = "Node";
    base::Ensure(node, {"status", "conditions"}) = JsonArray{JsonObject{{"type", "Ready"}, {"status", "True"}}};
    mirror_.Upsert(node);
  }
  using Act = std::function<base::Status(const GroupChange&)>;
  LoopPlan Run(const Act& act = [](const GroupChange&) -> base::Status { return {}; }) {
    auto groups = DecodeNodeGroups(groups_, objects_.Nodes());
    EXPECT_TRUE(groups);
    const auto expanders = ExpanderChain::Make(options_.expander);
    if (adjust_) adjust_(*groups);
    LoopRequest request;
    request.now = now_;
    request.deleting_drain = deleting_drain_;
    if (elsewhere_) request.nodes_elsewhere = [this] { return NodesElsewhere{elsewhere_()}; };
    LoopRun loop(objects_, std::move(*groups), options_, *expanders, state_, random_, request);
    const size_t nodes = objects_.snapshot().node_count();
    while (const GroupChange* change = loop.Next()) {
      EXPECT_EQ(objects_.snapshot().depth(), 0u) << "somebody is called inside a what-if";
      EXPECT_EQ(objects_.snapshot().node_count(), nodes);
      loop.Answer(act(*change));
    }
    return loop.Take();
  }

  const Act refuse_ = [](const GroupChange&) -> base::Status {
    return base::Fail(base::Code::kTooManyRequests, "out of stock");
  };
  Options options_;
  scheduling::ClusterMirror mirror_;
  ClusterObjects objects_{options_, mirror_};
  std::vector<kube::ManifestObject> groups_;
  AutoscalerState state_{options_};
  base::Random random_{1};
  base::Time now_ = kNow;
  std::vector<std::string> deleting_drain_;
  std::function<base::Result<std::map<std::string, std::string>>()> elsewhere_;
  std::function<void(providers::NodeGroups&)> adjust_;  ///< what the provider says differently
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
    if (change.group == "big") return base::Fail(base::Code::kTooManyRequests, "out of stock");
    return {};
  });
  EXPECT_EQ(asked, (std::vector<std::string>{"big +2", "small +4"}));
  ASSERT_EQ(plan.scale_ups.size(), 1u);
  EXPECT_EQ(plan.view.groups.Find("big")->target_size, 0);
  EXPECT_EQ(plan.view.groups.Find("small")->target_size, 4);
  EXPECT_TRUE(state_.cluster.IsBackedOff("big"));
  EXPECT_TRUE(state_.cluster.IsScalingUp("small"));
}

TEST_F(RunOnceTest, APodThatFitsKeepsItsPlaceWhenAScaleUpWasRefused) {
  options_.scale_down_unneeded_time = options_.scale_down_delay_after_add = {};
  Group("a", 5);
  for (const char* node : {"n1", "n2"}) Node(node, "a");
  Pod("little", "1", "n1");
  Pod("fits", "3500m");
  Pod("waits", "4");
  adjust_ = [](providers::NodeGroups& groups) { groups.Find("a")->target_size = 2; };
  const LoopPlan plan = Run(refuse_);
  EXPECT_EQ(plan.changes.size(), 1u);
  EXPECT_TRUE(plan.scale_ups.empty());
  EXPECT_TRUE(plan.scale_down_looked);
  EXPECT_TRUE(plan.scale_down.unneeded.empty()) << "n2 is taken";
  for (const char* pod : {"default/fits", "default/waits"}) mirror_.Remove("Pod", pod);
  now_ += std::chrono::minutes(10);
  EXPECT_FALSE(Run(refuse_).scale_down.unneeded.empty()) << "otherwise it is not";
}

TEST_F(RunOnceTest, APodOfANodeThatIsDrainedKeepsItsPlaceWhenAScaleUpWasRefused) {
  options_.scale_down_unneeded_time = options_.scale_down_delay_after_add = {};
  Group("a", 5);
  for (const char* node : {"n1", "n2", "n3"}) Node(node, "a");
  Pod("moves", "2", "n1");
  Pod("stays", "2", "n2");
  Pod("little", "1", "n3");
  Pod("waits", "4");
  adjust_ = [](providers::NodeGroups& groups) { groups.Find("a")->target_size = 3; };
  deleting_drain_ = {"n1"};
  Json going = NodeMaker("n1", "4", "16Gi").Label(kNodeGroupLabel, "a").json;
  going.as_object()["kind"] = "Node";
  base::Ensure(going, {"status", "conditions"}) = JsonArray{JsonObject{{"type", "Ready"}, {"status", "True"}}};
  base::Ensure(going, {"spec", "taints"}) =
      JsonArray{JsonObject{{"key", "ToBeDeletedByClusterAutoscaler"}, {"effect", "NoSchedule"}}};
  mirror_.Upsert(going);
  const LoopPlan plan = Run(refuse_);
  EXPECT_EQ(plan.changes.size(), 1u);
  EXPECT_TRUE(plan.scale_down_looked);
  EXPECT_TRUE(plan.scale_down.unneeded.empty()) << "the room is for the pod of the node that goes";
  mirror_.Remove("Pod", "default/moves");
  now_ += std::chrono::minutes(10);
  EXPECT_EQ(Run(refuse_).scale_down.unneeded.size(), 1u) << "otherwise another could have it";
}

TEST_F(RunOnceTest, AnIncreaseWithoutAnAnswerIsWaitedForBeforeAnotherGroupIsAsked) {
  Group("a", 5);
  Group("b", 5);
  Pod("p", "3");
  std::vector<std::string> asked;
  const auto times_out = [&](const GroupChange& change) -> base::Status {
    asked.push_back(change.group);
    return base::Fail(base::Code::kTimeout, "no answer");
  };
  Run(times_out);
  ASSERT_EQ(asked.size(), 1U);
  const std::string first = asked[0];
  EXPECT_FALSE(state_.cluster.IsBackedOff(first));
  for (int i = 0; i < 6; ++i) {
    now_ += std::chrono::seconds(9);
    EXPECT_TRUE(Run(times_out).scale_ups.empty());
  }
  EXPECT_EQ(asked.size(), 1U) << "the size of before is no answer yet";
  state_ = *AutoscalerState::FromJson(*base::ParseJson(base::ToText(state_.ToJson()), "state"), options_);
  state_.cleaned_up = true;
  adjust_ = [&](providers::NodeGroups& groups) { groups.Find(first)->target_size = 1; };
  now_ += std::chrono::minutes(1);
  LoopPlan plan = Run(times_out);
  EXPECT_EQ(plan.upcoming.at(first), 1) << "it was carried out after all";
  EXPECT_EQ(asked.size(), 1U);
  adjust_ = {};
}

TEST_F(RunOnceTest, AnIncreaseThatWasNeverCarriedOutBacksItsGroupOff) {
  options_.expander = {"least-nodes"};
  Group("big", 5, "8");
  Group("small", 5, "4");
  for (const char* name : {"p1", "p2"}) Pod(name, "4");
  std::vector<std::string> asked;
  Run([&](const GroupChange&) -> base::Status { return base::Fail(base::Code::kTimeout, "no answer"); });
  const auto agrees = [&](const GroupChange& change) -> base::Status {
    asked.push_back(change.group + " +" + std::to_string(change.delta));
    return {};
  };
  now_ += std::chrono::seconds(60);
  Run(agrees);
  EXPECT_TRUE(asked.empty());
  now_ += std::chrono::seconds(1);
  Run(agrees);
  EXPECT_TRUE(state_.cluster.IsBackedOff("big"));
  EXPECT_EQ(asked, std::vector<std::string>{"small +2"});
}

TEST_F(RunOnceTest, AGroupThatIsSetAsideIsNotTouchedAndTheOthersGoOn) {
  options_.scale_down_unneeded_time = options_.scale_down_delay_after_add = {};
  options_.enforce_node_group_min_size = true;
  Group("a", 5);
  Group("b", 5);
  for (const char* node : {"a1", "a2", "b1"}) Node(node, std::string(1, node[0]));
  for (const char* pod : {"p1", "p2", "p3", "p4"}) Pod(pod, "3");
  adjust_ = [](providers::NodeGroups& groups) {
    providers::NodeGroup& a = *groups.Find("a");
    a.set_aside = "an instance has no id";
    a.min_size = 4;
    a.target_size = 9;
    a.instances.push_back({"never", providers::Instance::State::kRunning, std::nullopt});
    a.instances.push_back({"failed", providers::Instance::State::kCreating,
                           providers::Instance::Error{providers::Instance::ErrorClass::kOther, "X", ""}});
    groups.Find("b")->max_size = 2;
  };
  state_.cluster.RegisterScaleUp("a", 3, kNow - std::chrono::hours(2));
  for (int i = 0; i < 3; ++i) {
    now_ += std::chrono::hours(1);
    const LoopPlan plan = Run([](const GroupChange&) -> base::Status { return {}; });
    for (const GroupChange& change : plan.changes) EXPECT_NE(change.group, "a") << change.why;
    for (const auto* list : {&plan.scale_down.delete_empty, &plan.scale_down.delete_drain}) {
      for (const size_t index : *list) EXPECT_NE(plan.scale_down.unneeded[index].group->id, "a");
    }
    EXPECT_EQ(plan.left_alone, (std::vector<LeftAlone>{{"NodeGroupSetAside", "a", "an instance has no id"}}));
    EXPECT_TRUE(plan.status.ToYaml().contains("leftAlone:\n- type: NodeGroupSetAside\n  name: a\n")) << plan.status.ToYaml();
    EXPECT_EQ(plan.events.front().reason, "NodeGroupSetAside");
    if (i == 0) {
      EXPECT_EQ(plan.view.groups.Find("b")->target_size, 2) << "for the pod that fits on none of the nodes";
    }
  }
}

TEST_F(RunOnceTest, AnInstanceThatIsANodeOfAnotherMemberIsNotDeleted) {
  Group("a", 5);
  Group("b", 5);
  adjust_ = [](providers::NodeGroups& groups) {
    for (const char* id : {"a", "b"}) {
      providers::NodeGroup& group = *groups.Find(id);
      group.target_size = 1;
      group.instances.push_back({std::string("cloud://") + id, providers::Instance::State::kRunning, std::nullopt});
    }
  };
  int asked = 0;
  elsewhere_ = [&]() -> base::Result<std::map<std::string, std::string>> {
    ++asked;
    return std::map<std::string, std::string>{{"cloud://a", "member-1"}};
  };
  EXPECT_TRUE(Run().changes.empty());
  EXPECT_EQ(asked, 0) << "nothing would be deleted yet";
  now_ += std::chrono::minutes(16);
  LoopPlan plan = Run();
  EXPECT_EQ(asked, 1);
  ASSERT_EQ(plan.changes.size(), 1U);
  EXPECT_EQ(plan.changes[0].group, "b");
  EXPECT_EQ(plan.left_alone,
            (std::vector<LeftAlone>{{"NodeGroupSetAside", "a", "instance cloud://a is a node of member member-1"}}));
  elsewhere_ = []() -> base::Result<std::map<std::string, std::string>> {
    return base::Fail(base::Code::kUnavailable, "member member-1: no answer");
  };
  plan = Run();
  EXPECT_TRUE(plan.changes.empty()) << "not known is not free";
  ASSERT_EQ(plan.left_alone.size(), 2U);
  EXPECT_EQ(plan.left_alone[1].type, "NodeGroupKeepsNodes");
}

TEST_F(RunOnceTest, AGroupThatKeepsItsNodesMayGrow) {
  options_.scale_down_unneeded_time = options_.scale_down_delay_after_add = {};
  Group("a", 5);
  for (const char* node : {"a1", "a2", "a3"}) Node(node, "a");
  bool rolls_out = true;
  adjust_ = [&](providers::NodeGroups& groups) { groups.Find("a")->keeps_nodes = rolls_out ? "it is rolling out" : ""; };
  EXPECT_TRUE(Run().scale_down.delete_empty.empty());
  rolls_out = false;
  EXPECT_FALSE(Run().scale_down.delete_empty.empty());
  rolls_out = true;
  for (const char* pod : {"p1", "p2", "p3", "p4"}) Pod(pod, "3");
  EXPECT_EQ(Run().view.groups.Find("a")->target_size, 4);
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
  mirror_.Upsert(pod);
  EXPECT_TRUE(Run().pending.empty());
  options_.bypassed_scheduler_names = {"default-scheduler"};
  EXPECT_EQ(Run().pending.size(), 1u);
}

TEST_F(RunOnceTest, WhatIsRemovedCountsNoMore) {
  Group("a", 5);
  Node("n1", "a");
  Pod("waits", "9");
  EXPECT_EQ(Run().pending.size(), 1u);
  mirror_.Remove("Pod", "default/waits");
  mirror_.Remove("Node", "n1");
  const LoopPlan plan = Run();
  EXPECT_TRUE(plan.pending.empty());
  EXPECT_EQ(state_.cluster.total().registered, 0);
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::run_once_test
