// Local processes: starts them, reads what they write, hears of their end. One thread does it all. None of the processes, nor
// anything that they start, however it sets itself apart, outlives its first process or the program, however these end
// (base/process/process_reaper.h).
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace evenkeel::embedded::nodeagent {

struct ProcessExit {
  int exit_code = 0;  ///< 128 + signal when a signal ended it
  int signal = 0;
};

struct ProcessSpec {
  std::vector<std::string> command;      ///< the first is looked up in the PATH of `environment` unless it has a slash
  std::vector<std::string> environment;  ///< "NAME=VALUE"
  std::string working_dir;
  /// What it writes; `stream` is 1 (stdout) or 2 (stderr). On the supervisor's thread: must not block for long.
  std::function<void(int stream, std::string_view bytes)> output;
  /// Once, after the last output, when it and everything it started is gone. On the supervisor's thread.
  std::function<void(ProcessExit)> exited;
};

class ProcessSupervisor {
 public:
  /// kInternal when the system refuses what is needed (pipes, a thread).
  static base::Result<std::unique_ptr<ProcessSupervisor>> Create();
  /// Kills and reaps everything, then joins its thread. No callback runs after.
  ~ProcessSupervisor();

  /// The new process leads a session and group of its own, has no open files but standard ones, default
  /// signal handling, /dev/null as its input, and is killed when this program dies. kNotFound, kForbidden, kInternal say why it
  /// cannot run.
  base::Result<pid_t> Start(ProcessSpec spec);
  /// To the process; SIGKILL goes to all that it has started, too. Nothing happens once it is gone.
  void Signal(pid_t pid, int signal);
  /// Kills the process and all that it has started if it still runs and drops its callbacks: neither runs after this returns.
  /// Not from within a callback.
  void Abandon(pid_t pid);

 private:
  struct State;
  explicit ProcessSupervisor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace evenkeel::embedded::nodeagent
