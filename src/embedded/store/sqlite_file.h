// The one file of the SQLite store: opening it safely, one table of revisions, and writing batches durably.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "embedded/store/store.h"

struct sqlite3;
struct sqlite3_stmt;

namespace evenkeel::embedded::store {

struct SqliteRow {
  Revision revision = 0;
  Revision create_revision = 0;  ///< 0 for a deletion
  std::string key;
  Value value;  ///< null for a deletion
};

/// One transaction.
struct SqliteBatch {
  std::span<const SqliteRow> insert;
  std::span<const Revision> erase;
  Revision compacted = 0;  ///< 0: as it was
};

/// Write-ahead log, synchronous=FULL. Two connections: one for everything below, by one thread at a time, and one for
/// Checkpoint, which may run on another thread meanwhile.
class SqliteFile {
 public:
  /// How long the log is meant to be before a Checkpoint, and what its file is cut to once it has been longer: about 8 MB, so
  /// that usual load writes over what is there instead of making the file longer.
  static constexpr int kLogPages = 1'000;

  /// Opens or creates (mode 0600) the file and holds `path`.lock, so that no other process has it. Errors say what to do.
  /// `max_bytes` bounds the file (0: the disk does).
  static base::Result<std::unique_ptr<SqliteFile>> Open(const std::string& path, int64_t max_bytes);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  /// All rows in the order of revisions. kInvalid when the file is damaged.
  base::Status Load(const std::function<base::Status(SqliteRow)>& row);
  /// What the last compaction left: the highest revision then (its row may be gone) and the compacted one.
  base::Result<Revision> revision_at_compaction();
  base::Result<Revision> compacted_revision();

  /// Carries out the batch in one transaction and returns when it is on the disk; `highest` is stored with a compaction.
  /// kUnavailable when the disk is full: nothing of the batch is there. kInternal for every other error: the file cannot be
  /// trusted to agree with memory any more (whether a failed fsync kept the data is unknowable), so stop writing.
  base::Status Write(const SqliteBatch& batch, Revision highest);

  /// Pages in the write-ahead log after the latest Write.
  int log_pages() const { return log_pages_.load(std::memory_order_relaxed); }
  /// Copies the log into the database without holding up a Write. Own connection, one thread at a time.
  base::Status Checkpoint();
  /// The same on the connection of Write, so that nothing is appended meanwhile and the next Write starts the log again.
  base::Status FinishCheckpoint();

 private:
  struct Close {
    void operator()(sqlite3* database) const;
    void operator()(sqlite3_stmt* statement) const;
  };
  using Database = std::unique_ptr<sqlite3, Close>;
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;

  SqliteFile(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  base::Status Prepare(int64_t max_bytes);
  base::Status CreateOrCheckSchema();
  base::Result<Database> Connect();
  base::Result<Statement> Compile(const char* sql);
  base::Status Execute(const char* sql);
  base::Result<int64_t> QueryNumber(const char* sql);
  base::Status Step(sqlite3_stmt* statement);
  base::Status RunBatch(const SqliteBatch& batch, Revision highest);
  base::Error Failure(sqlite3* database, std::string_view doing) const;

  const std::string path_;
  const int lock_;
  Database writer_;
  Database checkpointer_;
  Statement insert_, erase_, set_meta_;
  std::atomic<int> log_pages_ = 0;
};

}  // namespace evenkeel::embedded::store
