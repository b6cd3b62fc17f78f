// Numbers that stand alone in a text.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace evenkeel::base {

/// All of `text` in base 10, without blanks or a plus. Absent: it is no number, or none that the type holds.
template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// As Go's strconv.ParseInt(text, 10, 64) takes it: a plus may stand before it.
inline std::optional<int64_t> ParseGoInteger(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return ParseNumber<int64_t>(text);
}

}  // namespace evenkeel::base
