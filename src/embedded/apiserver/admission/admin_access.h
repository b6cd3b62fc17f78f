// Claims that ask for devices which others use are only for namespaces that say so by a label.
// Follows: kubernetes@1.36 pkg/registry/resource/utils.go
#pragma once

#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "embedded/apiserver/definitions/resource_table.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::apiserver {

struct Call;

/// What is wrong with a ResourceClaim or a ResourceClaimTemplate that is written, or nothing; other kinds pass. `old`: of an
/// update. `namespaces`: the kind Namespace.
std::vector<base::Cause> CheckAdminAccess(store::Store& store, const Served& namespaces, const Call& call,
                                          const base::Json& object, const base::Json* old);

}  // namespace evenkeel::embedded::apiserver
