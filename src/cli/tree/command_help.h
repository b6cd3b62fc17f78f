// `evenkeel help` and `evenkeel version`.
#pragma once

#include <string>
#include <vector>

#include "cli/clusters/command_flags.h"

namespace evenkeel::cli {

/// What their arguments are read into.
struct HelpOptions {
  std::vector<std::string> command;  ///< its words; empty: the program itself
  std::string output = "table";      ///< of version
};

/// `version`: of the program. `app`, `options` and `action` outlive the tree.
void AddHelp(CLI::App& app, const std::string& version, HelpOptions& options, Action& action);

}  // namespace evenkeel::cli
