// One simulated operating-system process in virtual time: an executor whose strands may be stopped (SIGSTOP), continued and
// killed together, with clocks of its own that are wrong in the ways that clocks are wrong. Its tasks run on fibers, so a task
// that waits (for the network, for another strand to close) waits in virtual time, and everything else goes on meanwhile.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "sim/network/fiber.h"

namespace evenkeel::sim {

struct ClockFaults {
  base::Duration wall_offset{};  ///< wall time is ahead of true time by this
  int64_t drift_ppm = 0;         ///< the monotonic clock runs this much fast (+-10,000: 1 %); it never jumps
};

/// Single-threaded, as everything in virtual time.
class Process final : public base::Executor {
 public:
  /// Executor and fibers must outlive it.
  Process(base::VirtualExecutor& executor, Fibers& fibers, std::string name, ClockFaults clock = {});
  /// Kills it.
  ~Process() override;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  std::shared_ptr<base::Strand> NewStrand(std::string_view name) override;
  base::Clock& clock() override;
  const std::string& name() const;

  /// As SIGSTOP: the running task stops at its next wait; what comes due meanwhile runs after Resume, in the order in which it
  /// came due. The clocks run on.
  void Pause();
  void Resume();
  /// As SIGKILL, for good: no task begins any more. Those in the middle of a wait go on at once to their end, with the wait
  /// failing: they unwind, and whoever they talk to must not listen (alive()). What they belong to may be destroyed afterwards.
  /// Called by one of its own tasks, the rest of that task still runs.
  void Kill();
  bool alive() const;
  bool paused() const;
  /// The wall clock is set.
  void JumpWallClock(base::Duration by);

  /// Runs `task` as an interrupt from outside (a packet arrives): now, or on Resume; never once killed. Must not wait.
  void Deliver(base::Task task);
  /// For a task: returns at once unless the process is paused, else after Resume. False when it has been killed.
  bool WaitWhilePaused();

  struct Core;

 private:
  friend class Wait;
  std::shared_ptr<Core> core_;
};

/// What a task of a process waits for. Made before whatever ends it is arranged; used once.
class Wait {
 public:
  explicit Wait(Process& process);
  /// On a task of the process: returns once Done has been called and the process is not paused (true), or it has been killed
  /// (false).
  bool Block();
  /// From anywhere, any number of times.
  void Done();

  struct State;
  explicit Wait(std::shared_ptr<State> state);

 private:
  std::shared_ptr<State> state_;
};

}  // namespace evenkeel::sim
