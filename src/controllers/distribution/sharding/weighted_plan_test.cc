#include "controllers/distribution/sharding/weighted_plan.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::distribution::weighted_plan_test {
namespace {

using Reason = WeightedMove::Reason;
using Shards = std::vector<int64_t>;

/// A fleet of small numbers. The mean is load / shards, the bound 1.25 of it, the least gain 0.05 of it.
class WeightedPlanTest : public ::testing::Test {
 protected:
  void Live(const Shards& shards) {
    shards_.clear();
    for (int64_t shard : shards) shards_.push_back({.shard = shard});
  }
  void Leave(int64_t shard) { std::ranges::find(shards_, shard, &WeightedShard::shard)->leaving = true; }
  /// @return  its index
  size_t Add(const std::string& server, int64_t weight, int64_t shard = -1, int64_t standby = -1) {
    clusters_.push_back({.server = server, .weight = weight, .shard = shard, .standby = standby});
    return clusters_.size() - 1;
  }
  void AddMany(int count, const std::string& prefix, int64_t weight, int64_t shard, int64_t standby = -1) {
    for (int i = 0; i < count; ++i) Add(prefix + std::to_string(i), weight, shard, standby);
  }
  WeightedPlan Plan() { return PlanWeighted(shards_, clusters_, options_); }
  WeightedPlan Follow() {
    WeightedPlan plan = Plan();
    for (size_t i = 0; i < clusters_.size(); ++i) {
      clusters_[i].shard = plan.shard[i];
      clusters_[i].standby = plan.standby[i];
    }
    return plan;
  }
  /// "a 0>1 balance", in order.
  std::vector<std::string> Moves(const WeightedPlan& plan) const {
    constexpr std::array kReasons = {"new", "owner gone", "leaving", "pinned", "balance"};
    std::vector<std::string> lines;
    for (const WeightedMove& move : plan.moves) {
      lines.push_back(fmt::format("{} {}>{} {}", clusters_[move.cluster].server, move.from, move.to,
                                  kReasons.at(static_cast<size_t>(move.reason))));
    }
    return lines;
  }

  std::vector<WeightedShard> shards_;
  std::vector<WeightedCluster> clusters_;
  WeightedOptions options_;
};

using Lines = std::vector<std::string>;

TEST_F(WeightedPlanTest, FromScratchTheHeaviestGoFirstAndToTheLeastLoaded) {
  Live({0, 1});
  Add("d", 4);
  Add("a", 7);
  Add("c", 5);
  Add("b", 6);
  const WeightedPlan plan = Plan();
  EXPECT_EQ(Moves(plan), (Lines{"a -1>0 new", "b -1>1 new", "c -1>1 new", "d -1>0 new"}));
  EXPECT_EQ(plan.shard, (Shards{0, 0, 1, 1}));
  EXPECT_EQ(plan.standby, (Shards{1, 1, 0, 0}));
  EXPECT_EQ(plan.loads, (Shards{11, 11}));
  EXPECT_EQ(plan.mean, 11);
  EXPECT_EQ(plan.imbalance, 1);
  EXPECT_EQ(plan.waiting, 0);
}

TEST_F(WeightedPlanTest, TiesGoByServerAndByNumberOfTheShard) {
  Live({9, 2});
  Add("https://member-of-the-east-b", 5);
  Add("https://member-of-the-east-a", 5);
  Add("https://x", 5);
  Add("https://x-too", 5);
  const WeightedPlan plan = Plan();
  EXPECT_EQ(plan.shard, (Shards{9, 2, 2, 9}));
  EXPECT_EQ(plan.loads, (Shards{10, 10}));
}

TEST_F(WeightedPlanTest, WhatIsWellPlacedStays) {
  Live({0, 1});
  AddMany(5, "a", 10, 0);
  AddMany(3, "b", 10, 1);
  const WeightedPlan plan = Plan();
  EXPECT_EQ(Moves(plan), Lines{}) << "50 is just 1.25 times the mean";
  EXPECT_EQ(plan.loads, (Shards{50, 30}));
  EXPECT_EQ(plan.imbalance, 1.25);
}

TEST_F(WeightedPlanTest, WithoutAShardThereIsNoOwner) {
  Add("a", 10, 3);
  for (int i = 0; i < 2; ++i) {
    const WeightedPlan plan = Plan();
    EXPECT_EQ(plan.shard, Shards{-1});
    EXPECT_EQ(plan.standby, Shards{-1});
    EXPECT_EQ(Moves(plan), Lines{});
    EXPECT_EQ(plan.mean, 0);
    EXPECT_EQ(plan.imbalance, 1);
    Live({3});
    Leave(3);
  }
  EXPECT_EQ(Plan().loads, Shards{0});
}

TEST_F(WeightedPlanTest, OneShardHasAllAndNoStandby) {
  Live({4});
  AddMany(2, "a", 10, -1);
  EXPECT_EQ(Plan().shard, (Shards{4, 4}));
  EXPECT_EQ(Plan().standby, (Shards{-1, -1}));
  EXPECT_TRUE(Plan().hot.empty());
}

TEST_F(WeightedPlanTest, ClustersWithoutLoadAreSpreadByTheirNumber) {
  Live({0, 1, 2});
  EXPECT_EQ(Plan().imbalance, 1) << "no clusters";
  AddMany(6, "a", 0, -1);
  EXPECT_EQ(Plan().loads, (Shards{2, 2, 2}));
}

TEST_F(WeightedPlanTest, WeightsBeyondAllMeasureDoNotOverflow) {
  Live({0, 1});
  AddMany(4, "a", INT64_MAX, -1);
  EXPECT_EQ(Plan().loads, (Shards{2'000'000'000'000, 2'000'000'000'000}));
}

TEST_F(WeightedPlanTest, AShardBelowZeroIsNobodyAndOneGivenTwiceIsOne) {
  shards_ = {{.shard = -1}, {.shard = 1}, {.shard = 2}, {.shard = 1}, {.shard = 2, .leaving = true}};
  Add("a", 10, 2);
  Add("b", 10);
  const WeightedPlan plan = Plan();
  EXPECT_EQ(plan.shard, (Shards{1, 1}));
  EXPECT_EQ(plan.loads, (Shards{0, 20, 0, 20, 0}));
}

TEST_F(WeightedPlanTest, TheLossOfAShardMovesOnlyItsOwnToTheirStandbys) {
  Live({0, 2});
  AddMany(2, "a", 10, 0, 1);
  Add("c", 10, 1, 0);
  Add("d", 10, 1, 2);
  AddMany(2, "e", 10, 2, 1);
  const WeightedPlan plan = Plan();
  EXPECT_EQ(Moves(plan), (Lines{"c 1>0 owner gone", "d 1>2 owner gone"}));
  EXPECT_EQ(plan.loads, (Shards{30, 30}));
  EXPECT_EQ(plan.standby, (Shards{2, 2, 2, 0, 0, 0}));
}

TEST_F(WeightedPlanTest, AStandbyThatWouldExceedTheBoundIsPassedOver) {
  Live({0, 1});
  Add("a", 30, 0);
  Add("b", 10, 1);
  Add("c", 20, 2, 0);
  EXPECT_EQ(Moves(Plan()), Lines{"c 2>1 owner gone"}) << "50 is more than 1.25 x 30";
}

TEST_F(WeightedPlanTest, AStandbyThatIsGoneOrLeavesIsPassedOver) {
  Live({0, 1, 3});
  Leave(3);
  AddMany(3, "a", 10, 0);
  Add("c", 10, 5, 3);
  Add("d", 10, 5, 4);
  EXPECT_EQ(Moves(Plan()), (Lines{"c 5>1 owner gone", "d 5>1 owner gone"}));
}

TEST_F(WeightedPlanTest, AShardThatLeavesHandsOverAndGetsNothing) {
  Live({0, 1, 2});
  Leave(1);
  AddMany(2, "a", 10, 0, 1);
  Add("b", 10, 1, 2);
  Add("c", 10, 1, 0);
  Add("d", 20, 2, 1);
  Add("e", 20);
  const WeightedPlan plan = Follow();
  EXPECT_EQ(Moves(plan), (Lines{"e -1>0 new", "b 1>2 leaving", "c 1>0 leaving"})) << "to their standbys: 50 is the bound";
  EXPECT_EQ(plan.loads, (Shards{50, 0, 30}));
  EXPECT_EQ(std::ranges::count(plan.standby, 1), 0);
  EXPECT_EQ(Moves(Follow()), Lines{});
}

TEST_F(WeightedPlanTest, PinsAreHonouredAndCharged) {
  Live({0, 1});
  clusters_[Add("p", 10)].pinned = 0;
  clusters_[Add("q", 20, 1)].pinned = 0;
  Add("a", 20);
  Add("b", 10);
  const WeightedPlan plan = Plan();
  EXPECT_EQ(Moves(plan), (Lines{"a -1>1 new", "q 1>0 pinned", "b -1>1 new", "p -1>0 new"}));
  EXPECT_EQ(plan.loads, (Shards{30, 30}));
}

TEST_F(WeightedPlanTest, APinIsNeverMovedForBalance) {
  Live({0, 1});
  for (int i = 0; i < 5; ++i) clusters_[Add("p" + std::to_string(i), 10, 0)].pinned = 0;
  Add("a", 10, 0);
  Add("b", 10, 1);
  const WeightedPlan plan = Plan();
  EXPECT_EQ(Moves(plan), Lines{"a 0>1 balance"});
  EXPECT_EQ(plan.loads, (Shards{50, 20}));
  EXPECT_EQ(plan.waiting, 0) << "nothing more can be done";
}

TEST_F(WeightedPlanTest, APinToAShardThatLeavesOrIsGoneIsNone) {
  Live({0, 1});
  Leave(1);
  clusters_[Add("p", 10, 0)].pinned = 1;
  clusters_[Add("q", 10, 1)].pinned = 1;
  clusters_[Add("r", 10, 0)].pinned = 7;
  EXPECT_EQ(Moves(Plan()), Lines{"q 1>0 leaving"});
}

TEST_F(WeightedPlanTest, ANewShardIsFilledToTheMean) {
  Live({0, 1, 2});
  AddMany(6, "a", 10, 0);
  AddMany(6, "b", 10, 1);
  const WeightedPlan plan = Plan();
  EXPECT_EQ(Moves(plan), (Lines{"b0 1>2 balance", "a0 0>2 balance", "b1 1>2 balance", "a1 0>2 balance"}));
  EXPECT_EQ(plan.loads, (Shards{40, 40, 40}));
  EXPECT_EQ(plan.moves[0].load_from, 60);
  EXPECT_EQ(plan.moves[0].load_to, 0);
  EXPECT_EQ(plan.moves[3].load_from, 50);
}

TEST_F(WeightedPlanTest, TheOthersDoNotFallBelowTheMeanForANewShard) {
  Live({0, 1, 2});
  for (int64_t shard : {0, 1}) {
    Add("large" + std::to_string(shard), 30, shard);
    AddMany(3, "small" + std::to_string(shard), 10, shard);
  }
  const Lines four = {"small10 1>2 balance", "small00 0>2 balance", "small11 1>2 balance", "small01 0>2 balance"};
  EXPECT_EQ(Moves(Plan()), four) << "30 would be half of the difference";
}

TEST_F(WeightedPlanTest, ANewShardIsFilledFirstByThoseThatCanSpareACluster) {
  Live({0, 1, 2, 3, 4});
  AddMany(4, "small", 10, 0);
  for (int64_t shard : {1, 2, 3}) AddMany(2, "large" + std::to_string(shard), 20, shard);
  EXPECT_EQ(Moves(Plan()), (Lines{"small0 0>4 balance", "large31 3>4 balance"}));
}

TEST_F(WeightedPlanTest, ANewShardGetsSomethingEvenWhereNobodyHasTooMuch) {
  Live({0, 1, 2, 3, 4, 5, 6, 7});
  for (int64_t shard : {0, 1, 2, 3, 4, 5}) Add("single" + std::to_string(shard), 12, shard);
  Add("a", 4, 6);
  AddMany(2, "b", 2, 6);
  EXPECT_EQ(Moves(Plan()), Lines{"a 6>7 balance"}) << "8 are less than the mean of 10, but more than nothing";
}

TEST_F(WeightedPlanTest, AShardFarBelowTheMeanIsFilledIntoTheBound) {
  Live({0, 1, 2, 3});
  for (int64_t shard : {0, 1, 2}) AddMany(5, "a" + std::to_string(shard), 10, shard);
  Add("b", 10, 3);
  EXPECT_EQ(Moves(Plan()), (Lines{"a20 2>3 balance", "a10 1>3 balance"})) << "30 is three quarters of the mean";
  Add("new", 1);
  EXPECT_EQ(Moves(Plan()), Lines{"new -1>3 new"}) << "one thing at a time";
  EXPECT_EQ(Plan().waiting, 2);
  options_.bound = 1.9;
  EXPECT_EQ(Plan().waiting, 0);
}

TEST_F(WeightedPlanTest, AShardIsNotLowBecauseAnotherIsHot) {
  Live({0, 1, 2});
  Add("hot", 100, 0);
  Add("a", 6, 1);
  AddMany(5, "b", 4, 1);
  Add("c", 16, 2);
  EXPECT_EQ(Moves(Plan()), Lines{}) << "the mean is 47, but only 42 can be shared by two";
}

TEST_F(WeightedPlanTest, MovesMaxHoldsBackAndLaterPlansFillTheNewShardIntoTheBound) {
  Live({0, 1, 2});
  AddMany(6, "a", 10, 0);
  AddMany(6, "b", 10, 1);
  options_.moves_max = 1;
  EXPECT_EQ(Follow().waiting, 3);
  EXPECT_EQ(Follow().waiting, 1) << "no longer empty: filled to 30 of 40";
  EXPECT_EQ(Follow().loads, (Shards{50, 40, 30}));
  EXPECT_EQ(Moves(Plan()), Lines{});
  EXPECT_EQ(Plan().waiting, 0);
}

TEST_F(WeightedPlanTest, DriftIsMendedOneHeaviestClusterPerPlan) {
  Live({0, 1});
  AddMany(10, "a", 10, 0);
  AddMany(2, "b", 10, 1);
  EXPECT_EQ(Follow().waiting, 2);
  EXPECT_EQ(Follow().waiting, 1);
  const WeightedPlan plan = Follow();
  EXPECT_EQ(plan.waiting, 0);
  EXPECT_EQ(plan.loads, (Shards{70, 50})) << "75 is the bound";
  EXPECT_EQ(Moves(Plan()), Lines{});
}

TEST_F(WeightedPlanTest, WhatHasToMoveAnywayFillsANewShardFirstAndAtNoCost) {
  Live({0, 1, 2});
  Add("a", 15, 0);
  Add("also", 5, 0);
  Add("b", 20, 1);
  AddMany(2, "c", 5, 7, 0);
  options_.bound = 2;
  options_.moves_max = 0;
  const WeightedPlan plan = Plan();
  EXPECT_EQ(Moves(plan), (Lines{"c0 7>2 owner gone", "c1 7>2 owner gone"})) << "rather than to their standby";
  EXPECT_EQ(plan.loads, (Shards{20, 20, 10}));
  EXPECT_EQ(plan.waiting, 1) << "then another";
}

TEST_F(WeightedPlanTest, NewClustersAccountForMoreMoves) {
  Live({0, 1});
  AddMany(10, "a", 10, 0);
  AddMany(4, "b", 10, 1);
  clusters_[Add("new", 30)].pinned = 0;
  clusters_[Add("too", 30)].pinned = 0;
  const WeightedPlan plan = Plan();
  EXPECT_EQ(plan.moves.size(), 2 + 4);
  EXPECT_EQ(plan.loads, (Shards{120, 80}));
}

TEST_F(WeightedPlanTest, OneMoveOfTheRightSizeIsMadeRatherThanManySmallOnes) {
  Live({0, 1, 2, 3, 4, 5});
  Add("right", 26, 0);
  AddMany(4, "small", 10, 0);
  Add("large", 84, 0);
  for (int64_t shard : {1, 2, 3, 4, 5}) Add("other" + std::to_string(shard), 90, shard);
  EXPECT_EQ(Moves(Plan()), Lines{"right 0>1 balance"}) << "150 exceeds the bound by 25";
}

TEST_F(WeightedPlanTest, AHotClusterIsNamedAndGetsAShardOfItsOwn) {
  Live({0, 1, 2});
  Add("small", 10, 0);
  Add("hot", 105, 0);
  Add("other", 10, 1);
  Add("hotter", 110, 2);
  Add("tiny", 10, 2);
  const WeightedPlan plan = Follow();
  EXPECT_EQ(plan.hot, (std::vector<size_t>{3, 1})) << "the bound is 102";
  Follow();
  const WeightedPlan settled = Follow();
  EXPECT_EQ(settled.shard, (Shards{1, 0, 1, 2, 1}));
  EXPECT_EQ(Moves(settled), Lines{});
}

TEST_F(WeightedPlanTest, ThreeEqualClustersOnTwoShardsAreLeftAlone) {
  Live({0, 1});
  AddMany(2, "a", 10, 0);
  Add("b", 10, 1);
  const WeightedPlan plan = Plan();
  EXPECT_EQ(Moves(plan), Lines{});
  EXPECT_EQ(plan.waiting, 0);
  EXPECT_GT(plan.imbalance, 1.25);
}

TEST_F(WeightedPlanTest, AMoveThatGainsTooLittleIsNotMade) {
  Live({0, 1});
  Add("a", 48, 0);
  Add("b", 78, 0);
  clusters_[Add("c", 74, 1)].pinned = 1;
  // 126 exceeds the bound of 125; with a there, shard 1 would carry 122: 4 less.
  EXPECT_EQ(Moves(Plan()), Lines{});
  EXPECT_EQ(Plan().waiting, 0);
  options_.gain_min = 0.040001;
  EXPECT_EQ(Moves(Plan()), Lines{});
  options_.gain_min = 0.04;
  EXPECT_EQ(Moves(Plan()), Lines{"a 0>1 balance"});
}

TEST_F(WeightedPlanTest, TheNearestWeightIsPassedOverWhereItGainsTooLittle) {
  Live({0, 1, 2, 3, 4, 5, 6, 7});
  for (const auto& [server, weight] : {std::pair("a", 66), {"b", 94}, {"c", 1}}) Add(server, weight, 0);
  for (int64_t shard : {1, 2, 3, 4, 5, 6, 7}) Add("d", shard < 6 ? 91 : 92, shard);
  EXPECT_EQ(Moves(Plan()), Lines{"c 0>1 balance"}) << "34 are wanted, but a would leave shard 1 with 157 instead of 161";
}

TEST_F(WeightedPlanTest, NothingGoesBackAndForthWhileWeightsWobble) {
  Live({0, 1});
  const size_t a = Add("a", 46, 0);
  const size_t b = Add("b", 80, 0);
  const size_t c = Add("c", 74, 1);
  EXPECT_EQ(Moves(Follow()), Lines{"a 0>1 balance"});
  for (int64_t wobble : {2, -2, 1, -1, 2}) {
    clusters_[a].weight = 46 + wobble;
    clusters_[b].weight = 80 - wobble;
    clusters_[c].weight = 74 + wobble;
    EXPECT_EQ(Moves(Follow()), Lines{}) << wobble;
  }
}

TEST_F(WeightedPlanTest, WhereNoMoveHelpsTwoChangePlaces) {
  Live({0, 1});
  Add("a", 50, 0);
  Add("b", 50, 0);
  Add("c", 30, 1);
  Add("d", 20, 1);
  const WeightedPlan plan = Plan();
  EXPECT_EQ(Moves(plan), (Lines{"a 0>1 balance", "c 1>0 balance"}));
  EXPECT_EQ(plan.loads, (Shards{80, 70}));
  EXPECT_EQ(plan.moves[1].load_from, 50);
  EXPECT_EQ(plan.moves[1].load_to, 100);
  options_.moves_max = 1;
  EXPECT_EQ(Moves(Plan()), Lines{});
  EXPECT_EQ(Plan().waiting, 2);
}

TEST_F(WeightedPlanTest, ASwapMayBeSmallWhereItReachesTheBound) {
  Live({0, 1});
  Add("a", 64, 0);
  Add("b", 62, 0);
  Add("c", 61, 1);
  Add("d", 13, 1);
  EXPECT_EQ(Moves(Plan()), (Lines{"a 0>1 balance", "c 1>0 balance"}));
}

TEST_F(WeightedPlanTest, ASwapThatGainsTooLittleIsNotMade) {
  Live({0, 1, 2});
  AddMany(2, "a", 70, 0);
  for (int64_t shard : {1, 2}) {
    Add("b" + std::to_string(shard), 68, shard);
    clusters_[Add("c" + std::to_string(shard), 12, shard)].pinned = shard;
  }
  EXPECT_EQ(Moves(Plan()), Lines{}) << "138 still exceeds the bound";
  Live({0, 1});
  clusters_.clear();
  AddMany(2, "a", 63, 0);
  Add("b", 14, 1);
  clusters_[Add("c", 60, 1)].pinned = 1;
  EXPECT_EQ(Moves(Plan()), Lines{}) << "123 instead of 126";
}

TEST_F(WeightedPlanTest, InASwapOnlyTheClusterThatWouldStayIsAMove) {
  Live({0, 1});
  Add("a", 50, 7);
  Add("b", 50, 0);
  Add("c", 30, 1);
  Add("d", 20, 1);
  options_.moves_max = 1;
  EXPECT_EQ(Moves(Plan()), (Lines{"a 7>1 owner gone", "c 1>0 balance"}));
}

TEST_F(WeightedPlanTest, ASwapThatHasToWaitLetsOthersGoFirst) {
  Live({0, 1, 2, 3});
  AddMany(2, "a", 60, 0);
  AddMany(11, "b", 10, 1);
  for (int64_t shard : {2, 3}) AddMany(2, "c", 30, shard);
  options_.moves_max = 1;
  EXPECT_EQ(Moves(Plan()), Lines{"b0 1>2 balance"});
  EXPECT_EQ(Plan().waiting, 2);
}

TEST_F(WeightedPlanTest, StandbysOfOneOwnerAreSpreadOverTheOthers) {
  Live({0, 1, 2});
  AddMany(4, "a", 10, 0);
  AddMany(4, "b", 10, 1);
  AddMany(4, "c", 10, 2);
  const WeightedPlan plan = Plan();
  EXPECT_EQ(plan.standby, (Shards{1, 2, 1, 2, 0, 2, 0, 2, 0, 1, 0, 1}));
}

TEST_F(WeightedPlanTest, AStandbyIsKeptWhileTheLoadWouldBeWithinTheBound) {
  Live({0, 1, 2});
  AddMany(2, "a", 10, 0, 1);
  AddMany(3, "b", 10, 1, 2);
  AddMany(3, "c", 10, 2, 1);
  // Without shard 0 the mean is 40 and the bound 50: both of its clusters may stay with 1. Without 1 or 2 there is room for 2
  // of 3.
  EXPECT_EQ(Plan().standby, (Shards{1, 1, 2, 2, 0, 1, 1, 0}));
}

TEST_F(WeightedPlanTest, AStandbyIsKeptWhereNoOtherIsBetter) {
  Live({0, 1, 2});
  Add("hot", 100, 0, 2);
  Add("b", 10, 1, 0);
  Add("c", 10, 2, 0);
  EXPECT_EQ(Plan().standby, (Shards{2, 2, 1})) << "110 exceeds the bound with either; 0 is no place for any";
}

TEST(MeasuredWeightTest, AddsUpAndRoundsToTwoDigits) {
  const std::vector<std::pair<MeasuredLoad, int64_t>> cases = {
      {{}, 20},
      {{.pods = 1}, 21},
      {{.pods = 79}, 99},
      {{.pods = 84}, 100},
      {{.pods = 85}, 110},
      {{.nodes = 3, .pods = 110}, 160},
      {{.nodes = 3, .pods = 110, .busy_permille = 250}, 660},
      {{.pods = 974}, 990},
      {{.pods = 975}, 1000},
      {{.nodes = 1000, .pods = 30'000, .busy_permille = 900, .reachable = false}, 20},
      {{.nodes = -5, .pods = -5, .busy_permille = -5}, 20},
      {{.nodes = INT64_MAX, .pods = INT64_MAX, .busy_permille = INT64_MAX}, 13'000'000'000'000},
  };
  for (const auto& [load, weight] : cases) {
    EXPECT_EQ(MeasuredWeight(load), weight) << load.nodes << " " << load.pods << " " << load.busy_permille;
  }
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::weighted_plan_test
