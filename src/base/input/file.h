// Whole files, and what is written to a descriptor.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace evenkeel::base {

/// Reads a file, or standard input for "-". kNotFound, kTooLarge (over `bytes_max`).
Result<std::string> ReadFile(const std::string& path, size_t bytes_max = 64u << 20);
/// Writes a file by way of a temporary one and a rename, so that readers see the old or the new content. `mode` as in chmod.
Status WriteFile(const std::string& path, std::string_view content, unsigned mode = 0644);
/// All of it, however the system parts it. The error says what the caller was `doing`.
Status WriteAll(int fd, std::string_view content, const std::string& doing);

}  // namespace evenkeel::base
