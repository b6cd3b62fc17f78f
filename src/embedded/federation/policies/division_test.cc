#include "embedded/federation/policies/division.h"

#include <gtest/gtest.h>

// Numbers (D01 ...) are those of cases that Karmada's own tests have, or that follow from its rules.
namespace evenkeel::embedded::federation::division_test {
namespace {

using Counts = std::vector<int64_t>;

Counts Replicas(const std::vector<Share>& shares) {
  Counts counts;
  for (const Share& share : shares) counts.push_back(share.replicas);
  return counts;
}

DivisionProblem Problem(Division division, int64_t replicas, const Counts& numbers, bool available = false) {
  DivisionProblem problem;
  problem.division = division;
  problem.replicas = replicas;
  for (size_t i = 0; i < numbers.size(); ++i)
    problem.candidates.push_back({"m" + std::to_string(i + 1), available ? 0 : numbers[i], available ? numbers[i] : 0});
  return problem;
}

Counts ByWeights(int64_t replicas, const Counts& weights) {
  return Replicas(*Divide(Problem(Division::kStaticWeights, replicas, weights)));
}

TEST(StaticWeightsTest, D01ToD04) {
  EXPECT_EQ(ByWeights(12, {3, 2, 1}), (Counts{6, 4, 2})) << "D01";
  EXPECT_EQ(ByWeights(13, {3, 2, 1}), (Counts{7, 4, 2})) << "D02";
  EXPECT_EQ(ByWeights(14, {3, 2, 1}), (Counts{7, 5, 2})) << "D03";
  EXPECT_EQ(ByWeights(12, {0, 0, 0}), (Counts{4, 4, 4})) << "D04";
}

TEST(StaticWeightsTest, D05NoReplicasGiveNoneToEach) {
  EXPECT_EQ(Webster(0, {{"m1", 1}, {"m2", 1}}), (std::vector<Share>{{"m1", 0}, {"m2", 0}}));
}

TEST(StaticWeightsTest, D06ClustersWithoutWeightAreLeftOut) {
  EXPECT_EQ(*Divide(Problem(Division::kStaticWeights, 2, {1, 0})), (std::vector<Share>{{"m1", 2}}));
}

TEST(StaticWeightsTest, D08ToD11SeatsComeOnTopOfThoseThereAre) {
  const Votes weights{{"A", 1}, {"B", 2}, {"C", 3}};
  const Votes before{{"A", 1}, {"B", 2}, {"C", 3}};
  EXPECT_EQ(Replicas(Webster(6, weights, before)), (Counts{2, 4, 6})) << "D08";
  EXPECT_EQ(Replicas(Webster(3, weights, before)), (Counts{2, 3, 4})) << "D09";
  EXPECT_EQ(Replicas(Webster(2, weights, before)), (Counts{1, 3, 4})) << "D10";
  const Votes two{{"A", 2}, {"B", 1}};
  EXPECT_EQ(Replicas(Webster(1, two)), (Counts{1, 0})) << "D11";
  EXPECT_EQ(Replicas(Webster(2, two)), (Counts{1, 1})) << "D11";
  EXPECT_EQ(Replicas(Webster(3, two)), (Counts{2, 1})) << "D11";
}

TEST(StaticWeightsTest, D16TheClassicExample) {
  const Votes votes{{"A", 100000}, {"B", 80000}, {"C", 30000}, {"D", 20000}};
  const std::vector<Counts> rounds{{1, 0, 0, 0}, {1, 1, 0, 0}, {2, 1, 0, 0}, {2, 1, 1, 0},
                                   {2, 2, 1, 0}, {2, 2, 1, 1}, {3, 2, 1, 1}, {3, 3, 1, 1}};
  for (size_t i = 0; i < rounds.size(); ++i) EXPECT_EQ(Replicas(Webster(static_cast<int64_t>(i + 1), votes)), rounds[i]) << i;
}

TEST(StaticWeightsTest, D17AndD18Ties) {
  EXPECT_EQ(Replicas(Webster(1, {{"A", 3}, {"B", 1}}, {{"A", 1}})), (Counts{1, 1})) << "D17: fewer seats first";
  EXPECT_EQ(Webster(2, {{"OldParty", 1}, {"NewParty", 1}}, {{"OldParty", 1}}),
            (std::vector<Share>{{"NewParty", 2}, {"OldParty", 1}}))
      << "D18";
  EXPECT_EQ(Webster(2, {{"NewParty1", 1}, {"NewParty2", 1}}, {{"OldParty", 0}}),
            (std::vector<Share>{{"NewParty1", 1}, {"NewParty2", 1}, {"OldParty", 0}}))
      << "D18b";
  EXPECT_EQ(Replicas(Webster(1, {{"A", 1}, {"B", 1}})), (Counts{1, 0})) << "D18c";
  EXPECT_EQ(Replicas(Webster(1, {{"A", 1}, {"B", 1}}, {}, TieBreak::kNameDescending)), (Counts{0, 1})) << "D18c";
}

TEST(StaticWeightsTest, D20NothingToDivideOrNobodyToGiveTo) {
  EXPECT_TRUE(Webster(3, {}).empty());
  EXPECT_EQ(Replicas(Webster(0, {{"A", 1}, {"B", 2}})), (Counts{0, 0}));
  EXPECT_TRUE(Webster(0, {}).empty());
}

TEST(StaticWeightsTest, D21ToD25SmallEnsembles) {
  const std::vector<Counts> even{{1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {2, 1, 1}, {2, 2, 1}, {2, 2, 2}, {3, 2, 2}};
  for (size_t i = 0; i < even.size(); ++i) {
    EXPECT_EQ(Replicas(Webster(static_cast<int64_t>(i + 1), {{"m1", 1}, {"m2", 1}, {"m3", 1}})), even[i]);
  }
  const auto expect = [](const char* id, const Counts& weights, const std::vector<Counts>& for_3_5_7) {
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(ByWeights(static_cast<int64_t>(3 + 2 * i), weights), for_3_5_7[i]) << id << i;
  };
  expect("D23", {1, 1}, {{2, 1}, {3, 2}, {4, 3}});
  expect("D24", {3, 1, 1}, {{1, 1, 1}, {3, 1, 1}, {4, 2, 1}});
  expect("D25", {2, 2, 1}, {{1, 1, 1}, {2, 2, 1}, {3, 3, 1}});
}

TEST(StaticWeightsTest, D26WeightsThatAreTheNumbersAreKept) {
  for (const Counts& wanted : {Counts{2, 2, 1}, Counts{5, 1, 1}, Counts{1, 2, 3, 4}, Counts{7}}) {
    int64_t sum = 0;
    for (const int64_t count : wanted) sum += count;
    EXPECT_EQ(ByWeights(sum, wanted), wanted);
  }
}

TEST(StaticWeightsTest, BillionsOfReplicasAreDividedAtOnceAndAsOneByOne) {
  EXPECT_EQ(ByWeights(2'000'000'000, {1, 1}), (Counts{1'000'000'000, 1'000'000'000}));
  const Votes votes{{"A", 53}, {"B", 24}, {"C", 23}, {"D", 7}, {"E", 1}};
  // A party that has seats already makes Webster count one by one.
  for (int64_t seats = 1; seats <= 300; ++seats) {
    auto counted = Webster(seats, votes, {{"Z", 1}});
    counted.pop_back();
    EXPECT_EQ(Webster(seats, votes), counted) << seats;
  }
}

TEST(StaticWeightsTest, TiesAreBrokenByTheUid) {
  EXPECT_EQ(TieBreakOf(""), TieBreak::kNameAscending);
  bool ascending = false, descending = false;
  for (const char* uid : {"a", "b", "c", "d"}) {
    ascending |= TieBreakOf(uid) == TieBreak::kNameAscending;
    descending |= TieBreakOf(uid) == TieBreak::kNameDescending;
  }
  EXPECT_TRUE(ascending && descending);
}

TEST(DynamicWeightsTest, D30ToD33SpreadFromScratch) {
  EXPECT_EQ(ByWeights(12, {1, 1, 1}), (Counts{4, 4, 4})) << "D30";
  EXPECT_EQ(ByWeights(10, {1, 1, 1}), (Counts{4, 3, 3})) << "D31";
  EXPECT_EQ(ByWeights(13, {1, 2, 3}), (Counts{2, 4, 7})) << "D32";
  EXPECT_EQ(ByWeights(10, {1}), (Counts{10})) << "D33";
  EXPECT_TRUE(Webster(10, {}).empty()) << "D33";
}

TEST(DynamicWeightsTest, D34AndD35ByRoom) {
  EXPECT_EQ(Replicas(*Divide(Problem(Division::kDynamicWeights, 12, {18, 12, 6}, true))), (Counts{6, 4, 2})) << "D34";
  EXPECT_EQ(Replicas(*Divide(Problem(Division::kDynamicWeights, 12, {20, 12, 6}, true))), (Counts{6, 4, 2})) << "D35";
}

TEST(DynamicWeightsTest, D37AndD38AggregatedTakesFewClusters) {
  EXPECT_EQ(*Divide(Problem(Division::kAggregated, 12, {6, 12, 6}, true)), (std::vector<Share>{{"m2", 12}})) << "D37";
  EXPECT_EQ(*Divide(Problem(Division::kAggregated, 12, {6, 6, 6}, true)), (std::vector<Share>{{"m1", 6}, {"m2", 6}})) << "D38";
}

TEST(DynamicWeightsTest, D39ToD46FollowWhatThereIs) {
  auto problem = Problem(Division::kDynamicWeights, 6, {1, 1, 1}, true);
  problem.previous = {{"m1", 2}, {"m2", 4}, {"m3", 6}};
  EXPECT_EQ(Replicas(*Divide(problem)), (Counts{1, 2, 3})) << "D39";
  problem.replicas = 24;
  EXPECT_EQ(Divide(problem).error().code(), base::Code::kInfeasible) << "D41";
  problem.replicas = 12;
  EXPECT_EQ(Replicas(*Divide(problem)), (Counts{2, 4, 6})) << "nothing to do";

  auto packed = Problem(Division::kAggregated, 6, {100, 100, 100}, true);
  packed.previous = {{"m1", 4}, {"m2", 8}};
  EXPECT_EQ(*Divide(packed), (std::vector<Share>{{"m2", 6}})) << "D42";
  packed.replicas = 8;
  EXPECT_EQ(*Divide(packed), (std::vector<Share>{{"m2", 8}})) << "D43";
  packed.replicas = 24;
  for (auto& candidate : packed.candidates) candidate.available = 1;
  EXPECT_FALSE(Divide(packed)) << "D46";
}

TEST(DynamicWeightsTest, D48FromNothing) {
  EXPECT_EQ(Replicas(*Divide(Problem(Division::kDynamicWeights, 12, {6, 8, 10}, true))), (Counts{3, 4, 5}));
  EXPECT_EQ(Replicas(*Divide(Problem(Division::kDynamicWeights, 12, {8, 8, 10}, true))), (Counts{4, 4, 4}));
  EXPECT_FALSE(Divide(Problem(Division::kDynamicWeights, 12, {3, 3, 3}, true)));
}

TEST(DynamicWeightsTest, D50AClusterThatIsGoneIsReplacedByWhatHasRoom) {
  auto problem = Problem(Division::kDynamicWeights, 12, {3, 3}, true);
  problem.previous = {{"m1", 6}, {"m3", 6}};
  EXPECT_EQ(*Divide(problem), (std::vector<Share>{{"m1", 9}, {"m2", 3}}));
  problem.fresh = true;
  EXPECT_FALSE(Divide(problem)) << "from zero, there is no room";
}

TEST(DivideTest, D51ToD53) {
  EXPECT_EQ(Replicas(*Divide(Problem(Division::kDuplicated, 2, {0, 0}))), (Counts{2, 2})) << "D51";
  const auto none = Divide(Problem(Division::kDuplicated, 2, {}));
  ASSERT_FALSE(none) << "D52";
  EXPECT_EQ(none.error().message(), "no clusters available to schedule");
  auto problem = Problem(Division::kStaticWeights, 0, {1, 1});
  problem.workload = false;
  EXPECT_EQ(*Divide(problem), (std::vector<Share>{{"m1", 0}, {"m2", 0}})) << "D53";
}

}  // namespace
}  // namespace evenkeel::embedded::federation::division_test
