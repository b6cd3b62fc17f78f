// Writes into the history what the feed tells: each event once, and every few minutes how each member is. It looks at the fleet
// and the events all the time, so that the feed follows them.
#pragma once

#include <memory>

#include "base/executor.h"
#include "dashboard/feed.h"
#include "dashboard/history/history_file.h"

namespace evenkeel::dashboard {

/// Less than kLookedAt: the feed does not let go in between.
inline constexpr base::Duration kRecordEvery = std::chrono::seconds(30);
inline constexpr base::Duration kPointEvery = std::chrono::minutes(5);

class Recorder {
 public:
  /// All outlive it.
  Recorder(Feed& feed, HistoryFile& history, base::Executor& executor);
  /// Waits for a write that is under way.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace evenkeel::dashboard
