#include "solver/search.h"

#include <gtest/gtest.h>

#include <optional>

#include "solver/problem_testing.h"

namespace evenkeel::solver::search_test {
namespace {

using namespace std::chrono_literals;

/// The least cost there is, by trying every assignment.
int64_t Least(const Problem& problem) {
  std::vector<NodeId> assignment(problem.objects(), 0);
  int64_t least = INT64_MAX;
  while (true) {
    if (const Verdict verdict = Verify(problem, assignment); verdict.valid()) least = std::min(least, verdict.cost);
    size_t digit = 0;
    while (digit < assignment.size() && ++assignment[digit] == problem.nodes()) assignment[digit++] = 0;
    if (digit == assignment.size()) return least;
  }
}

TEST(SearchTest, FindsTheBestOfSmallProblems) {
  int improved = 0;
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    base::Random random(seed);
    const Problem problem = testing::RandomProblem(random, {7, 4, 2});
    const SearchResult result = Search(problem, {.seed = seed, .evaluations = 400'000}, base::SystemClock());
    EXPECT_EQ(result.cost, Least(problem)) << "problem " << seed;
    improved += result.cost < Verify(problem, problem.initial).cost ? 1 : 0;
  }
  EXPECT_GT(improved, 10);
}

TEST(SearchTest, SaysWhatVerifySaysAndIsNeverWorseThanTheBeginning) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    base::Random random(seed);
    const Problem problem = testing::RandomProblem(random, {60, 9, 5});
    const SearchResult result = Search(problem, {.seed = seed, .evaluations = 100'000}, base::SystemClock());
    const Verdict verdict = Verify(problem, result.assignment);
    EXPECT_TRUE(verdict.valid()) << "problem " << seed << ": " << verdict.violations.front();
    EXPECT_EQ(verdict.cost, result.cost) << "problem " << seed;
    EXPECT_LE(result.cost, Verify(problem, problem.initial).cost) << "problem " << seed;
  }
}

TEST(SearchTest, TheAnswerDoesNotDependOnThreads) {
  base::Random random(5);
  const Problem problem = testing::RandomProblem(random, {80, 10, 4});
  const SearchOptions options{.seed = 9, .evaluations = 300'000};
  const auto pool = base::NewThreadPool(2);
  const SearchResult alone = Search(problem, options, base::SystemClock());
  const SearchResult together = Search(problem, options, base::SystemClock(), pool.get());
  EXPECT_EQ(alone.assignment, together.assignment);
  EXPECT_EQ(alone.evaluations, together.evaluations);
  SearchOptions other = options;
  other.seed = 10;
  EXPECT_NE(Search(problem, other, base::SystemClock()).steps, alone.steps);
}

TEST(SearchTest, SaysHowFarItIsAndAnswersTheSame) {
  base::Random random(5);
  const Problem problem = testing::RandomProblem(random, {80, 10, 4});
  SearchOptions options{.seed = 9, .evaluations = 300'000};
  const SearchResult silent = Search(problem, options, base::SystemClock());
  std::vector<SearchProgress> told;
  options.on_progress = [&](const SearchProgress& progress) { told.push_back(progress); };
  EXPECT_EQ(Search(problem, options, base::SystemClock()).assignment, silent.assignment);
  ASSERT_GT(told.size(), 10u);
  EXPECT_TRUE(std::ranges::is_sorted(told, {}, &SearchProgress::share));
  EXPECT_GT(told.back().share, 0.9);
  EXPECT_LE(told.back().share, 1);
  EXPECT_GE(told.back().cost, silent.cost);
  EXPECT_GT(told.back().evaluations, 200'000);
}

TEST(SearchTest, EndsByTheClock) {
  base::Random random(6);
  const Problem problem = testing::RandomProblem(random, {80, 10, 4});
  const base::Instant begin = base::SystemClock().Monotonic();
  const SearchResult result = Search(problem, {.seed = 1, .time_limit = 50ms}, base::SystemClock());
  const base::Duration took = base::SystemClock().Monotonic() - begin;
  EXPECT_GE(took, 50ms);
  EXPECT_TRUE(Verify(problem, result.assignment).valid());
}

TEST(SearchTest, LeavesAnEmptyProblemAlone) {
  Problem problem;
  problem.node_move_cost = Matrix(1, 1);
  EXPECT_TRUE(Search(problem, {}, base::SystemClock()).assignment.empty());
}

}  // namespace
}  // namespace evenkeel::solver::search_test
