#include "base/result.h"

#include <gtest/gtest.h>

namespace evenkeel::base::result_test {
namespace {

TEST(ResultTest, CodesMapToHttpReasonAndExitStatus) {
  EXPECT_EQ(HttpStatus(Code::kConflict), 409);
  EXPECT_EQ(Reason(Code::kAlreadyExists), "AlreadyExists");
  EXPECT_EQ(ExitStatus(Code::kInfeasible), 3);
  EXPECT_EQ(ExitStatus(Code::kBadRequest), 2);
  EXPECT_TRUE(IsRetryable(Code::kUnavailable));
  EXPECT_FALSE(IsRetryable(Code::kNotFound));
}

TEST(ResultTest, TheReasonOnTheWireWinsOverTheStatus) {
  EXPECT_EQ(CodeFromWire(409, "AlreadyExists"), Code::kAlreadyExists);
  EXPECT_EQ(CodeFromWire(409, ""), Code::kConflict);
  EXPECT_EQ(CodeFromWire(410, "Gone"), Code::kExpired);
  EXPECT_EQ(CodeFromWire(502, ""), Code::kUnavailable);
  EXPECT_EQ(CodeFromWire(599, ""), Code::kInternal);
  EXPECT_EQ(CodeFromWire(418, ""), Code::kBadRequest);
}

TEST(ResultTest, WrapKeepsCodeAndDetails) {
  const Error error = Error(Code::kInvalid, "too small", {.name = "web"}).Wrap("creating pod web");
  EXPECT_EQ(error.message(), "creating pod web: too small");
  EXPECT_EQ(error.code(), Code::kInvalid);
  ASSERT_NE(error.details(), nullptr);
  EXPECT_EQ(error.details()->name, "web");
}

Result<int> Half(int number) {
  if (number % 2 != 0) return Fail(Code::kInvalid, "odd");
  return number / 2;
}

Result<int> Quarter(int number) {
  EVENKEEL_ASSIGN(const int half, Half(number));
  EVENKEEL_TRY(Half(half));
  return half / 2;
}

TEST(ResultTest, MacrosHandErrorsOn) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_FALSE(Quarter(6));
  EXPECT_FALSE(Quarter(7));
}

}  // namespace
}  // namespace evenkeel::base::result_test
