// What happens between fork and exec, for whoever starts processes (process.h, process_reaper.h).
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

#include "base/result.h"

namespace evenkeel::base {

/// What the child needs, laid out before the fork: between fork and exec only system calls are safe.
struct ChildPlan {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* working_dir;
  int input, output, errors;
  int failure;  ///< where errno goes when something fails
  pid_t parent;
};

/// In the child: executes the plan in a session of its own, with no other files open and default signals; dies with its parent.
[[noreturn]] void RunChild(const ChildPlan& plan);
void CloseFrom(int first);
void ResetSignals();

/// Files that are closed at its end, unless they are released.
class FileSet {
 public:
  ~FileSet() {
    for (const int file : files_) close(file);
  }
  int Keep(int file) {
    files_.push_back(file);
    return file;
  }
  void Release(int file) { std::erase(files_, file); }

 private:
  std::vector<int> files_;
};

/// Above the standard files: the child's dup2 must not overwrite an end before it is used. Closed by an exec.
bool OpenPipe(FileSet& files, int (&ends)[2]);
/// errno, as what went wrong while `doing`.
Error ProcessError(std::string_view doing, int error);

}  // namespace evenkeel::base
