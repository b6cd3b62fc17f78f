#include "kube/validation/cron_schedule.h"

#include <gtest/gtest.h>

namespace evenkeel::kube::validation::cron_schedule_test {
namespace {

TEST(CronScheduleTest, WhatRobfigsParserTakesIsTaken) {
  for (const std::string_view schedule :
       {"* * * * *",    "*/5 * * * *",      "0 0 1 1 0",  "59 23 31 12 6",  "0 9-17 * * MON-FRI", "0 9-17/2 ? jan,JUL sun",
        "5/15 * * * *", "0,30,,45 * * * *", "+5 * * * *", "  0  0 * * *  ", "0\t0 * * *",         "@yearly",
        "@annually",    "@monthly",         "@weekly",    "@daily",         "@midnight",          "@hourly",
        "@every 1h30m", ", * * * *"}) {
    EXPECT_EQ(CheckCronSchedule(schedule), "") << schedule;
  }
}

TEST(CronScheduleTest, WhatItRefusesIsRefusedInItsWords) {
  const std::pair<std::string_view, std::string_view> refused[] = {
      {"", "empty spec string"},
      {"* * * *", "expected exactly 5 fields, found 4: [* * * *]"},
      {"  * *  * * * * ", "expected exactly 5 fields, found 6: [* * * * * *]"},
      {"60 * * * *", "end of range (60) above maximum (59): 60"},
      {"* 24 * * *", "end of range (24) above maximum (23): 24"},
      {"* * 0 * *", "beginning of range (0) below minimum (1): 0"},
      {"* * * 13 *", "end of range (13) above maximum (12): 13"},
      {"* * * * 7", "end of range (7) above maximum (6): 7"},
      {"5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"},
      {"*/0 * * * *", "step of range should be a positive number: */0"},
      {"1/2/3 * * * *", "too many slashes: 1/2/3"},
      {"1-2-3 * * * *", "too many hyphens: 1-2-3"},
      {"a * * * *", "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax"},
      {"mon * * * *", "failed to parse int from mon: strconv.Atoi: parsing \"mon\": invalid syntax"},
      {"99999999999999999999 * * * *",
       "failed to parse int from 99999999999999999999: strconv.Atoi: parsing \"99999999999999999999\": value out of range"},
      {"1/-2 * * * *", "negative number (-2) not allowed: -2"},
      {"-2 * * * *", "failed to parse int from : strconv.Atoi: parsing \"\": invalid syntax"},
      {"@fortnightly", "unrecognized descriptor: @fortnightly"},
  };
  for (const auto& [schedule, why] : refused) EXPECT_EQ(CheckCronSchedule(schedule), why) << schedule;
  EXPECT_TRUE(CheckCronSchedule("@every soon").starts_with("failed to parse duration @every soon: "));
}

}  // namespace
}  // namespace evenkeel::kube::validation::cron_schedule_test
