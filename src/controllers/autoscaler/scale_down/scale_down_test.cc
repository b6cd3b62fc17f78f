#include "controllers/autoscaler/scale_down/scale_down.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/scale_down/scale_down_testing.h"

namespace evenkeel::controllers::autoscaler::scale_down_test {
namespace {

using namespace std::chrono_literals;
using testing::PodMaker;
using testing::World;

using Names = std::vector<std::string>;

class ScaleDownTest : public ::testing::Test {
 protected:
  ScaleDownTest() { options_.scale_down_unneeded_time = 1min; }

  ScaleDownPlan Plan(base::Duration later = 0s) {
    world_.now += later;
    view_ = world_.View();
    return PlanScaleDown(view_, options_, request_, state_);
  }
  std::string NameOf(scheduling::NodeId node) const { return world_.snapshot.NodeName(node); }
  Names Unneeded(const ScaleDownPlan& plan) const {
    Names names;
    for (const UnneededNode& node : plan.unneeded) names.push_back(NameOf(node.node));
    return names;
  }
  Names Named(const ScaleDownPlan& plan, const std::vector<size_t>& indices) const {
    Names names;
    for (const size_t index : indices) names.push_back(NameOf(plan.unneeded[index].node));
    return names;
  }
  Names Named(const std::vector<scheduling::NodeId>& nodes) const {
    Names names;
    for (const auto node : nodes) names.push_back(NameOf(node));
    return names;
  }
  std::string Why(const ScaleDownPlan& plan, std::string_view node) const {
    const Unremovable* entry = plan.FindUnremovable(world_.NodeOf(node));
    return entry == nullptr ? "" : std::string(Name(entry->reason));
  }
  std::string Explain(const ScaleDownPlan& plan, std::string_view node) {
    return ExplainNode(view_, options_, state_, plan, node);
  }
  /// `count` empty nodes n000, n001 ...
  void EmptyNodes(int count, std::string_view group = "ng") {
    for (int i = 0; i < count; ++i) world_.Node(Numbered(i), 1000, 1000, group);
  }
  static std::string Numbered(int i, const char* format = "n%03d") {
    char name[32];
    snprintf(name, sizeof(name), format, i);
    return name;
  }

  World world_;
  Options options_;
  ScaleDownRequest request_;
  ScaleDownState state_;
  ClusterView view_;
};

TEST_F(ScaleDownTest, PodsMayMoveToTheNodeOfAVirtualKubelet) {
  world_.Node("n1", 1000, 1000);
  world_.Pod("p", 300, 1, "n1");
  EXPECT_EQ(Unneeded(Plan()), Names{});
  state_ = {};
  world_.Node("virtual", 1000, 1000, "").virtual_kubelet = true;
  EXPECT_EQ(Unneeded(Plan()), Names{"n1"});
  EXPECT_EQ(Why(Plan(), "virtual"), "NotAutoscaled");
}

TEST_F(ScaleDownTest, AnEmptyNodeGoesAfterItsTime) {
  EmptyNodes(1);
  ScaleDownPlan plan = Plan();
  EXPECT_EQ(Unneeded(plan), Names{"n000"});
  EXPECT_EQ(Why(plan, "n000"), "NotUnneededLongEnough");
  EXPECT_EQ(Why(Plan(1min), "n000"), "NotUnneededLongEnough") << "longer than, not as long as";
  plan = Plan(1ns);
  EXPECT_EQ(Named(plan, plan.delete_empty), Names{"n000"});
  EXPECT_EQ(Why(plan, "n000"), "");
}

TEST_F(ScaleDownTest, V29UnreadyNodesWaitForTheUnreadyTimeAndKeepTheirSince) {
  EmptyNodes(1);
  options_.scale_down_unready_time = 10min;
  Plan();
  Plan(50s);
  world_.nodes[world_.NodeOf("n000")].ready = false;
  ScaleDownPlan plan = Plan(20s);
  EXPECT_EQ(Why(plan, "n000"), "NotUnreadyLongEnough");
  EXPECT_EQ(plan.unneeded[0].since, world_.now - 70s);
  world_.nodes[world_.NodeOf("n000")].ready = true;
  plan = Plan(1s);
  EXPECT_EQ(plan.delete_empty.size(), 1U);
}

TEST_F(ScaleDownTest, V29TheSimulationStopsWhenEnoughNodesAreUnneeded) {
  EmptyNodes(100);
  EXPECT_EQ(Plan().unneeded.size(), 20U);
  ScaleDownPlan plan = Plan(10s);
  EXPECT_EQ(plan.unneeded.size(), 40U);
  EXPECT_TRUE(plan.enough);
  EXPECT_EQ(plan.simulated, 40U);
  EXPECT_EQ(Plan(10s).unneeded.size(), 60U);
  EXPECT_EQ(Plan(10s).unneeded.size(), 70U);
  EXPECT_EQ(Plan(10s).unneeded.size(), 70U);
  EXPECT_NE(Explain(Plan(), "n099").find("enough other nodes are unneeded"), std::string::npos);
}

TEST_F(ScaleDownTest, V29AtomicNodesDoNotCountForTheLimit) {
  EmptyNodes(100);
  world_.Group("ng").options.zero_or_max_node_scaling = true;
  EXPECT_EQ(Plan().unneeded.size(), 100U);
  options_.max_scale_down_parallelism = 1;
  for (int i = 0; i < 400; ++i) world_.Node(Numbered(i, "m%03d"), 1000, 1000);
  EXPECT_EQ(Plan(1s).unneeded.size(), 500U);
}

class RemovableAtTest : public ScaleDownTest {
 protected:
  /// With minimum 1, two deletions under way and everything unneeded long enough; how many empty and drained nodes may go.
  std::pair<int64_t, int64_t> Removable(int64_t target, int empty, int drain) {
    options_.scale_down_unneeded_time = 0s;
    options_.max_scale_down_parallelism = options_.max_drain_parallelism = 100;
    EmptyNodes(empty);
    for (int i = 0; i < drain; ++i) {
      world_.Node(Numbered(i, "d%03d"), 1000, 1000);
      world_.Pod(Numbered(i, "p%03d"), 1, 1, Numbered(i, "d%03d"));
    }
    world_.Node("away", 1000, 1000, "");
    for (const char* name : {"x1", "x2"}) world_.Node(name, 1000, 1000);
    request_.deleting_empty = {"x1", "x2"};
    world_.Group("ng").min_size = 1;
    world_.Group("ng").target_size = target;
    const ScaleDownPlan plan = Plan();
    EXPECT_EQ(plan.unneeded.size(), static_cast<size_t>(empty + drain));
    return {plan.delete_empty.size(), plan.delete_drain.size()};
  }
};

using Counts = std::pair<int64_t, int64_t>;
TEST_F(RemovableAtTest, V29AllGoWhenTheGroupIsLarge) { EXPECT_EQ(Removable(10, 3, 2), Counts(3, 2)); }
TEST_F(RemovableAtTest, V29EmptyNodesGoFirst) { EXPECT_EQ(Removable(10, 3, 5), Counts(3, 4)); }
TEST_F(RemovableAtTest, V29NeverBelowTheMinimum) { EXPECT_EQ(Removable(5, 3, 5), Counts(2, 0)); }

TEST_F(ScaleDownTest, AGroupAtItsMinimumHasNoCandidates) {
  EmptyNodes(2);
  world_.Group("ng").min_size = 2;
  world_.Node("alone", 1000, 1000, "");
  const ScaleDownPlan plan = Plan();
  EXPECT_EQ(plan.candidates, 0U);
  EXPECT_EQ(Why(plan, "n000"), "NodeGroupMinSizeReached");
  EXPECT_EQ(Why(plan, "alone"), "NotAutoscaled");
  EXPECT_EQ(Explain(plan, "n000"),
            "node n000 (group ng): stays: NodeGroupMinSizeReached: its group would fall below its minimum (size 2, minimum 2)");
}

TEST_F(ScaleDownTest, EmptyNodesAreTriedFirstThenThoseOfLastTime) {
  for (const char* name : {"a", "b", "c", "d", "e"}) world_.Node(name, 1000, 1000);
  world_.Pod("pa", 10, 1, "a");
  world_.Pod("pb", 10, 1, "b");
  world_.Pod("pd", 10, 1, "d").safe_to_evict = "on-completion";
  world_.Pod("pe", 900, 1, "e");
  state_.unneeded.Seed("b", world_.now);
  EXPECT_EQ(Unneeded(Plan()), (Names{"c", "d", "b", "a"}));
}

TEST_F(ScaleDownTest, ThePlanSaysWhereEachPodWouldGo) {
  for (const char* name : {"a", "b", "c"}) world_.Node(name, 1000, 1000);
  world_.Pod("pa", 100, 1, "a");
  world_.Pod("pb", 200, 1, "b");
  world_.Pod("pc", 600, 1, "c");
  const ScaleDownPlan plan = Plan();
  ASSERT_EQ(Unneeded(plan), (Names{"a", "b"}));
  EXPECT_EQ(NameOf(plan.unneeded[0].pods.at(0).to), "c");
  EXPECT_EQ(NameOf(plan.unneeded[1].pods.at(0).to), "c");
  EXPECT_EQ(plan.unneeded[1].pods.size(), 1U);
  EXPECT_EQ(world_.snapshot.NodeOf(world_.PodOf("pa")), world_.NodeOf("a")) << "the snapshot is as before";
  EXPECT_EQ(world_.snapshot.depth(), 0U);
}

TEST_F(ScaleDownTest, AFailedSimulationIsNotRepeatedForAWhile) {
  for (const char* name : {"a", "b"}) world_.Node(name, 1000, 1000);
  world_.Pod("pa", 300, 1, "a");
  world_.Pod("pb", 800, 1, "b");
  const ScaleDownPlan first = Plan();
  EXPECT_EQ(
      Explain(first, "a"),
      "node a (group ng): stays: NoPlaceToMovePods: all other nodes together have too little room for its pods; looked at "
      "again in 5m0s");
  world_.Remove("pb");
  world_.Pod("smaller", 600, 1, "b");
  const ScaleDownPlan plan = Plan(1min);
  EXPECT_EQ(Why(plan, "a"), "RecentlyUnremovable");
  EXPECT_EQ(Explain(plan, "a"),
            "node a (group ng): stays: RecentlyUnremovable: its removal was tried and failed with NoPlaceToMovePods; looked at "
            "again in 4m0s");
  EXPECT_EQ(Unneeded(Plan(4min)), Names{"a"});
}

TEST_F(ScaleDownTest, BudgetsAreChargedAcrossNodesOfOnePass) {
  for (const char* name : {"a", "b", "c"}) world_.Node(name, 1000, 1000);
  for (const char* name : {"a", "b"}) {
    PodMaker maker(std::string("p") + name, "100m", "1");
    world_.Pod(maker.On(name).Labels("app=x"));
  }
  world_.Pod("big", 700, 1, "c");
  world_.budgets.push_back({"default", "pdb", *kube::LabelSelector::Parse("app=x"), 1});
  const ScaleDownPlan plan = Plan();
  EXPECT_EQ(Unneeded(plan), Names{"a"});
  EXPECT_EQ(Why(plan, "b"), "BlockedByPod");
  EXPECT_EQ(Explain(plan, "b"),
            "node b (group ng): stays: BlockedByPod: pod default/pb (NotEnoughPdb): its PodDisruptionBudget allows no more "
            "disruptions than the other planned removals take; looked at again in 5m0s");
}

TEST_F(ScaleDownTest, RiskyDrainsComeLast) {
  for (const char* name : {"a", "b", "c"}) world_.Node(name, 1000, 1000);
  for (const char* name : {"1", "2"}) {
    PodMaker maker(std::string("x") + name, "100m", "1");
    world_.Pod(maker.On("a").Labels("app=x"));
  }
  world_.Pod("y", 100, 1, "b");
  world_.Pod("big", 600, 1, "c");
  world_.budgets.push_back({"default", "pdb", *kube::LabelSelector::Parse("app=x"), 1});
  options_.scale_down_unneeded_time = 0s;
  const ScaleDownPlan plan = Plan();
  EXPECT_EQ(Unneeded(plan), (Names{"a", "b"}));
  EXPECT_EQ(Named(plan, plan.delete_drain), Names{"b"}) << "one drain at a time";
  options_.max_drain_parallelism = 2;
  const ScaleDownPlan both = Plan();
  EXPECT_EQ(Named(both, both.delete_drain), (Names{"b", "a"}));
}

TEST_F(ScaleDownTest, ANodeWaitsForPodsThatWantToEnd) {
  EmptyNodes(2);
  world_.Pod("batch", 100, 1, "n000").safe_to_evict = "on-completion";
  options_.scale_down_unneeded_time = 0s;
  const ScaleDownPlan plan = Plan();
  EXPECT_EQ(plan.unneeded.size(), 2U);
  EXPECT_EQ(Why(plan, "n000"), "BlockedByOnCompletionPod");
  EXPECT_EQ(Named(plan, plan.delete_empty), Names{"n001"});
}

TEST_F(ScaleDownTest, InACoolDownTimersRunOnButNothingGoes) {
  EmptyNodes(1);
  state_.ScaledUp("ng", world_.now);
  Plan();
  ScaleDownPlan plan = Plan(5min);
  EXPECT_TRUE(plan.delete_empty.empty());
  EXPECT_EQ(plan.cool_down, "the last scale-up was 5m ago; deletions go on in 5m0s");
  EXPECT_EQ(Named(plan.taint), Names{"n000"}) << "soft taints are still kept";
  plan = Plan(5min);
  EXPECT_EQ(plan.cool_down, "");
  EXPECT_EQ(plan.delete_empty.size(), 1U);
  state_.Failed("ng", world_.now);
  EXPECT_TRUE(Plan(1min).in_cool_down());
  EXPECT_FALSE(Plan(2min).in_cool_down());
  request_.disabled_for_loop = true;
  EXPECT_TRUE(Plan().in_cool_down());
  options_.compat = Compat::k1_26;
  EXPECT_TRUE(Plan().taint.empty()) << "1.26 leaves the taints alone";
}

TEST_F(ScaleDownTest, NothingGoesWhileABalancingPlanMovesPods) {
  EmptyNodes(1);
  request_.plan_under_way = "even-1";
  Plan();
  ScaleDownPlan plan = Plan(11min);
  EXPECT_TRUE(plan.delete_empty.empty());
  EXPECT_EQ(plan.cool_down, "BalancingPlan even-1 moves pods, and room is kept for them");
  request_.plan_under_way.clear();
  EXPECT_EQ(Plan(10s).delete_empty.size(), 1U) << "it has been unneeded all the time";
}

TEST_F(ScaleDownTest, CoolDownsCanBePerGroup) {
  EmptyNodes(1, "resting");
  world_.Node("other", 1000, 1000, "awake");
  options_.scale_down_delay_type_local = true;
  state_.ScaledUp("resting", world_.now);
  const ScaleDownPlan plan = Plan(1min);
  EXPECT_FALSE(plan.in_cool_down());
  EXPECT_EQ(Unneeded(plan), Names{"other"});
  EXPECT_EQ(Explain(plan, "n000"),
            "node n000 (group resting): stays: NotUnneededOtherReason: its group is in a cool-down of its own; looked at again "
            "in 9m0s");
}

TEST_F(ScaleDownTest, AnAtomicGroupGoesWholeOrNotAtAll) {
  EmptyNodes(3, "slice");
  world_.Group("slice").options.zero_or_max_node_scaling = true;
  options_.scale_down_unneeded_time = 0s;
  EXPECT_EQ(Plan().delete_empty.size(), 3U);
  world_.nodes[world_.NodeOf("n001")].scale_down_disabled = true;
  const ScaleDownPlan plan = Plan();
  EXPECT_TRUE(plan.delete_empty.empty());
  EXPECT_EQ(Why(plan, "n000"), "AtomicScaleDownFailed");
}

TEST_F(ScaleDownTest, MinimumsOfTheClusterKeepNodes) {
  EmptyNodes(3);
  options_.scale_down_unneeded_time = 0s;
  options_.cores_total.min = 2;
  const ScaleDownPlan plan = Plan();
  EXPECT_EQ(Named(plan, plan.delete_empty), Names{"n000"});
  EXPECT_EQ(Why(plan, "n001"), "MinimalResourceLimitExceeded");
}

TEST_F(ScaleDownTest, SoftTaintsFollowWithinTheirBudget) {
  EmptyNodes(4);
  world_.Node("busy", 1000, 1000).deletion_candidate = world_.now - 1h;
  world_.Pod("p", 900, 1, "busy");
  options_.max_bulk_soft_taint_count = 3;
  ScaleDownPlan plan = Plan();
  EXPECT_EQ(Named(plan.untaint), Names{"busy"});
  EXPECT_EQ(Named(plan.taint), (Names{"n000", "n001"}));
  options_.max_bulk_soft_taint_count = 0;
  plan = Plan();
  EXPECT_TRUE(plan.untaint.empty() && plan.taint.empty());
}

TEST_F(ScaleDownTest, TimersSurviveARestart) {
  EmptyNodes(1);
  Plan();
  auto restored = ScaleDownState::FromJson(state_.ToJson());
  ASSERT_TRUE(restored.has_value());
  state_ = std::move(*restored);
  EXPECT_EQ(Plan(61s).delete_empty.size(), 1U);
  state_.ScaledUp("ng", world_.now);
  restored = ScaleDownState::FromJson(state_.ToJson());
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->cool_down.scale_up, world_.now);
  EXPECT_EQ(restored->group_cool_down.at("ng").scale_up, world_.now);
  EXPECT_FALSE(ScaleDownState::FromJson(base::Json("x")).has_value());
}

TEST_F(ScaleDownTest, TaintsOfAnEarlierProcessCountWhenToldTo) {
  EmptyNodes(2);
  world_.nodes[world_.NodeOf("n000")].deletion_candidate = world_.now - 2min;
  world_.nodes[world_.NodeOf("n001")].deletion_candidate = world_.now - 2h;
  options_.node_deletion_candidate_ttl = 1h;
  const ScaleDownPlan plan = Plan();
  EXPECT_EQ(Named(plan, plan.delete_empty), Names{"n000"});
}

/// Every look at it costs 20 s.
class SlowClock : public base::Clock {
 public:
  base::Time Now() const override { return {}; }
  base::Instant Monotonic() const override { return base::Instant(20s * ++looks_); }

 private:
  mutable int64_t looks_ = 0;
};

TEST_F(ScaleDownTest, TheSimulationStopsWhenItsTimeIsOver) {
  EmptyNodes(5);
  const SlowClock clock;
  request_.clock = &clock;
  const ScaleDownPlan plan = Plan();
  EXPECT_TRUE(plan.timed_out);
  EXPECT_EQ(Unneeded(plan), Names{"n000"});
  EXPECT_NE(Explain(plan, "n004").find("ran out of time"), std::string::npos);
}

TEST_F(ScaleDownTest, APodThatFitsNowhereIsNamed) {
  for (const char* name : {"a", "b", "c"}) world_.Node(name, 1000, 1000);
  world_.Pod("big", 400, 1, "a");
  world_.Pod("pb", 700, 1, "b");
  world_.Pod("pc", 700, 1, "c");
  EXPECT_EQ(Explain(Plan(), "a"),
            "node a (group ng): stays: NoPlaceToMovePods: pod default/big would not fit on any other node; looked at again in "
            "5m0s");
}

TEST_F(ScaleDownTest, NodesBeingDeletedTakeNoPods) {
  for (const char* name : {"a", "b"}) world_.Node(name, 1000, 1000);
  world_.Pod("pa", 100, 1, "a");
  request_.deleting_drain = {"b"};
  const ScaleDownPlan plan = Plan();
  EXPECT_EQ(Why(plan, "b"), "CurrentlyBeingDeleted");
  EXPECT_EQ(Why(plan, "a"), "NoPlaceToMovePods");
}

TEST_F(ScaleDownTest, OneLineSaysWhyANodeStaysOrGoes) {
  for (const char* name : {"a", "b", "c"}) world_.Node(name, 1000, 1000);
  world_.Pod("pa", 600, 1, "a");
  world_.Pod("system", 10, 1, "b").owner_kind = "";
  options_.scale_down_unneeded_time = 10min;
  Plan();
  const ScaleDownPlan plan = Plan(2min);
  EXPECT_EQ(Explain(plan, "a"),
            "node a (group ng): stays: NotUnderutilized: cpu utilization is 60.0 %, above the threshold of 50.0 %");
  EXPECT_EQ(Explain(plan, "b"),
            "node b (group ng): stays: RecentlyUnremovable: its removal was tried and failed with BlockedByPod, pod "
            "default/system (NotReplicated); looked at again in 3m0s");
  EXPECT_EQ(Explain(plan, "c"),
            "node c (group ng): unneeded for 2m0s (since 2024-12-15T01:13:04Z), 0 pods to move; stays for now: "
            "NotUnneededLongEnough: it has to be unneeded for longer; looked at again in 8m0s");
  EXPECT_EQ(Explain(plan, "z"), "node z: there is no such node");
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::scale_down_test
