#include "embedded/store/sqlite_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "embedded/store/write_ahead_log.h"

namespace evenkeel::embedded::store {
namespace {

using base::Code;
using base::Fail;

// What is read after the start is the last page and those that compaction takes rows from, one after the other; SQLite's own
// 2 MB would fill up with pages that nobody asks for again, once per cluster of a fleet.
constexpr int kCachePages = 64;

/// Whether the file was there. Created here and not by SQLite, because what the API keeps (Secrets) is for its owner only; log
/// and index copy the mode.
base::Result<bool> CreateFile(const std::string& path) {
  const bool existed = access(path.c_str(), F_OK) == 0;
  const int created = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (created < 0) return Fail(Code::kUnavailable, "cannot open store " + path + ": " + std::strerror(errno));
  close(created);
  return existed;
}

}  // namespace

base::Result<std::unique_ptr<SqliteFile>> SqliteFile::Open(const std::string& path, int64_t max_bytes) {
  EVENKEEL_ASSIGN(std::unique_ptr<StoreLock> lock, StoreLock::Take(path));
  EVENKEEL_ASSIGN(const bool existed, CreateFile(path));
  std::unique_ptr<SqliteFile> file(new SqliteFile(path, max_bytes, std::move(lock)));
  if (!existed) {
    // Where people have removed a store, the next one goes on above it, so that those who watched it notice.
    EVENKEEL_ASSIGN(file->writer_, SqliteHandle::Open(path));
    const Revision mark = file->lock_->mark();
    EVENKEEL_TRY(CreateLayout(file->writer_, {.revision = mark, .compacted = mark, .sum = 0, .erased = 0, .absent = mark}));
  }
  EVENKEEL_TRY(file->Connect());
  return file;
}

base::Status SqliteFile::Connect() {
  // Before SQLite looks at it: that would be the end of what stands behind a bad frame.
  EVENKEEL_ASSIGN(const LogScan log, ScanLogOf(path_));
  log_damaged_ = log.damaged;
  EVENKEEL_ASSIGN(writer_, SqliteHandle::Open(path_));
  EVENKEEL_ASSIGN(const int layout, LayoutOf(writer_));
  if (layout == kSqliteLayout) return {};
  if (log_damaged_) {
    return Fail(Code::kInvalid, "store " + path_ + ": its write-ahead log is damaged in the middle: " + DamageAdvice(path_));
  }
  if (layout == 0 && lock_->mark() > 0) {
    return Fail(Code::kInvalid, "store " + path_ + " is empty, but had revision " + std::to_string(lock_->mark()) + ": " +
                                    DamageAdvice(path_) + "; to begin anew, remove it");
  }
  return layout == 0 ? CreateLayout(writer_, {}) : UpgradeLayout(writer_);
}

void SqliteFile::Disconnect() {
  insert_.reset();
  select_.reset();
  erase_.reset();
  checkpointer_ = {};
  writer_ = {};
  log_pages_ = 0;
}

SqliteFile::~SqliteFile() {
  Disconnect();
  lock_->Sync();
}

base::Status SqliteFile::Reopen() {
  Disconnect();
  return Connect();
}

base::Result<SqliteSurvey> SqliteFile::Load(const std::function<base::Status(SqliteRow, bool damaged)>& row) {
  EVENKEEL_ASSIGN(SqliteSurvey survey, SurveyStore(writer_, row));
  survey.CompareWith(log_damaged_, lock_->mark());
  return survey;
}

base::Status SqliteFile::StartWriting(const SqliteState& state) {
  state_ = state;
  writer_.AllowCheckpointOnClose();
  EVENKEEL_TRY(
      writer_.Execute("PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;PRAGMA cache_size=" + std::to_string(kCachePages)));
  EVENKEEL_ASSIGN(const int64_t page_bytes, writer_.QueryNumber("PRAGMA page_size"));
  // The log's file keeps the length that it once had unless told otherwise, and starting it again does not shorten it.
  EVENKEEL_TRY(writer_.Execute("PRAGMA journal_size_limit=" + std::to_string(kLogPages * page_bytes)));
  if (max_bytes_ > 0) {
    EVENKEEL_TRY(writer_.Execute("PRAGMA max_page_count=" +
                                 std::to_string(std::max<int64_t>(max_bytes_ / std::max<int64_t>(page_bytes, 512), 8))));
  }
  EVENKEEL_ASSIGN(insert_, writer_.Compile(kInsertRow));
  EVENKEEL_ASSIGN(
      select_, writer_.Compile("SELECT revision, create_revision, key, value, head, checksum, sum FROM kv WHERE revision = ?"));
  EVENKEEL_ASSIGN(erase_, writer_.Compile("DELETE FROM kv WHERE revision = ?"));
  // In place of SQLite's own checkpoint inside a commit, which would hold that commit up.
  sqlite3_wal_hook(
      writer_.get(),
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<SqliteFile*>(self)->log_pages_.store(pages, std::memory_order_relaxed);
        return SQLITE_OK;
      },
      this);
  EVENKEEL_ASSIGN(checkpointer_, SqliteHandle::Open(path_));
  checkpointer_.AllowCheckpointOnClose();
  // A connection that has read nothing does not know that there is a log: checkpoints on it would say OK and copy nothing.
  EVENKEEL_TRY(checkpointer_.QueryNumber("SELECT count(*) FROM sqlite_master"));
  // After a failed fsync the log's pages may be in memory only, marked as written: in the database they are written anew.
  EVENKEEL_TRY(FinishCheckpoint());
  return lock_->RaiseMark(state_.revision);
}

base::Status SqliteFile::Write(const SqliteBatch& batch) {
  SqliteState state = state_;
  auto status = RunBatch(batch, state);
  if (status) {
    state_ = state;
    return lock_->RaiseMark(state_.revision);
  }
  const Code code = status.error().code();
  if (!sqlite3_get_autocommit(writer_.get())) sqlite3_exec(writer_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  // A full disk refuses the log's last, deciding page, so that such a transaction is never half there.
  if (code != Code::kInternal && sqlite3_get_autocommit(writer_.get())) return status;
  return Fail(base::Error(Code::kInternal, status.error().message()));
}

base::Status SqliteFile::Erase(Revision revision, SqliteState& state) {
  sqlite3_bind_int64(select_.get(), 1, revision);
  const int result = sqlite3_step(select_.get());
  const StoredRow stored = result == SQLITE_ROW ? ReadStoredRow(select_.get()) : StoredRow{};
  const base::Error error = writer_.Failure("cannot read it");
  sqlite3_reset(select_.get());
  if (result != SQLITE_ROW && result != SQLITE_DONE) return Fail(error);
  if (!stored.whole()) {
    return Fail(Code::kInvalid, "store " + path_ + " is damaged: the row of revision " + std::to_string(revision) +
                                    (result == SQLITE_DONE ? " is gone" : " is not as it was written") + ": " +
                                    DamageAdvice(path_));
  }
  state.erased += stored.seal.checksum;
  ++state.absent;
  sqlite3_bind_int64(erase_.get(), 1, revision);
  return writer_.Step(erase_.get());
}

base::Status SqliteFile::RunBatch(const SqliteBatch& batch, SqliteState& state) {
  const auto run = [this](const char* sql) -> base::Status {
    if (sqlite3_exec(writer_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
    return Fail(writer_.Failure("cannot write"));
  };
  const auto advance = [&state](Revision revision, int64_t rows) {
    state.absent += revision - state.revision - rows;
    state.revision = revision;
  };
  EVENKEEL_TRY(run("BEGIN IMMEDIATE"));
  for (const SqliteRow& row : batch.insert) {
    const RowSeal seal = SealRow(row, state.sum);
    BindRow(insert_.get(), row, seal);
    EVENKEEL_TRY(writer_.Step(insert_.get()));
    state.sum = seal.sum;
    advance(row.revision, 1);
  }
  sqlite3_clear_bindings(insert_.get());
  for (const Revision revision : batch.erase) EVENKEEL_TRY(Erase(revision, state));
  if (batch.revision > state.revision) advance(batch.revision, 0);
  state.compacted = std::max(state.compacted, batch.compacted);
  // The rows themselves say what only they have changed.
  if (!batch.erase.empty() || batch.compacted != 0 || batch.revision != 0) EVENKEEL_TRY(WriteState(writer_, state));
  return run("COMMIT");
}

base::Status SqliteFile::Checkpoint() {
  const int result = sqlite3_wal_checkpoint_v2(checkpointer_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (result == SQLITE_OK || result == SQLITE_BUSY) return {};
  return Fail(checkpointer_.Failure("cannot move the log into the database"));
}

base::Status SqliteFile::FinishCheckpoint() {
  const int result = sqlite3_wal_checkpoint_v2(writer_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (result == SQLITE_OK || result == SQLITE_BUSY) return {};
  return Fail(writer_.Failure("cannot move the log into the database"));
}

}  // namespace evenkeel::embedded::store
