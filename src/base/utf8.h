// Texts from outside in messages about files and arguments: where they stop being UTF-8 (RFC 3629, as IsUtf8 in base/json.h has
// it), and what is shown of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace evenkeel::base {

/// The offset of the first byte that belongs to no character; npos when all do.
size_t FindNotUtf8(std::string_view text);

/// A text from outside as part of a message: without control characters and cut where it is long, so that the message stays one
/// line that can be read.
std::string OneLine(std::string_view text, size_t bytes_max = 120);

}  // namespace evenkeel::base
