#include "solver/step_kinds.h"

#include <gtest/gtest.h>

#include <array>

#include "base/random.h"

namespace evenkeel::solver::step_kinds_test {
namespace {

/// How many of 64 evenly spaced draws are of the kind.
int DrawnOf(const StepKinds& kinds, int kind) {
  int count = 0;
  for (uint64_t bits = 0; bits < 64; ++bits) count += kinds.Draw(bits) == kind ? 1 : 0;
  return count;
}

TEST(StepKindsTest, DrawsByTheFirstSharesUntilSomethingWasGained) {
  StepKinds kinds(std::array{0.5, 0.25, 0.0, 0.25});
  kinds.Adapt();
  EXPECT_EQ(DrawnOf(kinds, 0), 32);
  EXPECT_EQ(DrawnOf(kinds, 1), 16);
  EXPECT_EQ(DrawnOf(kinds, 2), 0);
  EXPECT_EQ(DrawnOf(kinds, 3), 16);
}

TEST(StepKindsTest, DrawsMoreOfWhatGainsAndForgetsNothing) {
  StepKinds kinds(std::array{1.0, 1.0, 1.0});
  for (int i = 0; i < 100; ++i) {
    kinds.Note(0, -1);
    kinds.Note(0, 1);
    kinds.Note(1, -9);
    kinds.Note(1, 0);
    kinds.Note(2, 5);
  }
  kinds.Adapt();
  EXPECT_GT(2 * DrawnOf(kinds, 1), 3 * DrawnOf(kinds, 0));
  EXPECT_GE(DrawnOf(kinds, 0), DrawnOf(kinds, 2));
  EXPECT_GT(DrawnOf(kinds, 2), 0);
  // What gained once is forgotten when others gain.
  for (int slice = 0; slice < 500; ++slice) {
    for (int i = 0; i < 10; ++i) {
      kinds.Note(1, 0);
      kinds.Note(2, -1);
    }
    kinds.Adapt();
  }
  EXPECT_GT(2 * DrawnOf(kinds, 2), 3 * DrawnOf(kinds, 1));
  EXPECT_GT(DrawnOf(kinds, 1), 0);
}

TEST(StepKindsTest, NeverDrawsWhatHasNoShare) {
  base::Random random(3);
  StepKinds kinds(std::array{0.0, 0.0, 1.0});
  for (int i = 0; i < 1000; ++i) {
    const int kind = kinds.Draw(random.Next());
    ASSERT_EQ(kind, 2);
    kinds.Note(kind, -random.Unit());
    kinds.Adapt();
  }
}

}  // namespace
}  // namespace evenkeel::solver::step_kinds_test
