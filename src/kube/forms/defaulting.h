// Defaults that depend on more than one field of an object; the others stand in the schemas.
#pragma once

#include <string_view>

#include "base/json.h"
#include "kube/resource.h"

namespace evenkeel::kube {

/// Fills in what depends on other fields: pull policies by tag, requests from limits, targetPort from port, ... Null for kinds
/// that have no such defaults.
using ContextualDefaults = void (*)(base::Json& object);
ContextualDefaults DefaultsFor(std::string_view group, std::string_view kind);

/// What an API server fills in before it looks at the object any further: the defaults of the schema, then the contextual
/// ones. Values of the wrong type are left to validation. Idempotent.
void ApplyKindDefaults(const Resource& resource, base::Json& object);

}  // namespace evenkeel::kube
