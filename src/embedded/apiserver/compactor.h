// Forgets the store's history as kube-apiserver does: every five minutes, up to where it was five minutes ago. Readers of a
// list in pages and watches that resume have at least that long.
#pragma once

#include <memory>

#include "base/executor.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::apiserver {

class Compactor {
 public:
  static constexpr base::Duration kInterval = std::chrono::minutes(5);

  /// The store must outlive it.
  Compactor(store::Store& store, base::Executor& executor);
  /// Waits for a compaction under way.
  ~Compactor();

 private:
  void Schedule();

  store::Store& store_;
  std::shared_ptr<base::Strand> strand_;
  base::Timer timer_;
  store::Revision last_ = 0;
};

}  // namespace evenkeel::embedded::apiserver
