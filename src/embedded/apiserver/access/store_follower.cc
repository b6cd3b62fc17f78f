#include "embedded/apiserver/access/store_follower.h"

#include "base/log.h"

namespace evenkeel::embedded::apiserver {

StoreFollower::StoreFollower(store::Store& store, std::string prefix, std::string what, Sink sink, base::Executor* executor)
    : store_(store),
      prefix_(std::move(prefix)),
      what_(std::move(what)),
      sink_(std::move(sink)),
      strand_(executor == nullptr ? nullptr : executor->NewStrand("follow-" + what_)) {}

StoreFollower::~StoreFollower() {
  if (strand_ != nullptr) strand_->Close();
  retry_.Cancel();
  watch_.reset();
}

base::Status StoreFollower::Start() {
  std::lock_guard lock(follow_mutex_);
  if (auto status = Follow(); !status) return base::Fail(status.error().Wrap("following " + what_));
  return {};
}

base::Status StoreFollower::Follow() {
  EVENKEEL_ASSIGN(const auto list, store_.List({.prefix = prefix_, .start_after = {}}));
  {
    std::lock_guard lock(mutex_);
    std::set<std::string> gone = std::exchange(keys_, {});
    for (const store::KeyValue& item : list.items) {
      const std::string key = item.key.substr(prefix_.size());
      gone.erase(key);
      keys_.insert(key);
      sink_.put(item);
    }
    for (const std::string& key : gone) sink_.remove(key, list.revision);
    if (sink_.progress) sink_.progress(list.revision);
  }
  // Before the watch, which may end before this returns.
  current_ = true;
  auto watch = store_.NewUnbrokenWatch(
      prefix_, list.revision, [this](const std::vector<store::Event>& batch, const base::Error* error) { Hear(batch, error); });
  if (!watch) {
    current_ = false;
    return base::Fail(watch.error());
  }
  watch_ = *std::move(watch);
  return {};
}

void StoreFollower::Hear(const std::vector<store::Event>& batch, const base::Error* error) {
  {
    std::lock_guard lock(mutex_);
    for (const store::Event& event : batch) {
      if (event.type == store::Event::Type::kProgress) continue;
      const std::string key = event.current.key.substr(prefix_.size());
      if (event.type == store::Event::Type::kPut) {
        keys_.insert(key);
        store::KeyValue item = event.current;
        item.mod_revision = event.revision;
        sink_.put(item);
      } else {
        keys_.erase(key);
        sink_.remove(key, event.revision);
      }
    }
    if (sink_.progress && !batch.empty()) sink_.progress(batch.back().revision);
  }
  if (error == nullptr) return;
  current_ = false;
  base::log::Warn("what changes is not heard of any more, all is listed again", {{"what", what_}, {"error", *error}});
  if (strand_ != nullptr) strand_->Post([this] { Retry(); });
}

void StoreFollower::Retry() {
  std::lock_guard lock(follow_mutex_);
  watch_.reset();
  if (const auto followed = Follow(); !followed) {
    base::log::Warn("what has changed cannot be listed, and is tried again", {{"what", what_}, {"error", followed.error()}});
    retry_ = strand_->PostAfter(kRetryInterval, [this] { Retry(); });
  }
}

}  // namespace evenkeel::embedded::apiserver
