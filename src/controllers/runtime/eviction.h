// The one way in which a pod is asked to leave its node: an Eviction, which its budgets may refuse.
#pragma once

#include <optional>
#include <string_view>

#include "base/json.h"

namespace evenkeel::controllers::runtime {

/// The body of a POST to the subresource "eviction"; refused with kConflict when the pod of that name has another uid. `grace`:
/// in seconds; nullopt: the pod's own.
base::Json EvictionOf(std::string_view ns, std::string_view name, std::string_view uid, std::optional<int64_t> grace);

}  // namespace evenkeel::controllers::runtime
