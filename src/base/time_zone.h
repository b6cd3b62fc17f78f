// Time zones by name, as the system's database has them.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace evenkeel::base {

/// How far local time is ahead of UTC at that instant, in a zone such as "Europe/Berlin". Nothing where the name is none, or
/// the system has no such zone. What is read stays in memory. Thread-safe.
std::optional<std::chrono::seconds> ZoneOffset(std::string_view zone, std::chrono::sys_seconds at);

}  // namespace evenkeel::base
