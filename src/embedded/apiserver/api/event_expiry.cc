#include "embedded/apiserver/api/event_expiry.h"

#include <algorithm>
#include <atomic>
#include <latch>

#include "base/log.h"

namespace evenkeel::embedded::apiserver {
namespace {

// So that closing the strand waits for some writes and not for all.
constexpr size_t kRemovalsPerTask = 50;

}  // namespace

EventExpiry::EventExpiry(store::Store& store, std::string prefix, base::Executor& executor)
    : store_(store), prefix_(std::move(prefix)), clock_(executor.clock()), strand_(executor.NewStrand("event-expiry")) {
  strand_->Post([this] { Look(); });
}

EventExpiry::~EventExpiry() {
  strand_->Close();
  timer_.Cancel();
}

void EventExpiry::Schedule() {
  timer_ = strand_->PostAfter(kInterval, [this] { Look(); });
}

void EventExpiry::Look() {
  const base::Instant now = clock_.Monotonic();
  past_.push_back({now, store_.current_revision()});
  for (; past_.front().at <= now - kLife; past_.pop_front()) expired_ = past_.front().revision;
  auto list = store_.List({.prefix = prefix_});
  if (!list) {
    base::log::Warn("events could not be listed, none is removed", {{"error", list.error()}});
    return Schedule();
  }
  doomed_ = std::move(list->items);
  std::ranges::sort(doomed_, std::greater(), &store::KeyValue::mod_revision);
  const auto first_expired =
      std::ranges::find_if(doomed_, [this](const auto& event) { return event.mod_revision <= expired_; });
  const auto first_old =
      std::ranges::find_if(doomed_, [old = RevisionAt(now - kYouth)](const auto& event) { return event.mod_revision <= old; });
  const auto kept = std::min<ptrdiff_t>(
      {first_expired - doomed_.begin(), kEventsMax, std::max<ptrdiff_t>(first_old - doomed_.begin(), kOldEventsMax)});
  doomed_.erase(doomed_.begin(), doomed_.begin() + kept);
  RemoveSome();
}

store::Revision EventExpiry::RevisionAt(base::Instant at) const {
  const auto later = std::ranges::find_if(past_, [at](const Seen& seen) { return seen.at > at; });
  return later == past_.begin() ? expired_ : std::prev(later)->revision;
}

/// Together, so that they share the disk's time.
void EventExpiry::RemoveSome() {
  struct Removals {
    explicit Removals(size_t count) : answered(static_cast<ptrdiff_t>(count)) {}
    std::latch answered;
    std::atomic<bool> failed = false;
  };
  const size_t count = std::min(doomed_.size(), kRemovalsPerTask);
  const auto removals = std::make_shared<Removals>(count);
  for (size_t i = 0; i < count; ++i) {
    const store::KeyValue event = std::move(doomed_.back());
    doomed_.pop_back();
    store_.Commit({.key = event.key, .value = nullptr, .expected = event.mod_revision}, [removals](const auto& removed) {
      // One that has been written since is young again.
      const auto is = [&removed](base::Code code) { return removed.error().code() == code; };
      if (!removed && !is(base::Code::kConflict) && !is(base::Code::kNotFound)) removals->failed = true;
      removals->answered.count_down();
    });
  }
  removals->answered.wait();
  // A store that does not answer is left alone until the next look.
  if (removals->failed) doomed_.clear();
  if (doomed_.empty()) return Schedule();
  strand_->Post([this] { RemoveSome(); });
}

}  // namespace evenkeel::embedded::apiserver
