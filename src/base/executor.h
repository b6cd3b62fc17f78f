// Where work runs. Tasks run on strands: one task of a strand at a time, in the order posted. On a thread pool in
// production; one by one in virtual time in tests and in the simulator, ordered by (instant, sequence), so that a run is the
// same byte for byte for the same seed. After LevelDB's Env and FoundationDB's INetwork: two bodies, nobody else may start
// threads or sleep.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"

namespace evenkeel::base {

using Task = std::move_only_function<void()>;

/// Cancels its task when destroyed, unless the task has begun. Movable, not copyable. May outlive the strand.
class Timer {
 public:
  Timer() = default;
  explicit Timer(std::function<void()> cancel) : cancel_(std::move(cancel)) {}
  Timer(Timer&& other) noexcept : cancel_(std::exchange(other.cancel_, nullptr)) {}
  Timer& operator=(Timer&& other) noexcept {
    if (this != &other) {
      Cancel();
      cancel_ = std::exchange(other.cancel_, nullptr);
    }
    return *this;
  }
  ~Timer() { Cancel(); }
  void Cancel() {
    if (auto cancel = std::exchange(cancel_, nullptr)) cancel();
  }

 private:
  std::function<void()> cancel_;
};

/// A sequence of tasks, one at a time. Post and PostAfter may be called from any thread.
class Strand {
 public:
  virtual ~Strand() = default;
  virtual void Post(Task task) = 0;
  /// Runs the task once, `delay` from now (measured monotonically), unless the returned Timer is destroyed first.
  [[nodiscard]] virtual Timer PostAfter(Duration delay, Task task) = 0;
  /// Drops the tasks that have not begun and refuses new ones; waits for the running one unless called from it. After
  /// Close returns, nothing that was posted runs any more, so what the tasks refer to may be destroyed.
  virtual void Close() = 0;
  virtual const std::string& name() const = 0;
  /// Virtual time: the running task took this long (a slow call), the strand's next task waits for it. Real time: nothing.
  virtual void Charge(Duration cost) = 0;
  /// How long its tasks have run so far, from any thread. In virtual time: what has been charged.
  virtual Duration busy() const = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;
  /// Names are for logs and traces and need not be unique. The strand must not outlive the executor.
  virtual std::shared_ptr<Strand> NewStrand(std::string_view name) = 0;
  virtual Clock& clock() = 0;
};

/// A pool of at most `threads` threads that run strands. Client calls block, so give it more threads than cores: as many as
/// strands that may wait for a network at once. The destructor closes all strands and joins.
std::unique_ptr<Executor> NewThreadPool(int threads);

/// Virtual time. Single-threaded: everything happens inside Run*, on the caller's thread.
class VirtualExecutor final : public Executor {
 public:
  explicit VirtualExecutor(Time start);
  ~VirtualExecutor() override;

  std::shared_ptr<Strand> NewStrand(std::string_view name) override;
  Clock& clock() override;

  /// Runs everything due until `duration` from now has passed; the clock then stands exactly there.
  void RunFor(Duration duration);
  /// Runs what is due now, without moving the clock (Mesos calls it settle).
  void RunUntilIdle();
  /// Runs until `done` holds (checked after every task) or `limit` has passed; says whether it holds.
  bool RunUntil(const std::function<bool()>& done, Duration limit);
  /// Tasks run so far.
  uint64_t steps() const;
  /// Hash over (instant, strand name) of every task run and over every Mark; equal for equal runs.
  uint64_t trace_hash() const;
  /// Mixes a fact into the trace hash (an API write, a decision).
  void Mark(std::string_view fact);

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace evenkeel::base
