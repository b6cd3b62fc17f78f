// The API's own description, for kubectl explain, client-side validation and apply. Made from the same schemas that the server
// works with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kube/resource.h"

namespace evenkeel::kube {

/// Swagger 2.0: definitions and paths of these resources (built-in and of CRDs). Some milliseconds and megabytes: keep it.
base::Json OpenApiV2(const std::vector<const Resource*>& resources);
/// The same document as gnostic's openapi.v2.Document message, which older kubectls ask for. Takes what OpenApiV2 returns.
std::string OpenApiV2Protobuf(const base::Json& document);

/// OpenAPI 3.0 of one group and version; resources of others are left out.
base::Json OpenApiV3(std::string_view group, std::string_view version, const std::vector<const Resource*>& resources);
/// {"paths": {"apis/apps/v1": {"serverRelativeURL": "/openapi/v3/apis/apps/v1?hash=..."}}}; the hash changes with the document.
base::Json OpenApiV3Index(const std::vector<const Resource*>& resources);

/// The OpenAPI name of a resource's kind: io.k8s.api.core.v1.Pod; for those of CRDs the group reversed,
/// dev.evenkeel.v1alpha1.NodeGroup.
std::string DefinitionName(const Resource& resource);

}  // namespace evenkeel::kube
