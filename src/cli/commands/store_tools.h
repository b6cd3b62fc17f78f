// `evenkeel apiserver verify|repair|backup|restore`: what is done with a SQLite store besides serving it.
#pragma once

#include <ostream>
#include <string>

#include "base/result.h"

namespace evenkeel::cli {

struct StoreToolOptions {
  std::string store;   ///< a file, with or without sqlite: before it
  std::string backup;  ///< of backup and restore: the other file
  bool overwrite = false;
  std::string output = "table";
};

/// Prints what is damaged. kInternal when anything is.
base::Status VerifyStore(const StoreToolOptions& options, std::ostream& out);
/// Prints what was lost.
base::Status RepairStore(const StoreToolOptions& options, std::ostream& out);
base::Status BackUpStore(const StoreToolOptions& options, std::ostream& out);
base::Status RestoreStore(const StoreToolOptions& options, std::ostream& out);

}  // namespace evenkeel::cli
