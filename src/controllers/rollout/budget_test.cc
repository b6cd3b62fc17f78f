#include "controllers/rollout/budget.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::rollout::budget_test {
namespace {

struct BudgetRow {
  int64_t members, ready, outside, takes_down;
  bool strict, degraded;
};

TEST(BudgetTest, AStepKeepsAMajorityAndBeginsOnlyWhileNothingElseIsDown) {
  for (const BudgetRow& row :
       {BudgetRow{3, 3, 0, 1, true, true}, BudgetRow{3, 2, 1, 1, false, false}, BudgetRow{3, 2, 0, 0, true, true},
        BudgetRow{4, 4, 0, 1, true, true}, BudgetRow{4, 3, 1, 1, false, false}, BudgetRow{5, 3 + 2, 0, 1, true, true},
        BudgetRow{5, 4, 1, 1, false, true}, BudgetRow{5, 4, 0, 1, true, true}, BudgetRow{5, 3, 2, 1, false, false},
        BudgetRow{7, 6, 1, 1, false, true},
        // Without redundancy every restart is a pause, which has to be accepted.
        BudgetRow{1, 1, 0, 1, false, true}, BudgetRow{2, 2, 0, 1, false, true}}) {
    Budget budget{row.members, row.ready, row.takes_down, row.outside, false};
    EXPECT_EQ(CheckBudget(budget).empty(), row.strict) << row.members << " " << row.ready << " " << row.outside;
    budget.allow_degraded = true;
    EXPECT_EQ(CheckBudget(budget).empty(), row.degraded) << row.members << " " << row.ready << " " << row.outside;
  }
}

TEST(BudgetTest, MajoritiesIntersectWhereOneMemberComesOrGoes) {
  for (int64_t n = 1; n < 9; ++n) {
    EXPECT_TRUE(MajoritiesIntersect(n, n + 1, n + 1)) << n;
    EXPECT_TRUE(MajoritiesIntersect(n + 1, n, n + 1)) << n;
  }
  EXPECT_FALSE(MajoritiesIntersect(1, 3, 3));
  EXPECT_FALSE(MajoritiesIntersect(3, 5, 5));
  EXPECT_FALSE(MajoritiesIntersect(5, 3, 5));
  EXPECT_FALSE(MajoritiesIntersect(5, 7, 7));
  EXPECT_FALSE(MajoritiesIntersect(7, 5, 7));
  EXPECT_FALSE(MajoritiesIntersect(3, 3, 4)) << "one of three replaced";
  EXPECT_FALSE(MajoritiesIntersect(5, 5, 6)) << "one of five replaced";
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::budget_test
