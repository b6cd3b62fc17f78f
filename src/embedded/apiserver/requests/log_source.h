// Reads what containers wrote. Declared where the API server calls it; the node agent has the body.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace evenkeel::embedded::apiserver {

struct LogRequest {
  std::string ns, pod, container;
  bool previous = false;
  bool timestamps = false;
  std::optional<int64_t> tail_lines, limit_bytes;
  std::optional<base::Time> since;
};

/// Ends following when destroyed.
class LogFollower {
 public:
  virtual ~LogFollower() = default;
};

class LogSource {
 public:
  virtual ~LogSource() = default;
  /// kNotFound / kBadRequest in the kubelet's words. May read a disk.
  virtual base::Result<std::string> ReadLog(const LogRequest& request) = 0;
  /// What ReadLog gives, then what comes: `sink(chunk, false)`, and `sink("", true)` once when the container has ended.
  virtual base::Result<std::unique_ptr<LogFollower>> FollowLog(const LogRequest& request,
                                                               std::function<void(std::string_view chunk, bool end)> sink) = 0;
};

}  // namespace evenkeel::embedded::apiserver
