// SQLite's write-ahead log, as far as it must be looked into from outside: SQLite takes the first frame that is not whole for
// the log's end, also where acknowledged commits stand behind it. Format: sqlite 3 "fileformat2", section 4.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace evenkeel::embedded::store {

/// Fills `bytes` from `offset`; false where the file has less.
using LogBytes = std::function<bool(uint64_t offset, char* bytes, size_t count)>;

struct LogScan {
  int64_t frames = 0;  ///< whole ones from the beginning
  /// Behind them stands a commit, and behind that a whole frame: since each commit is synced before the next one begins, this
  /// is no torn end. Or the log's own header is not whole though frames follow it.
  bool damaged = false;
};

/// Reads a log of `size` bytes once, with the memory of one page. Any bytes.
LogScan ScanLog(uint64_t size, const LogBytes& read);
/// `path`: the database; a log that is not there is empty. The log must not be written to meanwhile.
base::Result<LogScan> ScanLogOf(const std::string& path);

/// Makes a copy of a damaged log readable to its end: gives all its frames checksums that fit what is in them, whatever that
/// is. `path`: the copy of the database. Which rows are true is for their own checksums to say.
base::Status ResealLogOf(const std::string& path);

}  // namespace evenkeel::embedded::store
