#include "solver/state.h"

#include <gtest/gtest.h>

#include <limits>

#include "solver/problem_testing.h"

namespace evenkeel::solver::state_test {
namespace {

constexpr uint64_t kProblems = 200;
constexpr int kSteps = 150;

/// Tries steps at random on random problems; `look` is shown each before it is taken, and whether it was.
template <typename Look>
void Walk(bool swaps, Look look) {
  for (uint64_t seed = 1; seed <= kProblems; ++seed) {
    base::Random random(seed);
    const Problem problem = testing::RandomProblem(random);
    ASSERT_TRUE(problem.Check()) << seed;
    State state(problem);
    for (int step = 0; step < kSteps; ++step) {
      const auto a = static_cast<ObjectId>(random.Below(problem.objects()));
      const auto b = static_cast<ObjectId>(random.Below(problem.objects()));
      const auto to = static_cast<NodeId>(random.Below(problem.nodes()));
      if (swaps ? state.NodeOf(a) == state.NodeOf(b) : state.NodeOf(a) == to) continue;
      std::vector<NodeId> after = state.assignment();
      if (swaps) {
        std::swap(after[a], after[b]);
      } else {
        after[a] = to;
      }
      // Where nothing exceeds a capacity, a swap fits if it costs no more when that has a price.
      const auto swap = [&](double price) { return state.TrySwap(a, b, price, std::numeric_limits<double>::infinity()); };
      const bool can = swaps ? swap(1) <= swap(0) && state.RulesAllowSwap(a, b) : state.CanShift(a, to);
      const double delta = swaps ? swap(0) + state.GroupMoveSwapDelta(a, b) : state.ShiftDelta(a, to);
      look(state, after, can, delta, seed);
      if (!can || ::testing::Test::HasFailure()) continue;
      swaps ? state.Swap(a, b) : state.Shift(a, to);
      ASSERT_EQ(state.assignment(), after);
    }
  }
}

class StateTest : public ::testing::TestWithParam<bool> {};

TEST_P(StateTest, AllowsAStepIfAndOnlyIfNothingIsBrokenAfterIt) {
  int allowed = 0, refused = 0;
  Walk(GetParam(), [&](const State& state, const std::vector<NodeId>& after, bool can, double, uint64_t seed) {
    const Verdict verdict = Verify(state.problem(), after);
    ASSERT_EQ(can, verdict.valid()) << "problem " << seed << (can ? ": " + verdict.violations.front() : "");
    ++(can ? allowed : refused);
  });
  EXPECT_GT(allowed, 1000);
  EXPECT_GT(refused, 1000);
}

TEST_P(StateTest, KnowsExactlyWhatAStepChanges) {
  Walk(GetParam(), [](const State& state, const std::vector<NodeId>& after, bool, double delta, uint64_t seed) {
    const int64_t before = Verify(state.problem(), state.assignment()).cost;
    ASSERT_EQ(state.cost(), before) << "problem " << seed;
    ASSERT_EQ(static_cast<int64_t>(delta), Verify(state.problem(), after).cost - before) << "problem " << seed;
  });
}

INSTANTIATE_TEST_SUITE_P(Steps, StateTest, ::testing::Bool(), [](const auto& which) { return which.param ? "Swap" : "Shift"; });

TEST(StateOverflowTest, CountsWhatIsAboveCapacityAndItsPrice) {
  for (uint64_t seed = 1; seed <= kProblems; ++seed) {
    base::Random random(seed);
    const Problem problem = testing::RandomProblem(random);
    State state(problem), other(problem);
    for (int step = 0; step < 40; ++step) {
      const auto object = static_cast<ObjectId>(random.Below(problem.objects()));
      const auto with = static_cast<ObjectId>(random.Below(problem.objects()));
      const auto to = static_cast<NodeId>(random.Below(problem.nodes()));
      const double overflow = state.overflow(), cost = static_cast<double>(state.cost());
      double tried = 0;
      if (step % 2 == 0) {
        if (state.NodeOf(object) == to) continue;
        tried = state.TryShift(object, to, 7, 1e18) + state.GroupMoveDelta(object, to);
        state.Shift(object, to);
      } else {
        if (state.NodeOf(object) == state.NodeOf(with)) continue;
        tried = state.TrySwap(object, with, 7, 1e18) + state.GroupMoveSwapDelta(object, with);
        state.Swap(object, with);
      }
      ASSERT_EQ(tried, static_cast<double>(state.cost()) - cost + 7 * (state.overflow() - overflow)) << "problem " << seed;
      const auto violations = Verify(problem, state.assignment()).violations;
      const bool over = std::ranges::any_of(violations, [](const std::string& text) { return text.contains("capacity"); });
      ASSERT_EQ(state.overflow() > 0, over) << "problem " << seed;
    }
  }
}

TEST(StateOverflowTest, SaysOfAStepAboveTheLimitOnlyThatItIs) {
  base::Random random(3);
  const Problem problem = testing::RandomProblem(random);
  State state(problem);
  for (ObjectId object = 0; object < problem.objects(); ++object) {
    for (NodeId to = 0; to < problem.nodes(); ++to) {
      if (state.NodeOf(object) == to) continue;
      const double exact = state.TryShift(object, to, 2, 1e18);
      for (const double limit : {-50.0, 0.0, 50.0}) {
        ASSERT_EQ(state.TryShift(object, to, 2, limit) > limit, exact > limit);
      }
    }
  }
}

}  // namespace
}  // namespace evenkeel::solver::state_test
