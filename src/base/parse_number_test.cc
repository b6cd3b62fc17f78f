#include "base/parse_number.h"

#include <gtest/gtest.h>

namespace evenkeel::base::parse_number_test {
namespace {

TEST(ParseNumberTest, TakesAllOfATextOrNothing) {
  EXPECT_EQ(ParseNumber<int64_t>("-12"), -12);
  EXPECT_EQ(ParseNumber<double>("0.25"), 0.25);
  EXPECT_EQ(ParseNumber<int64_t>("9223372036854775807"), INT64_MAX);
  for (const char* text : {"", "-", " 1", "1 ", "+1", "1x", "0x1", "9223372036854775808"}) {
    EXPECT_EQ(ParseNumber<int64_t>(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseNumber<uint16_t>("65535"), 65535);
  EXPECT_EQ(ParseNumber<uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(ParseNumber<uint64_t>("-1"), std::nullopt);
}

TEST(ParseNumberTest, GoTakesOneSign) {
  EXPECT_EQ(ParseGoInteger("+7"), 7);
  EXPECT_EQ(ParseGoInteger("-7"), -7);
  for (const char* text : {"", "+", "++7", "+-7", "-+7"}) EXPECT_EQ(ParseGoInteger(text), std::nullopt) << text;
}

}  // namespace
}  // namespace evenkeel::base::parse_number_test
