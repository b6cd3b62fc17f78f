// The shape of a kind as an OpenAPI v3 schema without references, from which expressions get their types (cel/shape.h).
#pragma once

#include "base/json.h"
#include "kube/schema/schema.h"

namespace evenkeel::embedded::workloads {

/// What may be anything, and what contains itself, is x-kubernetes-int-or-string: expressions may do with it what they like.
base::JsonObject InlinedSchema(const kube::Schema& schema);
/// The schema of one version in a CRD, with the metadata that all objects have. Empty: it has none.
base::JsonObject InlinedSchemaOfDefinition(const base::Json& definition, std::string_view version);

}  // namespace evenkeel::embedded::workloads
