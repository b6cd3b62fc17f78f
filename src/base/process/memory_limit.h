// How much memory this process may have: what its container or its unit allows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace evenkeel::base {

/// The lowest memory limit, in bytes, of the control groups that `groups` names (the text of /proc/self/cgroup; versions 1 and
/// 2) and of those above them, below `root` (/sys/fs/cgroup). Nothing where there is none, or none can be read.
std::optional<int64_t> MemoryLimit(std::string_view groups, const std::filesystem::path& root);
/// Of this process.
std::optional<int64_t> MemoryLimit();

}  // namespace evenkeel::base
