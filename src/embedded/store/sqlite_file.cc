#include "embedded/store/sqlite_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace evenkeel::embedded::store {
namespace {

using base::Code;
using base::Fail;

constexpr int kSchemaVersion = 1;
constexpr int kApplicationId = 0x45564b4c;
// Three objects of usual size in a page: a smaller page would hold one and waste the rest, a larger one would make the log of a
// single write longer.
constexpr int kPageBytes = 8192;
// What is read after the start is the last page and those that compaction takes rows from, one after the other; SQLite's own
// 2 MB would fill up with pages that nobody asks for again, once per cluster of a fleet.
constexpr int kCachePages = 64;

base::Result<int> LockFile(const std::string& path) {
  const std::string lock_path = path + ".lock";
  // Close-on-exec: a child process must not keep the lock after this process has ended.
  const int file = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) {
    return Fail(Code::kUnavailable, "cannot open " + lock_path + ": " + std::strerror(errno) + ": check the directory");
  }
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    close(file);
    if (error == EWOULDBLOCK) {
      return Fail(Code::kUnavailable, "store " + path + " is in use by another process: stop that one or use another file");
    }
    return Fail(Code::kUnavailable, "cannot lock " + lock_path + ": " + std::strerror(error));
  }
  return file;
}

}  // namespace

void SqliteFile::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void SqliteFile::Close::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

base::Error SqliteFile::Failure(sqlite3* database, std::string_view doing) const {
  const int result = database ? sqlite3_errcode(database) : SQLITE_NOMEM;
  const std::string text =
      "store " + path_ + ": " + std::string(doing) + ": " + (database ? sqlite3_errmsg(database) : "no memory");
  switch (result) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {Code::kInvalid, text + ": the file is damaged or not a store: move it away, or restore a copy"};
    case SQLITE_FULL:
      return {Code::kUnavailable, text + ": make room on the disk, or raise the store's limit"};
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return {Code::kInternal, text + ": check the file's and its directory's permissions"};
    default:
      return {Code::kInternal, text};
  }
}

base::Result<std::unique_ptr<SqliteFile>> SqliteFile::Open(const std::string& path, int64_t max_bytes) {
  EVENKEEL_ASSIGN(const int lock, LockFile(path));
  std::unique_ptr<SqliteFile> file(new SqliteFile(path, lock));
  // Created here and not by SQLite, because what the API keeps (Secrets) is for its owner only; log and index copy the mode.
  const int created = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (created < 0) return Fail(Code::kUnavailable, "cannot open store " + path + ": " + std::strerror(errno));
  close(created);
  EVENKEEL_TRY(file->Prepare(max_bytes));
  return file;
}

SqliteFile::~SqliteFile() {
  insert_.reset();
  erase_.reset();
  set_meta_.reset();
  checkpointer_.reset();
  writer_.reset();
  close(lock_);
}

base::Result<SqliteFile::Database> SqliteFile::Connect() {
  sqlite3* raw = nullptr;
  const int result = sqlite3_open_v2(path_.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(raw);
  if (result != SQLITE_OK) return Fail(Failure(raw, "cannot open it"));
  sqlite3_busy_timeout(raw, 10'000);
  return database;
}

base::Status SqliteFile::Prepare(int64_t max_bytes) {
  EVENKEEL_ASSIGN(writer_, Connect());
  EVENKEEL_TRY(CreateOrCheckSchema());
  EVENKEEL_TRY(Execute("PRAGMA synchronous=FULL"));
  EVENKEEL_TRY(Execute(("PRAGMA cache_size=" + std::to_string(kCachePages)).c_str()));
  // The log's file keeps the length that it once had unless told otherwise, and starting it again does not shorten it.
  EVENKEEL_TRY(Execute(("PRAGMA journal_size_limit=" + std::to_string(kLogPages * kPageBytes)).c_str()));
  if (max_bytes > 0) {
    EVENKEEL_TRY(Execute(("PRAGMA max_page_count=" + std::to_string(std::max<int64_t>(max_bytes / kPageBytes, 8))).c_str()));
  }
  EVENKEEL_ASSIGN(insert_, Compile("INSERT INTO kv(revision, create_revision, key, value) VALUES(?, ?, ?, ?)"));
  EVENKEEL_ASSIGN(erase_, Compile("DELETE FROM kv WHERE revision = ?"));
  EVENKEEL_ASSIGN(set_meta_, Compile("INSERT OR REPLACE INTO meta(name, value) VALUES(?, ?)"));
  // In place of SQLite's own checkpoint inside a commit, which would hold that commit up.
  sqlite3_wal_hook(
      writer_.get(),
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<SqliteFile*>(self)->log_pages_.store(pages, std::memory_order_relaxed);
        return SQLITE_OK;
      },
      this);
  EVENKEEL_ASSIGN(checkpointer_, Connect());
  // A connection that has read nothing does not know that there is a log: checkpoints on it would say OK and copy nothing.
  if (sqlite3_exec(checkpointer_.get(), "SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr) != SQLITE_OK) {
    return Fail(Failure(checkpointer_.get(), "cannot prepare it"));
  }
  return {};
}

base::Status SqliteFile::CreateOrCheckSchema() {
  EVENKEEL_ASSIGN(const int64_t objects, QueryNumber("SELECT count(*) FROM sqlite_master"));
  EVENKEEL_ASSIGN(const int64_t application, QueryNumber("PRAGMA application_id"));
  EVENKEEL_ASSIGN(const int64_t version, QueryNumber("PRAGMA user_version"));
  if (objects == 0 && application == 0 && version == 0) {
    EVENKEEL_TRY(Execute(("PRAGMA page_size=" + std::to_string(kPageBytes)).c_str()));
    EVENKEEL_TRY(Execute("PRAGMA journal_mode=WAL"));
    const std::string create =
        "BEGIN;"
        "CREATE TABLE kv(revision INTEGER PRIMARY KEY, create_revision INTEGER NOT NULL, key BLOB NOT NULL, value BLOB);"
        "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
        "PRAGMA application_id=" +
        std::to_string(kApplicationId) + ";PRAGMA user_version=" + std::to_string(kSchemaVersion) + ";COMMIT";
    return Execute(create.c_str());
  }
  if (application != kApplicationId) {
    return Fail(Code::kInvalid, "store " + path_ + " is a database of another program: use another file");
  }
  if (version > kSchemaVersion) {
    return Fail(Code::kInvalid, "store " + path_ + " has schema version " + std::to_string(version) + ", this program knows " +
                                    std::to_string(kSchemaVersion) + ": use the newer program that wrote it");
  }
  return Execute("PRAGMA journal_mode=WAL");
}

base::Status SqliteFile::Execute(const char* sql) {
  if (sqlite3_exec(writer_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return Fail(Failure(writer_.get(), "cannot prepare it"));
}

base::Result<SqliteFile::Statement> SqliteFile::Compile(const char* sql) {
  sqlite3_stmt* raw = nullptr;
  const int result = sqlite3_prepare_v3(writer_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (result != SQLITE_OK) return Fail(Failure(writer_.get(), "cannot prepare it"));
  return Statement(raw);
}

base::Result<int64_t> SqliteFile::QueryNumber(const char* sql) {
  EVENKEEL_ASSIGN(const Statement statement, Compile(sql));
  const int result = sqlite3_step(statement.get());
  if (result == SQLITE_ROW) return sqlite3_column_int64(statement.get(), 0);
  if (result == SQLITE_DONE) return 0;
  return Fail(Failure(writer_.get(), "cannot read it"));
}

base::Result<Revision> SqliteFile::revision_at_compaction() {
  return QueryNumber("SELECT value FROM meta WHERE name = 'revision'");
}

base::Result<Revision> SqliteFile::compacted_revision() {
  return QueryNumber("SELECT value FROM meta WHERE name = 'compacted'");
}

base::Status SqliteFile::Load(const std::function<base::Status(SqliteRow)>& row) {
  EVENKEEL_ASSIGN(const Statement statement, Compile("SELECT revision, create_revision, key, value FROM kv ORDER BY revision"));
  sqlite3_stmt* rows = statement.get();
  int result = SQLITE_ROW;
  while ((result = sqlite3_step(rows)) == SQLITE_ROW) {
    SqliteRow next;
    next.revision = sqlite3_column_int64(rows, 0);
    next.create_revision = sqlite3_column_int64(rows, 1);
    const void* key = sqlite3_column_blob(rows, 2);
    if (key) next.key.assign(static_cast<const char*>(key), static_cast<size_t>(sqlite3_column_bytes(rows, 2)));
    if (sqlite3_column_type(rows, 3) != SQLITE_NULL) {
      const void* value = sqlite3_column_blob(rows, 3);
      const auto size = static_cast<size_t>(sqlite3_column_bytes(rows, 3));
      next.value = std::make_shared<const std::string>(value ? static_cast<const char*>(value) : "", size);
    }
    if (next.revision <= 0 || next.key.empty() || (next.value != nullptr) != (next.create_revision > 0)) {
      return Fail(Code::kInvalid, "store " + path_ + ": the row of revision " + std::to_string(next.revision) +
                                      " makes no sense: the file is damaged: move it away, or restore a copy");
    }
    EVENKEEL_TRY(row(std::move(next)));
  }
  if (result != SQLITE_DONE) return Fail(Failure(writer_.get(), "cannot read it"));
  return {};
}

base::Status SqliteFile::Step(sqlite3_stmt* statement) {
  const int result = sqlite3_step(statement);
  if (result == SQLITE_DONE) {
    sqlite3_reset(statement);
    return {};
  }
  const base::Error error = Failure(writer_.get(), "cannot write");
  sqlite3_reset(statement);
  return Fail(error);
}

base::Status SqliteFile::Write(const SqliteBatch& batch, Revision highest) {
  auto status = RunBatch(batch, highest);
  if (status) return status;
  const bool full = status.error().code() == Code::kUnavailable;
  if (!sqlite3_get_autocommit(writer_.get())) sqlite3_exec(writer_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  // A full disk refuses the log's last, deciding page, so that such a transaction is never half there.
  if (full && sqlite3_get_autocommit(writer_.get())) return status;
  return Fail(base::Error(Code::kInternal, status.error().message()));
}

base::Status SqliteFile::RunBatch(const SqliteBatch& batch, Revision highest) {
  const auto run = [this](const char* sql) -> base::Status {
    if (sqlite3_exec(writer_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
    return Fail(Failure(writer_.get(), "cannot write"));
  };
  EVENKEEL_TRY(run("BEGIN IMMEDIATE"));
  for (const SqliteRow& row : batch.insert) {
    sqlite3_bind_int64(insert_.get(), 1, row.revision);
    sqlite3_bind_int64(insert_.get(), 2, row.create_revision);
    sqlite3_bind_blob64(insert_.get(), 3, row.key.data(), row.key.size(), SQLITE_STATIC);
    if (row.value) {
      sqlite3_bind_blob64(insert_.get(), 4, row.value->data(), row.value->size(), SQLITE_STATIC);
    } else {
      sqlite3_bind_null(insert_.get(), 4);
    }
    EVENKEEL_TRY(Step(insert_.get()));
  }
  sqlite3_clear_bindings(insert_.get());
  for (const Revision revision : batch.erase) {
    sqlite3_bind_int64(erase_.get(), 1, revision);
    EVENKEEL_TRY(Step(erase_.get()));
  }
  if (batch.compacted != 0) {
    for (const auto& [name, value] : {std::pair{"revision", highest}, std::pair{"compacted", batch.compacted}}) {
      sqlite3_bind_text(set_meta_.get(), 1, name, -1, SQLITE_STATIC);
      sqlite3_bind_int64(set_meta_.get(), 2, value);
      EVENKEEL_TRY(Step(set_meta_.get()));
    }
  }
  return run("COMMIT");
}

base::Status SqliteFile::Checkpoint() {
  const int result = sqlite3_wal_checkpoint_v2(checkpointer_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (result == SQLITE_OK || result == SQLITE_BUSY) return {};
  return Fail(Failure(checkpointer_.get(), "cannot move the log into the database"));
}

base::Status SqliteFile::FinishCheckpoint() {
  const int result = sqlite3_wal_checkpoint_v2(writer_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (result == SQLITE_OK || result == SQLITE_BUSY) return {};
  return Fail(Failure(writer_.get(), "cannot move the log into the database"));
}

}  // namespace evenkeel::embedded::store
