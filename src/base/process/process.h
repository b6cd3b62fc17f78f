// Other programs as child processes, without a shell: fork and execute with care for what is inherited, and one that is run to
// its end.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace evenkeel::base {

struct SpawnedProcess {
  pid_t pid = -1;
  int output[2] = {-1, -1};  ///< ends of stdout and stderr to read from, not blocking
};

/// As a shell would: by PATH of `environment` ("NAME=VALUE") unless there is a slash, then relative to the working directory.
/// "" where PATH has no such program.
std::string FindProgram(const std::string& name, const std::vector<std::string>& environment, const std::string& working_dir);

/// Must be called on a thread that lives as long as the process may: the kernel kills the process when that thread ends.
Result<SpawnedProcess> SpawnProcess(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                                    const std::string& working_dir);

struct ProcessCall {
  std::vector<std::string> command;      ///< the first is looked up as FindProgram does
  std::vector<std::string> environment;  ///< all of it
  std::string working_dir = ".";
  Duration timeout = std::chrono::seconds(60);
  size_t output_bytes_max = 1 << 20;
  size_t error_bytes_max = 16 << 10;  ///< what it writes to stderr beyond that is dropped from the front
};

struct ProcessOutcome {
  enum class End { kExited, kSignal, kTimedOut, kTooMuchOutput, kStopped };
  End end = End::kExited;
  int code = 0;        ///< exit status or signal
  std::string output;  ///< stdout; with kTooMuchOutput what came before
  std::string errors;  ///< the end of stderr
};

/// Runs a program to its end with /dev/null as its input, and waits for it; whatever it leaves in its process group is killed,
/// as is all of it once its time is over, its output is too long or `stop` says so (asked several times a second). The error
/// says why it could not be started: kNotFound, kForbidden, kInternal.
Result<ProcessOutcome> RunProcess(const ProcessCall& call, const std::function<bool()>& stop);

}  // namespace evenkeel::base
