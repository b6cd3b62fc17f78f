// What messages about other people's files are made of: names shown in one line, and lists of them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/input/nearest_name.h"
#include "base/utf8.h"

namespace evenkeel::balancing {

/// What counts as a space in all of these files.
inline constexpr std::string_view kSpaces = " \t\r\n";
/// Without those around it.
std::string_view Trimmed(std::string_view text);

using base::EditDistance;
using base::NearestName;
using base::NearestNameHint;
using base::OneLine;

bool EqualIgnoringCase(std::string_view a, std::string_view b);  ///< letters of ASCII

/// "a, b or c".
std::string JoinedWithOr(std::span<const std::string_view> names);

}  // namespace evenkeel::balancing
