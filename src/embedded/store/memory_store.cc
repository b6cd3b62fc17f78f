#include "embedded/store/memory_store.h"

#include <mutex>
#include <shared_mutex>

#include "embedded/store/fair_shared_mutex.h"
#include "embedded/store/watch_hub.h"

namespace evenkeel::embedded::store {
namespace {

class MemoryStore : public Store {
 public:
  explicit MemoryStore(HistoryLimits limits) : index_(limits) {}

  base::Result<KeyValue> Get(const std::string& key, Revision revision) override {
    std::shared_lock lock(mutex_);
    return index_.Get(key, revision);
  }

  base::Result<ListResult> List(const ListOptions& options) override {
    std::shared_lock lock(mutex_);
    return index_.List(options);
  }

  void Commit(Write write, std::function<void(base::Result<Revision>)> done) override {
    VersionIndex::Forgotten forgotten;  // freed after the lock
    Revision revision = 0;
    {
      std::unique_lock lock(mutex_);
      auto allowed = write.guard ? CheckGuard(*write.guard, index_.Head(write.guard->key)) : base::Status();
      if (allowed) allowed = CheckWrite(write, index_.Head(write.key));
      if (!allowed) {
        lock.unlock();
        return done(base::Fail(std::move(allowed).error()));
      }
      revision = index_.current_revision() + 1;
      hub_.Enqueue(index_.Apply(revision, std::move(write.key), std::move(write.value)));
      index_.Trim(forgotten);
    }
    hub_.Drain();
    done(revision);
  }

  base::Result<std::unique_ptr<Watch>> NewWatch(std::string prefix, Revision after, WatchHandler handler) override {
    std::shared_ptr<Watcher> watcher;
    {
      // Alone, like a write: no event may be put in line between the replay and the registration.
      std::unique_lock lock(mutex_);
      const Revision now = index_.current_revision();
      EVENKEEL_ASSIGN(std::vector<Event> replay, index_.EventsAfter(prefix, after == 0 ? now : after, kEventsMax));
      watcher = hub_.Register(prefix, std::max(after, now), std::move(replay), std::move(handler));
    }
    return hub_.Start(prefix, std::move(watcher));
  }

  void TellProgress() override { hub_.TellProgress(); }
  Revision current_revision() override {
    std::shared_lock lock(mutex_);
    return index_.current_revision();
  }

  base::Status Compact(Revision revision) override {
    VersionIndex::Forgotten forgotten;
    std::unique_lock lock(mutex_);
    auto status = index_.Compact(revision, forgotten);
    lock.unlock();
    return status;
  }

  Revision compacted_revision() override {
    std::shared_lock lock(mutex_);
    return index_.compacted_revision();
  }

  bool reads_block() const override { return false; }

 private:
  FairSharedMutex mutex_;
  VersionIndex index_;
  WatchHub hub_;
};

}  // namespace

std::unique_ptr<Store> NewMemoryStore(HistoryLimits limits) { return std::make_unique<MemoryStore>(limits); }

}  // namespace evenkeel::embedded::store
