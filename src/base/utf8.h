// Where a text stops being UTF-8 (RFC 3629, as IsUtf8 in base/json.h has it): for messages about files and arguments.
#pragma once

#include <cstddef>
#include <string_view>

namespace evenkeel::base {

/// The offset of the first byte that belongs to no character; npos when all do.
size_t FindNotUtf8(std::string_view text);

}  // namespace evenkeel::base
