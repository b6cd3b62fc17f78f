#include "balancing/model/amount_text.h"

#include <gtest/gtest.h>

namespace evenkeel::balancing::amount_text_test {
namespace {

TEST(AmountTextTest, InTheUnitOfTheMetric) {
  const Metric cpu{.name = "cpu", .unit = Unit::kMilli}, memory{.name = "memory", .unit = Unit::kByte}, load{.name = "load"};
  EXPECT_EQ(AmountText(cpu, 1500), "1.5");
  EXPECT_EQ(AmountText(cpu, 16000), "16");
  EXPECT_EQ(AmountText(cpu, 1), "0.001");
  EXPECT_EQ(AmountText(memory, 6442450944), "6Gi");
  EXPECT_EQ(AmountText(memory, 1536 << 10), "1.5Mi");
  EXPECT_EQ(AmountText(memory, 1000), "1000");
  EXPECT_EQ(AmountText(memory, -2048), "-2Ki");
  EXPECT_EQ(AmountText(load, 6442450944), "6442450944");
  EXPECT_EQ(AmountText(load, 0), "0");
}

TEST(AmountTextTest, WhatWasDividedIsMultiplied) {
  EXPECT_EQ(AmountText({.name = "memory", .unit = Unit::kByte, .scale = 1024}, 3), "3Ki");
}

TEST(AmountTextTest, Seconds) {
  EXPECT_EQ(SecondsText(5.90165), "5.9s");
  EXPECT_EQ(SecondsText(5), "5s");
  EXPECT_EQ(SecondsText(0.01), "0s");
  EXPECT_EQ(SecondsText(44.6), "45s");
  EXPECT_EQ(SecondsText(150), "2m30s");
}

}  // namespace
}  // namespace evenkeel::balancing::amount_text_test
