// What messages about other people's files are made of: names shown in one line, and which known name was meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace evenkeel::controllers::balancer {

/// What counts as a space in all of these files.
inline constexpr std::string_view kSpaces = " \t\r\n";

using base::OneLine;

bool EqualIgnoringCase(std::string_view a, std::string_view b);  ///< letters of ASCII

/// How many letters have to be added, left out or replaced to make one text of the other. O(|a| |b|).
size_t EditDistance(std::string_view a, std::string_view b);

/// The name with the smallest distance, regardless of case, the first of equals; empty when all differ in more than a third of
/// the word's letters.
std::string_view NearestName(std::string_view word, std::span<const std::string_view> names);

/// "; did you mean NAME?", or nothing.
std::string NearestNameHint(std::string_view word, std::span<const std::string_view> names);

/// "a, b or c".
std::string JoinedWithOr(std::span<const std::string_view> names);

}  // namespace evenkeel::controllers::balancer
