#include "solver/similar_objects.h"

#include <gtest/gtest.h>

#include "solver/problem_testing.h"

namespace evenkeel::solver::similar_objects_test {
namespace {

/// Objects with these loads of one metric, each a group of its own unless `groups` says otherwise, on one node.
Problem ProblemOf(const std::vector<int64_t>& loads, std::vector<Group> groups = {}) {
  Problem problem;
  const auto objects = static_cast<int32_t>(loads.size());
  problem.load = Matrix(objects, 1);
  problem.capacity = Matrix(1, 1, 1000);
  problem.transient = {false};
  problem.initial.assign(loads.size(), 0);
  problem.location = problem.neighbourhood = {0};
  for (int32_t i = 0; i < objects; ++i) problem.load(i, 0) = loads[i];
  if (groups.empty()) {
    for (int32_t i = 0; i < objects; ++i) groups.push_back({i, i + 1});
  }
  problem.group_of.resize(loads.size());
  for (size_t group = 0; group < groups.size(); ++group) {
    for (ObjectId i = groups[group].first; i < groups[group].last; ++i) problem.group_of[i] = static_cast<GroupId>(group);
  }
  problem.groups = groups;
  return problem;
}

TEST(SimilarObjectsTest, NamesTheNearestFirst) {
  const SimilarObjects similar(ProblemOf({10, 100, 13, 90, 12}));
  EXPECT_EQ(similar.Of(0, 0), 4);
  EXPECT_EQ(similar.Of(0, 1), 2);
  EXPECT_EQ(similar.Of(1, 0), 3);
  EXPECT_EQ(similar.Of(1, 3), 0);
  EXPECT_EQ(similar.Of(1, 4), 3) << "fewer than are kept: from the beginning again";
}

TEST(SimilarObjectsTest, LeavesOutTheOwnGroup) {
  const SimilarObjects similar(ProblemOf({10, 10, 10, 500}, {{0, 3}, {3, 4}}));
  for (uint32_t i = 0; i < SimilarObjects::kKept; ++i) EXPECT_EQ(similar.Of(1, i), 3);
  const SimilarObjects alone(ProblemOf({10, 10}, {{0, 2}}));
  EXPECT_EQ(alone.Of(0, 0), 0) << "itself where there is no other group";
}

TEST(SimilarObjectsTest, MetricsCountByWhatNodesOfferOfThem) {
  Problem problem = ProblemOf({0, 0, 0});
  problem.load = Matrix(3, 2);
  problem.capacity = Matrix(1, 2);
  problem.capacity(0, 0) = 10;
  problem.capacity(0, 1) = 1'000'000;
  problem.transient = {false, false};
  problem.load(1, 0) = 5;       // half a node away
  problem.load(2, 1) = 10'000;  // a hundredth
  EXPECT_EQ(SimilarObjects(problem).Of(0, 0), 2);
  problem.capacity(0, 1) = kUnlimited;
  EXPECT_EQ(SimilarObjects(problem).Of(1, 0), 0) << "what has no limit counts nothing";
}

TEST(SimilarObjectsTest, EveryObjectHasSome) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    base::Random random(seed);
    const Problem problem = testing::RandomProblem(random);
    const SimilarObjects similar(problem);
    for (ObjectId object = 0; object < problem.objects(); ++object) {
      for (uint32_t i = 0; i < SimilarObjects::kKept; ++i) {
        const ObjectId other = similar.Of(object, i);
        ASSERT_TRUE(other >= 0 && other < problem.objects()) << "problem " << seed;
        EXPECT_TRUE(other == object || problem.group_of[other] != problem.group_of[object]) << "problem " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace evenkeel::solver::similar_objects_test
