#include "base/time.h"

#include <gtest/gtest.h>

namespace evenkeel::base::time_test {
namespace {

TEST(CalendarTimeTest, HoldsTheYearsThatObjectsMaySay) {
  for (const char* text : {"0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "1677-01-01T00:00:00Z", "9999-12-31T23:59:59Z"}) {
    const auto time = ParseCalendarTime(text);
    ASSERT_TRUE(time.has_value()) << text;
    EXPECT_EQ(FormatTime(*time), text);
    EXPECT_FALSE(ParseTime(text).has_value()) << text;
  }
  EXPECT_EQ(FormatMicroTime(*ParseCalendarTime("9999-12-31T23:59:59.999999999Z")), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(FormatMicroTime(*ParseCalendarTime("0001-01-01T00:30:00.5+01:00")), "0000-12-31T23:30:00.500000Z");
  for (const char* text : {"9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+00:01", "10000-01-01T00:00:00Z"}) {
    EXPECT_FALSE(ParseCalendarTime(text).has_value()) << text;
  }
}

TEST(TimeTest, FormatsWholeSecondsAndMicroseconds) {
  const Time time = Time(1734225184s) + 123456789ns;
  EXPECT_EQ(FormatTime(time), "2024-12-15T01:13:04Z");
  EXPECT_EQ(FormatMicroTime(time), "2024-12-15T01:13:04.123456Z");
  EXPECT_EQ(FormatTime(Time(-1s)), "1969-12-31T23:59:59Z");
}

TEST(TimeTest, ParsesOffsetsAndFractions) {
  EXPECT_EQ(*ParseTime("2024-12-15T01:13:04Z"), Time(1734225184s));
  EXPECT_EQ(*ParseTime("2024-12-15T02:43:04+01:30"), Time(1734225184s));
  EXPECT_EQ(*ParseTime("2024-12-14T20:13:04-05:00"), Time(1734225184s));
  EXPECT_EQ(*ParseTime("2024-12-15T01:13:04.123456789123Z"), Time(1734225184s) + 123456789ns);
  EXPECT_EQ(*ParseTime("2024-02-29T00:00:00.5Z"), *ParseTime("2024-02-29T00:00:00Z") + 500ms);
}

TEST(TimeTest, RefusesWhatIsNotRfc3339) {
  for (const std::string_view text :
       {"", "now", "2024-12-15", "2024-12-15 01:13:04Z", "2024-12-15T01:13:04", "2024-13-15T01:13:04Z", "2023-02-29T00:00:00Z",
        "2024-12-15T24:00:00Z", "2024-12-15T01:60:04Z", "2024-12-15T01:13:60Z", "2024-12-15T01:13:04.Z",
        "2024-12-15T01:13:04Zx", "2024-12-15T01:13:04+25:00", "9999-12-15T01:13:04Z", "24-12-15T01:13:04Z"}) {
    const auto time = ParseTime(text);
    ASSERT_FALSE(time) << text;
    EXPECT_EQ(time.error().code(), Code::kBadRequest);
    EXPECT_NE(time.error().message().find("\"" + std::string(text) + "\""), std::string::npos);
  }
}

TEST(TimeTest, ParsesGoDurations) {
  EXPECT_EQ(*ParseDuration("1h15m30.918s"), 1h + 15min + 30918ms);
  EXPECT_EQ(*ParseDuration("300ms"), 300ms);
  EXPECT_EQ(*ParseDuration("-1.5h"), -90min);
  EXPECT_EQ(*ParseDuration("+5s"), 5s);
  EXPECT_EQ(*ParseDuration("0"), 0s);
  EXPECT_EQ(*ParseDuration(".5s"), 500ms);
  EXPECT_EQ(*ParseDuration("1.s"), 1s);
  EXPECT_EQ(*ParseDuration("10us"), 10us);
  EXPECT_EQ(*ParseDuration("10µs"), 10us);
  EXPECT_EQ(*ParseDuration("0.1ns"), 0ns);
  EXPECT_EQ(*ParseDuration("0.33333333333333333333h"), 20min - 1ns);
  EXPECT_EQ(ParseDuration("-9223372036854775808ns")->count(), std::numeric_limits<int64_t>::min());
}

TEST(TimeTest, RefusesDurationsWithoutUnitOrTooLong) {
  for (const std::string_view text :
       {"", "3", "-", "s", ".s", "1x", "1h 2m", "5 s", "3000000h", "9223372036854775808ns", "1d"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
}

TEST(TimeTest, FormatsDurationsAsGo) {
  EXPECT_EQ(FormatDuration(0s), "0s");
  EXPECT_EQ(FormatDuration(1h), "1h0m0s");
  EXPECT_EQ(FormatDuration(90s), "1m30s");
  EXPECT_EQ(ShortDuration(0s), "0s");
  EXPECT_EQ(ShortDuration(1h), "1h");
  EXPECT_EQ(ShortDuration(2min), "2m");
  EXPECT_EQ(ShortDuration(90s), "1m30s");
  EXPECT_EQ(ShortDuration(1h + 30s), "1h0m30s");
  EXPECT_EQ(FormatDuration(1500ms), "1.5s");
  EXPECT_EQ(FormatDuration(300ms), "300ms");
  EXPECT_EQ(FormatDuration(1100us), "1.1ms");
  EXPECT_EQ(FormatDuration(1100ns), "1.1µs");
  EXPECT_EQ(FormatDuration(7ns), "7ns");
  EXPECT_EQ(FormatDuration(-90s), "-1m30s");
  EXPECT_EQ(FormatDuration(Duration::min()), "-2562047h47m16.854775808s");
}

TEST(TimeTest, FormattedDurationsParseBack) {
  for (int64_t nanos = 1; nanos < 4'000'000'000'000'000; nanos = nanos * 7 + 3) {
    EXPECT_EQ(*ParseDuration(FormatDuration(Duration(nanos))), Duration(nanos));
    EXPECT_EQ(*ParseDuration(FormatDuration(Duration(-nanos))), Duration(-nanos));
  }
}

TEST(TimeTest, HumanDurationsReadAsKubectlPrintsAges) {
  const std::vector<std::pair<Duration, std::string_view>> ages = {
      {-2s, "<invalid>"},
      {-1500ms, "0s"},
      {0s, "0s"},
      {1999ms, "1s"},
      {119s, "119s"},
      {2min, "2m"},
      {150s, "2m30s"},
      {10min - 1s, "9m59s"},
      {10min + 59s, "10m"},
      {179min, "179m"},
      {3h, "3h"},
      {3h + 12min, "3h12m"},
      {8h + 59min, "8h"},
      {47h, "47h"},
      {48h, "2d"},
      {49h, "2d1h"},
      {24h * 8 - 1h, "7d23h"},
      {24h * 8 + 5h, "8d"},
      {24h * 365, "365d"},
      {24h * 365 * 2, "2y"},
      {24h * (365 * 2 + 31), "2y31d"},
      {24h * 365 * 8, "8y"},
      {24h * (365 * 9 + 3), "9y"},
  };
  for (const auto& [age, text] : ages) EXPECT_EQ(HumanDuration(age), text);
}

TEST(TimeTest, TheMonotonicClockDoesNotGoBack) {
  const Instant before = SystemClock().Monotonic();
  EXPECT_LE(before, SystemClock().Monotonic());
  EXPECT_GT(SystemClock().Now(), *ParseTime("2020-01-01T00:00:00Z"));
}

}  // namespace
}  // namespace evenkeel::base::time_test
