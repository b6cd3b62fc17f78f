#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace evenkeel::base {

namespace {

bool IsAscii(std::string_view text) {
  constexpr uint64_t kNotAscii = 0x8080808080808080;
  uint64_t eight = 0;
  if (text.size() < sizeof eight) {
    unsigned all = 0;
    for (const char c : text) all |= static_cast<unsigned char>(c);
    return all < 0x80;
  }
  const char* const last = text.data() + text.size() - sizeof eight;
  for (const char* at = text.data();; at += sizeof eight) {
    std::memcpy(&eight, at < last ? at : last, sizeof eight);
    if ((eight & kNotAscii) != 0) return false;
    if (at >= last) return true;
  }
}

}  // namespace

size_t FindNotUtf8(std::string_view text) {
  if (IsAscii(text)) return std::string_view::npos;
  const auto byte = [&](size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  const auto follows = [&](size_t at) { return (byte(at) & 0xC0U) == 0x80U; };
  for (size_t i = 0; i < text.size();) {
    const unsigned first = byte(i), second = byte(i + 1);
    if (first < 0x80) {
      i += 1;
    } else if (first >= 0xC2 && first <= 0xDF && follows(i + 1)) {
      i += 2;
    } else if (first >= 0xE0 && first <= 0xEF && follows(i + 1) && follows(i + 2) && (first != 0xE0 || second >= 0xA0) &&
               (first != 0xED || second < 0xA0)) {
      i += 3;
    } else if (first >= 0xF0 && first <= 0xF4 && follows(i + 1) && follows(i + 2) && follows(i + 3) &&
               (first != 0xF0 || second >= 0x90) && (first != 0xF4 || second < 0x90)) {
      i += 4;
    } else {
      return i;
    }
  }
  return std::string_view::npos;
}

std::string OneLine(std::string_view text, size_t bytes_max) {
  std::string line(text.substr(0, bytes_max));
  if (text.size() > bytes_max) {
    // Not through the middle of a character.
    while (!line.empty() && (static_cast<unsigned char>(text[line.size()]) & 0xC0) == 0x80) line.pop_back();
    line += "...";
  }
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) c = ' ';
  }
  return line;
}

}  // namespace evenkeel::base
