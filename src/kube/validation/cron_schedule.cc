#include "kube/validation/cron_schedule.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <vector>

#include "base/text.h"
#include "base/time.h"

namespace evenkeel::kube::validation {
namespace {

constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view kDays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
constexpr std::string_view kDescriptors[] = {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"};
constexpr std::string_view kEvery = "@every ";

struct Bounds {
  int64_t min, max;
  std::span<const std::string_view> names{};  ///< of `min`, `min` + 1, ...
};
constexpr Bounds kFields[] = {{0, 59}, {0, 23}, {1, 31}, {1, 12, kMonths}, {0, 6, kDays}};

std::vector<std::string_view> Words(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  std::vector<std::string_view> words;
  for (size_t at = text.find_first_not_of(kSpaces); at != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kSpaces, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kSpaces, end);
  }
  return words;
}

/// "" and the number, or what is wrong with it.
std::string ReadNumber(std::string_view text, int64_t& number) {
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc::result_out_of_range) {
    return fmt::format("failed to parse int from {}: strconv.Atoi: parsing \"{}\": value out of range", text, text);
  }
  if (error != std::errc() || end != digits.data() + digits.size() || (digits.starts_with('-') && text.starts_with('+'))) {
    return fmt::format("failed to parse int from {}: strconv.Atoi: parsing \"{}\": invalid syntax", text, text);
  }
  return number < 0 ? fmt::format("negative number ({}) not allowed: {}", number, text) : "";
}

std::string ReadNumberOrName(std::string_view text, const Bounds& bounds, int64_t& number) {
  const auto same = [&](std::string_view name) { return base::EqualIgnoringCase(name, text); };
  const auto name = std::ranges::find_if(bounds.names, same);
  if (name == bounds.names.end()) return ReadNumber(text, number);
  number = bounds.min + (name - bounds.names.begin());
  return "";
}

/// NUMBER, NUMBER-NUMBER, * or ?, each with /STEP or without.
std::string CheckRange(std::string_view text, const Bounds& bounds) {
  const std::vector<std::string_view> with_step = base::Split(text, '/');
  const std::vector<std::string_view> ends = base::Split(with_step[0], '-');
  int64_t start = bounds.min, end = bounds.max, step = 1;
  if (ends[0] != "*" && ends[0] != "?") {
    if (std::string wrong = ReadNumberOrName(ends[0], bounds, start); !wrong.empty()) return wrong;
    if (ends.size() > 2) return fmt::format("too many hyphens: {}", text);
    end = start;
    if (ends.size() == 2) {
      if (std::string wrong = ReadNumberOrName(ends[1], bounds, end); !wrong.empty()) return wrong;
    }
  }
  if (with_step.size() > 2) return fmt::format("too many slashes: {}", text);
  if (with_step.size() == 2) {
    if (std::string wrong = ReadNumber(with_step[1], step); !wrong.empty()) return wrong;
    if (ends.size() == 1) end = bounds.max;
  }
  if (start < bounds.min) return fmt::format("beginning of range ({}) below minimum ({}): {}", start, bounds.min, text);
  if (end > bounds.max) return fmt::format("end of range ({}) above maximum ({}): {}", end, bounds.max, text);
  if (start > end) return fmt::format("beginning of range ({}) beyond end of range ({}): {}", start, end, text);
  return step == 0 ? fmt::format("step of range should be a positive number: {}", text) : "";
}

std::string CheckDescriptor(std::string_view text) {
  if (std::ranges::find(kDescriptors, text) != std::end(kDescriptors)) return "";
  if (!text.starts_with(kEvery)) return fmt::format("unrecognized descriptor: {}", text);
  const auto every = base::ParseDuration(text.substr(kEvery.size()));
  return every ? "" : fmt::format("failed to parse duration {}: {}", text, every.error().message());
}

}  // namespace

std::string CheckCronSchedule(std::string_view schedule) {
  if (schedule.empty()) return "empty spec string";
  if (schedule.starts_with('@')) return CheckDescriptor(schedule);
  const std::vector<std::string_view> fields = Words(schedule);
  if (fields.size() != std::size(kFields)) {
    return fmt::format("expected exactly {} fields, found {}: [{}]", std::size(kFields), fields.size(), fmt::join(fields, " "));
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    for (const std::string_view range : base::Split(fields[i], ',')) {
      if (range.empty()) continue;
      if (std::string wrong = CheckRange(range, kFields[i]); !wrong.empty()) return wrong;
    }
  }
  return "";
}

}  // namespace evenkeel::kube::validation
