#include "controllers/autoscaler/facts/pod_filters.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/scale_up/scale_up_testing.h"

namespace evenkeel::controllers::autoscaler::pod_filters_test {
namespace {

using scheduling::kNone;
using scheduling::NodeId;
using scheduling::PodId;
using testing::MakeNode;
using testing::MakePod;
using testing::ScaleUpCluster;
using namespace std::chrono_literals;

class PodFiltersTest : public ::testing::Test, protected ScaleUpCluster {
 protected:
  std::vector<std::string> Keys(const PodIds& ids) const {
    std::vector<std::string> keys;
    for (const PodId pod : ids) keys.push_back(pod_facts[pod].key.substr(std::string("default/").size()));
    return keys;
  }
  std::vector<std::string> Filter() {
    scheduling::WhatIf fork(snapshot);
    PodIds pods = request.pods;
    FilterOutSchedulable(view, hints, pods);
    return Keys(pods);
  }
  PodFacts& Facts(PodId pod) { return pod_facts[pod]; }

  PodHints hints;
  std::vector<std::string> warnings;
};
using Keyed = std::vector<std::string>;

TEST_F(PodFiltersTest, PodsThatFitAreFilteredOut) {
  AddNode(MakeNode("n", 2000, 100));
  AddPending(MakePod("a", 200, 1));
  AddPending(MakePod("b", 500, 1));
  AddPending(MakePod("c", 1800, 1));
  EXPECT_EQ(Filter(), Keyed{"c"});
}

TEST_F(PodFiltersTest, HigherPrioritiesTakeTheRoomFirst) {
  AddNode(MakeNode("n", 2000, 100));
  AddPending(MakePod("a", 200, 1).Priority(0));
  AddPending(MakePod("b", 500, 1).Priority(10));
  AddPending(MakePod("c", 1800, 1).Priority(20));
  EXPECT_EQ(Filter(), Keyed{"b"});
}

TEST_F(PodFiltersTest, WhatIsUsedIsNotThere) {
  AddNode(MakeNode("n", 2000, 100));
  AddPod(MakePod("used", 500, 1), "rs", "n");
  AddPending(MakePod("a", 1000, 1));
  AddPending(MakePod("b", 300, 1));
  AddPending(MakePod("c", 300, 1));
  EXPECT_EQ(Filter(), Keyed{"c"});
  AddPod(MakePod("more", 1000, 1), "rs", "n");
  EXPECT_EQ(Filter(), (Keyed{"a", "c"}));
}

TEST_F(PodFiltersTest, APodGoesWhereItFittedLastTime) {
  const NodeId first = AddNode(MakeNode("n1", 1000, 100));
  const NodeId second = AddNode(MakeNode("n2", 1000, 100));
  const PodId blocker = AddPod(MakePod("blocker", 1000, 1), "rs", "n1");
  const PodId pod = AddPending(MakePod("p", 500, 1));
  for (const bool blocked : {true, false}) {
    scheduling::WhatIf fork(snapshot);
    if (!blocked) snapshot.Unplace(blocker);
    PodIds pods = request.pods;
    FilterOutSchedulable(view, hints, pods);
    EXPECT_EQ(snapshot.NodeOf(pod), second);
  }
  {
    scheduling::WhatIf fork(snapshot);
    snapshot.Unplace(blocker);
    PodIds pods = request.pods;
    PodHints none;
    FilterOutSchedulable(view, none, pods);
    EXPECT_EQ(snapshot.NodeOf(pod), first);
  }
}

TEST_F(PodFiltersTest, ExpendablePodsAreThoseBelowTheCutoff) {
  AddPending(MakePod("below", 1, 1).Priority(-11));
  AddPending(MakePod("at", 1, 1).Priority(-10));
  AddPending(MakePod("none", 1, 1));
  DropExpendable(view, options, request.pods);
  EXPECT_EQ(Keys(request.pods), (Keyed{"at", "none"}));
}

TEST_F(PodFiltersTest, PodsOfDrainedNodesNeedANewPlace) {
  const NodeId node = AddNode(MakeNode("n", 4000, 100));
  const PodId moves = AddPod(MakePod("moves", 1, 1), "rs", "n");
  Facts(AddPod(MakePod("mirror", 1, 1), "rs", "n")).mirror = true;
  Facts(AddPod(MakePod("daemon", 1, 1), "ds", "n")).daemon = true;
  Facts(AddPod(MakePod("going", 1, 1), "rs", "n")).deleted = view.now.Read();
  scheduling::WhatIf fork(snapshot);
  AddRecreatable(view, std::array{node}, request.pods);
  EXPECT_EQ(request.pods, PodIds{moves});
  EXPECT_EQ(snapshot.NodeOf(moves), kNone);
  EXPECT_EQ(snapshot.PodsOn(node).size(), 3u);
}

TEST_F(PodFiltersTest, UpcomingNodesTakePodsAndStandInForThoseThatStart) {
  AddGroup("g");
  const NodeId starting = AddNode(MakeNode("starting", 1000, 100), "g");
  Templates().Set("g", MakeNode("t", 1000, 100));
  AddPending(MakePod("a", 700, 1));
  AddPending(MakePod("b", 700, 1));
  AddPending(MakePod("c", 700, 1));
  scheduling::WhatIf fork(snapshot);
  const auto upcoming = AddUpcomingNodes(snapshot, Templates(), {{"g", 2}, {"unknown", 3}}, std::array{starting});
  ASSERT_EQ(upcoming.size(), 2u);
  EXPECT_EQ(snapshot.node_count(), 2u);
  EXPECT_EQ(snapshot.NodeName(upcoming[1].node), "template-node-for-g-upcoming-1");
  PodIds pods = request.pods;
  EXPECT_EQ(FilterOutSchedulable(view, hints, pods).size(), 2u);
  EXPECT_EQ(Keys(pods), Keyed{"c"});
}

TEST_F(PodFiltersTest, YoungPodsWait) {
  const PodId plain = AddPending(MakePod("plain", 1, 1));
  const PodId slow = AddPending(MakePod("slow", 1, 1));
  Facts(slow).scale_up_delay = "5m";
  const auto left = [&](base::Duration later, base::Duration delay) {
    view.now = view.now.Read() + later;
    options.new_pod_scale_up_delay = delay;
    PodIds pods = request.pods;
    warnings = DropYoung(view, options, pods);
    view.now = view.now.Read() - later;
    return Keys(pods);
  };
  EXPECT_EQ(left(0s, 0s), Keyed{"plain"});
  EXPECT_EQ(left(5min, 0s), (Keyed{"plain", "slow"}));
  EXPECT_EQ(left(0s, 5min), Keyed{});
  Facts(slow).scale_up_delay = "2m";
  EXPECT_EQ(left(2min, 5min), Keyed{});
  EXPECT_EQ(warnings.size(), 1u);
  Facts(slow).scale_up_delay = "soon";
  EXPECT_EQ(left(0s, 0s), (Keyed{"plain", "slow"}));
  EXPECT_EQ(warnings.size(), 1u);
  Facts(plain).created = view.now.Read();
  EXPECT_EQ(left(0s, 0s), Keyed{"slow"});
}

TEST_F(PodFiltersTest, ALoopWithOnlyNewPodsWaits) {
  EXPECT_EQ(DecideScaleUp(view, options, {}, 3), ScaleUpDecision::kNotNeeded);
  const PodId pod = AddPending(MakePod("p", 1, 1));
  EXPECT_EQ(DecideScaleUp(view, options, request.pods, 3), ScaleUpDecision::kGo);
  Facts(pod).created = view.now.Read() - 1s;
  EXPECT_EQ(DecideScaleUp(view, options, request.pods, 3), ScaleUpDecision::kInCooldown);
  const PodId gpu = AddPending(MakePod("gpu", 1, 1));
  Facts(pod).created = view.now.Read() - 10min;
  Facts(gpu).created = view.now.Read() - 20s;
  Facts(gpu).requests_gpu = true;
  EXPECT_EQ(DecideScaleUp(view, options, request.pods, 3), ScaleUpDecision::kInCooldown);
  Facts(gpu).created = view.now.Read() - 30s;
  EXPECT_EQ(DecideScaleUp(view, options, request.pods, 3), ScaleUpDecision::kGo);
  options.max_nodes_total = 3;
  EXPECT_EQ(DecideScaleUp(view, options, request.pods, 3), ScaleUpDecision::kLimitedByMaxNodesTotal);
  EXPECT_EQ(DecideScaleUp(view, options, request.pods, 2), ScaleUpDecision::kGo);
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::pod_filters_test
