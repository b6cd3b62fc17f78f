#include "embedded/apiserver/compactor.h"

#include "base/log.h"

namespace evenkeel::embedded::apiserver {

Compactor::Compactor(store::Store& store, base::Executor& executor) : store_(store), strand_(executor.NewStrand("compaction")) {
  strand_->Post([this] { Schedule(); });
}

Compactor::~Compactor() {
  strand_->Close();
  timer_.Cancel();
}

void Compactor::Schedule() {
  timer_ = strand_->PostAfter(kInterval, [this] {
    const store::Revision now = store_.current_revision();
    if (last_ > store_.compacted_revision()) {
      if (auto compacted = store_.Compact(last_); !compacted) {
        base::log::Warn("the store's history could not be compacted and is tried again", {{"error", compacted.error()}});
      }
    }
    last_ = now;
    Schedule();
  });
}

}  // namespace evenkeel::embedded::apiserver
