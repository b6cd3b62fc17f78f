// Revisioned keys with watch: what the API server keeps its objects in. The contract is etcd's, cut down to what an API server
// uses; bodies: memory (memory_store.h), SQLite (sqlite_store.h) and etcd (etcd_store.h). One contract test runs on all three.
//
// Every successful write gets a higher revision of one sequence that starts above 0 and never goes back, also over restarts
// (memory and SQLite: the next one, without gaps; etcd shares its sequence with its other users).
// All methods may be called from any thread. A store must outlive the calls running in it, but not its watches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace evenkeel::embedded::store {

using Revision = int64_t;
/// Shared, because one value is at the same time current, in the history, on its way to watchers and in a list's answer.
using Value = std::shared_ptr<const std::string>;

struct KeyValue {
  std::string key;
  Value value;
  Revision create_revision = 0;
  Revision mod_revision = 0;
};

/// What must hold of a key besides the one that is written: its mod_revision, 0 when it must not exist.
struct Guard {
  std::string key;
  Revision expected = 0;
};

/// One write. `expected` is the mod_revision that the key must have now: 0 means that it must not exist, kAnyRevision that
/// it does not matter.
struct Write {
  static constexpr Revision kAnyRevision = -1;
  std::string key;
  Value value;  ///< null deletes
  Revision expected = kAnyRevision;
  std::shared_ptr<const Guard> guard = nullptr;  ///< null: none; checked in the same step as `expected`, and before it
};

struct ListOptions {
  std::string prefix = {};
  std::string start_after = {};  ///< keys > this only; empty: from the beginning of the prefix
  size_t limit = 0;              ///< 0: all
  Revision revision = 0;         ///< 0: now; otherwise the state as it was then
};

struct ListResult {
  std::vector<KeyValue> items;  ///< in byte order of the key
  Revision revision = 0;        ///< the revision that the list shows
  bool more = false;            ///< limit cut it short
  size_t remaining = 0;         ///< how many more there are, where `more`
};

struct Event {
  enum class Type { kPut, kDelete, kProgress };
  Type type = Type::kPut;
  KeyValue current;       ///< for kDelete: the key, with the deletion's revision as mod_revision, and no value
  Value previous;         ///< the value before, null when it was created
  Revision revision = 0;  ///< kProgress: everything up to here has been delivered
};

/// Called in the order of revisions, from one thread at a time, never with a lock of the store held; must not block. The
/// batch is empty and `error` is set once, as the last call, when the watch ends: kExpired when it fell behind the
/// compaction or its buffer (kEventsMax), kUnavailable when the store went away. It may call the store: the events of a write
/// that it makes come after those being delivered. kProgress comes now and then (memory and SQLite: every 1,000 revisions and
/// with TellProgress; etcd: every ten minutes).
using WatchHandler = std::function<void(std::vector<Event> batch, const base::Error* error)>;

/// Ends the watch when destroyed; no call of the handler is running or will come after that (when destroyed from within its
/// own handler, that one call still runs). Destroying it waits for a running call: hold no lock that the handler takes.
class Watch {
 public:
  virtual ~Watch() = default;
};

class Store {
 public:
  /// A watcher that is this many events behind is ended with kExpired rather than held in memory: it lists again.
  static constexpr size_t kEventsMax = 100'000;

  virtual ~Store() = default;

  /// The value now, or as of `revision`. kNotFound; kExpired when `revision` is compacted; kBadRequest when in the future.
  virtual base::Result<KeyValue> Get(const std::string& key, Revision revision = 0) = 0;
  /// The keys under a prefix. A page costs its items and O(log keys), plus, at an old revision, the events since then.
  /// Errors as Get, but no kNotFound.
  virtual base::Result<ListResult> List(const ListOptions& options) = 0;

  /// Carries out one write and calls `done` exactly once, with its revision when it is durable (memory: at once, on this
  /// thread; SQLite: from the delivery thread, many writes per fsync; etcd: from a gRPC thread). Memory and SQLite have called
  /// the watchers before (not for a write made by a handler). kConflict when `expected` does not hold (also for a create of an
  /// existing key; for a delete of an absent key kNotFound); kCancelled when the guard does not. kUnavailable when it could not
  /// be made durable: then it may or may not be there. kTooManyRequests, at once on this thread, when too many writes are under
  /// way. `done` must not block.
  virtual void Commit(Write write, std::function<void(base::Result<Revision>)> done) = 0;
  /// The same, blocking. Not from a WatchHandler or `done` (except on memory): it would wait for its own thread.
  base::Result<Revision> CommitAndWait(Write write);

  /// Delivers every write under the prefix with a revision > `after`, then goes on as they happen. 0 means from now; a future
  /// `after` waits for it. Only durable writes are delivered. kExpired (by return or by the handler) when `after` is compacted
  /// or more than kEventsMax events under the prefix back. Memory and SQLite deliver what there is before this returns, on this
  /// thread.
  virtual base::Result<std::unique_ptr<Watch>> NewWatch(std::string prefix, Revision after, WatchHandler handler) = 0;
  /// As NewWatch, but where the link to the store breaks it ends with kUnavailable, rather than to go on once the link is whole
  /// again: for whoever must know that there may be something that they have not heard of. Links to memory and SQLite are
  /// whole.
  virtual base::Result<std::unique_ptr<Watch>> NewUnbrokenWatch(std::string prefix, Revision after, WatchHandler handler) {
    return NewWatch(std::move(prefix), after, std::move(handler));
  }

  /// Tells every watcher how far it is, on this thread, so that one whose prefix is quiet need not list again after a
  /// compaction. etcd tells them by itself.
  virtual void TellProgress() {}

  /// Latest durable revision. etcd: asks it, and answers the latest one seen when it cannot be reached.
  virtual Revision current_revision() = 0;
  /// Forgets history: states and watches from before `revision` become kExpired; current values stay. kBadRequest when in the
  /// future; no error when that is done already. SQLite: durable on return.
  virtual base::Status Compact(Revision revision) = 0;
  /// The latest revision given to Compact, or reached by the store's own limits of history. etcd: O(log revision) requests.
  virtual Revision compacted_revision() = 0;
  /// Whether writes are taken; kUnavailable says why not, and what to do. etcd: asks it, and blocks until it answers or the
  /// time for a request is over.
  virtual base::Status Health() { return {}; }
  /// Whether Get and List may wait for disk or network (then call them where blocking is fine).
  virtual bool reads_block() const = 0;
};

}  // namespace evenkeel::embedded::store
