// What a schema cannot say of policies and interpreters: Karmada's admission checks. kInvalid in its words, with the field.
#pragma once

#include "base/json.h"

namespace evenkeel::embedded::federation {

/// A PropagationPolicy or ClusterPropagationPolicy.
base::Status ValidatePropagation(const base::Json& policy);
/// An OverridePolicy or ClusterOverridePolicy.
base::Status ValidateOverride(const base::Json& policy);
/// A ResourceInterpreterWebhookConfiguration.
base::Status ValidateInterpreter(const base::Json& configuration);

}  // namespace evenkeel::embedded::federation
