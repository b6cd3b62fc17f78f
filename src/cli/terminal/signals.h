// Waiting for SIGINT and SIGTERM without a handler that could interrupt anything.
#pragma once

#include <csignal>
#include <optional>

#include "base/time.h"

namespace evenkeel::cli {

/// Blocks both signals in this thread and those started later: make one before any thread.
class SignalWaiter {
 public:
  SignalWaiter();
  /// The signal that came.
  int Wait();
  /// nullopt when none came within the time.
  std::optional<int> WaitFor(base::Duration duration);

 private:
  sigset_t set_;
};

}  // namespace evenkeel::cli
