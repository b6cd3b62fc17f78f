// Files that flags name.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "kube/manifest.h"

namespace evenkeel::cli {

/// The content; "-" is standard input. kBadRequest says which file, after `flag` ("--state") where that is not the obvious one,
/// and why it cannot be read.
base::Result<std::string> ReadInputFile(const std::string& file, const std::string& flag = "");

/// Objects of the files that -f names, read as kubectl reads them; what it would leave unsaid is a warning on standard error.
base::Result<std::vector<kube::ManifestObject>> ReadManifestFiles(const std::vector<std::string>& files);

}  // namespace evenkeel::cli
