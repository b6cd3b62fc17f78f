// Flags of the autoscaler as people type them for cluster-autoscaler.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/terminal/command_description.h"

namespace evenkeel::cli {

/// The words, in which flags of the autoscaler that were typed with one dash or with underscores ("-v=4",
/// "--max_nodes_total=5",
/// "-scan-interval") have their names. Other words, and commands that do not take these flags, are left as they are. `describe`
/// is asked only where one of the words looks like that.
std::vector<std::string> NameTypedFlags(const std::function<CommandDescription()>& describe,
                                        std::span<const std::string> words);

}  // namespace evenkeel::cli
