#include "base/input/yaml_scalar.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace evenkeel::base {
namespace {

bool IsYamlDigit(char c) { return c >= '0' && c <= '9'; }

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// The digits in `base`, negated where asked; nothing where they are not digits of that base or do not fit 64 bits.
std::optional<Json> ParseYamlInteger(std::string_view digits, int base, bool negative) {
  uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (negative) {
    if (magnitude > uint64_t{1} << 63) return std::nullopt;
    return Json(static_cast<int64_t>(0 - magnitude));
  }
  if (magnitude > static_cast<uint64_t>(INT64_MAX)) return Json(magnitude);
  return Json(static_cast<int64_t>(magnitude));
}

// [0-9]+(.[0-9]*)? or .[0-9]+, then an exponent or not.
bool IsYamlFloat(std::string_view text) {
  size_t at = 0;
  const auto skip_digits = [&] {
    const size_t from = at;
    while (at < text.size() && IsYamlDigit(text[at])) ++at;
    return at - from;
  };
  const size_t whole = skip_digits();
  size_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    ++at;
    fraction = skip_digits();
  }
  if (whole + fraction == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (skip_digits() == 0) return false;
  }
  return at == text.size();
}

std::optional<Json> ParseYamlFloat(std::string_view text, bool negative) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // Too small for a double reads as zero, too large has no JSON.
  if (error == std::errc::result_out_of_range && std::fabs(number) > 1) return std::nullopt;
  if (!std::isfinite(number)) return std::nullopt;
  if (negative) number = -number;
  if (std::trunc(number) == number && std::fabs(number) < 0x1p63) return Json(static_cast<int64_t>(number));
  return Json(number);
}

// Clears `is_number` where the text is not a number at all.
std::optional<Json> ParseYamlNumber(std::string_view text, bool& is_number) {
  std::string plain;
  for (const char c : text) {
    if (c != '_') plain += c;
  }
  std::string_view rest = plain;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (IsOneOf(rest, {".inf", ".Inf", ".INF"}) || IsOneOf(plain, {".nan", ".NaN", ".NAN"})) return std::nullopt;
  std::optional<Json> integer;
  if (rest.size() > 1 && rest[0] == '0') {
    const char kind = static_cast<char>(rest[1] | 0x20);
    const int base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
    integer = ParseYamlInteger(rest.substr(kind == 'x' || kind == 'b' || kind == 'o' ? 2 : 1), base, negative);
  } else {
    integer = ParseYamlInteger(rest, 10, negative);
  }
  if (integer) return integer;
  if (IsYamlFloat(rest)) return ParseYamlFloat(rest, negative);
  is_number = false;
  return std::nullopt;
}

}  // namespace

std::optional<Json> ResolveYamlScalar(std::string_view text) {
  if (text.empty()) return Json(nullptr);
  const char first = text[0];
  if (IsYamlDigit(first) || first == '.' || first == '-' || first == '+') {
    bool is_number = true;
    std::optional<Json> number = ParseYamlNumber(text, is_number);
    if (is_number) return number;
  } else if (text.size() <= 5) {
    if (IsOneOf(text, {"~", "null", "Null", "NULL"})) return Json(nullptr);
    if (IsOneOf(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) return Json(true);
    if (IsOneOf(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) return Json(false);
  }
  return Json(boost::json::string(text));
}

bool LooksLikeYamlTimestampOrSexagesimal(std::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && IsYamlDigit(text[digits])) ++digits;
  if (digits == 4 && text.size() > 5 && text[4] == '-' && IsYamlDigit(text[5])) return true;
  const bool sign = text.starts_with('-') || text.starts_with('+');
  const std::string_view rest = text.substr(sign ? 1 : 0);
  return !rest.empty() && IsYamlDigit(rest[0]) && rest.find(':') != std::string_view::npos &&
         rest.find_first_not_of("0123456789_:.") == std::string_view::npos;
}

}  // namespace evenkeel::base
