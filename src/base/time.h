// Instants and durations. Wall time is for people and the API; durations are measured with the monotonic clock.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace evenkeel::base {

using Duration = std::chrono::nanoseconds;
/// Wall time, UTC.
using Time = std::chrono::sys_time<std::chrono::nanoseconds>;
/// An instant of the monotonic clock of one process (or of virtual time). Never leaves the process.
using Instant = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

using namespace std::chrono_literals;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time Now() const = 0;
  virtual Instant Monotonic() const = 0;
};

/// The machine's clocks. Thread-safe; lives for the whole process.
Clock& SystemClock();

/// "2024-12-15T01:13:04Z": Kubernetes Time, whole seconds, truncated.
std::string FormatTime(Time time);
/// "2024-12-15T01:13:04.000123Z": Kubernetes MicroTime.
std::string FormatMicroTime(Time time);
/// RFC 3339 with any offset and fraction (kept to nanoseconds); kBadRequest names the text.
Result<Time> ParseTime(std::string_view text);

/// An instant of the years 0 to 9999, of which Time holds only 1678 to 2261: what objects may say, not what is counted with.
struct CalendarTime {
  static constexpr std::chrono::sys_seconds kFirst = std::chrono::sys_days(std::chrono::year(0) / 1 / 1);
  static constexpr std::chrono::sys_seconds kLast =
      std::chrono::sys_days(std::chrono::year(10000) / 1 / 1) - std::chrono::seconds(1);
  std::chrono::sys_seconds seconds;
  int32_t nanos = 0;  ///< 0 to 999,999,999
};
/// As ParseTime, for all those years.
Result<CalendarTime> ParseCalendarTime(std::string_view text);
std::string FormatTime(CalendarTime time);
std::string FormatMicroTime(CalendarTime time);

/// Go's duration syntax, e.g. "1h15m30.918s", "300ms"; kBadRequest names the text.
Result<Duration> ParseDuration(std::string_view text);
/// As Go prints it: "1h0m0s", "1.5s", "300ms", "0s".
std::string FormatDuration(Duration duration);
/// As people write them: "1h", "1m30s".
std::string ShortDuration(Duration duration);
/// As kubectl prints ages: "5s", "2m30s", "3h12m", "5d", "2y31d".
std::string HumanDuration(Duration duration);

}  // namespace evenkeel::base
