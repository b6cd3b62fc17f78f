#include "base/process/memory_limit.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace evenkeel::base {
namespace {

/// Version 1 says "no limit" with a number that no machine has.
constexpr int64_t kNoLimit = int64_t{1} << 60;

std::string TextOf(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::optional<int64_t> LimitIn(const std::filesystem::path& file) {
  const std::string text = TextOf(file);
  int64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc() || bytes <= 0 || bytes >= kNoLimit) return std::nullopt;
  return bytes;
}

}  // namespace

std::optional<int64_t> MemoryLimit(std::string_view groups, const std::filesystem::path& root) {
  std::optional<int64_t> lowest;
  while (!groups.empty()) {
    const size_t end = groups.find('\n');
    const std::string_view line = groups.substr(0, end);
    groups.remove_prefix(end == std::string_view::npos ? groups.size() : end + 1);
    // "ID:CONTROLLERS:PATH"; version 2 has no controllers.
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers != "memory") continue;
    const std::filesystem::path top = controllers.empty() ? root : root / controllers;
    const char* file = controllers.empty() ? "memory.max" : "memory.limit_in_bytes";
    std::filesystem::path path = std::filesystem::path(line.substr(second + 1)).relative_path().lexically_normal();
    // In a container the path may be the host's, and the root the container's own group.
    for (;; path = path.parent_path()) {
      if (const auto limit = LimitIn(top / path / file)) lowest = std::min(lowest.value_or(*limit), *limit);
      if (path.empty() || path == ".") break;
    }
  }
  return lowest;
}

std::optional<int64_t> MemoryLimit() { return MemoryLimit(TextOf("/proc/self/cgroup"), "/sys/fs/cgroup"); }

}  // namespace evenkeel::base
