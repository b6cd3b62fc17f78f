#include "controllers/autoscaler/expanders/expander.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/scale_up/scale_up_testing.h"

namespace evenkeel::controllers::autoscaler::expander_test {
namespace {

using testing::kMebibyte;
using testing::MakeNode;

class ExpanderTest : public ::testing::Test {
 protected:
  void Add(const std::string& id, int64_t nodes, int64_t pods = 1, int64_t cpu = 1000, int64_t memory = kMebibyte) {
    groups.push_back({});
    groups.back().id = id;
    templates.push_back({});
    templates.back().node = MakeNode(id, cpu, memory);
    ExpanderOption option;
    option.group = &groups.back();
    option.node = &templates.back();
    option.nodes = nodes;
    option.pods.resize(static_cast<size_t>(pods));
    options.push_back(std::move(option));
  }
  std::vector<std::string> Best(const ExpanderStrategy& strategy) {
    std::vector<size_t> all(options.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    std::vector<std::string> ids;
    for (const size_t i : strategy.Best(options, all, context)) ids.push_back(options[i].group->id);
    return ids;
  }
  std::vector<std::string> Prioritised(const std::string& config, const std::vector<std::string>& ids) {
    options.clear();
    context.events.clear();
    context.priorities = config;
    for (const std::string& id : ids) Add("my-asg." + id, 1);
    std::vector<std::string> best = Best(*MakePriority());
    for (std::string& id : best) id.erase(0, std::string("my-asg.").size());
    return best;
  }

  std::deque<providers::NodeGroup> groups;
  std::deque<NodeTemplate> templates;
  std::vector<ExpanderOption> options;
  ExpanderContext context;
};
using Ids = std::vector<std::string>;

TEST_F(ExpanderTest, V15LeastWasteLooksAtCoresAndMemory) {
  Add("balanced", 1, 1, 8000, 16'000 * kMebibyte);
  Add("highmem", 1, 1, 8000, 32'000 * kMebibyte);
  for (ExpanderOption& option : options) std::tie(option.cpu, option.memory) = std::tuple(500, 1000 * kMebibyte);
  EXPECT_EQ(Best(*MakeLeastWaste()), Ids{"balanced"});
  Add("lowcpu", 1, 1, 4000, 16'000 * kMebibyte);
  std::tie(options.back().cpu, options.back().memory) = std::tuple(500, 1000 * kMebibyte);
  EXPECT_EQ(Best(*MakeLeastWaste()), Ids{"lowcpu"});
}

TEST_F(ExpanderTest, V16LeastNodesKeepsTiesAndLeavesOutZero) {
  EXPECT_EQ(Best(*MakeLeastNodes()), Ids{});
  Add("0", 0);
  EXPECT_EQ(Best(*MakeLeastNodes()), Ids{});
  options.clear();
  for (const auto& [id, nodes] :
       std::vector<std::pair<const char*, int>>{{"a", 23}, {"b", 0}, {"c", 5}, {"d", 8}, {"e", 5}, {"f", 5}, {"g", 22}}) {
    Add(id, nodes);
  }
  EXPECT_EQ(Best(*MakeLeastNodes()), (Ids{"c", "e", "f"}));
  options.clear();
  Add("a", 6);
  Add("b", 2);
  Add("c", 2);
  EXPECT_EQ(Best(*MakeLeastNodes()), (Ids{"b", "c"}));
}

TEST_F(ExpanderTest, MostPodsKeepsTies) {
  Add("a", 1, 3);
  Add("b", 9, 5);
  Add("c", 1, 5);
  EXPECT_EQ(Best(*MakeMostPods()), (Ids{"b", "c"}));
}

TEST_F(ExpanderTest, V18PriorityTakesTheHighestThatMatches) {
  const std::string config =
      "5:\n- \".*t2\\\\.micro.*\"\n10:\n- \".*t2\\\\.large.*\"\n- \".*t3\\\\.large.*\"\n50:\n- \".*m4\\\\.4xlarge.*\"\n";
  EXPECT_EQ(Prioritised(config, {"t2.large"}), Ids{"t2.large"});
  EXPECT_EQ(Prioritised(config, {"t2.large", "m4.4xlarge"}), Ids{"m4.4xlarge"});
  EXPECT_EQ(Prioritised(config, {"t2.large", "t3.large", "t2.micro"}), (Ids{"t2.large", "t3.large"}));
  EXPECT_EQ(Prioritised("5:\n- .*\n10:\n- .t2\\.large.*\n", {"t2.large", "t2.micro"}), Ids{"t2.large"});
  EXPECT_TRUE(context.events.empty());
}

TEST_F(ExpanderTest, OfAPriorityThatStandsTwiceTheLastCounts) {
  EXPECT_EQ(Prioritised("10:\n- t2\n10:\n- t3\n5:\n- .*\n", {"t2.large", "t3.large"}), Ids{"t3.large"});
  EXPECT_TRUE(context.events.empty());
}

TEST_F(ExpanderTest, V18GroupsWithoutPriorityAreLeftOutWithAWarning) {
  EXPECT_EQ(Prioritised("10:\n- .*t2\\.large.*\n", {"t2.large", "t3.large", "m4.4xlarge"}), Ids{"t2.large"});
  ASSERT_EQ(context.events.size(), 2u);
  EXPECT_EQ(context.events[0].reason, "PriorityConfigMapNotMatchedGroup");
}

TEST_F(ExpanderTest, V18WithoutAUsablePriorityAllOptionsStay) {
  for (const char* config : {"", "x: [a]", "1: a", "1: ['(']", "{", "1: [nobody]"}) {
    EXPECT_EQ(Prioritised(config, {"t2.large", "t3.large"}).size(), 2u) << config;
    EXPECT_FALSE(context.events.empty()) << config;
  }
  Prioritised("", {"t2.large"});
  EXPECT_EQ(context.events.front().reason, "PriorityConfigMapInvalid");
  context.priorities.reset();
  EXPECT_EQ(Best(*MakePriority()).size(), 1u);
  EXPECT_EQ(context.events.back().reason, "PriorityConfigMapNotFound");
}

TEST_F(ExpanderTest, PricePrefersTheCheaperAndSkipsWhatHasNoPrice) {
  for (const char* id : {"cheap", "dear", "unknown"}) Add(id, 2, 1, 2000, 7'500 * kMebibyte);
  groups[0].price_per_hour = 0.1;
  groups[1].price_per_hour = 0.2;
  EXPECT_EQ(Best(*MakePrice()), Ids{"cheap"});
  groups[0].exists = false;
  groups[1].price_per_hour = 0.15;
  EXPECT_EQ(Best(*MakePrice()), Ids{"dear"});
}

TEST_F(ExpanderTest, PriceCountsOddSizesAndGpusAsDearer) {
  context.cluster_nodes = 6;
  Add("fitting", 1, 1, 2000, 7'500 * kMebibyte);
  Add("large", 1, 1, 16'000, 60'000 * kMebibyte);
  Add("gpu", 1, 1, 2000, 7'500 * kMebibyte);
  templates[2].node.capacity["nvidia.com/gpu"] = 1;
  for (auto& group : groups) group.price_per_hour = 0.1;
  EXPECT_EQ(Best(*MakePrice()), Ids{"fitting"});
  groups[2].price_per_hour = 0.01;
  EXPECT_EQ(Best(*MakePrice()), Ids{"fitting"});
}

TEST_F(ExpanderTest, AChainStopsAtOneOptionAndDrawsAmongTies) {
  Add("a", 2, 5);
  Add("b", 1, 5);
  Add("c", 1, 5);
  base::Random random(7);
  const std::vector<std::string> names = {"most-pods", "least-nodes", "random"};
  const auto chain = ExpanderChain::Make(names);
  ASSERT_TRUE(chain.has_value());
  std::set<size_t> drawn;
  for (int i = 0; i < 50; ++i) drawn.insert(chain->Best(options, context, random).value());
  EXPECT_EQ(drawn, (std::set<size_t>{1, 2}));
  EXPECT_EQ(chain->Best({}, context, random), std::nullopt);
}

TEST_F(ExpanderTest, ChainsThatMakeNoSenseAreErrors) {
  for (const Ids& names : {Ids{}, Ids{"random", "price"}, Ids{"price", "price"}, Ids{"best"}, Ids{"grpc"}}) {
    EXPECT_FALSE(ExpanderChain::Make(names).has_value());
  }
  EXPECT_TRUE(ExpanderChain::Make(Ids{"random"}).has_value());
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::expander_test
