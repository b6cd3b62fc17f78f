// CustomResourceDefinitions as objects: their status, their names, what a valid one looks like.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "embedded/apiserver/definitions/webhook_client.h"

namespace evenkeel::embedded::apiserver {

inline constexpr std::string_view kCustomCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

/// Fills in names, conditions, acceptedNames, storedVersions and the clean-up finalizer. `conflict`: whose names are taken, or
/// "".
void PrepareDefinition(base::Json& crd, const base::Json* old, const std::string& conflict, base::Time now);
/// Everything beyond its own shape: names, versions, schemas, columns. `old`: the one that it replaces, null for a new one;
/// what was wrong with that is let pass.
std::vector<base::Cause> ValidateDefinition(const base::Json& crd, const base::Json* old);
/// A line for each field that is kept and has no effect here: a webhook that converts by a service without an endpoint.
std::vector<std::string> WarnOfDefinition(const base::Json& crd, const ServiceAddress& service_address);

}  // namespace evenkeel::embedded::apiserver
