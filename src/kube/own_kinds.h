// Evenkeel's own kinds (evenkeel.dev). Each is a CustomResourceDefinition, definitions/PLURAL.yaml, compiled in; all that the
// program knows of how the kind is addressed is read from there.
#pragma once

#include "base/json.h"
#include "kube/resource.h"

namespace evenkeel::kube {

/// By the plural; there must be one.
const base::Json& OwnDefinition(std::string_view plural);
const Resource& OwnKind(std::string_view plural);

}  // namespace evenkeel::kube
