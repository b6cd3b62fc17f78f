// `evenkeel help` and --help: what a command does, two examples, and its flags in groups, on one screen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/command_description.h"

namespace evenkeel::cli {

/// So many lines has the help of a command at most, without --help-all.
inline constexpr size_t kHelpLinesMax = 60;
inline constexpr size_t kHelpColumns = 100;

struct Example {
  std::string line;  ///< as it is typed
  std::string what;
};

/// Of a command, by its path ("evenkeel get shards"); empty where there are none.
std::vector<Example> ExamplesOf(std::string_view path);

/// `command`: of the tree that `root` is. `all`: with the flags that are rarely needed.
std::string HelpText(const CommandDescription& root, const CommandDescription& command, bool all);

}  // namespace evenkeel::cli
