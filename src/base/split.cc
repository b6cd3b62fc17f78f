#include "base/split.h"

namespace evenkeel::base {

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> SplitWords(std::string_view text, char separator) {
  std::vector<std::string_view> parts = Split(text, separator);
  std::erase(parts, std::string_view());
  return parts;
}

}  // namespace evenkeel::base
