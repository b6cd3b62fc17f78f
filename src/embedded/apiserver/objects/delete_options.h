// What a DELETE or an eviction asks for beside the object's name.
#pragma once

#include "base/json.h"
#include "embedded/apiserver/objects/call.h"

namespace evenkeel::embedded::apiserver {

struct DeleteOptionsBody {
  DeleteRequest request;
  bool dry_run = false;
};

/// meta/v1 DeleteOptions over what the query said. kBadRequest names a field of a wrong type: a precondition that is not
/// understood must not become none. Unknown fields are left out, null is absence.
base::Result<DeleteOptionsBody> ParseDeleteOptions(const base::Json& options, DeleteRequest from_query);

}  // namespace evenkeel::embedded::apiserver
