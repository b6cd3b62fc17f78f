// The API's own description, for kubectl explain, client-side validation and apply. Made from the same schemas that the server
// works with.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "kube/resource.h"

namespace evenkeel::kube {

/// Swagger 2.0 as JSON, or as gnostic's openapi.v2.Document message, which older kubectls ask for; OpenAPI 3.0.
enum class OpenApiForm { kV2, kV2Protobuf, kV3 };

/// Takes a document piece by piece.
using OpenApiSink = std::function<void(std::string_view piece)>;
/// What a document has under names, each written already.
using OpenApiParts = std::map<std::string, std::string, std::less<>>;

/// One document: definitions and paths of the resources that are added (built-in and of CRDs), sorted by name.
class OpenApiDocument {
 public:
  explicit OpenApiDocument(OpenApiForm form);
  ~OpenApiDocument();

  /// Refers to nothing of it afterwards.
  void Add(const Resource& resource);
  /// Once, at the end.
  void Write(const OpenApiSink& sink);

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

/// The OpenAPI name of a resource's kind: io.k8s.api.core.v1.Pod; for those of CRDs the group reversed,
/// dev.evenkeel.v1alpha1.NodeGroup.
std::string DefinitionName(const Resource& resource);

}  // namespace evenkeel::kube
