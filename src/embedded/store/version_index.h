// All versions of all keys in memory: what the memory and the SQLite store read from. Current values are kept for good, older
// ones and the log of events until they are compacted, by request or by the limits of history.
//
// About 200 bytes per key besides the key's and the value's own bytes, 16 bytes per event in the log, 32 per superseded
// version.
#pragma once

#include <deque>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <optional>
#include <string>
#include <vector>

#include "embedded/store/store.h"

namespace evenkeel::embedded::store {

/// How much history is kept without a Compact; the oldest goes first. The defaults are minutes of a busy fleet, which is what
/// a watcher needs to reconnect and a paged list to finish.
struct HistoryLimits {
  size_t events_max = 200'000;
  size_t superseded_bytes_max = 64 << 20;  ///< values that are no longer current
};

/// The current version of a key, as far as a write is checked against it.
struct KeyHead {
  Revision create_revision = 0;
  Revision mod_revision = 0;
};

/// Whether a guard holds when its key's current version is `now` (nullopt: there is none). kCancelled.
base::Status CheckGuard(const Guard& guard, const std::optional<KeyHead>& now);
/// Whether `write`, whose guard holds, may be carried out when its key's current version is `now` (nullopt: there is none).
/// Errors of Store::Commit.
base::Status CheckWrite(const Write& write, const std::optional<KeyHead>& now);

/// The first key after all keys that begin with the prefix; empty when there is no such key.
std::string PrefixEnd(std::string prefix);

/// Thread-compatible: const methods may run at the same time, others alone.
class VersionIndex {
 public:
  /// What a compaction dropped: the caller removes the rows and frees the values after letting go of its lock.
  struct Forgotten {
    std::vector<Revision> revisions;  ///< of one key always in rising order, a deletion after what it deleted
    std::vector<Value> values;
  };

  explicit VersionIndex(HistoryLimits limits = {}) : limits_(limits) {}
  VersionIndex(const VersionIndex&) = delete;
  VersionIndex& operator=(const VersionIndex&) = delete;

  /// Nullopt when the key does not exist now. O(log keys).
  std::optional<KeyHead> Head(const std::string& key) const;

  /// Makes the write (already checked) the key's current version, with a revision above all before. A put keeps the key's
  /// create_revision or starts with its own. Returns the event for the watchers. O(log keys).
  Event Apply(Revision revision, std::string key, Value value);
  /// The same for a row read back from disk, which knows its create_revision; 0 for a deletion.
  Event Restore(Revision revision, Revision create_revision, std::string key, Value value);
  /// Raises the current revision without a write: the row that had it has been compacted.
  void RaiseRevision(Revision revision) { current_revision_ = std::max(current_revision_, revision); }

  base::Result<KeyValue> Get(const std::string& key, Revision revision) const;
  base::Result<ListResult> List(const ListOptions& options) const;
  /// The events under the prefix with a revision > after, oldest first; kExpired when compacted or more than `max`.
  base::Result<std::vector<Event>> EventsAfter(std::string_view prefix, Revision after, size_t max) const;

  /// As Store::Compact. O(events dropped * log).
  base::Status Compact(Revision revision, Forgotten& forgotten);
  /// Compacts as far as the limits of history ask, a 64th of the log at a time so that it happens rarely.
  void Trim(Forgotten& forgotten);

  Revision current_revision() const { return current_revision_; }
  Revision compacted_revision() const { return compacted_revision_; }
  size_t key_count() const { return entries_.size() - deleted_.size(); }
  size_t event_count() const { return log_.size(); }
  size_t superseded_bytes() const { return superseded_bytes_; }

 private:
  struct Version {
    Value value;  // null: deleted
    Revision create_revision;
    Revision mod_revision;
  };
  struct Entry {
    Version current;
    std::vector<Version> older;  // rising
  };
  struct ByPointee {
    bool operator()(const std::string* a, const std::string* b) const { return *a < *b; }
  };
  template <typename Key, typename Mapped, typename Less>
  using CountedTree =
      __gnu_pbds::tree<Key, Mapped, Less, __gnu_pbds::rb_tree_tag, __gnu_pbds::tree_order_statistics_node_update>;
  using Entries = CountedTree<std::string, Entry, std::less<std::string>>;
  using Node = Entries::value_type;  // of stable address
  struct LoggedEvent {
    Revision revision;
    Node* node;  // stays while any event in the log refers to it
  };

  static const Version* VersionAt(const Entry& entry, Revision revision);
  static Event MakeEvent(const Node& node, Revision revision);
  base::Status CheckReadable(Revision revision) const;
  size_t CountAfter(const std::string& last_key, const std::string& prefix, Revision revision) const;
  void Prune(Node& node, Revision revision, Forgotten& forgotten);
  void Forget(Version& version, Forgotten& forgotten);
  std::deque<LoggedEvent>::const_iterator LogAfter(Revision revision) const;

  const HistoryLimits limits_;
  Entries entries_;
  // The keys of entries whose current version is a deletion: live keys in a range = entries - deleted ones, by rank in both.
  CountedTree<const std::string*, __gnu_pbds::null_type, ByPointee> deleted_;
  std::deque<LoggedEvent> log_;
  Revision current_revision_ = 0;
  Revision compacted_revision_ = 0;
  size_t superseded_bytes_ = 0;
};

}  // namespace evenkeel::embedded::store
