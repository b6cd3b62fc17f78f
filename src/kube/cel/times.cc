// Timestamps and durations. Follows: cel-go@v0.26.0 common/types/timestamp.go, duration.go
#include <chrono>

#include "base/time.h"
#include "base/time_zone.h"
#include "kube/cel/library.h"

namespace evenkeel::kube::cel {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr int64_t kNanosASecond = 1'000'000'000;

/// "+11:00", "-02:30", "02:00".
std::optional<seconds> FixedOffset(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  int hours = 0, minutes = 0;
  const auto read = [](std::string_view digits, int& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() && value >= 0;
  };
  if (!read(text.substr(0, 2), hours) || !read(text.substr(3), minutes)) return std::nullopt;
  const seconds offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  return negative ? -offset : offset;
}

/// The instant of a call on a timestamp as the clock shows it where the call says, or in UTC.
bool LocalTime(const Call& call, sys_seconds& local, Value& error) {
  local = sys_seconds(seconds(call.args[0].instant().seconds));
  if (call.args.size() < 2) return true;
  const std::string_view zone = call.args[1].text();
  if (zone.empty() || zone == "UTC") return true;
  std::optional<seconds> offset = FixedOffset(zone);
  if (!offset) offset = base::ZoneOffset(zone, local);
  if (!offset) {
    error = MakeError(call.arena, fmt::format("unknown time zone {}", zone));
    return false;
  }
  local += *offset;
  return true;
}

template <typename Part>
Value OfDate(const Call& call, Part part) {
  sys_seconds local;
  Value error;
  if (!LocalTime(call, local, error)) return error;
  const auto day = std::chrono::floor<std::chrono::days>(local);
  return Value::Int(part(std::chrono::year_month_day(day), day));
}

template <int64_t kUnit, int64_t kModulus>
Value OfDay(const Call& call) {
  sys_seconds local;
  Value error;
  if (!LocalTime(call, local, error)) return error;
  const auto second = (local - std::chrono::floor<std::chrono::days>(local)).count();
  return Value::Int(second / kUnit % kModulus);
}

void AddPart(Library& library, std::string_view name, Implementation run) {
  library.Add(name, "timestamp.() int", run);
  library.Add(name, "timestamp.(string) int", run);
}

}  // namespace

std::string TimestampText(const Value& value) {
  const auto [at, nanos] = value.instant();
  std::string text = base::FormatTime(base::CalendarTime{sys_seconds(seconds(at)), 0});
  if (nanos == 0) return text;
  text.pop_back();
  std::string fraction = fmt::format("{:09}", nanos);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return text + "." + fraction + "Z";
}

std::string DurationText(int64_t nanos) {
  const bool negative = nanos < 0;
  const uint64_t magnitude = negative ? ~static_cast<uint64_t>(nanos) + 1 : static_cast<uint64_t>(nanos);
  std::string text = fmt::format("{}{}", negative ? "-" : "", magnitude / kNanosASecond);
  if (const uint64_t rest = magnitude % kNanosASecond; rest != 0) {
    text += fmt::format(".{:09}", rest);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + "s";
}

Value ParseTimestamp(std::string_view text, Arena& arena) {
  const auto time = base::ParseCalendarTime(text);
  if (!time) return MakeError(arena, fmt::format("invalid timestamp \"{}\"", text.substr(0, 100)));
  const int64_t at = time->seconds.time_since_epoch().count();
  if (at < -62135596800 || at > 253402300799) return Value::Error("timestamp overflow: out of range");
  return Value::Timestamp(at, time->nanos);
}

Value ParseDurationText(std::string_view text, Arena& arena) {
  const auto duration = base::ParseDuration(text);
  if (!duration) return MakeError(arena, fmt::format("time: invalid duration \"{}\", or out of range", text.substr(0, 100)));
  return Value::Duration(duration->count());
}

void AddTimes(Library& library) {
  AddPart(library, "getFullYear",
          [](const Call& call) { return OfDate(call, [](auto date, auto) { return static_cast<int>(date.year()); }); });
  AddPart(library, "getMonth", [](const Call& call) {
    return OfDate(call, [](auto date, auto) { return static_cast<int64_t>(static_cast<unsigned>(date.month())) - 1; });
  });
  AddPart(library, "getDate", [](const Call& call) {
    return OfDate(call, [](auto date, auto) { return static_cast<int64_t>(static_cast<unsigned>(date.day())); });
  });
  AddPart(library, "getDayOfMonth", [](const Call& call) {
    return OfDate(call, [](auto date, auto) { return static_cast<int64_t>(static_cast<unsigned>(date.day())) - 1; });
  });
  AddPart(library, "getDayOfYear", [](const Call& call) {
    return OfDate(call, [](auto date, auto day) { return (day - std::chrono::sys_days(date.year() / 1 / 1)).count(); });
  });
  AddPart(library, "getDayOfWeek", [](const Call& call) {
    return OfDate(call, [](auto, auto day) { return static_cast<int64_t>(std::chrono::weekday(day).c_encoding()); });
  });
  AddPart(library, "getHours", OfDay<3600, 24>);
  AddPart(library, "getMinutes", OfDay<60, 60>);
  AddPart(library, "getSeconds", OfDay<1, 60>);
  AddPart(library, "getMilliseconds", [](const Call& call) {
    sys_seconds local;
    Value error;
    if (!LocalTime(call, local, error)) return error;
    return Value::Int(call.args[0].instant().nanos / 1'000'000);
  });
  library.Add("getHours", "duration.() int",
              [](const Call& call) { return Value::Int(call.args[0].int_value() / (3600 * kNanosASecond)); });
  library.Add("getMinutes", "duration.() int",
              [](const Call& call) { return Value::Int(call.args[0].int_value() / (60 * kNanosASecond)); });
  library.Add("getSeconds", "duration.() int",
              [](const Call& call) { return Value::Int(call.args[0].int_value() / kNanosASecond); });
  library.Add("getMilliseconds", "duration.() int",
              [](const Call& call) { return Value::Int(call.args[0].int_value() / 1'000'000); });
}

}  // namespace evenkeel::kube::cel
