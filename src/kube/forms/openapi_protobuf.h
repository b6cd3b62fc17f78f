// gnostic's openapi.v2.Document, piece by piece.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "kube/forms/openapi.h"

namespace evenkeel::kube {

/// The item of one path, and one definition, each with its name, as the document has them.
std::string OpenApiPathProtobuf(std::string_view path, const base::JsonObject& item);
std::string OpenApiDefinitionProtobuf(std::string_view name, const base::JsonObject& definition);
void WriteOpenApiProtobuf(const base::JsonObject& info, const OpenApiParts& paths, const OpenApiParts& definitions,
                          const OpenApiSink& sink);

}  // namespace evenkeel::kube
