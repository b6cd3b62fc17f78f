#include "solver/priced_state.h"

#include <gtest/gtest.h>

#include <cmath>

#include "solver/problem_testing.h"

namespace evenkeel::solver::priced_state_test {
namespace {

constexpr double kForbidden = 1e15;

/// 1 for a model whose assignment breaks no rule and has the cost that it says.
int IsRight(const PricedState& model, uint64_t seed) {
  const Verdict verdict = Verify(model.state.problem(), model.state.assignment());
  EXPECT_TRUE(verdict.valid()) << "problem " << seed << ": " << verdict.violations.front();
  EXPECT_EQ(verdict.cost, model.state.cost()) << "problem " << seed;
  return verdict.valid() && verdict.cost == model.state.cost() ? 1 : 0;
}

class KindsTest : public ::testing::TestWithParam<int> {};

TEST_P(KindsTest, TakesOnlyWhatRulesAllowAndSaysWhatItChanged) {
  int taken = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    base::Random random(seed);
    const Problem problem = testing::RandomProblem(random);
    const SimilarObjects similar(problem);
    PricedState model(problem, similar);
    model.price = kForbidden;
    for (int i = 0; i < 200; ++i) {
      const double before = model.Value(), limit = 50 * random.Unit();
      const int64_t steps = model.steps;
      // Objects go back to their first nodes only when others have left theirs.
      const int kind = GetParam() == PricedState::kHome && random.Chance(0.5) ? PricedState::kShift : GetParam();
      const double change = model.Take(kind, {random.Next(), random.Next()}, limit);
      ASSERT_EQ(model.Value() - before, change) << "problem " << seed;
      ASSERT_LE(change, limit);
      if (kind != GetParam() || model.steps == steps) continue;
      ASSERT_EQ(IsRight(model, seed), 1);
      ++taken;
    }
  }
  EXPECT_GT(taken, 100);
}

INSTANTIATE_TEST_SUITE_P(Kinds, KindsTest,
                         ::testing::Values(PricedState::kShift, PricedState::kHome, PricedState::kSwap, PricedState::kSimilar,
                                           PricedState::kChain));

TEST(PricedStateTest, KeepsTheBestAssignment) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    base::Random random(seed);
    const Problem problem = testing::RandomProblem(random, {40, 8, 3});
    const SimilarObjects similar(problem);
    PricedState model(problem, similar);
    model.price = 3;
    PricedSteps steps(seed);
    int64_t least = model.state.cost();
    for (int slice = 0; slice < 20; ++slice) {
      steps.Run(model, 20, true);
      if (model.state.overflow() == 0) least = std::min(least, model.state.cost());
    }
    const Verdict verdict = Verify(problem, model.best.Assignment(model.state));
    EXPECT_TRUE(verdict.valid()) << "problem " << seed;
    EXPECT_EQ(verdict.cost, model.best.cost()) << "problem " << seed;
    EXPECT_LE(verdict.cost, least) << "problem " << seed;
  }
}

TEST(LargeNeighbourhoodTest, TakesObjectsToBetterPlacesOrLeavesEverythingAsItWas) {
  int better = 0, undone = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    base::Random random(seed);
    const Problem problem = testing::RandomProblem(random, {30, 6, 3});
    const SimilarObjects similar(problem);
    PricedState model(problem, similar);
    model.price = kForbidden;
    LargeNeighbourhood<PricedState> step;
    std::vector<NodeId> nodes;
    for (NodeId node = 0; node < problem.nodes(); ++node) nodes.push_back(node);
    for (int i = 0; i < 10; ++i) {
      std::vector<ObjectId> objects;
      for (ObjectId object = 0; object < problem.objects(); ++object) {
        if (random.Chance(0.4)) objects.push_back(object);
      }
      const std::vector<NodeId> assignment = model.state.assignment();
      const double before = model.Value();
      const double change = step.Take(model, objects, nodes, random, 0, 0);
      ASSERT_EQ(model.Value() - before, change) << "problem " << seed;
      ASSERT_LE(change, 0);
      ASSERT_EQ(IsRight(model, seed), 1);
      better += change < 0 ? 1 : 0;
      if (change == 0 && model.state.assignment() == assignment) ++undone;
    }
  }
  EXPECT_GT(better, 50);
  EXPECT_GT(undone, 50);
}

// Two nodes that are so full that no object fits on the other: only several at once can change places.
TEST(LargeNeighbourhoodTest, ChangesPlacesWhereNoShiftFits) {
  Problem problem;
  problem.load = Matrix(4, 1);
  problem.capacity = Matrix(2, 1, 6);
  problem.transient = {false};
  problem.location = problem.neighbourhood = problem.node_class = {0, 0};
  problem.node_move_cost = Matrix(1, 1);
  problem.initial = {0, 0, 1, 1};
  problem.group_of = {0, 1, 2, 3};
  problem.object_move_cost = {0, 0, 0, 0};
  for (ObjectId object = 0; object < 4; ++object) {
    problem.groups.push_back({.first = object, .last = object + 1});
    problem.load(object, 0) = object < 2 ? 3 : 2;
  }
  problem.hinges.push_back({"load", {{0, 1}}, {4, 5}, 1});
  ASSERT_TRUE(problem.Check());
  const SimilarObjects similar(problem);
  PricedState model(problem, similar);
  model.price = kForbidden;
  for (ObjectId object = 0; object < 4; ++object) EXPECT_FALSE(model.state.CanShift(object, 1 - model.state.NodeOf(object)));
  EXPECT_EQ(model.state.cost(), 2);
  LargeNeighbourhood<PricedState> step;
  base::Random random(1);
  const std::vector<ObjectId> objects = {0, 1, 2, 3};
  const std::vector<NodeId> nodes = {0, 1};
  EXPECT_EQ(step.Take(model, objects, nodes, random, 0, 0), -1);
  EXPECT_EQ(model.state.cost(), 1);
}

}  // namespace
}  // namespace evenkeel::solver::priced_state_test
