#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/process/process.h"

namespace evenkeel::base {
namespace {

/// How long nobody looks whether the program has ended, or its time is over.
constexpr int kLookMilliseconds = 20;

/// The child, its group and its pipes; all gone when this is.
class RunningProcess {
 public:
  explicit RunningProcess(const SpawnedProcess& spawned) : pid_(spawned.pid), files_{spawned.output[0], spawned.output[1]} {}
  RunningProcess(const RunningProcess&) = delete;
  RunningProcess& operator=(const RunningProcess&) = delete;
  ~RunningProcess() {
    Reap();
    for (const int file : files_) {
      if (file >= 0) close(file);
    }
  }

  void WaitForOutput() const {
    pollfd files[2];
    nfds_t count = 0;
    for (const int file : files_) {
      if (file >= 0) files[count++] = {file, POLLIN, 0};
    }
    poll(files, count, kLookMilliseconds);
  }

  /// False once more has come on stdout than may.
  bool Drain(const ProcessCall& call, ProcessOutcome& outcome) {
    char buffer[16 << 10];
    for (int stream = 0; stream < 2; ++stream) {
      std::string& text = stream == 0 ? outcome.output : outcome.errors;
      // A bound per turn: the time and the end are looked at in between.
      for (int turn = 0; files_[stream] >= 0 && turn < 16; ++turn) {
        const ssize_t got = read(files_[stream], buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) break;
        if (got <= 0) {
          close(files_[stream]);
          files_[stream] = -1;
          break;
        }
        text.append(buffer, static_cast<size_t>(got));
        if (stream == 1 && text.size() > call.error_bytes_max) text.erase(0, text.size() - call.error_bytes_max);
        if (stream == 0 && text.size() > call.output_bytes_max) return false;
      }
    }
    return true;
  }

  bool Ended() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
  }

  /// Kills what still runs of the group, then says how the child ended.
  int Reap() {
    if (reaped_) return status_;
    reaped_ = true;
    // Its number belongs to nobody else before it has been waited for.
    kill(-pid_, SIGKILL);
    while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    return status_;
  }

 private:
  const pid_t pid_;
  int files_[2];
  int status_ = 0;
  bool reaped_ = false;
};

}  // namespace

Result<ProcessOutcome> RunProcess(const ProcessCall& call, const std::function<bool()>& stop) {
  EVENKEEL_ASSIGN(const SpawnedProcess spawned, SpawnProcess(call.command, call.environment, call.working_dir));
  RunningProcess process(spawned);
  const Instant deadline = SystemClock().Monotonic() + call.timeout;
  ProcessOutcome outcome;
  while (true) {
    process.WaitForOutput();
    // Asked before the pipes are emptied, so that nothing that it wrote is missed. Who else holds them open is not waited for.
    const bool ended = process.Ended();
    if (!process.Drain(call, outcome)) {
      outcome.end = ProcessOutcome::End::kTooMuchOutput;
    } else if (ended) {
      const int status = process.Reap();
      outcome.end = WIFSIGNALED(status) ? ProcessOutcome::End::kSignal : ProcessOutcome::End::kExited;
      outcome.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    } else if (stop && stop()) {
      outcome.end = ProcessOutcome::End::kStopped;
    } else if (SystemClock().Monotonic() >= deadline) {
      outcome.end = ProcessOutcome::End::kTimedOut;
    } else {
      continue;
    }
    return outcome;
  }
}

}  // namespace evenkeel::base
