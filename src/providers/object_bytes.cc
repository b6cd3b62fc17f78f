#include "providers/object_bytes.h"

#include "kube/forms/protobuf.h"
#include "kube/resource.h"
#include "providers/warnings.h"

namespace evenkeel::providers {
namespace {

using base::Json;

base::Result<Json> Decode(const kube::Resource& resource, std::string_view bytes) {
  auto object = kube::DecodeProtobufKind(*resource.schema, "v1", resource.kind, bytes);
  if (object) return object;
  return base::Fail(OnOneLine({object.error().code(), "v1." + resource.kind + ": " + object.error().message()}));
}

}  // namespace

std::string EncodeNode(const Json& node) { return kube::EncodeProtobuf(*kube::resources::Nodes().schema, node); }
std::string EncodePod(const Json& pod) { return kube::EncodeProtobuf(*kube::resources::Pods().schema, pod); }
base::Result<Json> DecodeNode(std::string_view bytes) { return Decode(kube::resources::Nodes(), bytes); }
base::Result<Json> DecodePod(std::string_view bytes) { return Decode(kube::resources::Pods(), bytes); }

}  // namespace evenkeel::providers
