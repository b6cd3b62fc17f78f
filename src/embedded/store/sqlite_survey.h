// Reads all of a SQLite store and says what of it is not as it was written.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "embedded/store/sqlite_layout.h"

namespace evenkeel::embedded::store {

struct SqliteDamage {
  enum class Kind {
    kSeal,       ///< a checksum, of a row or a state that is true otherwise: nothing is lost
    kValue,      ///< the row's value; its key and revision are true
    kRow,        ///< a row of which not even the key is sure
    kRows,       ///< rows that are missing, or too many
    kState,      ///< the state: what is missing cannot be told
    kStructure,  ///< SQLite cannot read some pages
    kLog,        ///< the write-ahead log, in the middle
    kTail,       ///< the last commits, which were acknowledged
  };
  Kind kind = Kind::kRow;
  Revision revision = 0;  ///< of the row, or the first of several; 0: not known
  std::string key;        ///< empty: not known
  std::string what;       ///< in words, without revision and key
};
std::string_view NameOf(SqliteDamage::Kind kind);
std::string Describe(const SqliteDamage& damage);

struct SqliteSurvey {
  static constexpr size_t kDamageMax = 1'000;

  SqliteState state;                 ///< as of the last row
  int64_t rows = 0;                  ///< that were handed on
  std::vector<SqliteDamage> damage;  ///< in the order found, at most kDamageMax
  int64_t damaged = 0;               ///< all of it

  void Add(SqliteDamage found);
  /// Adds what the store itself does not show: a log that is damaged in the middle, and a mark (store_lock.h) that it does not
  /// reach.
  void CompareWith(bool log_damaged, Revision mark);
  bool whole() const { return damaged == 0; }
  /// What is damaged is known by key, or is the end: the rest can be shown as what it is. Otherwise a key may have a newer
  /// version that cannot be read, and the older one would be shown for it.
  bool showable() const;
  /// One line: the first damage, how much there is, and what to do.
  std::string Summary(const std::string& path) const;
};

/// All rows in rising order of revision, in one read transaction: whole ones as they are, one with a damaged value with an
/// empty value. Costs a pass over the file. An error is one of the disk's (kInternal), of `row`, or of tables that cannot be
/// read at all (kInvalid); everything else is in the survey.
base::Result<SqliteSurvey> SurveyStore(const SqliteHandle& database,
                                       const std::function<base::Status(SqliteRow, bool damaged)>& row);

/// The whole rows with a revision above `after`, as many as have `bytes_max` bytes (one at least), for a check in passing: the
/// last revision looked at, 0 at the end. kInvalid names the first that is damaged.
base::Result<Revision> CheckRowsAfter(const SqliteHandle& database, Revision after, size_t bytes_max);

}  // namespace evenkeel::embedded::store
