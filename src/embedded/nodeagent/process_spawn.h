// The system calls behind ProcessSupervisor: fork and execute with care for what is inherited.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace evenkeel::embedded::nodeagent {

struct SpawnedProcess {
  pid_t pid = -1;
  int output[2] = {-1, -1};  ///< ends of stdout and stderr to read from, not blocking
};

/// Must be called on a thread that lives as long as the process may: the kernel kills the process when that thread ends.
base::Result<SpawnedProcess> SpawnProcess(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                                          const std::string& working_dir);

/// Kills process groups should this program die without doing so itself: a tiny child that waits for its pipe to close. The
/// kernel kills only direct children with their parent; this one reaches what those have started.
class GroupGuard {
 public:
  GroupGuard() = default;
  GroupGuard(const GroupGuard&) = delete;
  GroupGuard& operator=(const GroupGuard&) = delete;
  ~GroupGuard();
  base::Status Start();
  void Add(pid_t group) { Tell(group); }
  void Remove(pid_t group) { Tell(-group); }

 private:
  void Tell(pid_t message);
  int pipe_ = -1;
  pid_t pid_ = -1;
};

}  // namespace evenkeel::embedded::nodeagent
