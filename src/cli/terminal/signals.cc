#include "cli/terminal/signals.h"

#include <cerrno>

namespace evenkeel::cli {

SignalWaiter::SignalWaiter() {
  sigemptyset(&set_);
  sigaddset(&set_, SIGINT);
  sigaddset(&set_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  // A peer that is gone is an error of the write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
}

int SignalWaiter::Wait() {
  int signal = 0;
  while (sigwait(&set_, &signal) != 0) {
  }
  return signal;
}

std::optional<int> SignalWaiter::WaitFor(base::Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  const timespec limit{seconds.count(), static_cast<long>((duration - seconds).count())};
  const int signal = sigtimedwait(&set_, nullptr, &limit);
  if (signal < 0) return std::nullopt;
  return signal;
}

}  // namespace evenkeel::cli
