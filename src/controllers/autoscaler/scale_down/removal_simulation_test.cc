#include "controllers/autoscaler/scale_down/removal_simulation.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/scale_down/scale_down_testing.h"

namespace evenkeel::controllers::autoscaler::removal_simulation_test {
namespace {

using scheduling::NodeId;
using testing::PodMaker;
using testing::World;

class RemovalSimulationTest : public ::testing::Test {
 protected:
  /// "removable" or the reason; in a fork that is taken back.
  std::string Simulate(std::string_view node) {
    const ClusterView view = world_.View();
    BudgetTracker budgets(view);
    scheduling::NodeSet destinations;
    for (const NodeId id : world_.snapshot.order()) destinations.Add(id);
    const std::vector<NodeId> candidates = {world_.NodeOf(node)};
    scheduling::WhatIf what_if(world_.snapshot);
    RemovalSimulation simulation(view, options_, budgets, hints_, destinations, candidates);
    const auto result = simulation.Simulate(world_.NodeOf(node));
    went_.clear();
    if (!result) return std::string(Name(result.error().reason));
    for (const auto pod : result->pods) went_.push_back(world_.snapshot.NodeName(world_.snapshot.NodeOf(pod)));
    risky_ = result->risky;
    EXPECT_FALSE(world_.snapshot.Present(world_.NodeOf(node)));
    return "removable";
  }
  void SpreadPod(std::string_view name, std::string_view node, std::string_view extra, bool owned) {
    PodMaker maker(name, "100m");
    maker.On(node).Labels("app=spread").Spread(1, scheduling::testing::kHost, "app=spread", extra);
    if (!owned) world_.Pod(maker).owner_kind = "";
    if (owned) world_.Pod(maker);
  }

  World world_;
  Options options_;
  PlacementHints hints_;
  std::vector<std::string> went_;
  bool risky_ = false;
};

TEST_F(RemovalSimulationTest, PodsNeedAPlaceElsewhere) {
  world_.Node("n1", 1000, 1000);
  world_.Pod("p1", 100, -1, "n1");
  world_.Pod("p2", 100, -1, "n1");
  EXPECT_EQ(Simulate("n1"), "NoPlaceToMovePods") << "alone";
  world_.Node("n3", 1000, 1000);
  world_.Pod("full", 1000, -1, "n3");
  EXPECT_EQ(Simulate("n1"), "NoPlaceToMovePods") << "the other node is full";
  world_.Node("n2", 1000, 1000);
  world_.Pod("p3", 100, -1, "n2");
  EXPECT_EQ(Simulate("n1"), "removable");
  EXPECT_EQ(went_, (std::vector<std::string>{"n2", "n2"}));
}

TEST_F(RemovalSimulationTest, AllPodsMoveOrNone) {
  world_.Node("n1", 1000, 1000);
  world_.Pod("big", 400, -1, "n1");
  world_.Pod("small", 100, -1, "n1");
  world_.Node("n2", 1000, 1000);
  world_.Pod("other", 700, -1, "n2");
  world_.Node("n3", 1000, 1000);
  world_.Pod("another", 750, -1, "n3");
  EXPECT_EQ(Simulate("n1"), "NoPlaceToMovePods") << "room in sum, but not for the big pod";
  EXPECT_EQ(world_.snapshot.PodsOn(world_.NodeOf("n1")).size(), 2U);
}

TEST_F(RemovalSimulationTest, TheGhostKeepsItsDomainUnlessTaintsAreHonoured) {
  for (const bool honour : {false, true}) {
    world_.snapshot.RemoveNode("n1");
    const std::string extra = std::string(R"({"minDomains":2)") + (honour ? R"(,"nodeTaintsPolicy":"Honor"})" : "}");
    for (const char* name : {"n1", "n2", "n3"}) {
      world_.Node(name, 1000, 1000);
      SpreadPod(std::string("pod-") + name, name, extra, std::string_view(name) == "n1");
    }
    EXPECT_EQ(Simulate("n1"), honour ? "removable" : "NoPlaceToMovePods");
  }
}

TEST_F(RemovalSimulationTest, APodInTheWayIsNamed) {
  world_.Node("n1", 1000, 1000);
  world_.Node("n2", 1000, 1000);
  world_.Pod("p", 100, -1, "n1").owner_kind = "";
  EXPECT_EQ(Simulate("n1"), "BlockedByPod");
}

TEST_F(RemovalSimulationTest, RemovalsSeeEarlierOnesAndTheirPodsStayPut) {
  for (const char* name : {"n1", "n2", "n3"}) {
    world_.Node(name, 1000, 1000);
    world_.Pod(std::string("p-") + name, 400, -1, name);
  }
  const ClusterView view = world_.View();
  BudgetTracker budgets(view);
  scheduling::NodeSet destinations;
  std::vector<NodeId> candidates;
  for (const NodeId id : world_.snapshot.order()) {
    destinations.Add(id);
    candidates.push_back(id);
  }
  scheduling::WhatIf what_if(world_.snapshot);
  RemovalSimulation simulation(view, options_, budgets, hints_, destinations, candidates);
  ASSERT_TRUE(simulation.Simulate(candidates[0]).has_value());
  EXPECT_EQ(world_.snapshot.NodeOf(world_.PodOf("p-n1")), world_.NodeOf("n3")) << "the candidate that is tried last";
  ASSERT_FALSE(simulation.Simulate(candidates[1]).has_value()) << "n3 has no room left for a third pod";
  EXPECT_EQ(world_.snapshot.NodeOf(world_.PodOf("p-n2")), world_.NodeOf("n2"));
}

TEST_F(RemovalSimulationTest, WhereAPodWentLastTimeIsTriedFirst) {
  world_.Node("n1", 1000, 1000);
  world_.Pod("p1", 100, -1, "n1");
  world_.Node("n2", 1000, 1000);
  world_.Node("n3", 1000, 1000);
  hints_.Set(world_.snapshot, world_.NodeOf("n1"), {{world_.snapshot.ClassOf(world_.PodOf("p1")), world_.NodeOf("n3")}});
  EXPECT_EQ(Simulate("n1"), "removable");
  EXPECT_EQ(went_, std::vector<std::string>{"n3"});
}

TEST_F(RemovalSimulationTest, ARemovalThatTheBudgetsDoNotAllowAtOnceIsRisky) {
  world_.Node("n1", 1000, 1000);
  world_.Node("n2", 1000, 1000);
  world_.Pod("p1", 100, -1, "n1");
  world_.Pod("p2", 100, -1, "n1");
  world_.budgets.push_back({"default", "pdb", {}, 1});
  EXPECT_EQ(Simulate("n1"), "removable");
  EXPECT_TRUE(risky_);
  world_.budgets[0].allowed = 2;
  EXPECT_EQ(Simulate("n1"), "removable");
  EXPECT_FALSE(risky_);
}

TEST_F(RemovalSimulationTest, AClassThatFitsNowhereMayStillFitOnTheNodeThatWasLeftOut) {
  world_.Node("n1", 2000, 1000);
  world_.Pod("p1", 600, -1, "n1");
  world_.Node("n2", 1000, 1000);
  world_.Pod("p2", 600, -1, "n2");
  world_.Node("n3", 1000, 1000);
  world_.Pod("other", 700, -1, "n3");
  const ClusterView view = world_.View();
  BudgetTracker budgets(view);
  scheduling::NodeSet destinations;
  for (const NodeId id : world_.snapshot.order()) destinations.Add(id);
  scheduling::WhatIf what_if(world_.snapshot);
  RemovalSimulation simulation(view, options_, budgets, hints_, destinations, {});
  EXPECT_FALSE(simulation.Simulate(world_.NodeOf("n1")).has_value()) << "room for 600m in sum only";
  EXPECT_TRUE(simulation.Simulate(world_.NodeOf("n2")).has_value()) << "n1 has room for p2";
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::removal_simulation_test
