#include "embedded/store/sqlite_handle.h"

#include <sqlite3.h>

namespace evenkeel::embedded::store {

using base::Code;
using base::Fail;

void SqliteClose::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void SqliteClose::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

std::string DamageAdvice(const std::string& path) {
  return "`evenkeel apiserver verify " + path +
         "` says what is damaged, `repair` keeps what is whole, `restore` puts a backup back";
}

base::Result<SqliteHandle> SqliteHandle::Open(const std::string& path) {
  SqliteHandle handle;
  handle.path_ = path;
  sqlite3* raw = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  handle.database_.reset(raw);
  if (result != SQLITE_OK) return Fail(handle.Failure("cannot open it"));
  sqlite3_busy_timeout(raw, 10'000);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return handle;
}

void SqliteHandle::AllowCheckpointOnClose() { sqlite3_db_config(get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr); }

base::Error SqliteHandle::Failure(std::string_view doing) const {
  const int result = database_ ? sqlite3_errcode(get()) : SQLITE_NOMEM;
  const std::string text =
      "store " + path_ + ": " + std::string(doing) + ": " + (database_ ? sqlite3_errmsg(get()) : "no memory");
  switch (result) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {Code::kInvalid, text + ": the file is damaged or not a store: " + DamageAdvice(path_)};
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

base::Result<SqliteStatement> SqliteHandle::Compile(const char* sql) const {
  sqlite3_stmt* raw = nullptr;
  const int result = sqlite3_prepare_v3(get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (result == SQLITE_OK) return SqliteStatement(raw);
  // Our own statements are right where the tables are as they were made.
  if (result == SQLITE_ERROR) {
    return Fail(Code::kInvalid,
                "store " + path_ + ": its tables are damaged: " + sqlite3_errmsg(get()) + ": " + DamageAdvice(path_));
  }
  return Fail(Failure("cannot prepare it"));
}

base::Status SqliteHandle::Execute(const std::string& sql) const {
  if (sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return Fail(Failure("cannot prepare it"));
}

base::Result<int64_t> SqliteHandle::QueryNumber(const char* sql) const {
  EVENKEEL_ASSIGN(const SqliteStatement statement, Compile(sql));
  const int result = sqlite3_step(statement.get());
  if (result == SQLITE_ROW) return sqlite3_column_int64(statement.get(), 0);
  if (result == SQLITE_DONE) return 0;
  return Fail(Failure("cannot read it"));
}

base::Status SqliteHandle::Step(sqlite3_stmt* statement) const {
  if (sqlite3_step(statement) == SQLITE_DONE) {
    sqlite3_reset(statement);
    return {};
  }
  const base::Error error = Failure("cannot write");
  sqlite3_reset(statement);
  return Fail(error);
}

base::Status SqliteHandle::CheckPages() const {
  EVENKEEL_ASSIGN(const SqliteStatement check, Compile("PRAGMA quick_check(1)"));
  if (sqlite3_step(check.get()) != SQLITE_ROW) return Fail(Failure("cannot check it"));
  const unsigned char* text = sqlite3_column_text(check.get(), 0);
  const std::string answer = text ? reinterpret_cast<const char*>(text) : "no answer";
  if (answer == "ok") return {};
  return Fail(Code::kInvalid,
              "store " + path_ + " is damaged: " + answer.substr(0, answer.find('\n')) + ": " + DamageAdvice(path_));
}

}  // namespace evenkeel::embedded::store
