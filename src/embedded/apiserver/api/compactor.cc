#include "embedded/apiserver/api/compactor.h"

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
    store_.TellProgress();
    constexpr size_t kTurns = kKept / kInterval;
    revisions_.push_back(store_.current_revision());
    if (revisions_.size() > kTurns) {
      const store::Revision past = revisions_.front();
      revisions_.pop_front();
      Compact(past);
    }
    Schedule();
  });
}

void Compactor::Compact(store::Revision revision) {
  if (revision <= store_.compacted_revision()) return;
  if (const auto compacted = store_.Compact(revision); !compacted) {
    base::log::Warn("the store's history could not be compacted and is tried again", {{"error", compacted.error()}});
  }
}

}  // namespace evenkeel::embedded::apiserver
