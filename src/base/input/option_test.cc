#include "base/input/option.h"

#include <gtest/gtest.h>

namespace evenkeel::base::option_test {
namespace {

using namespace std::chrono_literals;

template <typename T, typename... Range>
std::string ErrorOf(std::string_view text, T value, Range... range) {
  const T before = value;
  const Status read = ReadOption(text, value, range...);
  EXPECT_TRUE(read || value == before) << text;
  return read ? "" : read.error().message();
}

TEST(OptionTest, TextsAreReadByTheirTypes) {
  for (const char* text : {"1", "t", "True", "TRUE"}) {
    bool value = false;
    EXPECT_TRUE(ReadOption(text, value) && value) << text;
  }
  int64_t whole = 0;
  double number = 0;
  Duration wait{};
  EXPECT_TRUE(ReadOption("-3", whole) && ReadOption("2.5", number, {0, 2.5}) && ReadOption("1h30m", wait));
  EXPECT_EQ(whole, -3);
  EXPECT_EQ(number, 2.5);
  EXPECT_EQ(wait, 90min);
}

TEST(OptionTest, WhatATextIsNotIsSaid) {
  EXPECT_EQ(ErrorOf("may\nbe", true), "\"may be\": not true or false");
  for (const char* text : {"", "1.5", "3x", " 3"}) EXPECT_NE(ErrorOf(text, int64_t{7}), "") << text;
  EXPECT_EQ(ErrorOf("1.5", int64_t{7}), "\"1.5\": not a whole number");
  EXPECT_EQ(ErrorOf("99999999999999999999", int64_t{7}), "\"99999999999999999999\": more than 64 bits hold");
  EXPECT_EQ(ErrorOf("0", int64_t{7}, OptionRange<int64_t>{1, 9}), "\"0\": must be at least 1");
  EXPECT_EQ(ErrorOf("10", int64_t{7}, OptionRange<int64_t>{1, 9}), "\"10\": must be at most 9");
  for (const char* text : {"", "nan", "inf", "1e999", "x"}) EXPECT_NE(ErrorOf(text, 7.0), "") << text;
  EXPECT_EQ(ErrorOf("1.5", 0.5, OptionRange<double>{0, 1}), "\"1.5\": must be at most 1");
  EXPECT_EQ(ErrorOf("10", Duration{}), "\"10\": not a duration such as 10s or 1h30m");
  EXPECT_EQ(ErrorOf("-1s", Duration{}), "\"-1s\": must not be negative");
}

TEST(OptionTest, RangesAndDefaultsAreShown) {
  EXPECT_EQ(OptionRange<int64_t>().Text() + OptionRange<double>().Text(), "");
  EXPECT_EQ((OptionRange<int64_t>{.min = 0}.Text()), "at least 0");
  EXPECT_EQ((OptionRange<double>{.max = 0.5}.Text()), "at most 0.5");
  EXPECT_EQ((OptionRange<double>{0, 1}.Text()), "0..1");
  EXPECT_EQ(OptionText(true) + OptionText(int64_t{3}) + OptionText(0.25) + OptionText(Duration(1h)), "true30.251h");
  EXPECT_EQ(Name(OptionType::kMulti), "string, repeatable");
}

TEST(OptionTest, WhatHasNoEffectIsChecked) {
  EXPECT_TRUE(CheckOption("anything", OptionType::kText));
  EXPECT_TRUE(CheckOption("3", OptionType::kInteger, {.min = 0}));
  EXPECT_FALSE(CheckOption("-3", OptionType::kInteger, {.min = 0}));
  EXPECT_FALSE(CheckOption("maybe", OptionType::kBool));
  EXPECT_FALSE(CheckOption("11", OptionType::kSeconds, {0, 10}));
  EXPECT_FALSE(CheckOption("11", OptionType::kDuration));
}

}  // namespace
}  // namespace evenkeel::base::option_test
