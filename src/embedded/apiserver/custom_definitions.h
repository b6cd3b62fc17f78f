// CustomResourceDefinitions as objects: their status, their names, what a valid one looks like.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace evenkeel::embedded::apiserver {

inline constexpr std::string_view kCustomCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

/// Fills in names, conditions, acceptedNames, storedVersions and the clean-up finalizer. `conflict`: whose names are taken, or
/// "".
void PrepareDefinition(base::Json& crd, const base::Json* old, const std::string& conflict, base::Time now);
/// Structure beyond the schema: name, versions, storage version, schemas, columns.
std::vector<base::Cause> ValidateDefinition(const base::Json& crd);
/// A line for each field of its schemas that is kept and has no effect here: rules in CEL.
std::vector<std::string> WarnOfDefinition(const base::Json& crd);

}  // namespace evenkeel::embedded::apiserver
