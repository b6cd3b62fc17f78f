// Memory that was freed and that the allocator keeps for later.
#pragma once

#include <cstddef>
#include <memory>

#include "base/executor.h"

namespace evenkeel::base {

/// What is kept and free may be this much: giving it back and getting it again costs more than it is worth.
inline constexpr size_t kFreeBytesKept = 24u << 20;

/// Gives it back to the system where it is more than that. About 50 us where it is not; else some milliseconds in which other
/// threads may wait for memory.
void GiveBackFreeMemory();

/// Does so every 30 s on a strand of its own, as long as it lives.
class FreeMemoryKeeper {
 public:
  explicit FreeMemoryKeeper(Executor& executor);
  ~FreeMemoryKeeper();
  FreeMemoryKeeper(const FreeMemoryKeeper&) = delete;
  FreeMemoryKeeper& operator=(const FreeMemoryKeeper&) = delete;

 private:
  void Later();

  std::shared_ptr<Strand> strand_;
  Timer timer_;
};

}  // namespace evenkeel::base
