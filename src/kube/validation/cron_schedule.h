// The schedules of CronJobs.
#pragma once

#include <string>
#include <string_view>

namespace evenkeel::kube::validation {

/// "" for a schedule of five fields (minute, hour, day of the month, month, day of the week) or a descriptor as @daily or
/// "@every 1h"; otherwise what is wrong, in upstream's words. O(length).
/// Follows: robfig/cron@v3.0.1 parser.go, which kubernetes@1.36 pkg/apis/batch/validation asks.
std::string CheckCronSchedule(std::string_view schedule);

}  // namespace evenkeel::kube::validation
