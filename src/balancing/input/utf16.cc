#include "balancing/input/utf16.h"

#include <cstdint>

namespace evenkeel::balancing {

std::optional<std::string> FromUtf16(std::string_view bytes, bool little_endian) {
  if (bytes.size() % 2 != 0) return std::nullopt;
  const auto unit = [&](size_t at) {
    const auto first = static_cast<unsigned char>(bytes[at]), second = static_cast<unsigned char>(bytes[at + 1]);
    return static_cast<uint32_t>(little_endian ? first | second << 8 : first << 8 | second);
  };
  std::string text;
  text.reserve(bytes.size());
  const auto add = [&](uint32_t bits) { text += static_cast<char>(bits); };
  for (size_t at = 0; at < bytes.size(); at += 2) {
    uint32_t c = unit(at);
    if (c >= 0xDC00 && c < 0xE000) return std::nullopt;
    if (c >= 0xD800 && c < 0xDC00) {
      if (at + 4 > bytes.size()) return std::nullopt;
      const uint32_t low = unit(at += 2);
      if (low < 0xDC00 || low >= 0xE000) return std::nullopt;
      c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    if (c < 0x80) {
      add(c);
    } else if (c < 0x800) {
      add(0xC0 | c >> 6), add(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      add(0xE0 | c >> 12), add(0x80 | (c >> 6 & 0x3F)), add(0x80 | (c & 0x3F));
    } else {
      add(0xF0 | c >> 18), add(0x80 | (c >> 12 & 0x3F)), add(0x80 | (c >> 6 & 0x3F)), add(0x80 | (c & 0x3F));
    }
  }
  return text;
}

}  // namespace evenkeel::balancing
