#include "controllers/balancer/move_windows.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::balancer::move_windows_test {
namespace {

base::Result<std::vector<MoveWindow>> Read(std::string_view text) {
  const base::Json json = *base::ParseJson(text, "test");
  std::vector<MoveWindow> windows;
  EVENKEEL_TRY(ReadMoveWindows(base::Field(&json, "", "windows", base::Code::kInvalid), windows));
  return windows;
}

std::string Refusal(std::string_view text) {
  const auto windows = Read(text);
  return windows ? "" : windows.error().message();
}

base::Time At(std::string_view time) { return *base::ParseTime(time); }

std::string Why(std::string_view windows, std::string_view time) { return WhyOutside(*Read(windows), At(time)); }

// 2026-01-02 is a Friday.
TEST(MoveWindowsTest, WithoutWindowsMovesBeginAtAnyTime) { EXPECT_EQ(Why("[]", "2026-01-02T12:00:00Z"), ""); }

TEST(MoveWindowsTest, AWindowIsOpenFromItsBeginUntilBeforeItsEnd) {
  constexpr const char* kWindow = R"([{"days": ["Fri"], "from": "10:00", "to": "12:30"}])";
  EXPECT_EQ(Why(kWindow, "2026-01-02T09:59:59Z"),
            "moves begin only within spec.windows, the next of which begins at 2026-01-02T10:00:00Z");
  EXPECT_EQ(Why(kWindow, "2026-01-02T10:00:00Z"), "");
  EXPECT_EQ(Why(kWindow, "2026-01-02T12:29:59Z"), "");
  EXPECT_EQ(Why(kWindow, "2026-01-02T12:30:00Z"),
            "moves begin only within spec.windows, the next of which begins at 2026-01-09T10:00:00Z");
}

TEST(MoveWindowsTest, AWindowOverMidnightBelongsToTheDayOnWhichItBegins) {
  constexpr const char* kWindow = R"([{"days": ["Fri"], "from": "22:00", "to": "06:00"}])";
  EXPECT_EQ(Why(kWindow, "2026-01-03T05:59:00Z"), "");
  EXPECT_NE(Why(kWindow, "2026-01-03T22:30:00Z"), "") << "Saturday night";
  EXPECT_NE(Why(kWindow, "2026-01-02T05:00:00Z"), "") << "Thursday's night";
}

TEST(MoveWindowsTest, ADayWithoutTimesIsOpenAllDay) {
  constexpr const char* kWeekend = R"([{"days": ["Sat", "Sun"]}])";
  EXPECT_EQ(Why(kWeekend, "2026-01-03T00:00:00Z"), "");
  EXPECT_EQ(Why(kWeekend, "2026-01-04T23:59:59Z"), "");
  EXPECT_EQ(Why(kWeekend, "2026-01-05T00:00:00Z"),
            "moves begin only within spec.windows, the next of which begins at 2026-01-10T00:00:00Z");
}

TEST(MoveWindowsTest, AnyOfSeveralWindowsWillDo) {
  constexpr const char* kWindows = R"([{"from": "01:00", "to": "02:00"}, {"from": "03:00", "to": "04:00"}])";
  EXPECT_EQ(Why(kWindows, "2026-01-02T01:30:00Z"), "");
  EXPECT_EQ(Why(kWindows, "2026-01-02T03:30:00Z"), "");
  EXPECT_TRUE(Why(kWindows, "2026-01-02T02:30:00Z").ends_with("2026-01-02T03:00:00Z"));
}

TEST(MoveWindowsTest, TheZonesClockCountsAlsoWhenItIsPutForward) {
  constexpr const char* kWindow = R"([{"from": "10:00", "to": "11:00", "timeZone": "Europe/Berlin"}])";
  EXPECT_EQ(Why(kWindow, "2026-01-02T09:30:00Z"), "") << "an hour ahead of UTC";
  EXPECT_EQ(Why(kWindow, "2026-07-02T08:30:00Z"), "") << "two hours ahead";
  EXPECT_TRUE(Why(kWindow, "2026-03-28T12:00:00Z").ends_with("2026-03-29T08:00:00Z")) << "the night of the change";
}

TEST(MoveWindowsTest, RefusesInOneLineThatSaysWhere) {
  EXPECT_EQ(Refusal(R"([{"from": "25:00"}])"), "windows[0].from: \"25:00\" is no time from 00:00 to 24:00");
  EXPECT_EQ(Refusal(R"([{"from": "9:00"}])"), "windows[0].from: \"9:00\" is no time from 00:00 to 24:00");
  EXPECT_EQ(Refusal(R"([{"from": "10:61"}])"), "windows[0].from: \"10:61\" is no time from 00:00 to 24:00");
  EXPECT_EQ(Refusal(R"([{"from": "10:00", "to": "10:00"}])"), "windows[0]: from and to are the same time");
  EXPECT_EQ(Refusal(R"([{"timeZone": "Moon/Sea"}])"), "windows[0].timeZone: the system knows no time zone \"Moon/Sea\"");
  EXPECT_EQ(Refusal(R"([{"days": ["Friday"]}])"), "windows[0].days[0]: \"Friday\" is not Sun, Mon, Tue, Wed, Thu, Fri or Sat");
  EXPECT_EQ(Refusal(R"(["night"])"), "windows[0]: not an object");
}

}  // namespace
}  // namespace evenkeel::controllers::balancer::move_windows_test
