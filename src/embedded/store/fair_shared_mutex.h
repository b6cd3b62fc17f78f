// A reader-writer lock whose writers are not starved by overlapping readers (glibc's prefers readers): everybody queues at a
// gate, which a reader leaves at once and a writer keeps until it is done.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace evenkeel::embedded::store {

/// For std::unique_lock and std::shared_lock. Not recursive, not even for readers. Any thread.
class FairSharedMutex {
 public:
  void lock() {
    gate_.lock();
    mutex_.lock();
  }
  void unlock() {
    mutex_.unlock();
    gate_.unlock();
  }
  void lock_shared() {
    std::lock_guard gate(gate_);
    mutex_.lock_shared();
  }
  void unlock_shared() { mutex_.unlock_shared(); }

 private:
  std::mutex gate_;
  std::shared_mutex mutex_;
};

}  // namespace evenkeel::embedded::store
