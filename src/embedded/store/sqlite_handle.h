// SQLite's connections and statements as values that close themselves, with errors that name the file and what to do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace evenkeel::embedded::store {

struct SqliteClose {
  void operator()(sqlite3* database) const;
  void operator()(sqlite3_stmt* statement) const;
};
using SqliteStatement = std::unique_ptr<sqlite3_stmt, SqliteClose>;

/// What to do about a damaged store, for the end of a message.
std::string DamageAdvice(const std::string& path);

/// One connection, for one thread at a time.
class SqliteHandle {
 public:
  SqliteHandle() = default;
  /// Opens a file that exists. Closing it leaves the write-ahead log as it is (see AllowCheckpointOnClose): it is evidence
  /// until the store has been found to be whole.
  static base::Result<SqliteHandle> Open(const std::string& path);

  sqlite3* get() const { return database_.get(); }
  const std::string& path() const { return path_; }
  void AllowCheckpointOnClose();

  base::Result<SqliteStatement> Compile(const char* sql) const;
  base::Status Execute(const std::string& sql) const;
  /// The first column of the first row; 0 when there is none.
  base::Result<int64_t> QueryNumber(const char* sql) const;
  /// Carries out a statement that answers nothing, and resets it.
  base::Status Step(sqlite3_stmt* statement) const;
  /// What SQLite itself finds wrong with its pages: kInvalid. One statement that reads the file.
  base::Status CheckPages() const;
  /// Of the latest call that failed: kInvalid for a damaged file, kUnavailable for a full disk, kInternal for all else.
  base::Error Failure(std::string_view doing) const;

 private:
  std::string path_;
  std::unique_ptr<sqlite3, SqliteClose> database_;
};

}  // namespace evenkeel::embedded::store
