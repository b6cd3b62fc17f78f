// Files that flags name.
#pragma once

#include <string>

#include "base/result.h"

namespace evenkeel::cli {

/// The content; "-" is standard input. kBadRequest says which file, after `flag` ("--state") where that is not the obvious one,
/// and why it cannot be read.
base::Result<std::string> ReadInputFile(const std::string& file, const std::string& flag = "");

}  // namespace evenkeel::cli
