#include "embedded/store/sqlite_survey.h"

#include <sqlite3.h>

#include <optional>

#include "base/hash.h"

namespace evenkeel::embedded::store {
namespace {

using base::Code;
using base::Fail;
using DamageKind = SqliteDamage::Kind;

constexpr const char* kRowsFrom =
    "SELECT revision, create_revision, key, value, head, checksum, sum FROM kv WHERE revision >= ? ORDER BY revision";
/// How often a place behind damaged pages is looked for.
constexpr int kProbesMax = 10'000;

std::string Counted(int64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

class Surveyor {
 public:
  Surveyor(const SqliteHandle& database, const std::function<base::Status(SqliteRow, bool)>& row)
      : database_(database), row_(row) {}

  base::Result<SqliteSurvey> Run() {
    EVENKEEL_TRY(ReadState());
    EVENKEEL_ASSIGN(const SqliteStatement rows, database_.Compile(kRowsFrom));
    EVENKEEL_TRY(ReadRows(rows.get()));
    CheckTotals();
    return std::move(survey_);
  }

 private:
  base::Status ReadState();
  base::Status ReadRows(sqlite3_stmt* rows);
  base::Result<std::optional<Revision>> FindReadable(sqlite3_stmt* rows, Revision from);
  base::Status Take(StoredRow stored);
  void CheckTotals();

  const SqliteHandle& database_;
  const std::function<base::Status(SqliteRow, bool)>& row_;
  SqliteSurvey survey_;
  bool state_known_ = false;
  Revision last_ = 0;      // of the last row that was handed on
  uint64_t last_sum_ = 0;  // and its sum
  uint64_t live_ = 0;      // the sum of the checksums of all rows
};

base::Status Surveyor::ReadState() {
  EVENKEEL_ASSIGN(const SqliteStatement read,
                  database_.Compile("SELECT revision, compacted, sum, erased, absent, checksum FROM state ORDER BY id"));
  int copies = 0;
  int result = SQLITE_ROW;
  while ((result = sqlite3_step(read.get())) == SQLITE_ROW) {
    SqliteState state;
    state.revision = sqlite3_column_int64(read.get(), 0);
    state.compacted = sqlite3_column_int64(read.get(), 1);
    state.sum = static_cast<uint64_t>(sqlite3_column_int64(read.get(), 2));
    state.erased = static_cast<uint64_t>(sqlite3_column_int64(read.get(), 3));
    state.absent = sqlite3_column_int64(read.get(), 4);
    if (static_cast<uint64_t>(sqlite3_column_int64(read.get(), 5)) != StateChecksum(state)) continue;
    ++copies;
    survey_.state = state;
    state_known_ = true;
  }
  if (result == SQLITE_CORRUPT) {
    survey_.Add({DamageKind::kStructure, 0, "", "the state's page cannot be read"});
  } else if (result != SQLITE_DONE) {
    return Fail(database_.Failure("cannot read it"));
  }
  if (!state_known_) {
    survey_.Add({DamageKind::kState, 0, "", "the state is damaged"});
  } else if (copies != kStateCopies) {
    survey_.Add({DamageKind::kSeal, 0, "", "one copy of the state is damaged"});
  }
  return {};
}

base::Status Surveyor::ReadRows(sqlite3_stmt* rows) {
  for (std::optional<Revision> from = std::numeric_limits<Revision>::min(); from;) {
    sqlite3_reset(rows);
    sqlite3_bind_int64(rows, 1, *from);
    int result = SQLITE_ROW;
    while ((result = sqlite3_step(rows)) == SQLITE_ROW) EVENKEEL_TRY(Take(ReadStoredRow(rows)));
    if (result == SQLITE_DONE) break;
    if (result != SQLITE_CORRUPT) return Fail(database_.Failure("cannot read it"));
    survey_.Add({DamageKind::kStructure, last_ + 1, "", "pages of the database cannot be read from here on"});
    EVENKEEL_ASSIGN(from, FindReadable(rows, std::max(last_ + 1, *from)));
  }
  sqlite3_reset(rows);
  return {};
}

/// The first revision above `from` that can be read, behind pages that cannot: by steps that double, then by halves.
base::Result<std::optional<Revision>> Surveyor::FindReadable(sqlite3_stmt* rows, Revision from) {
  Revision bad = from;
  Revision good = 0;
  Revision step = 1;
  for (int probe = 0; probe < kProbesMax && (good == 0 || good - bad > 1); ++probe) {
    const Revision at = good == 0 ? bad + step : bad + (good - bad) / 2;
    sqlite3_reset(rows);
    sqlite3_bind_int64(rows, 1, at);
    const int result = sqlite3_step(rows);
    if (result == SQLITE_CORRUPT) {
      bad = at;
      if (good == 0 && step > std::numeric_limits<Revision>::max() / 4 - bad) return std::optional<Revision>();
      step *= 2;
    } else if (result == SQLITE_ROW) {
      good = at;
    } else if (result == SQLITE_DONE) {
      if (good != 0 || at - bad <= 1) return std::optional<Revision>();
      step = 1;
    } else {
      return Fail(database_.Failure("cannot read it"));
    }
  }
  return good == 0 ? std::optional<Revision>() : std::optional<Revision>(good);
}

base::Status Surveyor::Take(StoredRow stored) {
  const SqliteRow& row = stored.row;
  const bool whole = stored.whole();
  const bool in_order = row.revision > last_;
  const bool value_true = stored.seal.checksum == SealRow(row, 0).checksum;
  if (!in_order || (!whole && !stored.key_is_true() && !value_true) || row.revision <= 0 || row.key.empty()) {
    survey_.Add({DamageKind::kRow, row.revision > 0 && in_order ? row.revision : 0, "", "a row of unknown key is damaged"});
    return {};
  }
  // Rows are removed, and revisions skipped, only up to the compacted one.
  const Revision expected = std::max(last_, survey_.state.compacted) + 1;
  if (state_known_ && row.revision > expected) {
    survey_.Add({DamageKind::kRows, expected, "", Counted(row.revision - expected, "row") + " missing from here on"});
  }
  if (whole && row.revision == last_ + 1 && last_ > 0 && stored.seal.sum - stored.seal.checksum != last_sum_) {
    survey_.Add({DamageKind::kSeal, row.revision, row.key, "the row's sum does not follow from that of the one before"});
  }
  last_ = row.revision;
  last_sum_ = stored.seal.sum;
  live_ += stored.seal.checksum;
  ++survey_.rows;
  if (whole) return row_(std::move(stored.row), false);
  if (value_true && (row.value != nullptr) == (row.create_revision > 0)) {
    survey_.Add({DamageKind::kSeal, row.revision, row.key, "the row's checksum is damaged, its content is not"});
    return row_(std::move(stored.row), false);
  }
  survey_.Add({DamageKind::kValue, row.revision, row.key, "the value is damaged"});
  stored.row.value = row.create_revision > 0 ? std::make_shared<const std::string>() : nullptr;
  return row_(std::move(stored.row), true);
}

void Surveyor::CheckTotals() {
  if (!state_known_) {
    survey_.state.revision = std::max(survey_.state.revision, last_);
    return;
  }
  SqliteState& state = survey_.state;
  if (last_ > state.revision) {
    state.sum = last_sum_;
    state.revision = last_;
  } else if (last_ == state.revision && last_sum_ != state.sum) {
    survey_.Add({DamageKind::kSeal, last_, "", "the last row's sum is not that of the state"});
  }
  const int64_t expected = state.revision - state.absent;
  if (survey_.rows < expected)
    survey_.Add({DamageKind::kRows, 0, "", Counted(expected - survey_.rows, "row") + " missing in all"});
  if (survey_.rows > expected) survey_.Add({DamageKind::kRows, 0, "", Counted(survey_.rows - expected, "row") + " too many"});
  if (survey_.whole() && live_ != state.sum - state.erased) {
    survey_.Add({DamageKind::kRows, 0, "", "the rows are not those that were written: their checksums do not add up"});
  }
}

}  // namespace

std::string_view NameOf(SqliteDamage::Kind kind) {
  switch (kind) {
    case DamageKind::kSeal:
      return "Checksum";
    case DamageKind::kValue:
      return "Value";
    case DamageKind::kRow:
      return "Row";
    case DamageKind::kRows:
      return "MissingRows";
    case DamageKind::kState:
      return "State";
    case DamageKind::kStructure:
      return "Pages";
    case DamageKind::kLog:
      return "Log";
    case DamageKind::kTail:
      return "LastCommits";
  }
  return "";
}

std::string Describe(const SqliteDamage& damage) {
  std::string text;
  if (damage.revision != 0) text += "revision " + std::to_string(damage.revision) + ": ";
  if (!damage.key.empty()) text += damage.key + ": ";
  return text + damage.what;
}

void SqliteSurvey::Add(SqliteDamage found) {
  ++damaged;
  if (damage.size() < kDamageMax) damage.push_back(std::move(found));
}

void SqliteSurvey::CompareWith(bool log_damaged, Revision mark) {
  const Revision last = state.revision;
  if (log_damaged) {
    Add({DamageKind::kLog, last + 1, "", "the write-ahead log is damaged, with commits behind that place"});
  }
  if (mark > last) {
    Add({DamageKind::kTail, last + 1, "", "acknowledged writes up to revision " + std::to_string(mark) + " are gone"});
  }
}

bool SqliteSurvey::showable() const {
  return damaged == static_cast<int64_t>(damage.size()) && std::ranges::all_of(damage, [](const SqliteDamage& each) {
           return each.kind == DamageKind::kSeal || each.kind == DamageKind::kValue || each.kind == DamageKind::kLog ||
                  each.kind == DamageKind::kTail;
         });
}

std::string SqliteSurvey::Summary(const std::string& path) const {
  if (whole()) return "store " + path + " is whole";
  const std::string more = damaged > 1 ? " (and " + std::to_string(damaged - 1) + " more)" : "";
  return "store " + path + " is damaged: " + Describe(damage.front()) + more + ": " + DamageAdvice(path);
}

base::Result<SqliteSurvey> SurveyStore(const SqliteHandle& database, const std::function<base::Status(SqliteRow, bool)>& row) {
  EVENKEEL_TRY(database.Execute("BEGIN"));
  auto survey = Surveyor(database, row).Run();
  sqlite3_exec(database.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  return survey;
}

base::Result<Revision> CheckRowsAfter(const SqliteHandle& database, Revision after, size_t bytes_max) {
  EVENKEEL_ASSIGN(const SqliteStatement rows, database.Compile(kRowsFrom));
  sqlite3_bind_int64(rows.get(), 1, after + 1);
  size_t bytes = 0;
  Revision last = after;
  while (bytes < bytes_max) {
    const int result = sqlite3_step(rows.get());
    if (result == SQLITE_DONE) return 0;
    if (result != SQLITE_ROW) return Fail(database.Failure("cannot read it"));
    const StoredRow stored = ReadStoredRow(rows.get());
    if (stored.row.revision <= last || !stored.whole()) {
      return Fail(Code::kInvalid, "store " + database.path() + " is damaged: the row behind revision " + std::to_string(last) +
                                      " is not as it was written: " + DamageAdvice(database.path()));
    }
    last = stored.row.revision;
    bytes += stored.row.key.size() + (stored.row.value ? stored.row.value->size() : 0) + 64;
  }
  return last;
}

}  // namespace evenkeel::embedded::store
