#include "cli/terminal/printable.h"

#include <cstdint>

namespace evenkeel::cli {
namespace {

struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 0;  ///< 0: what is there is no UTF-8
};

/// The first of the text, which is not empty.
CodePoint FirstOf(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
  uint32_t value = first & (0x7FU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    value = value << 6U | (byte(i) & 0x3FU);
  }
  // Longer than it has to be, half of a pair of UTF-16, or beyond Unicode.
  const uint32_t least = bytes == 4 ? 0x10000 : bytes == 3 ? 0x800 : 0x80;
  if (value < least || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {};
  return {value, bytes};
}

bool IsShown(uint32_t value) {
  const bool control = value < 0x20 || (value >= 0x7F && value < 0xA0);
  const bool line_break = value == 0x2028 || value == 0x2029;
  const bool direction = (value >= 0x202A && value <= 0x202E) || (value >= 0x2066 && value <= 0x2069);
  return !control && !line_break && !direction;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const CodePoint next = FirstOf(text);
    const size_t bytes = next.bytes == 0 ? 1 : next.bytes;
    if (next.bytes != 0 && IsShown(next.value)) {
      shown += text.substr(0, bytes);
    } else {
      shown += ' ';
    }
    text.remove_prefix(bytes);
  }
  return shown;
}

size_t Columns(std::string_view text) {
  size_t columns = 0;
  for (const char c : text) columns += (static_cast<unsigned char>(c) & 0xC0U) == 0x80 ? 0 : 1;
  return columns;
}

std::string Fitted(std::string_view text, size_t columns) {
  std::string shown = Printable(text);
  size_t end = 0, taken = 0;
  for (; end < shown.size() && taken < columns; ++taken) end += FirstOf(std::string_view(shown).substr(end)).bytes;
  shown.resize(end);
  return shown.append(columns - taken, ' ');
}

}  // namespace evenkeel::cli
