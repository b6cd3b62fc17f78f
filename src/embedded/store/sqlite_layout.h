// What is in the SQLite store's file, layout 2: a row per revision and one row of state, each with checksums.
//
//   kv(revision, create_revision, key, value, head, checksum, sum)    head covers revision, create_revision and key; checksum
//       covers head and value; sum is the sum, mod 2^64, of the checksums of all rows ever written up to and with this one.
//   state(id, revision, compacted, sum, erased, absent, checksum)  written twice with each removal of rows.
//
// So at any time: the checksums of the rows there are add up to the last row's sum minus `erased`, and the rows there are and
// `absent` add up to the last revision. A row that is changed, lost, doubled or of yesterday is noticed.
// Layout 1 had kv without checksums, and meta(name, value) with "revision" and "compacted".
#pragma once

#include <cstdint>
#include <string>

#include "embedded/store/sqlite_handle.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::store {

constexpr int kSqliteLayout = 2;

struct SqliteRow {
  Revision revision = 0;
  Revision create_revision = 0;  ///< 0 for a deletion
  std::string key;
  Value value;  ///< null for a deletion
};

struct RowSeal {
  uint64_t head = 0;
  uint64_t checksum = 0;
  uint64_t sum = 0;
  bool operator==(const RowSeal&) const = default;
};
RowSeal SealRow(const SqliteRow& row, uint64_t sum_before);

struct SqliteState {
  Revision revision = 0;   ///< the last one when this was written; its row may be gone
  Revision compacted = 0;  ///< what Store::Compact was last told
  uint64_t sum = 0;        ///< of the last row then
  uint64_t erased = 0;     ///< sum of the checksums of all rows removed so far
  int64_t absent = 0;      ///< revisions without a row: removed, or skipped by a restore
};
uint64_t StateChecksum(const SqliteState& state);

/// A row of `SELECT revision, create_revision, key, value, head, checksum, sum`, as it lies there.
struct StoredRow {
  SqliteRow row;
  RowSeal seal;
  bool whole() const;        ///< nothing of it has changed since it was written
  bool key_is_true() const;  ///< revision, create_revision and key have not
};
StoredRow ReadStoredRow(sqlite3_stmt* statement);

/// Binds the columns of a row for `INSERT INTO kv VALUES(?, ?, ?, ?, ?, ?, ?)`; what `row` points to must outlive the step.
void BindRow(sqlite3_stmt* statement, const SqliteRow& row, const RowSeal& seal);
constexpr const char* kInsertRow =
    "INSERT INTO kv(revision, create_revision, key, value, head, checksum, sum) VALUES(?, ?, ?, ?, ?, ?, ?)";

/// On one page: a flipped bit leaves the other.
constexpr int kStateCopies = 2;
base::Status WriteState(const SqliteHandle& database, const SqliteState& state);

/// Which layout the file has; 0 where it is empty. kInvalid, in one line, for another program's database and for a newer
/// layout.
base::Result<int> LayoutOf(const SqliteHandle& database);
/// Makes the tables of an empty file, as of the revision that `state` says.
base::Status CreateLayout(const SqliteHandle& database, const SqliteState& state);
/// Brings layout 1 to layout 2, in one transaction. kInvalid, and nothing is changed, when SQLite finds the file damaged or a
/// row makes no sense. Rewrites all of the file.
base::Status UpgradeLayout(const SqliteHandle& database);

}  // namespace evenkeel::embedded::store
