// What an openAPIV3Schema of a CRD may look like.
#pragma once

#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace evenkeel::kube {

/// Whether Go's decoder would make of it what it makes of an absent field: null, false, "", [] and {}.
bool CountsAsUnset(const base::Json& value);

/// What keeps the schema from being one of apiextensions', structural ones that is, in upstream's words. The causes' fields
/// start with `path`, e.g. "properties[spec].type". Values of wrong types count as absent: the CRD's own shape is checked
/// before.
std::vector<base::Cause> CheckOpenApi(const base::JsonObject& schema, const std::string& path = "");

}  // namespace evenkeel::kube
