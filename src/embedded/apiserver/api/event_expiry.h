// Forgets Events, as kube-apiserver does an hour after they were last written (--event-ttl). Here the oldest go sooner where
// there are many: nobody else bounds what an embedded cluster keeps of its past, in memory and on disk.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::apiserver {

class EventExpiry {
 public:
  static constexpr base::Duration kLife = std::chrono::hours(1);
  static constexpr base::Duration kInterval = std::chrono::minutes(1);
  /// Some for each pod of a node or two, or the last minutes of a busy cluster; about 2 MB.
  static constexpr size_t kEventsMax = 1'000;
  /// Of more than these only the young stay, so that a cluster in which pods come and go keeps as much after a day as after
  /// some minutes.
  static constexpr size_t kOldEventsMax = 100;
  static constexpr base::Duration kYouth = std::chrono::minutes(3);

  /// `prefix`: of the keys of Events. The store must outlive it. Ages count from when this began to look, at the earliest.
  EventExpiry(store::Store& store, std::string prefix, base::Executor& executor);
  /// Waits for a few removals under way.
  ~EventExpiry();

 private:
  struct Seen {
    base::Instant at{};
    store::Revision revision = 0;  ///< of the store
  };
  void Schedule();
  void Look();
  void RemoveSome();
  /// The last that was seen by then.
  store::Revision RevisionAt(base::Instant at) const;

  store::Store& store_;
  const std::string prefix_;
  base::Clock& clock_;
  std::shared_ptr<base::Strand> strand_;
  base::Timer timer_;
  std::deque<Seen> past_;                // of the last kLife
  store::Revision expired_ = 0;          // what was last written at this revision or before has expired
  std::vector<store::KeyValue> doomed_;  // the oldest last
};

}  // namespace evenkeel::embedded::apiserver
