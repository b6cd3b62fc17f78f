#include "base/process/descriptors.h"

#include <sys/resource.h>

#include <atomic>

namespace evenkeel::base {
namespace {

constexpr Duration kShortFor = std::chrono::seconds(10);

// Of the process, as descriptors are.
std::atomic<Instant> last_short = Instant::min();

}  // namespace

int64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  return static_cast<int64_t>(limit.rlim_cur);
}

void NoteNoDescriptorLeft(Instant now) { last_short = now; }

bool DescriptorsAreShort(Instant now) {
  const Instant last = last_short;
  return last != Instant::min() && now - last < kShortFor;
}

}  // namespace evenkeel::base
