// Which known name was meant by one that is not known.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace evenkeel::base {

/// How many letters have to be added, left out, replaced or swapped with the next one to make one text of the other. O(|a|
/// |b|).
size_t EditDistance(std::string_view a, std::string_view b);

/// The name with the smallest distance, regardless of case, the first of equals; empty when all differ in more than a third of
/// the word's letters.
std::string_view NearestName(std::string_view word, std::span<const std::string_view> names);

/// "; did you mean NAME?", or nothing.
std::string NearestNameHint(std::string_view word, std::span<const std::string_view> names);

}  // namespace evenkeel::base
