// Processes that end with all that they have started, however that has set itself apart (setsid, double forks, other process
// groups), without any privilege or cgroup. Each runs below a tiny supervisor process that the kernel makes the parent of
// orphans (PR_SET_CHILD_SUBREAPER): it kills its descendants until none is left, once its main process has ended, once it is
// told to, or once the program that asked for it is gone, however that ended. The supervisors are forked from one small process
// that is forked at the start, so that they do not hold the memory of a program that has grown.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace evenkeel::base {

struct ReapedProcess {
  pid_t pid = -1;            ///< of the main process; only to be shown: who signals it does so by SignalReaped
  int output[2] = {-1, -1};  ///< ends of stdout and stderr to read from, not blocking
  /// Readable once the process and all its descendants are gone (TakeReaped). Closing it kills them.
  int control = -1;
};

/// The signal goes to the main process, SIGKILL to it and all its descendants. Nothing happens once they are gone.
void SignalReaped(int control, int signal);
/// The wait status of the main process once all are gone; -1 where nobody could tell it; nullopt: not yet. Does not block.
std::optional<int> TakeReaped(int control);

class ProcessReaper {
 public:
  ProcessReaper() = default;
  ProcessReaper(const ProcessReaper&) = delete;
  ProcessReaper& operator=(const ProcessReaper&) = delete;
  /// Waits until all processes are gone whose `control` is closed; the others must have been closed before.
  ~ProcessReaper();
  /// Once, before Spawn; early, since the process that it forks keeps the memory of this moment.
  Status Start();
  /// As SpawnProcess, from any one thread at a time.
  Result<ReapedProcess> Spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                              const std::string& working_dir);

 private:
  int socket_ = -1;
  pid_t pid_ = -1;
};

}  // namespace evenkeel::base
