#include "controllers/balancer/move_windows.h"

#include <algorithm>

#include "base/text.h"
#include "base/time_zone.h"

namespace evenkeel::controllers::balancer {
namespace {

namespace chrono = std::chrono;

constexpr int kDaysOfWeek = 7;
constexpr std::pair<std::string_view, uint8_t> kDays[] = {{"Sun", 0}, {"Mon", 1}, {"Tue", 2}, {"Wed", 3},
                                                          {"Thu", 4}, {"Fri", 5}, {"Sat", 6}};

/// "HH:MM" from 00:00 to 24:00.
base::Status ReadTimeOfDay(const base::Field& field, chrono::minutes& into) {
  std::string text;
  EVENKEEL_TRY(field.Text(text));
  if (!field) return {};
  constexpr size_t kLength = 5, kColon = 2;
  const bool formed = text.size() == kLength && text[kColon] == ':' && base::IsDigit(text[0]) && base::IsDigit(text[1]) &&
                      base::IsDigit(text[3]) && base::IsDigit(text[4]);
  const auto number = [&](size_t at) { return (text[at] - '0') * 10 + (text[at + 1] - '0'); };
  if (!formed || number(3) > 59 || chrono::hours(number(0)) + chrono::minutes(number(3)) > chrono::hours(24)) {
    return field.Wrong("\"" + text + "\" is no time from 00:00 to 24:00");
  }
  into = chrono::hours(number(0)) + chrono::minutes(number(3));
  return {};
}

chrono::seconds OffsetOf(const MoveWindow& window, chrono::sys_seconds at) {
  return base::ZoneOffset(window.zone, at).value_or(chrono::seconds(0));
}

bool BeginsOn(const MoveWindow& window, chrono::sys_days local_day) {
  return (window.days >> chrono::weekday(local_day).c_encoding() & 1) != 0;
}

bool IsOpen(const MoveWindow& window, chrono::sys_seconds now) {
  const chrono::sys_seconds local = now + OffsetOf(window, now);
  const chrono::sys_days today = chrono::floor<chrono::days>(local);
  const chrono::seconds time = local - today;
  if (window.from < window.to) return BeginsOn(window, today) && time >= window.from && time < window.to;
  return (BeginsOn(window, today) && time >= window.from) || (BeginsOn(window, today - chrono::days(1)) && time < window.to);
}

chrono::sys_seconds NextBegin(const MoveWindow& window, chrono::sys_seconds now) {
  const chrono::seconds offset = OffsetOf(window, now);
  const chrono::sys_days today = chrono::floor<chrono::days>(now + offset);
  for (int ahead = 0; ahead <= kDaysOfWeek; ++ahead) {
    const chrono::sys_days day = today + chrono::days(ahead);
    if (!BeginsOn(window, day)) continue;
    // The offset of now tells about when that is, and then the one of that instant counts.
    const chrono::sys_seconds local = day + window.from;
    const chrono::sys_seconds begin = local - OffsetOf(window, local - offset);
    if (begin > now) return begin;
  }
  return chrono::sys_seconds::max();
}

}  // namespace

base::Status ReadMoveWindows(const base::Field& field, std::vector<MoveWindow>& windows) {
  return field.ForEach([&](const base::Field& item) -> base::Status {
    EVENKEEL_TRY(item.IsObject());
    MoveWindow& window = windows.emplace_back();
    uint8_t named = 0;
    EVENKEEL_TRY(item["days"].ForEach([&](const base::Field& day) -> base::Status {
      uint8_t number = 0;
      EVENKEEL_TRY(day.Word<uint8_t>(number, kDays));
      named = static_cast<uint8_t>(named | 1 << number);
      return {};
    }));
    if (named != 0) window.days = named;
    EVENKEEL_TRY(ReadTimeOfDay(item["from"], window.from));
    EVENKEEL_TRY(ReadTimeOfDay(item["to"], window.to));
    if (window.from == window.to) return item.Wrong("from and to are the same time");
    EVENKEEL_TRY(item["timeZone"].Text(window.zone));
    if (base::ZoneOffset(window.zone, chrono::sys_seconds())) return {};
    return item["timeZone"].Wrong("the system knows no time zone \"" + window.zone + "\"");
  });
}

std::string WhyOutside(const std::vector<MoveWindow>& windows, base::Time now) {
  if (windows.empty()) return "";
  const chrono::sys_seconds at = chrono::floor<chrono::seconds>(now);
  chrono::sys_seconds next = chrono::sys_seconds::max();
  for (const MoveWindow& window : windows) {
    if (IsOpen(window, at)) return "";
    next = std::min(next, NextBegin(window, at));
  }
  const std::string when = next == chrono::sys_seconds::max() ? "" : ", the next of which begins at " + base::FormatTime(next);
  return "moves begin only within spec.windows" + when;
}

}  // namespace evenkeel::controllers::balancer
