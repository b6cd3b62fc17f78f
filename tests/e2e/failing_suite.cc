// A test program that fails in each of the ways in which one can: what tests/unit_screen.py makes of it,
// tests/e2e/harness_test.py tells.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

void Log(const char* what) {
  for (int i = 0; i < 60; ++i) fprintf(stderr, "%s %d\n", what, i);
}

TEST(FailingSuite, Passes) { Log("an error that is expected"); }

TEST(FailingSuite, Skips) { GTEST_SKIP() << "no such thing here"; }

TEST(FailingSuite, ExpectsSomethingElse) {
  Log("before it failed");
  fprintf(stderr, "GET /login?token=0123456789abcdef\n");
  EXPECT_EQ(6 * 9, 42) << "the second try";
}

class FailingParameters : public ::testing::TestWithParam<int> {};

TEST_P(FailingParameters, AreOdd) { EXPECT_EQ(GetParam() % 2, 1); }

INSTANTIATE_TEST_SUITE_P(Numbers, FailingParameters, ::testing::Values(1, 2));

TEST(FailingSuite, Dies) {
  Log("before it died");
  std::abort();
}

TEST(FailingSuite, Hangs) {
  Log("before it hung");
  fflush(stdout);
  std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace
