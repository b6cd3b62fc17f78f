#include "controllers/autoscaler/facts/budget_tracker.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/scale_down/scale_down_testing.h"

namespace evenkeel::controllers::autoscaler::budget_tracker_test {
namespace {

using scheduling::PodId;
using testing::PodMaker;
using testing::World;

class BudgetTrackerTest : public ::testing::Test {
 protected:
  BudgetTrackerTest() {
    world_.Node("n", 1000, 1000);
    for (const char* name : {"a1", "a2", "a3", "b1"}) {
      PodMaker maker(name, "1m", "1");
      world_.Pod(maker.On("n").Labels(std::string("app=") + name[0]));
      pods_.push_back(world_.PodOf(name));
    }
    world_.budgets.push_back({"default", "of-a", *kube::LabelSelector::Parse("app=a"), 2});
    world_.budgets.push_back({"default", "of-all", {}, 10});
    world_.budgets.push_back({"other", "elsewhere", {}, 0});
  }
  World world_;
  std::vector<PodId> pods_;
};

TEST_F(BudgetTrackerTest, BudgetsThatAllowOneButNotAllMakeARemovalRisky) {
  const ClusterView view = world_.View();
  BudgetTracker budgets(view);
  const std::span<const PodId> three(pods_.data(), 3), two(pods_.data(), 2);
  EXPECT_TRUE(budgets.CanRemove(two).in_parallel);
  EXPECT_TRUE(budgets.CanRemove(three).allowed);
  EXPECT_FALSE(budgets.CanRemove(three).in_parallel);
}

TEST_F(BudgetTrackerTest, EachRemovalTakesFromEveryBudgetThatMeansThePod) {
  const ClusterView view = world_.View();
  BudgetTracker budgets(view);
  budgets.Remove(std::span(pods_.data(), 1));
  EXPECT_EQ(budgets.Remaining(0), 1);
  EXPECT_EQ(budgets.Remaining(1), 9);
  EXPECT_EQ(budgets.Remaining(2), 0);
  EXPECT_EQ(budgets.UsedUp(world_.snapshot.ClassOf(pods_[0])), scheduling::kNone);
  budgets.Remove(pods_);
  EXPECT_EQ(budgets.Remaining(0), 0) << "never below zero";
  EXPECT_EQ(budgets.Remaining(1), 5);
  EXPECT_EQ(budgets.UsedUp(world_.snapshot.ClassOf(pods_[0])), 0U);
  EXPECT_FALSE(budgets.CanRemove(std::span(pods_.data(), 1)).allowed);
  EXPECT_TRUE(budgets.CanRemove(std::span(pods_.data() + 3, 1)).allowed) << "b1 has only the budget of all";
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::budget_tracker_test
