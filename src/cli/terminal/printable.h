// Text for a terminal. What servers and files say may have anything in it: escape sequences that would command the terminal,
// and line breaks that would break tables and frames.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace evenkeel::cli {

/// One line that a terminal only shows: a space in the place of every control character, every mark that turns the direction
/// of writing round, and every byte that is no UTF-8.
std::string Printable(std::string_view text);

/// How many columns printable text takes: one per code point.
size_t Columns(std::string_view text);
/// Printable, and exactly so many columns: padded with spaces, or cut between two code points.
std::string Fitted(std::string_view text, size_t columns);

}  // namespace evenkeel::cli
