// When a container that ended may start again, as the kubelet decides: at once after the first end, then 10 s after the end,
// doubling to 5 minutes; forgotten when a container ends 10 minutes or more after its last restart.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace evenkeel::embedded::nodeagent {

class RestartBackoff {
 public:
  static constexpr base::Duration kInitial = std::chrono::seconds(10);
  static constexpr base::Duration kMax = std::chrono::minutes(5);

  /// How long after `finished` the next start may come. Zero: at once.
  base::Duration DelayAfter(base::Time finished) const { return Forgotten(finished) ? base::Duration::zero() : delay_; }
  /// The container that ended at `finished` starts again at `now`.
  void RecordRestart(base::Time finished, base::Time now) {
    delay_ = Forgotten(finished) ? kInitial : std::min(delay_ * 2, kMax);
    last_restart_ = now;
  }

 private:
  bool Forgotten(base::Time finished) const { return delay_ == base::Duration::zero() || finished - last_restart_ > 2 * kMax; }
  base::Duration delay_{};
  base::Time last_restart_{};
};

}  // namespace evenkeel::embedded::nodeagent
