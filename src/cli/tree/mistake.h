// What is wrong with a command line that cannot be read, in words: which word, and what was probably meant.
#pragma once

#include <span>
#include <string>

#include "cli/terminal/command_description.h"

namespace evenkeel::cli {

/// The first word that is no command, flag or value where it stands, with the nearest that is one. "": there is none, as far as
/// a description tells. Pure.
std::string FindMistake(const CommandDescription& root, std::span<const std::string> words);
/// What has to follow and does not; "": nothing. Pure.
std::string FindMissing(const CommandDescription& root, std::span<const std::string> words);

/// The command that the words lead to; the root, if to none.
const CommandDescription& CommandOf(const CommandDescription& root, std::span<const std::string> words);

}  // namespace evenkeel::cli
