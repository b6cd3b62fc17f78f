#include "base/time.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "base/text.h"

namespace evenkeel::base {
namespace {

class MachineClock final : public Clock {
 public:
  Time Now() const override { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }
  Instant Monotonic() const override { return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now()); }
};

// `fraction_digits` 0 leaves the point out.
std::string FormatUtc(CalendarTime time, int fraction_digits) {
  const auto day = std::chrono::floor<std::chrono::days>(time.seconds);
  const std::chrono::year_month_day date(day);
  const auto of_day = (time.seconds - day).count();
  char buffer[64];
  int length =
      std::snprintf(buffer, sizeof buffer, "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), static_cast<int>(of_day / 3600),
                    static_cast<int>(of_day / 60 % 60), static_cast<int>(of_day % 60));
  if (fraction_digits == 6) {
    length += std::snprintf(buffer + length, sizeof buffer - static_cast<size_t>(length), ".%06d", time.nanos / 1000);
  }
  return std::string(buffer, static_cast<size_t>(length)) + "Z";
}

CalendarTime CalendarOf(Time time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return {seconds, static_cast<int32_t>((time - seconds).count())};
}

// Reads fixed-width pieces; a failed read stays failed.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : rest_(text) {}

  int Digits(size_t count) {
    int number = 0;
    for (size_t i = 0; i < count; ++i) {
      if (i >= rest_.size() || !IsDigit(rest_[i])) {
        ok_ = false;
        return 0;
      }
      number = number * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return number;
  }
  bool Accept(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void Expect(char c) { ok_ = Accept(c) && ok_; }
  int64_t FractionNanos() {
    int64_t nanos = 0;
    int64_t unit = 100'000'000;
    if (rest_.empty() || !IsDigit(rest_[0])) ok_ = false;
    for (; !rest_.empty() && IsDigit(rest_[0]); rest_.remove_prefix(1), unit /= 10) nanos += unit * (rest_[0] - '0');
    return nanos;
  }
  bool ok() const { return ok_; }
  bool finished() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

std::unexpected<Error> BadTime(std::string_view text, std::string_view why) {
  return Fail(Code::kBadRequest,
              "invalid time \"" + std::string(text) + "\": " + std::string(why) + ", e.g. 2024-12-15T01:13:04Z is right");
}

struct DurationUnit {
  std::string_view name;
  uint64_t nanos;
};

constexpr std::array kDurationUnits = {
    DurationUnit{"ns", 1},
    DurationUnit{"us", 1'000},
    DurationUnit{"\u00b5s", 1'000},
    DurationUnit{"\u03bcs", 1'000},
    DurationUnit{"ms", 1'000'000},
    DurationUnit{"s", 1'000'000'000},
    DurationUnit{"m", 60'000'000'000},
    DurationUnit{"h", 3'600'000'000'000},
};

// One "12.5ms" off the front of `rest`; the nanoseconds, or nothing where it is malformed or too large.
bool ReadDurationPart(std::string_view& rest, unsigned __int128& total) {
  unsigned __int128 whole = 0;
  unsigned __int128 fraction = 0;
  unsigned __int128 scale = 1;
  bool digits = false;
  for (; !rest.empty() && IsDigit(rest[0]); rest.remove_prefix(1)) {
    digits = true;
    whole = whole * 10 + static_cast<unsigned>(rest[0] - '0');
    if (whole > std::numeric_limits<uint64_t>::max()) return false;
  }
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    for (; !rest.empty() && IsDigit(rest[0]); rest.remove_prefix(1)) {
      digits = true;
      // Digits beyond the 18th are less than a nanosecond of any unit.
      if (scale >= 1'000'000'000'000'000'000) continue;
      fraction = fraction * 10 + static_cast<unsigned>(rest[0] - '0');
      scale *= 10;
    }
  }
  const size_t unit_end = rest.find_first_of(".0123456789");
  const std::string_view unit_name = rest.substr(0, unit_end);
  for (const DurationUnit& unit : kDurationUnits) {
    if (unit.name != unit_name) continue;
    rest.remove_prefix(unit_name.size());
    total += whole * unit.nanos + fraction * unit.nanos / scale;
    return digits;
  }
  return false;
}

std::string TrimmedFraction(uint64_t value, uint64_t unit) {
  std::string text = std::to_string(value / unit);
  uint64_t rest = value % unit;
  if (rest == 0) return text;
  text += '.';
  while (rest != 0) {
    unit /= 10;
    text += static_cast<char>('0' + rest / unit);
    rest %= unit;
  }
  return text;
}

// "5d", "5d3h": the larger unit, and the smaller one where it is not zero.
std::string TwoUnits(int64_t large, char large_name, int64_t small, char small_name) {
  std::string text = std::to_string(large) + large_name;
  if (small != 0) text += std::to_string(small) + small_name;
  return text;
}

}  // namespace

Clock& SystemClock() {
  static MachineClock clock;
  return clock;
}

std::string FormatTime(Time time) { return FormatUtc(CalendarOf(time), 0); }
std::string FormatMicroTime(Time time) { return FormatUtc(CalendarOf(time), 6); }
std::string FormatTime(CalendarTime time) { return FormatUtc(time, 0); }
std::string FormatMicroTime(CalendarTime time) { return FormatUtc(time, 6); }

Result<Time> ParseTime(std::string_view text) {
  EVENKEEL_ASSIGN(const CalendarTime time, ParseCalendarTime(text));
  // 64 bits of nanoseconds hold 1677-09-21 to 2262-04-11.
  const std::chrono::year year = std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(time.seconds)).year();
  if (year < std::chrono::year(1678) || year > std::chrono::year(2261)) {
    return BadTime(text, "only the years 1678 to 2261 are supported");
  }
  return Time(time.seconds) + Duration(time.nanos);
}

Result<CalendarTime> ParseCalendarTime(std::string_view text) {
  TimeReader reader(text);
  const int year = reader.Digits(4);
  reader.Expect('-');
  const int month = reader.Digits(2);
  reader.Expect('-');
  const int day = reader.Digits(2);
  reader.Expect('T');
  const int hour = reader.Digits(2);
  reader.Expect(':');
  const int minute = reader.Digits(2);
  reader.Expect(':');
  const int second = reader.Digits(2);
  const int64_t nanos = reader.Accept('.') ? reader.FractionNanos() : 0;
  int offset_minutes = 0;
  if (!reader.Accept('Z')) {
    const bool west = reader.Accept('-');
    if (!west) reader.Expect('+');
    const int offset_hour = reader.Digits(2);
    reader.Expect(':');
    const int offset_minute = reader.Digits(2);
    if (offset_hour > 23 || offset_minute > 59) return BadTime(text, "the offset is out of range");
    offset_minutes = (west ? -1 : 1) * (offset_hour * 60 + offset_minute);
  }
  if (!reader.finished()) return BadTime(text, "it is not RFC 3339");
  const std::chrono::year_month_day date(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return BadTime(text, "a field is out of range");
  const std::chrono::sys_seconds seconds = std::chrono::sys_days(date) + std::chrono::hours(hour) +
                                           std::chrono::minutes(minute - offset_minutes) + std::chrono::seconds(second);
  if (seconds < CalendarTime::kFirst || seconds > CalendarTime::kLast) return BadTime(text, "the year is not 0 to 9999");
  return CalendarTime{seconds, static_cast<int32_t>(nanos)};
}

Result<Duration> ParseDuration(std::string_view text) {
  const auto bad = [&] {
    return Fail(Code::kBadRequest, "invalid duration \"" + std::string(text) +
                                       "\": write a number and a unit (ns, us, ms, s, m, h), e.g. 1h15m30s");
  };
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return Duration(0);
  if (rest.empty()) return bad();
  const unsigned __int128 limit = negative ? uint64_t{1} << 63 : (uint64_t{1} << 63) - 1;
  unsigned __int128 total = 0;
  while (!rest.empty()) {
    if (!ReadDurationPart(rest, total) || total > limit) return bad();
  }
  const auto nanos = static_cast<uint64_t>(total);
  return Duration(static_cast<int64_t>(negative ? 0 - nanos : nanos));
}

std::string FormatDuration(Duration duration) {
  const int64_t count = duration.count();
  if (count == 0) return "0s";
  const uint64_t nanos = count < 0 ? 0 - static_cast<uint64_t>(count) : static_cast<uint64_t>(count);
  std::string text = count < 0 ? "-" : "";
  if (nanos < 1'000) return text + std::to_string(nanos) + "ns";
  if (nanos < 1'000'000) return text + TrimmedFraction(nanos, 1'000) + "\u00b5s";
  if (nanos < 1'000'000'000) return text + TrimmedFraction(nanos, 1'000'000) + "ms";
  const uint64_t minutes = nanos / 60'000'000'000;
  if (minutes >= 60) text += std::to_string(minutes / 60) + "h";
  if (minutes > 0) text += std::to_string(minutes % 60) + "m";
  return text + TrimmedFraction(nanos % 60'000'000'000, 1'000'000'000) + "s";
}

std::string ShortDuration(Duration duration) {
  std::string text = FormatDuration(duration);
  for (const std::string_view zero : {"m0s", "h0m"}) {
    if (text.ends_with(zero)) text.resize(text.size() - 2);
  }
  return text;
}

std::string HumanDuration(Duration duration) {
  const int64_t seconds = duration.count() / 1'000'000'000;
  const int64_t minutes = seconds / 60;
  const int64_t hours = minutes / 60;
  const int64_t days = hours / 24;
  // Clocks of two machines differ a little; two seconds and more are not a little.
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (minutes < 10) return TwoUnits(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return std::to_string(minutes) + "m";
  if (hours < 8) return TwoUnits(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return std::to_string(hours) + "h";
  if (days < 8) return TwoUnits(days, 'd', hours % 24, 'h');
  if (days < 2 * 365) return std::to_string(days) + "d";
  if (days < 8 * 365) return TwoUnits(days / 365, 'y', days % 365, 'd');
  return std::to_string(days / 365) + "y";
}

}  // namespace evenkeel::base
