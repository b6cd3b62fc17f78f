#include "solver/verify.h"

#include <gtest/gtest.h>

namespace evenkeel::solver::verify_test {
namespace {

/// Two nodes in two locations and neighbourhoods, one metric that is transient, objects 0 and 1 on node 0, object 2 on node 1;
/// objects 0 and 2 are of one group each, see the tests.
Problem Small() {
  Problem problem;
  problem.load = Matrix(3, 1);
  problem.load(0, 0) = 4;
  problem.load(1, 0) = 3;
  problem.load(2, 0) = 2;
  problem.capacity = Matrix(2, 1, 10);
  problem.transient = {true};
  problem.initial = {0, 0, 1};
  problem.groups = {{0, 2}, {2, 3}};
  problem.group_of = {0, 0, 1};
  problem.location = problem.neighbourhood = {0, 1};
  problem.locations = problem.neighbourhoods = 2;
  problem.hinges = {{"load", {{0, 1}}, {5, 5}, 10}};
  problem.object_move_cost = {1, 1, 1};
  problem.object_move_weight = 1;
  problem.group_move_weight = 100;
  problem.node_class = {0, 1};
  problem.node_move_cost = Matrix(2, 2, 3);
  problem.node_move_weight = 7;
  return problem;
}

std::string Violation(const Problem& problem, std::vector<NodeId> assignment) {
  const Verdict verdict = Verify(problem, assignment);
  return verdict.valid() ? "" : verdict.violations.front();
}

TEST(VerifyTest, AddsUpTheTermsByName) {
  const Problem problem = Small();
  ASSERT_TRUE(problem.Check());
  const Verdict stay = Verify(problem, std::vector<NodeId>{0, 0, 1});
  EXPECT_EQ(stay.cost, 20) << "2 above the bound of node 0";
  const Verdict moved = Verify(problem, std::vector<NodeId>{0, 1, 1});
  EXPECT_EQ(moved.terms, (std::vector<std::pair<std::string, int64_t>>{
                             {"load", 0}, {"objectMoves", 1}, {"groupMoves", 100}, {"nodeMoves", 21}}));
  EXPECT_EQ(moved.cost, 122);
}

TEST(VerifyTest, ChargesTransientMetricsTwice) {
  Problem problem = Small();
  problem.capacity = Matrix(2, 1, 7);
  EXPECT_EQ(Violation(problem, {1, 0, 1}), "") << "4 stay charged to node 0";
  EXPECT_EQ(Violation(problem, {1, 0, 0}), "node 0, metric 0: 9 is more than the capacity of 7");
  problem.transient = {false};
  EXPECT_EQ(Violation(problem, {1, 0, 0}), "");
}

TEST(VerifyTest, NamesEveryRuleThatIsBroken) {
  Problem problem = Small();
  problem.groups[0].exclusive = true;
  EXPECT_EQ(Violation(problem, {1, 1, 1}), "group 0: two of its objects are on node 1");
  problem = Small();
  problem.groups[0].min_spread = 2;
  EXPECT_EQ(Violation(problem, {1, 1, 1}), "group 0: in 1 locations of at least 2");
  problem = Small();
  problem.groups[1].depends_on = {0};
  EXPECT_EQ(Violation(problem, {0, 0, 1}), "group 1: nothing of group 0 is in neighbourhood 1");
  EXPECT_EQ(Violation(problem, {0, 1, 1}), "");
  EXPECT_EQ(Violation(problem, {0, 2, 1}), "object 1: there is no node 2");
}

TEST(VerifyTest, BoundsTheCostFromBelow) {
  Problem problem = Small();
  EXPECT_EQ(LowerBound(problem), 0);
  problem.hinges[0].bound = {3, 4};
  EXPECT_EQ(LowerBound(problem), 20) << "9 in all, 7 below the bounds";
}

TEST(ProblemTest, ChecksWhatItRefersTo) {
  const auto error = [](auto change) {
    Problem problem = Small();
    change(problem);
    const auto status = problem.Check();
    return status ? "" : status.error().message();
  };
  EXPECT_EQ(error([](Problem&) {}), "");
  EXPECT_EQ(error([](Problem& p) { p.initial[1] = 2; }), "an object is on a node that is not there");
  EXPECT_EQ(error([](Problem& p) { p.load(1, 0) = -1; }), "object 1 has a negative load");
  EXPECT_EQ(error([](Problem& p) { p.groups[1].depends_on = {5}; }), "group 1 depends on one that is not there");
  EXPECT_EQ(error([](Problem& p) { p.groups[1].first = 1; }), "groups are not in the order of their objects");
  EXPECT_EQ(error([](Problem& p) { p.hinges[0].weight = int64_t{1} << 52; }), "amounts are too large to be added up exactly");
  EXPECT_EQ(error([](Problem& p) { p.hinges[0].parts[0].metric = 1; }), "cost load has a metric that is not there");
}

}  // namespace
}  // namespace evenkeel::solver::verify_test
