#include "solver/descent.h"

#include <gtest/gtest.h>

#include "solver/problem_testing.h"

namespace evenkeel::solver::descent_test {
namespace {

TEST(DescentTest, BreaksNoRuleAndIsNeverDearer) {
  int lower = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    base::Random random(seed);
    const Problem problem = testing::RandomProblem(random, {60, 9, 3});
    State state(problem);
    const int64_t before = state.cost();
    EXPECT_GT(Descend(state, random, 1e9, [](int64_t) { return true; }), 0);
    const Verdict verdict = Verify(problem, state.assignment());
    EXPECT_TRUE(verdict.valid()) << "problem " << seed << ": " << verdict.violations.front();
    EXPECT_EQ(verdict.cost, state.cost()) << "problem " << seed;
    EXPECT_LE(verdict.cost, before) << "problem " << seed;
    lower += verdict.cost < before ? 1 : 0;
  }
  EXPECT_GT(lower, 20);
}

TEST(DescentTest, EndsWhenToldTo) {
  base::Random random(3);
  const Problem problem = testing::RandomProblem(random, {60, 9, 3});
  State state(problem);
  EXPECT_EQ(Descend(state, random, 1e9, [](int64_t looked_at) { return looked_at < 100; }), 108);
}

}  // namespace
}  // namespace evenkeel::solver::descent_test
