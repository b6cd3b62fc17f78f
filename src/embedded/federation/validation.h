// What a schema cannot say of policies: Karmada's admission checks. kInvalid in its words, with the field.
#pragma once

#include "base/json.h"

namespace evenkeel::embedded::federation {

/// A PropagationPolicy or ClusterPropagationPolicy.
base::Status ValidatePropagation(const base::Json& policy);
/// An OverridePolicy or ClusterOverridePolicy.
base::Status ValidateOverride(const base::Json& policy);

}  // namespace evenkeel::embedded::federation
