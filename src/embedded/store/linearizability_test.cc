#include "embedded/store/linearizability_testing.h"

#include <gtest/gtest.h>

namespace evenkeel::embedded::store::linearizability_test {
namespace {

using Kind = RegisterOperation::Kind;
using Outcome = RegisterOperation::Outcome;

bool Holds(const std::vector<RegisterOperation>& operations) {
  RegisterHistory history;
  for (const RegisterOperation& operation : operations) history.Add(operation);
  return history.IsLinearizable();
}
RegisterOperation Read(int64_t value, int64_t called, int64_t answered) {
  return {.kind = Kind::kRead, .value = value, .called = called, .answered = answered};
}
RegisterOperation Set(int64_t expected, int64_t value, int64_t called, int64_t answered, Outcome outcome = Outcome::kDone) {
  return {.kind = Kind::kCompareAndSet,
          .outcome = outcome,
          .expected = expected,
          .value = value,
          .called = called,
          .answered = answered};
}

TEST(LinearizabilityTest, TakesWhatCanHaveHappened) {
  EXPECT_TRUE(Holds({}));
  EXPECT_TRUE(Holds({Set(0, 1, 1, 2), Read(1, 3, 4)}));
  EXPECT_TRUE(Holds({Set(0, 1, 1, 5), Read(0, 2, 3), Read(1, 4, 6)})) << "the write took effect between the reads";
  EXPECT_TRUE(Holds({Set(0, 1, 1, 4), Set(0, 2, 2, 3, Outcome::kRefused)}));
  EXPECT_TRUE(Holds({Set(0, 1, 1, 2, Outcome::kUnknown), Read(0, 3, 4), Read(1, 5, 6)})) << "late";
  EXPECT_TRUE(Holds({Set(0, 1, 1, 2, Outcome::kUnknown), Read(0, 3, 4), Set(0, 2, 5, 6)})) << "never";
}

TEST(LinearizabilityTest, RefusesWhatCannot) {
  EXPECT_FALSE(Holds({Read(1, 1, 2)})) << "never written";
  EXPECT_FALSE(Holds({Set(0, 1, 1, 2), Read(0, 3, 4)})) << "a stale read";
  EXPECT_FALSE(Holds({Set(0, 1, 1, 2), Set(0, 2, 3, 4)})) << "a lost write";
  EXPECT_FALSE(Holds({Set(0, 1, 1, 4), Set(0, 2, 2, 3)})) << "both won";
  EXPECT_FALSE(Holds({Set(0, 1, 1, 2, Outcome::kRefused)})) << "it should have won";
  EXPECT_FALSE(Holds({Set(0, 1, 1, 9), Read(1, 2, 3), Read(0, 4, 5)})) << "backwards";
  EXPECT_FALSE(Holds({Set(0, 1, 3, 4, Outcome::kUnknown), Read(1, 1, 2)})) << "before it was asked for";
}

}  // namespace
}  // namespace evenkeel::embedded::store::linearizability_test
