#include "base/process/free_memory.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdio>

namespace evenkeel::base {
namespace {

/// 0 where the system does not say.
size_t ResidentBytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long whole = 0, resident = 0;
  const bool read = std::fscanf(file, "%lu %lu", &whole, &resident) == 2;
  std::fclose(file);
  return read ? resident * static_cast<size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

void GiveBackFreeMemory() {
  const auto heap = mallinfo2();
  // Free pieces count as such also when their pages have been given back, so what is resident is asked as well.
  if (heap.fordblks > kFreeBytesKept && ResidentBytes() > heap.uordblks + heap.hblkhd + kFreeBytesKept) malloc_trim(0);
}

FreeMemoryKeeper::FreeMemoryKeeper(Executor& executor) : strand_(executor.NewStrand("free memory")) {
  strand_->Post([this] { Later(); });
}

FreeMemoryKeeper::~FreeMemoryKeeper() {
  strand_->Close();
  timer_.Cancel();
}

void FreeMemoryKeeper::Later() {
  constexpr Duration kInterval = std::chrono::seconds(30);
  timer_ = strand_->PostAfter(kInterval, [this] {
    GiveBackFreeMemory();
    Later();
  });
}

}  // namespace evenkeel::base
