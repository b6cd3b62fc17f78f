// Files of Windows in the encoding that the rest does not read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace evenkeel::balancing {

/// UTF-16 of this byte order, without its mark, as UTF-8; nothing when it is none.
std::optional<std::string> FromUtf16(std::string_view bytes, bool little_endian);

}  // namespace evenkeel::balancing
