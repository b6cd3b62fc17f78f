// What a typed API server cannot read: a JSON value of another kind than the field of its Go struct.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "kube/schema/schema.h"

namespace evenkeel::kube {

/// The first such value in the order of the document, in upstream's words: `json: cannot unmarshal string into Go struct field
/// DeploymentSpec.spec.replicas of type int32`. Null fits everywhere; unknown fields are not looked at. Nothing is allocated
/// while all is right. `at`: where the value is in the object, "" for its root. Facts: the error texts of Go's encoding/json,
/// which sigs.k8s.io/json keeps.
std::optional<std::string> FindTypeError(const base::Json& value, const Schema& schema, std::string_view at = "");

}  // namespace evenkeel::kube
