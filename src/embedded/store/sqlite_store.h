// The store of a single machine: SQLite for durability, the version index for reads.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "embedded/store/store.h"
#include "embedded/store/version_index.h"

namespace evenkeel::embedded::store {

struct SqliteOptions {
  HistoryLimits history = {};
  /// Writes not done yet, beyond which Commit answers kTooManyRequests: some seconds of work for a usual disk.
  size_t writes_max = 10'000;
  size_t write_bytes_max = 256 << 20;
  /// Size of the database file, beyond which writes fail with kUnavailable until something is compacted; 0: the disk's.
  int64_t max_bytes = 0;
  /// After an error of the disk, until the file is opened again; each further try waits twice as long, at most 30 s.
  std::chrono::milliseconds reopen_after{1'000};
  /// From the end of one check of the whole file in passing to the next; 0: none.
  std::chrono::milliseconds verify_every{600'000};
};

struct SqliteStats {
  int64_t transactions = 0;  ///< each is one fsync of the log
  int64_t writes = 0;        ///< durable ones
  int64_t erased = 0;        ///< rows removed by compaction
  int64_t checkpoints = 0;
  int64_t reopened = 0;  ///< after an error
  int64_t verified = 0;  ///< checks in passing
};

/// Four threads: the commit thread takes all writes that wait, checks each against the state that the earlier ones leave,
/// and makes them durable in one transaction (so while one fsync runs, the next batch collects); the delivery thread calls the
/// watchers and then `done` of a batch while the next one is being written; the checkpoint thread copies the log into the
/// database; the verifying thread reads the file again now and then. Reads come from memory and show durable state only.
///
/// A full disk fails the writes of its batch, and the store goes on. After any other disk error the batch fails (kUnavailable:
/// its writes may or may not be there) and the store refuses writes (reads go on) until it has opened the file again and found
/// it whole: after a failed fsync nothing else can tell what is there. Watchers then hear of the writes in doubt that are.
///
/// Damage: every row and all of them together have checksums (sqlite_layout.h). A store that is damaged refuses writes for good
/// and says so (Health). When opened so, it shows what is whole; a key whose value is damaged has an empty one, and history
/// begins behind it. Where the damage may hide newer versions of any key, it is not opened at all.
class SqliteStore : public Store {
 public:
  /// Any thread.
  virtual SqliteStats stats() const = 0;
};

/// Opens or creates the file, of which one process at a time may be the owner. Its history survives a restart, within the
/// limits. Reads and checks all of it (about 1 s for 100,000 objects of 2 KB), and brings
/// an older layout to ours, which rewrites all of it. The error is one line and says what to do.
base::Result<std::unique_ptr<SqliteStore>> OpenSqliteStore(const std::string& path, const SqliteOptions& options = {});

}  // namespace evenkeel::embedded::store
