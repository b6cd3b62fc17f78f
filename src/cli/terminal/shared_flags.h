// Flags that are documented once for all commands that have them.
#pragma once

#include <vector>

#include "cli/terminal/command_description.h"

namespace evenkeel::cli {

/// --help or --help-all, which every command has.
bool IsHelp(const FlagDescription& flag);
/// Those of a section, of this command and all below, once each and section by section.
std::vector<FlagDescription> SectionedFlags(const CommandDescription& command);

}  // namespace evenkeel::cli
