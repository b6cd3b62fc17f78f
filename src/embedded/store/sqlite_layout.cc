#include "embedded/store/sqlite_layout.h"

#include <sqlite3.h>

#include <span>

#include "base/hash.h"

namespace evenkeel::embedded::store {
namespace {

using base::Code;
using base::Fail;

constexpr int kApplicationId = 0x45564b4c;
// Three objects of usual size in a page: a smaller page would hold one and waste the rest, a larger one would make the log of a
// single write longer.
constexpr int kPageBytes = 8192;

constexpr const char* kStateTable =
    "CREATE TABLE state(id INTEGER PRIMARY KEY, revision INTEGER NOT NULL, compacted INTEGER NOT NULL, sum INTEGER NOT NULL,"
    " erased INTEGER NOT NULL, absent INTEGER NOT NULL, checksum INTEGER NOT NULL);";

/// As little-endian bytes, so that a file means the same everywhere.
uint64_t HashNumbers(std::span<const uint64_t> numbers) {
  std::string bytes;
  for (const uint64_t number : numbers) {
    for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(number >> shift);
  }
  return base::XxHash64(bytes);
}

uint64_t HeadOf(const SqliteRow& row) {
  return base::XxHash64(row.key,
                        HashNumbers({{static_cast<uint64_t>(row.revision), static_cast<uint64_t>(row.create_revision)}}));
}

bool MakesSense(const SqliteRow& row) {
  return row.revision > 0 && !row.key.empty() && (row.value != nullptr) == (row.create_revision > 0);
}

std::string Marks() {
  return "PRAGMA application_id=" + std::to_string(kApplicationId) + ";PRAGMA user_version=" + std::to_string(kSqliteLayout) +
         ";";
}

base::Status SealAllRows(const SqliteHandle& database, SqliteState& state) {
  EVENKEEL_ASSIGN(
      const SqliteStatement next,
      database.Compile(
          "SELECT revision, create_revision, key, value, 0, 0, 0 FROM kv WHERE revision > ? ORDER BY revision LIMIT 1"));
  EVENKEEL_ASSIGN(const SqliteStatement seal,
                  database.Compile("UPDATE kv SET head = ?, checksum = ?, sum = ? WHERE revision = ?"));
  int64_t rows = 0;
  Revision last = 0;
  for (;; ++rows) {
    sqlite3_bind_int64(next.get(), 1, last);
    const int result = sqlite3_step(next.get());
    if (result == SQLITE_DONE) break;
    if (result != SQLITE_ROW) return Fail(database.Failure("cannot read it"));
    const StoredRow stored = ReadStoredRow(next.get());
    sqlite3_reset(next.get());
    if (!MakesSense(stored.row)) {
      return Fail(Code::kInvalid, "store " + database.path() + ": the row of revision " + std::to_string(stored.row.revision) +
                                      " makes no sense: the file is damaged: restore a copy");
    }
    const RowSeal made = SealRow(stored.row, state.sum);
    sqlite3_bind_int64(seal.get(), 1, static_cast<int64_t>(made.head));
    sqlite3_bind_int64(seal.get(), 2, static_cast<int64_t>(made.checksum));
    sqlite3_bind_int64(seal.get(), 3, static_cast<int64_t>(made.sum));
    sqlite3_bind_int64(seal.get(), 4, stored.row.revision);
    EVENKEEL_TRY(database.Step(seal.get()));
    state.sum = made.sum;
    last = stored.row.revision;
  }
  state.revision = std::max(state.revision, last);
  state.absent = state.revision - rows;
  return {};
}

base::Status UpgradeInTransaction(const SqliteHandle& database) {
  EVENKEEL_TRY(database.CheckPages());
  SqliteState state;
  EVENKEEL_ASSIGN(state.revision, database.QueryNumber("SELECT value FROM meta WHERE name = 'revision'"));
  EVENKEEL_ASSIGN(state.compacted, database.QueryNumber("SELECT value FROM meta WHERE name = 'compacted'"));
  EVENKEEL_TRY(database.Execute(std::string("ALTER TABLE kv ADD COLUMN head INTEGER NOT NULL DEFAULT 0;"
                                            "ALTER TABLE kv ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;"
                                            "ALTER TABLE kv ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;"
                                            "DROP TABLE meta;") +
                                kStateTable + Marks()));
  EVENKEEL_TRY(SealAllRows(database, state));
  EVENKEEL_TRY(WriteState(database, state));
  return database.Execute("COMMIT");
}

}  // namespace

RowSeal SealRow(const SqliteRow& row, uint64_t sum_before) {
  RowSeal seal;
  seal.head = HeadOf(row);
  seal.checksum = base::XxHash64(row.value ? std::string_view(*row.value) : "", seal.head);
  seal.sum = sum_before + seal.checksum;
  return seal;
}

uint64_t StateChecksum(const SqliteState& state) {
  return HashNumbers({{static_cast<uint64_t>(state.revision), static_cast<uint64_t>(state.compacted), state.sum, state.erased,
                       static_cast<uint64_t>(state.absent)}});
}

bool StoredRow::whole() const {
  const RowSeal made = SealRow(row, seal.sum - seal.checksum);
  return MakesSense(row) && made == seal;
}

bool StoredRow::key_is_true() const { return row.revision > 0 && !row.key.empty() && HeadOf(row) == seal.head; }

StoredRow ReadStoredRow(sqlite3_stmt* statement) {
  StoredRow stored;
  stored.row.revision = sqlite3_column_int64(statement, 0);
  stored.row.create_revision = sqlite3_column_int64(statement, 1);
  const void* key = sqlite3_column_blob(statement, 2);
  if (key) stored.row.key.assign(static_cast<const char*>(key), static_cast<size_t>(sqlite3_column_bytes(statement, 2)));
  if (sqlite3_column_type(statement, 3) != SQLITE_NULL) {
    const void* value = sqlite3_column_blob(statement, 3);
    const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, 3));
    stored.row.value = std::make_shared<const std::string>(value ? static_cast<const char*>(value) : "", size);
  }
  stored.seal = {.head = static_cast<uint64_t>(sqlite3_column_int64(statement, 4)),
                 .checksum = static_cast<uint64_t>(sqlite3_column_int64(statement, 5)),
                 .sum = static_cast<uint64_t>(sqlite3_column_int64(statement, 6))};
  return stored;
}

void BindRow(sqlite3_stmt* statement, const SqliteRow& row, const RowSeal& seal) {
  sqlite3_bind_int64(statement, 1, row.revision);
  sqlite3_bind_int64(statement, 2, row.create_revision);
  sqlite3_bind_blob64(statement, 3, row.key.data(), row.key.size(), SQLITE_STATIC);
  if (row.value) {
    sqlite3_bind_blob64(statement, 4, row.value->data(), row.value->size(), SQLITE_STATIC);
  } else {
    sqlite3_bind_null(statement, 4);
  }
  sqlite3_bind_int64(statement, 5, static_cast<int64_t>(seal.head));
  sqlite3_bind_int64(statement, 6, static_cast<int64_t>(seal.checksum));
  sqlite3_bind_int64(statement, 7, static_cast<int64_t>(seal.sum));
}

base::Status WriteState(const SqliteHandle& database, const SqliteState& state) {
  EVENKEEL_ASSIGN(const SqliteStatement write,
                  database.Compile("INSERT OR REPLACE INTO state(id, revision, compacted, sum, erased, absent, checksum)"
                                   " VALUES(?, ?, ?, ?, ?, ?, ?)"));
  for (int copy = 1; copy <= kStateCopies; ++copy) {
    int column = 0;
    for (const int64_t number :
         {int64_t{copy}, state.revision, state.compacted, static_cast<int64_t>(state.sum), static_cast<int64_t>(state.erased),
          state.absent, static_cast<int64_t>(StateChecksum(state))}) {
      sqlite3_bind_int64(write.get(), ++column, number);
    }
    EVENKEEL_TRY(database.Step(write.get()));
  }
  return {};
}

base::Result<int> LayoutOf(const SqliteHandle& database) {
  EVENKEEL_ASSIGN(const int64_t objects, database.QueryNumber("SELECT count(*) FROM sqlite_master"));
  EVENKEEL_ASSIGN(const int64_t application, database.QueryNumber("PRAGMA application_id"));
  EVENKEEL_ASSIGN(const int64_t version, database.QueryNumber("PRAGMA user_version"));
  const std::string store = "store " + database.path();
  if (objects == 0 && application == 0 && version == 0) return 0;
  if (application != kApplicationId) return Fail(Code::kInvalid, store + " is a database of another program: use another file");
  if (version > kSqliteLayout) {
    return Fail(Code::kInvalid, store + " has layout " + std::to_string(version) + ", this program knows " +
                                    std::to_string(kSqliteLayout) + ": use the newer program that wrote it");
  }
  if (version < 1) return Fail(Code::kInvalid, store + " has no layout: the file is damaged: " + DamageAdvice(database.path()));
  return static_cast<int>(version);
}

base::Status CreateLayout(const SqliteHandle& database, const SqliteState& state) {
  EVENKEEL_TRY(
      database.Execute("PRAGMA page_size=" + std::to_string(kPageBytes) + ";PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;"));
  EVENKEEL_TRY(database.Execute(std::string("BEGIN IMMEDIATE;"
                                            "CREATE TABLE kv(revision INTEGER PRIMARY KEY, create_revision INTEGER NOT NULL,"
                                            " key BLOB NOT NULL, value BLOB, head INTEGER NOT NULL, checksum INTEGER NOT NULL,"
                                            " sum INTEGER NOT NULL);") +
                                kStateTable + Marks()));
  EVENKEEL_TRY(WriteState(database, state));
  return database.Execute("COMMIT");
}

base::Status UpgradeLayout(const SqliteHandle& database) {
  EVENKEEL_TRY(database.Execute("PRAGMA synchronous=FULL;BEGIN IMMEDIATE"));
  const auto status = UpgradeInTransaction(database);
  if (!status) sqlite3_exec(database.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

}  // namespace evenkeel::embedded::store
