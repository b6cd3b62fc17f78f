// What `clusters list` answers.
#pragma once

#include "base/json_field.h"

namespace evenkeel::cli {

inline constexpr base::JsonField kClustersJson[] = {
    {"clusters[].cluster", "string", "its name"},
    {"clusters[].server", "string", "its API server, as replicas reach it"},
    {"clusters[].access", "string", "token, certificate, password, plugin, none, unreadable or no server"},
    {"clusters[].account", "string", "whose token it is: NAMESPACE/NAME of a service account there", false},
    {"clusters[].expires", "string", "when that token ends", false},
    {"clusters[].renewal", "string", "when a replica renews it", false}};

}  // namespace evenkeel::cli
