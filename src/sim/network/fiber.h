// Tasks that can be put aside in the middle and go on later, on one thread: what lets a call that blocks take virtual time,
// while everything else goes on. A fiber is a stack of its own; nothing runs at the same time as anything else.
#pragma once

#include <memory>
#include <vector>

#include "base/executor.h"

namespace evenkeel::sim {

class Fiber;

/// The fibers of one simulation, all on the thread that made them. A switch costs about 0.3 us; a stack is used again.
class Fibers {
 public:
  Fibers();
  /// No fiber may be suspended any more.
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  /// Runs the task on a fiber and returns when it has ended or suspended itself. Also from within a fiber.
  void Run(base::Task task);
  /// The fiber that this runs on; null outside of all.
  Fiber* current() const { return current_; }
  /// Gives control back to whoever called Run or Resume, until somebody calls Resume. On a fiber.
  void Suspend();
  /// Lets a suspended fiber go on; returns when it has ended or suspended itself. Also from within another fiber.
  void Resume(Fiber& fiber);

 private:
  friend class Fiber;
  void Enter(Fiber& fiber);

  Fiber* current_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> idle_;
};

}  // namespace evenkeel::sim
