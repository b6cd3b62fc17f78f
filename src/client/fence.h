// The right of one replica to write to one member, for one tenure: open until an instant of this process's monotonic clock,
// moved forward by each renewal of the member's Lease `evenkeel-owner`, and closed for good when the tenure ends. Who opens and
// closes it is controllers/distribution/leases/owner_lease.h; whoever writes to a member asks it (fenced_client.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace evenkeel::client {

/// Thread-safe.
class Fence {
 public:
  /// @param epoch  of the tenure: greater than that of every tenure before. Shut until the first Extend.
  Fence(base::Clock& clock, int64_t epoch) : clock_(clock), epoch_(epoch) {}

  int64_t epoch() const { return epoch_; }
  /// Whether a write may begin now. By the clock, so also right in a process that has just been paused for a minute.
  bool open() const { return !closed_ && Now() < until_; }
  /// Writes may begin until then, unless the tenure is over.
  void Extend(base::Instant until) { until_ = until.time_since_epoch().count(); }
  /// The tenure is over: no write begins any more.
  void Close() { closed_ = true; }

  /// A write asks to begin. True: it may, and End must be called when it has ended. A write that was let in is seen by every
  /// MayStillTakeEffect after a Close that it did not see.
  bool Begin() {
    ++under_way_;
    if (open()) return true;
    --under_way_;
    return false;
  }
  /// A write that Begin let in has ended. Without an answer (time-out, broken connection) it may still take effect.
  void End(bool answered) {
    if (!answered) Unanswered();
    --under_way_;
  }
  /// A write ended without an answer.
  void Unanswered() { unanswered_ = Now(); }
  /// Whether a write that began before is under way, or has been without an answer for less than `margin`: until then the
  /// member must not be handed over by word, only by the Lease running out.
  bool MayStillTakeEffect(base::Duration margin) const {
    if (under_way_ > 0) return true;
    const int64_t at = unanswered_;
    return at != kNever && Now() - at < margin.count();
  }

 private:
  static constexpr int64_t kNever = INT64_MIN;
  int64_t Now() const { return clock_.Monotonic().time_since_epoch().count(); }

  base::Clock& clock_;
  const int64_t epoch_;
  std::atomic<bool> closed_ = false;
  std::atomic<int64_t> until_ = kNever;
  std::atomic<int64_t> under_way_ = 0;
  std::atomic<int64_t> unanswered_ = kNever;
};

}  // namespace evenkeel::client
