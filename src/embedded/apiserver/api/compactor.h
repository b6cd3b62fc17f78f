// Forgets the store's history up to where it was five minutes ago, as kube-apiserver does, but twice a minute, so that
// what is kept stays much the same. Readers of a list in pages and watches that resume have at least these five minutes;
// watches that are open are told at each turn how far they are, so that a quiet one does not fall behind.
#pragma once

#include <deque>
#include <memory>

#include "base/executor.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::apiserver {

class Compactor {
 public:
  static constexpr base::Duration kInterval = std::chrono::seconds(30);
  static constexpr base::Duration kKept = std::chrono::minutes(5);

  /// The store must outlive it.
  Compactor(store::Store& store, base::Executor& executor);
  /// Waits for a compaction under way.
  ~Compactor();

 private:
  void Schedule();
  void Compact(store::Revision revision);

  store::Store& store_;
  std::shared_ptr<base::Strand> strand_;
  base::Timer timer_;
  std::deque<store::Revision> revisions_;  ///< at each turn of the last kKept, the oldest first
};

}  // namespace evenkeel::embedded::apiserver
