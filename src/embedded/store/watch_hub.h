// Brings committed events to the watchers of a store: in the order of revisions, without a lock held, and visiting only the
// watchers whose prefix matches.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "embedded/store/store.h"

namespace evenkeel::embedded::store {

/// One watch's buffer. Events go in under its lock; whoever finds nobody calling the handler calls it until the buffer is
/// empty, so calls never overlap and no writer waits for a handler that another thread is in. Any thread.
class Watcher {
 public:
  Watcher(Revision live_after, std::vector<Event> replay, WatchHandler handler);

  /// Adds events (rising revisions; those up to live_after are skipped) and calls the handler unless somebody is doing that.
  /// A buffer beyond Store::kEventsMax ends the watch with kExpired.
  void Deliver(const std::vector<Event>& events);
  /// All events up to `reached` have been given to Deliver.
  void DeliverProgress(Revision reached);
  /// The last call of the handler, after what is in the buffer.
  void End(base::Error error);
  /// No call runs after this returns, except the one that this is called from.
  void Close();

 private:
  void Pump(std::unique_lock<std::mutex>& lock);

  const Revision live_after_;
  std::mutex mutex_;
  std::condition_variable idle_;
  WatchHandler handler_;
  std::vector<Event> pending_;
  std::unique_ptr<base::Error> end_;
  bool calling_ = false;
  bool closed_ = false;
  std::thread::id caller_;
};

/// The watchers of one store and the events on their way to them.
class WatchHub {
 public:
  /// A watcher hears at least this often how far it is, so that it need not list again after a long silence under its prefix.
  static constexpr Revision kProgressInterval = 1'000;

  WatchHub();
  /// Ends all watches with kUnavailable.
  ~WatchHub();

  /// Adds a watcher that has `replay` to hear and then every event after `live_after`. Called with the store's lock held, so
  /// that no event falls between; the handler is first called by Start or Drain.
  std::shared_ptr<Watcher> Register(const std::string& prefix, Revision live_after, std::vector<Event> replay,
                                    WatchHandler handler);
  /// Delivers the replay on this thread, without the store's lock, and gives the watch to its owner.
  std::unique_ptr<Watch> Start(const std::string& prefix, std::shared_ptr<Watcher> watcher);

  /// Puts an event in line, in the order of revisions: called with the store's lock held. Cheap.
  void Enqueue(Event event);
  /// Delivers what is in line, on this thread and without the store's lock; waits for another thread that is doing so. Called
  /// from within a handler it returns at once: the Drain that called the handler delivers it afterwards.
  void Drain();
  /// The same, and tells all watchers how far they are.
  void TellProgress();

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  // Outlives the hub while watches do.
  struct Registry {
    std::mutex mutex;
    uint64_t next_id = 0;
    std::unordered_map<std::string, std::map<uint64_t, std::shared_ptr<Watcher>>, Hash, std::equal_to<>> groups;  // by prefix
    std::map<size_t, size_t> lengths;  // of the prefixes, with the number of watchers: what to look up for a key
    std::unordered_map<const Watcher*, uint64_t> ids;

    void Remove(const std::string& prefix, const Watcher* watcher);
    std::vector<std::shared_ptr<Watcher>> All();
  };
  class Handle;

  void DeliverBatch(std::vector<Event> events);
  void DeliverProgress();

  const std::shared_ptr<Registry> registry_;
  std::mutex queue_mutex_;
  std::vector<Event> queue_;
  bool progress_wanted_ = false;  // guarded by queue_mutex_
  std::mutex drain_mutex_;
  std::atomic<std::thread::id> drainer_;
  // Guarded by drain_mutex_.
  Revision reached_ = 0, last_progress_ = 0;
};

}  // namespace evenkeel::embedded::store
