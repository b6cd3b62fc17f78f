// Texts of parts with a character in between.
#pragma once

#include <string_view>
#include <vector>

namespace evenkeel::base {

/// The parts, empty ones among them: one more than there are separators. They are views of `text`.
std::vector<std::string_view> Split(std::string_view text, char separator);
/// Those that are not empty.
std::vector<std::string_view> SplitWords(std::string_view text, char separator);

}  // namespace evenkeel::base
