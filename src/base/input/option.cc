#include "base/input/option.h"

#include <charconv>
#include <cmath>

#include "base/text.h"
#include "base/utf8.h"

namespace evenkeel::base {
namespace {

template <typename T>
Status ReadNumber(std::string_view text, T& into, OptionRange<T> range, std::string_view what) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (std::is_integral_v<T> && error == std::errc::result_out_of_range) return WrongOption(text, "more than 64 bits hold");
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(static_cast<double>(value))) {
    return WrongOption(text, what);
  }
  if (value < range.min) return WrongOption(text, fmt::format("must be at least {}", range.min));
  if (value > range.max) return WrongOption(text, fmt::format("must be at most {}", range.max));
  into = value;
  return {};
}

/// Beyond what 64 bits hold there is no bound.
OptionRange<int64_t> WholeRange(OptionRange<double> range) {
  OptionRange<int64_t> whole;
  if (range.min > OptionRange<double>::kLowest) whole.min = static_cast<int64_t>(range.min);
  if (range.max < OptionRange<double>::kHighest) whole.max = static_cast<int64_t>(range.max);
  return whole;
}

}  // namespace

std::string_view Name(OptionType type) {
  constexpr std::string_view kNames[] = {"bool", "int", "float", "seconds", "duration", "string", "list", "string, repeatable"};
  return kNames[static_cast<size_t>(type)];
}

template <typename T>
std::string OptionRange<T>::Text() const {
  if (min > kLowest && max < kHighest) return fmt::format("{}..{}", min, max);
  if (min > kLowest) return fmt::format("at least {}", min);
  return max < kHighest ? fmt::format("at most {}", max) : "";
}
template struct OptionRange<int64_t>;
template struct OptionRange<double>;

Status ReadOption(std::string_view text, bool& into) {
  const std::string lower = Lower(text);
  const bool yes = lower == "true" || lower == "t" || lower == "1";
  if (!yes && lower != "false" && lower != "f" && lower != "0") return WrongOption(text, "not true or false");
  into = yes;
  return {};
}

Status ReadOption(std::string_view text, int64_t& into, OptionRange<int64_t> range) {
  return ReadNumber(text, into, range, "not a whole number");
}

Status ReadOption(std::string_view text, double& into, OptionRange<double> range) {
  return ReadNumber(text, into, range, "not a number");
}

Status ReadOption(std::string_view text, Duration& into) {
  const auto duration = ParseDuration(text);
  if (!duration) return WrongOption(text, "not a duration such as 10s or 1h30m");
  if (*duration < Duration{}) return WrongOption(text, "must not be negative");
  into = *duration;
  return {};
}

Status ReadOption(std::string_view text, std::string& into) {
  into = text;
  return {};
}

Status CheckOption(std::string_view text, OptionType type, OptionRange<double> range) {
  bool flag = false;
  int64_t whole = 0;
  double number = 0;
  Duration wait{};
  if (type == OptionType::kBool) return ReadOption(text, flag);
  if (type == OptionType::kInteger) return ReadOption(text, whole, WholeRange(range));
  if (type == OptionType::kNumber || type == OptionType::kSeconds) return ReadOption(text, number, range);
  if (type == OptionType::kDuration) return ReadOption(text, wait);
  return {};
}

std::unexpected<Error> WrongOption(std::string_view text, std::string_view what) {
  return Fail(Code::kBadRequest, "\"" + OneLine(text) + "\": " + std::string(what));
}

std::string OptionText(bool value) { return value ? "true" : "false"; }
std::string OptionText(int64_t value) { return std::to_string(value); }
std::string OptionText(double value) { return fmt::format("{}", value); }
std::string OptionText(Duration value) { return ShortDuration(value); }
std::string OptionText(const std::string& value) { return value; }

}  // namespace evenkeel::base
