#include "controllers/autoscaler/scale_down/scale_down_limits.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/facts/utilization.h"
#include "controllers/autoscaler/scale_down/scale_down_testing.h"

namespace evenkeel::controllers::autoscaler::scale_down_limits_test {
namespace {

using namespace std::chrono_literals;
using testing::World;

TEST(UnneededLimitTest, V29TheLimitFollowsTheFormula) {
  EXPECT_EQ(UnneededLimit(0, 10, 1min, 10s), 20);
  EXPECT_EQ(UnneededLimit(3, 10, 1min, 10s), 23);
  EXPECT_EQ(UnneededLimit(70, 10, 1min, 10s), 70);
  EXPECT_EQ(UnneededLimit(77, 10, 1min, 10s), 70);
  EXPECT_EQ(UnneededLimit(0, 10, 0s, 10s), 20);
  EXPECT_EQ(UnneededLimit(0, 10, 0s, 0s), 20);
  EXPECT_EQ(UnneededLimit(13, 10, 1min, 1s), 33);
  EXPECT_EQ(UnneededLimit(13, 10, 1min, 30s), 30);
}

/// So many of each group, numbered on from `first`.
std::vector<DeletionCandidate> Candidates(const std::vector<std::pair<std::string_view, int>>& groups, size_t first) {
  std::vector<DeletionCandidate> candidates;
  for (const auto& [group, count] : groups) {
    for (int i = 0; i < count; ++i) candidates.push_back({first++, group});
  }
  return candidates;
}

/// Groups that begin with "atomic" are, and have `size` nodes.
std::pair<size_t, size_t> Crop(const std::vector<std::pair<std::string_view, int>>& empty,
                               const std::vector<std::pair<std::string_view, int>>& drain, DeletionBudgets budgets,
                               int64_t size = 0) {
  const auto group_of = [&](std::string_view group) {
    int64_t all = size;
    if (size == 0) {
      for (const auto* list : {&empty, &drain}) {
        for (const auto& [name, count] : *list) all += name == group ? count : 0;
      }
    }
    return GroupForBudget{group.starts_with("atomic"), all, all};
  };
  const Deletions deletions = CropToBudgets(Candidates(empty, 0), Candidates(drain, 1000), group_of, budgets);
  return {deletions.empty.size(), deletions.drain.size()};
}
using Counts = std::pair<size_t, size_t>;

TEST(CropToBudgetsTest, EmptyNodesComeFirstAndShareOneBudgetWithDrains) {
  EXPECT_EQ(Crop({{"g", 5}}, {}, {10, 5}), Counts(5, 0));
  EXPECT_EQ(Crop({{"g", 15}}, {}, {10, 5}), Counts(10, 0));
  EXPECT_EQ(Crop({{"g", 8}}, {{"g", 5}}, {10, 5}), Counts(8, 2));
  EXPECT_EQ(Crop({}, {{"g", 8}}, {10, 5}), Counts(0, 5));
  EXPECT_EQ(Crop({{"g", 2}}, {{"g", 8}}, {10, 5}), Counts(2, 5));
}

TEST(CropToBudgetsTest, DeletionsUnderWayUseTheBudgets) {
  EXPECT_EQ(Crop({{"g", 8}}, {{"g", 8}}, {10, 5, 3, 2}), Counts(5, 0));
  EXPECT_EQ(Crop({{"g", 2}}, {{"g", 8}}, {10, 5, 3, 2}), Counts(2, 3));
  EXPECT_EQ(Crop({{"g", 2}}, {{"g", 8}}, {10, 5, 8, 2}), Counts(0, 0));
  EXPECT_EQ(Crop({{"g", 2}}, {{"g", 8}}, {10, 1, 0, 3}), Counts(2, 0)) << "more drains under way than allowed";
}

TEST(CropToBudgetsTest, AtomicGroupsGoWholeAndOneMayOverflow) {
  EXPECT_EQ(Crop({{"atomic", 8}, {"g", 8}}, {}, {10, 5}), Counts(10, 0));
  EXPECT_EQ(Crop({{"atomic", 12}, {"g", 8}}, {}, {10, 5}), Counts(12, 0)) << "overflows, and nothing is left for others";
  EXPECT_EQ(Crop({{"atomic-1", 12}, {"atomic-2", 12}}, {}, {10, 5}), Counts(12, 0)) << "only one overflows";
  EXPECT_EQ(Crop({{"atomic", 12}}, {}, {10, 5, 10, 0}), Counts(0, 0)) << "not when nothing is left";
  EXPECT_EQ(Crop({{"atomic", 4}}, {{"atomic", 4}}, {10, 5}), Counts(4, 4));
  EXPECT_EQ(Crop({{"atomic", 4}}, {{"atomic", 6}}, {10, 5, 0, 5}), Counts(0, 0)) << "no drain budget at all";
  EXPECT_EQ(Crop({}, {{"atomic", 8}, {"g", 3}}, {10, 5}), Counts(0, 8));
}

TEST(CropToBudgetsTest, OnlyTheFirstAtomicGroupOfACallMayOverflow) {
  EXPECT_EQ(Crop({{"g", 3}, {"atomic-1", 8}, {"atomic-2", 3}}, {}, {10, 5}), Counts(10, 0)) << "8 and two of the others";
  EXPECT_EQ(Crop({{"atomic-1", 2}}, {{"atomic-2", 8}}, {10, 5}), Counts(2, 0)) << "also over both sweeps";
  EXPECT_EQ(Crop({{"atomic", 11}}, {}, {10, 5}), Counts(11, 0));
}

TEST(CropToBudgetsTest, AnAtomicGroupOfWhichNodesAreMissingIsPassedOver) {
  EXPECT_EQ(Crop({{"atomic", 3}, {"g", 2}}, {}, {10, 5}, 4), Counts(2, 0));
  EXPECT_EQ(Crop({}, {{"atomic", 3}, {"g", 2}}, {10, 5}, 4), Counts(0, 2));
}

TEST(CropToBudgetsTest, GroupsComeInTheOrderOfTheirFirstNodes) {
  const std::vector<DeletionCandidate> mixed = {{0, "b"}, {1, "a"}, {2, "b"}, {3, "a"}};
  const auto deletions = CropToBudgets(mixed, {}, [](std::string_view) { return GroupForBudget{}; }, {3, 1});
  EXPECT_EQ(deletions.empty, (std::vector<size_t>{0, 2, 1}));
}

TEST(ResourcesLeftTest, MinimumsKeepNodes) {
  World world;
  for (const char* name : {"a", "b", "c"}) world.Node(name, 1900, int64_t{2} << 30);
  Options options;
  options.cores_total.min = 4;
  const ClusterView view = world.View();
  ResourcesLeft cores(view, options);
  std::string what;
  EXPECT_TRUE(cores.TryTake(world.NodeOf("a"), &what)) << "1900m counts as 2 cores";
  EXPECT_FALSE(cores.TryTake(world.NodeOf("b"), &what));
  EXPECT_EQ(what, "cpu");
  options.cores_total.min = 0;
  options.memory_total.min = 5;
  ResourcesLeft memory(view, options);
  EXPECT_FALSE(memory.TryTake(world.NodeOf("a"), &what));
  EXPECT_EQ(what, "memory");
}

TEST(ResourcesLeftTest, WhatAVirtualKubeletOffersDoesNotCount) {
  World world;
  for (const char* name : {"a", "b"}) world.Node(name, 2000, 1000);
  world.Node("virtual", 100'000, 1000, "").virtual_kubelet = true;
  Options options;
  options.cores_total.min = 4;
  const ClusterView view = world.View();
  EXPECT_FALSE(ResourcesLeft(view, options).TryTake(world.NodeOf("a")));
}

TEST(ResourcesLeftTest, CapacityCountsAndNotWhatIsAllocatable) {
  World world;
  for (const char* name : {"a", "b"}) world.Node(name, 1900, 1000).cores = 4;
  Options options;
  options.cores_total.min = 4;
  const ClusterView view = world.View();
  ResourcesLeft left(view, options);
  EXPECT_TRUE(left.TryTake(world.NodeOf("a")));
  EXPECT_FALSE(left.TryTake(world.NodeOf("b")));
}

TEST(ResourcesLeftTest, AGpuWithoutALabelIsOfTheTypeOfItsResource) {
  World world;
  for (const char* name : {"a", "b"}) {
    testing::NodeMaker maker(name);
    world.Node(maker.Has("amd.com/gpu", "2"));
  }
  Options options;
  options.gpu_total["amd.com/gpu"] = {2, 10};
  const ClusterView view = world.View();
  ResourcesLeft left(view, options);
  std::string what;
  EXPECT_TRUE(left.TryTake(world.NodeOf("a"), &what));
  EXPECT_FALSE(left.TryTake(world.NodeOf("b"), &what));
  EXPECT_EQ(what, "amd.com/gpu");
}

TEST(ResourcesLeftTest, GpusCountByTheirType) {
  World world;
  for (const char* name : {"a", "b"}) {
    testing::NodeMaker maker(name);
    world.Node(maker.Has(kGpuResources[0], "2")).gpu = name[0] == 'a' ? "t4" : "a100";
  }
  Options options;
  options.gpu_total["t4"] = {1, 10};
  const ClusterView view = world.View();
  ResourcesLeft left(view, options);
  EXPECT_FALSE(left.TryTake(world.NodeOf("a")));
  EXPECT_TRUE(left.TryTake(world.NodeOf("b")));
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::scale_down_limits_test
