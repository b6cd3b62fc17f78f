#include "base/utf8.h"

namespace evenkeel::base {

size_t FindNotUtf8(std::string_view text) {
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

}  // namespace evenkeel::base
