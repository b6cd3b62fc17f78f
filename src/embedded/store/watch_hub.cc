#include "embedded/store/watch_hub.h"

#include <algorithm>
#include <utility>

namespace evenkeel::embedded::store {

Watcher::Watcher(Revision live_after, std::vector<Event> replay, WatchHandler handler)
    : live_after_(live_after), handler_(std::move(handler)), pending_(std::move(replay)) {}

void Watcher::Deliver(const std::vector<Event>& events) {
  const auto first = std::ranges::upper_bound(events, live_after_, {}, &Event::revision);
  std::unique_lock lock(mutex_);
  if (closed_ || end_) return;
  const size_t added = static_cast<size_t>(events.end() - first);
  if (pending_.size() + added > Store::kEventsMax) {
    pending_.clear();
    end_ = std::make_unique<base::Error>(base::Code::kExpired,
                                         "the watch fell " + std::to_string(Store::kEventsMax) + " events behind: list again");
  } else {
    pending_.insert(pending_.end(), first, events.end());
  }
  Pump(lock);
}

void Watcher::DeliverProgress(Revision reached) {
  Event progress;
  progress.type = Event::Type::kProgress;
  progress.revision = std::max(reached, live_after_);
  std::unique_lock lock(mutex_);
  if (closed_ || end_ || pending_.size() >= Store::kEventsMax) return;
  pending_.push_back(std::move(progress));
  Pump(lock);
}

void Watcher::End(base::Error error) {
  std::unique_lock lock(mutex_);
  if (closed_ || end_) return;
  end_ = std::make_unique<base::Error>(std::move(error));
  Pump(lock);
}

void Watcher::Pump(std::unique_lock<std::mutex>& lock) {
  if (calling_) return;
  calling_ = true;
  caller_ = std::this_thread::get_id();
  while (!closed_ && (!pending_.empty() || end_)) {
    std::vector<Event> batch = std::exchange(pending_, {});
    const bool last = batch.empty();
    lock.unlock();
    // end_ is set once and by then read only here, so it may be used without the lock.
    handler_(std::move(batch), last ? end_.get() : nullptr);
    lock.lock();
    if (last) closed_ = true;
  }
  calling_ = false;
  caller_ = {};
  WatchHandler finished;
  if (closed_) finished = std::exchange(handler_, nullptr);
  idle_.notify_all();
  lock.unlock();
}

void Watcher::Close() {
  WatchHandler finished;
  std::unique_lock lock(mutex_);
  closed_ = true;
  pending_.clear();
  if (calling_ && caller_ == std::this_thread::get_id()) return;
  idle_.wait(lock, [this] { return !calling_; });
  finished = std::exchange(handler_, nullptr);
  lock.unlock();
}

class WatchHub::Handle : public Watch {
 public:
  Handle(std::shared_ptr<Registry> registry, std::string prefix, std::shared_ptr<Watcher> watcher)
      : registry_(std::move(registry)), prefix_(std::move(prefix)), watcher_(std::move(watcher)) {}
  ~Handle() override {
    registry_->Remove(prefix_, watcher_.get());
    watcher_->Close();
  }

 private:
  const std::shared_ptr<Registry> registry_;
  const std::string prefix_;
  const std::shared_ptr<Watcher> watcher_;
};

void WatchHub::Registry::Remove(const std::string& prefix, const Watcher* watcher) {
  std::lock_guard lock(mutex);
  const auto id = ids.find(watcher);
  if (id == ids.end()) return;
  const auto group = groups.find(prefix);
  group->second.erase(id->second);
  if (group->second.empty()) groups.erase(group);
  if (--lengths[prefix.size()] == 0) lengths.erase(prefix.size());
  ids.erase(id);
}

std::vector<std::shared_ptr<Watcher>> WatchHub::Registry::All() {
  std::map<uint64_t, std::shared_ptr<Watcher>> in_order;
  std::lock_guard lock(mutex);
  for (const auto& [prefix, group] : groups) in_order.insert(group.begin(), group.end());
  std::vector<std::shared_ptr<Watcher>> all;
  all.reserve(in_order.size());
  for (auto& [id, watcher] : in_order) all.push_back(std::move(watcher));
  return all;
}

WatchHub::WatchHub() : registry_(std::make_shared<Registry>()) {}

WatchHub::~WatchHub() {
  const base::Error gone(base::Code::kUnavailable, "the store was closed");
  for (const auto& watcher : registry_->All()) watcher->End(gone);
}

std::shared_ptr<Watcher> WatchHub::Register(const std::string& prefix, Revision live_after, std::vector<Event> replay,
                                            WatchHandler handler) {
  auto watcher = std::make_shared<Watcher>(live_after, std::move(replay), std::move(handler));
  std::lock_guard lock(registry_->mutex);
  const uint64_t id = registry_->next_id++;
  registry_->groups[prefix].emplace(id, watcher);
  registry_->ids.emplace(watcher.get(), id);
  ++registry_->lengths[prefix.size()];
  return watcher;
}

std::unique_ptr<Watch> WatchHub::Start(const std::string& prefix, std::shared_ptr<Watcher> watcher) {
  watcher->Deliver({});
  return std::make_unique<Handle>(registry_, prefix, std::move(watcher));
}

void WatchHub::Enqueue(Event event) {
  std::lock_guard lock(queue_mutex_);
  queue_.push_back(std::move(event));
}

void WatchHub::Drain() {
  if (drainer_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return;
  std::lock_guard draining(drain_mutex_);
  drainer_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  for (;;) {
    std::vector<Event> events;
    bool progress = false;
    {
      std::lock_guard lock(queue_mutex_);
      events.swap(queue_);
      progress = std::exchange(progress_wanted_, false);
    }
    if (events.empty() && !progress) break;
    if (!events.empty()) DeliverBatch(std::move(events));
    if (progress || reached_ - last_progress_ >= kProgressInterval) DeliverProgress();
  }
  drainer_.store(std::thread::id(), std::memory_order_relaxed);
}

void WatchHub::TellProgress() {
  {
    std::lock_guard lock(queue_mutex_);
    progress_wanted_ = true;
  }
  Drain();
}

void WatchHub::DeliverProgress() {
  last_progress_ = reached_;
  for (const auto& watcher : registry_->All()) watcher->DeliverProgress(reached_);
}

void WatchHub::DeliverBatch(std::vector<Event> events) {
  struct Delivery {
    std::vector<std::shared_ptr<Watcher>> watchers;
    std::vector<Event> events;
  };
  std::map<std::pair<size_t, std::string_view>, Delivery> deliveries;  // by prefix, the short ones first
  {
    std::lock_guard lock(registry_->mutex);
    for (const Event& event : events) {
      const std::string_view key = event.current.key;
      for (const auto& [length, count] : registry_->lengths) {
        if (length > key.size()) break;
        const std::string_view prefix = key.substr(0, length);
        const auto group = registry_->groups.find(prefix);
        if (group == registry_->groups.end()) continue;
        Delivery& delivery = deliveries[{length, prefix}];
        if (delivery.watchers.empty()) {
          delivery.watchers.reserve(group->second.size());
          for (const auto& [id, watcher] : group->second) delivery.watchers.push_back(watcher);
        }
        delivery.events.push_back(event);
      }
    }
  }
  for (const auto& [prefix, delivery] : deliveries) {
    for (const auto& watcher : delivery.watchers) watcher->Deliver(delivery.events);
  }
  reached_ = events.back().revision;
}

}  // namespace evenkeel::embedded::store
