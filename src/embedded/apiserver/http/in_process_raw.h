#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "embedded/apiserver/api/api.h"

namespace evenkeel::embedded::apiserver {

/// The body of a GET of `path` (with its query), as HTTP would answer it; a Status becomes an error. Blocks.
base::Result<std::string> GetRawInProcess(Api& api, const UserInfo& user, std::string_view path);

}  // namespace evenkeel::embedded::apiserver
