// The one file of the SQLite store: opening it safely, reading it with all its checksums, and writing batches durably.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "embedded/store/sqlite_survey.h"
#include "embedded/store/store_lock.h"

namespace evenkeel::embedded::store {

/// One transaction.
struct SqliteBatch {
  std::span<const SqliteRow> insert;
  std::span<const Revision> erase;
  Revision compacted = 0;  ///< 0: as it was
  Revision revision = 0;   ///< the last one from now on, where it is above those inserted: what is between is skipped
};

/// Write-ahead log, synchronous=FULL. Two connections: one for everything below, by one thread at a time, and one for
/// Checkpoint, which may run on another thread meanwhile.
class SqliteFile {
 public:
  /// How long the log is meant to be before a Checkpoint, and what its file is cut to once it has been longer: about 8 MB, so
  /// that usual load writes over what is there instead of making the file longer.
  static constexpr int kLogPages = 1'000;

  /// Takes the lock and opens or creates (mode 0600) the file; brings an older layout to ours. Errors say what to do.
  /// `max_bytes` bounds the file (0: the disk does). Until StartWriting a store that is there and of our layout is not written
  /// to.
  static base::Result<std::unique_ptr<SqliteFile>> Open(const std::string& path, int64_t max_bytes);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  /// As SurveyStore; also looks at the log's middle and for acknowledged commits that are gone.
  base::Result<SqliteSurvey> Load(const std::function<base::Status(SqliteRow, bool damaged)>& row);
  /// After a Load that found all whole.
  base::Status StartWriting(const SqliteState& state);
  /// Gives the connections up and opens the file again, as Open but with the lock kept; Load and StartWriting follow. No
  /// Checkpoint may run meanwhile.
  base::Status Reopen();

  /// Carries out the batch in one transaction and returns when it is on the disk. kUnavailable when the disk is full: nothing
  /// of the batch is there. kInvalid when a row to be erased is damaged. For every other error, kInternal, the file cannot be
  /// trusted to agree with memory any more (whether a failed fsync kept the data is unknowable), so stop writing.
  base::Status Write(const SqliteBatch& batch);

  /// Pages in the write-ahead log after the latest Write.
  int log_pages() const { return log_pages_.load(std::memory_order_relaxed); }
  /// Copies the log into the database without holding up a Write. Own connection, one thread at a time.
  base::Status Checkpoint();
  /// The same on the connection of Write, so that nothing is appended meanwhile and the next Write starts the log again.
  base::Status FinishCheckpoint();

  const std::string& path() const { return path_; }

 private:
  SqliteFile(std::string path, int64_t max_bytes, std::unique_ptr<StoreLock> lock)
      : path_(std::move(path)), max_bytes_(max_bytes), lock_(std::move(lock)) {}
  base::Status Connect();
  void Disconnect();
  base::Status RunBatch(const SqliteBatch& batch, SqliteState& state);
  base::Status Erase(Revision revision, SqliteState& state);

  const std::string path_;
  const int64_t max_bytes_;
  const std::unique_ptr<StoreLock> lock_;
  SqliteHandle writer_, checkpointer_;
  SqliteStatement insert_, select_, erase_;
  SqliteState state_;
  bool log_damaged_ = false;
  std::atomic<int> log_pages_ = 0;
};

}  // namespace evenkeel::embedded::store
