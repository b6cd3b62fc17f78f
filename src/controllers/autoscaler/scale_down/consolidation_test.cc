#include "controllers/autoscaler/scale_down/consolidation.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/scale_down/scale_down.h"
#include "controllers/autoscaler/scale_down/scale_down_testing.h"

namespace evenkeel::controllers::autoscaler::consolidation_test {
namespace {

using namespace std::chrono_literals;
using testing::NodeMaker;
using testing::World;

using Names = std::vector<std::string>;

class ConsolidationTest : public ::testing::Test {
 protected:
  ConsolidationTest() {
    options_.consolidate = true;
    options_.scale_down_unneeded_time = 1min;
  }
  ~ConsolidationTest() override {
    for (const ReplacementTemplate& made : templates_) world_.snapshot.ReleaseTemplate(made.node);
  }
  /// Big nodes of 8 cores, each with pods of 3 and 2.4 cores: above the threshold, and no room for more of the kind.
  void BigNodes(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string name = "big-" + std::to_string(i);
      world_.Node(name, 8000, 8000, "big");
      world_.Pod("x" + name, 3000, 1, name);
      world_.Pod("y" + name, 2400, 1, name);
    }
  }
  void Template(std::string_view group, std::string_view cpu, std::string_view memory) {
    world_.Group(group);
    templates_.push_back(
        {std::string(group), world_.snapshot.InternTemplate(kube::Node::Decode(NodeMaker("t", cpu, memory, 100).json)), {}});
    request_.templates = templates_;
  }
  void Prices(double big, double small) {
    world_.Group("big").price_per_hour = big;
    world_.Group("small").price_per_hour = small;
  }
  ScaleDownPlan Plan(base::Duration later = 0s) {
    world_.now += later;
    view_ = world_.View();
    return PlanScaleDown(view_, options_, request_, state_);
  }
  /// The plan once it has been possible for long enough.
  ScaleDownPlan Ripe(base::Duration later = 0s) {
    EXPECT_FALSE(Plan(later).consolidation.has_value());
    return Plan(options_.scale_down_unneeded_time + 1us);
  }

  World world_;
  Options options_;
  ScaleDownRequest request_;
  ScaleDownState state_;
  ClusterView view_;
  std::vector<ReplacementTemplate> templates_;
};

TEST_F(ConsolidationTest, CheaperNodesReplaceDearOnes) {
  BigNodes(2);
  Template("small", "3", "8000");
  Prices(1.0, 0.2);
  const ScaleDownPlan plan = Ripe();
  ASSERT_TRUE(plan.consolidation.has_value());
  EXPECT_EQ(plan.consolidation->remove, (Names{"big-0", "big-1"}));
  EXPECT_EQ(plan.consolidation->add, 4) << "one pod on each";
  EXPECT_EQ(world_.snapshot.depth(), 0U);
  EXPECT_EQ(world_.snapshot.node_count(), 2U);
}

TEST_F(ConsolidationTest, NothingIsReplacedByWhatCostsAsMuch) {
  BigNodes(2);
  Template("small", "6", "8000");
  Prices(1.0, 1.0);
  EXPECT_FALSE(Plan().consolidation.has_value());
  Prices(1.0, 0.99);
  const ScaleDownPlan plan = Ripe();
  ASSERT_TRUE(plan.consolidation.has_value());
  EXPECT_EQ(plan.consolidation->add, 2);
  EXPECT_EQ(plan.consolidation->group, "small");
  EXPECT_TRUE(plan.consolidation->priced);
  EXPECT_EQ(plan.consolidation->text, "2 nodes can be replaced by 2 of group small: 1.9800 instead of 2.0000 per hour");
}

TEST_F(ConsolidationTest, WithoutPricesCpuAndMemoryAreTheCost) {
  BigNodes(2);
  Template("small", "6", "6000");
  const ScaleDownPlan plan = Ripe();
  ASSERT_TRUE(plan.consolidation.has_value());
  EXPECT_FALSE(plan.consolidation->priced);
  EXPECT_EQ(plan.consolidation->add, 2);
  EXPECT_EQ(plan.consolidation->text, "2 nodes can be replaced by 2 of group small: 25.00 % less cpu and memory");
}

TEST_F(ConsolidationTest, NodesAboveTheThresholdMayShareWhatIsLeftOfOthers) {
  for (int i = 0; i < 3; ++i) {
    const std::string name = "n" + std::to_string(i);
    world_.Node(name, 1000, 1000);
    for (int p = 0; p < 6; ++p) world_.Pod(name + "-" + std::to_string(p), 100, 1, name);
  }
  world_.Node("n3", 1000, 1000);
  world_.Pod("n3-0", 800, 1, "n3");
  const ScaleDownPlan plan = Ripe();
  EXPECT_TRUE(plan.unneeded.empty());
  ASSERT_TRUE(plan.consolidation.has_value());
  EXPECT_EQ(plan.consolidation->remove, Names{"n0"});
  EXPECT_EQ(plan.consolidation->add, 0);
  const ScaleDownPlan next = Plan(10s);
  ASSERT_EQ(next.delete_drain.size(), 1U);
  EXPECT_EQ(world_.snapshot.NodeName(next.unneeded[next.delete_drain[0]].node), "n0");
  EXPECT_FALSE(next.consolidation.has_value()) << "one at a time";
}

TEST_F(ConsolidationTest, OldNodesGoWhenTheNewOnesAreReady) {
  BigNodes(2);
  Template("small", "6", "8000");
  Prices(1.0, 0.5);
  ASSERT_TRUE(Ripe().consolidation.has_value());
  ScaleDownPlan plan = Plan(10s);
  EXPECT_TRUE(plan.unneeded.empty());
  for (const char* name : {"small-a", "small-b"}) {
    NodeFacts& facts = world_.Node(name, 6000, 8000, "small");
    facts.created = world_.now;
    facts.ready = false;
  }
  plan = Plan(1min);
  EXPECT_TRUE(plan.unneeded.empty()) << "not ready, and not to be taken away either";
  EXPECT_NE(ExplainNode(view_, options_, state_, plan, "small-a").find("has come to replace"), std::string::npos);
  for (const char* name : {"small-a", "small-b"}) world_.nodes[world_.NodeOf(name)].ready = true;
  state_.ScaledUp("small", world_.now);
  plan = Plan(1min);
  EXPECT_EQ(plan.unneeded.size(), 2U);
  EXPECT_TRUE(plan.delete_drain.empty()) << "the cool-down after the scale-up holds";
  plan = Plan(10min);
  EXPECT_EQ(plan.delete_drain.size(), 1U);
}

TEST_F(ConsolidationTest, APlanIsGivenUpWhenItsNodesDoNotCome) {
  BigNodes(2);
  Template("small", "6", "8000");
  Prices(1.0, 0.5);
  ASSERT_TRUE(Ripe().consolidation.has_value());
  EXPECT_FALSE(Plan(14min).consolidation.has_value());
  EXPECT_TRUE(state_.consolidation.has_value());
  EXPECT_TRUE(Ripe(2min).consolidation.has_value()) << "the old one is over, and a new one may begin";
}

TEST_F(ConsolidationTest, ItKeepsOutOfTheWay) {
  BigNodes(2);
  Template("small", "6", "8000");
  Prices(1.0, 0.5);
  state_.ScaledUp("big", world_.now);
  EXPECT_FALSE(Plan(1min).consolidation.has_value()) << "in a cool-down";
  world_.now += 10min;
  request_.deleting_drain = {"big-0"};
  EXPECT_FALSE(Plan().consolidation.has_value()) << "while nodes are being deleted";
  request_.deleting_drain.clear();
  options_.compat = Compat::k1_26;
  EXPECT_FALSE(Plan().consolidation.has_value());
  options_.compat = Compat::k1_37;
  options_.consolidate = false;
  EXPECT_FALSE(Plan().consolidation.has_value());
  options_.consolidate = true;
  EXPECT_TRUE(Ripe().consolidation.has_value());
}

TEST_F(ConsolidationTest, ItWaitsAsLongAsAnUnneededNodeDoes) {
  BigNodes(2);
  Template("small", "6", "8000");
  Prices(1.0, 0.5);
  EXPECT_FALSE(Plan().consolidation.has_value());
  EXPECT_FALSE(Plan(1min).consolidation.has_value()) << "longer than, not as long as";
  state_ = *ScaleDownState::FromJson(state_.ToJson());
  Prices(0.5, 0.5);
  EXPECT_FALSE(Plan(30s).consolidation.has_value()) << "not worth it any more";
  Prices(1.0, 0.5);
  EXPECT_FALSE(Plan(1s).consolidation.has_value()) << "the time begins anew";
  state_ = *ScaleDownState::FromJson(state_.ToJson());
  world_.Group("big").options.scale_down_unneeded_time = 10min;
  EXPECT_FALSE(Plan(2min).consolidation.has_value()) << "as long as the group's own option says";
  EXPECT_TRUE(Plan(8min + 1ns).consolidation.has_value());
}

TEST_F(ConsolidationTest, NodesThatHaveWaitedDoNotWaitForOthers) {
  BigNodes(1);
  Template("small", "6", "8000");
  Prices(1.0, 0.5);
  EXPECT_FALSE(Plan().consolidation.has_value());
  world_.now += 50s;
  world_.Node("big-new", 8000, 8000, "big");
  world_.Pod("xnew", 3000, 1, "big-new");
  world_.Pod("ynew", 2400, 1, "big-new");
  EXPECT_FALSE(Plan().consolidation.has_value());
  const ScaleDownPlan plan = Plan(11s);
  ASSERT_TRUE(plan.consolidation.has_value());
  EXPECT_EQ(plan.consolidation->remove, Names{"big-0"});
}

TEST_F(ConsolidationTest, MinimumsMaximumsAndBudgetsHold) {
  BigNodes(2);
  Template("small", "6", "8000");
  Prices(1.0, 0.5);
  world_.Group("small").max_size = 1;
  ASSERT_TRUE(Ripe().consolidation.has_value());
  EXPECT_EQ(state_.consolidation->remove.size(), 1U);
  state_ = {};
  world_.Group("small").max_size = 10;
  world_.Group("big").min_size = 1;
  ASSERT_TRUE(Ripe().consolidation.has_value());
  EXPECT_EQ(state_.consolidation->remove.size(), 1U);
  state_ = {};
  world_.budgets.push_back({"default", "all", {}, 1});
  EXPECT_FALSE(Plan().consolidation.has_value()) << "two pods of a node at once";
  world_.budgets.clear();
  options_.max_nodes_total = 2;
  EXPECT_FALSE(Plan().consolidation.has_value());
}

TEST_F(ConsolidationTest, APlanSurvivesARestart) {
  BigNodes(2);
  Template("small", "6", "8000");
  Prices(1.0, 0.5);
  ASSERT_TRUE(Ripe().consolidation.has_value());
  const auto restored = ScaleDownState::FromJson(state_.ToJson());
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->consolidation->remove, state_.consolidation->remove);
  EXPECT_EQ(restored->consolidation->group, "small");
  EXPECT_EQ(restored->consolidation->add, 2);
  EXPECT_EQ(restored->consolidation->since, state_.consolidation->since);
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::consolidation_test
