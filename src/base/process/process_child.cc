#include "base/process/process_child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace evenkeel::base {

void CloseFrom(int first) {
  if (close_range(static_cast<unsigned>(first), ~0U, 0) == 0) return;
  for (int file = first; file < 65536; ++file) close(file);
}

void ResetSignals() {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void RunChild(const ChildPlan& plan) {
  const auto fail = [&plan] {
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(plan.failure, &error, sizeof error);
    _exit(127);
  };
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail();
  if (getppid() != plan.parent) _exit(127);
  setsid();
  if (dup2(plan.input, 0) < 0 || dup2(plan.output, 1) < 0 || dup2(plan.errors, 2) < 0) fail();
  if (chdir(plan.working_dir) != 0) fail();
  // The failure pipe is closed by a successful exec, everything else now.
  if (plan.failure != 3) dup2(plan.failure, 3);
  fcntl(3, F_SETFD, FD_CLOEXEC);
  CloseFrom(4);
  ResetSignals();
  execve(plan.program, plan.arguments, plan.environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(3, &error, sizeof error);
  _exit(127);
}

bool OpenPipe(FileSet& files, int (&ends)[2]) {
  int raw[2];
  if (pipe2(raw, O_CLOEXEC) != 0) return false;
  for (int i = 0; i < 2; ++i) {
    ends[i] = raw[i] > 9 ? raw[i] : fcntl(raw[i], F_DUPFD_CLOEXEC, 10);
    if (ends[i] != raw[i]) close(raw[i]);
  }
  if (ends[0] >= 0) files.Keep(ends[0]);
  if (ends[1] >= 0) files.Keep(ends[1]);
  return ends[0] >= 0 && ends[1] >= 0;
}

Error ProcessError(std::string_view doing, int error) {
  const Code code = error == ENOENT ? Code::kNotFound : error == EACCES || error == EPERM ? Code::kForbidden : Code::kInternal;
  return {code, fmt::format("{}: {}", doing, std::strerror(error))};
}

}  // namespace evenkeel::base
