// What people do with a SQLite store besides running it: verify, repair, back up, restore. Paths are those of the database.
#pragma once

#include <string>
#include <vector>

#include "embedded/store/sqlite_survey.h"

namespace evenkeel::embedded::store {

/// Reads all of the store and changes nothing of it; also while a server has it, whose last commits may then not be seen.
/// kNotFound where there is none, kInvalid where nothing of it can be read or its layout is not ours. At most
/// SqliteSurvey::kDamageMax findings.
base::Result<SqliteSurvey> VerifyStore(const std::string& path);

struct StoreCopy {
  SqliteSurvey found;     ///< of what was copied
  Revision revision = 0;  ///< that the result goes on above
  std::string kept_as;    ///< where the damaged store is now; empty: nothing was changed, or nothing replaced
  /// Keys whose newest version is lost, so that they are now as they were before it, with the revision of that; 0: absent.
  std::vector<std::pair<std::string, Revision>> set_back;
};

/// Writes the state of one instant to a file that must not exist, with its history; also while a server has the store. The copy
/// is a store itself, mode 0600, synced, and verified as it was read. kInvalid when the store is damaged: nothing is written
/// then.
base::Result<StoreCopy> BackUpStore(const std::string& path, const std::string& target);

/// Puts a backup in the place of a store that no server has. Its revision is raised above every one that the store there ever
/// told anybody, so that every watcher lists again; where there is no trace of such a store, by kRestoreGap. kAlreadyExists
/// where a store is there and `overwrite` is not set; it is removed otherwise. Until the last step, a rename, the old one is
/// untouched.
base::Result<StoreCopy> RestoreStore(const std::string& backup, const std::string& path, bool overwrite);
/// More than three years of 10,000 writes a second, and 9,000 restores below 2^53.
constexpr Revision kRestoreGap = 1'000'000'000'000;

/// Replaces a damaged store that no server has by one of its whole rows, and keeps the damaged one as `path`.damaged (-2, -3,
/// ...). Goes on above every revision told, as RestoreStore. A store that is whole is left as it is.
base::Result<StoreCopy> RepairStore(const std::string& path);

}  // namespace evenkeel::embedded::store
