#include "embedded/apiserver/objects/decoding.h"

#include "kube/schema/schema.h"
#include "kube/schema/typed_decode.h"

namespace evenkeel::embedded::apiserver {

using base::Code;
using base::Fail;

Status CheckKind(const Served& served, Json& object) {
  const kube::Resource& resource = served.resource;
  if (!object.is_object()) return Fail(Code::kBadRequest, "the object provided is unrecognized: it is not a JSON object");
  const std::string_view version = base::FindString(object, {"apiVersion"});
  const std::string_view kind = base::FindString(object, {"kind"});
  if (!kind.empty() && kind != resource.kind) {
    return Fail(Code::kBadRequest, std::string(kind) + " in version \"" + std::string(version) + "\" cannot be handled as a " +
                                       resource.kind + ": the path is for " + resource.QualifiedPlural());
  }
  if (!version.empty() && version != resource.ApiVersion()) {
    return Fail(Code::kBadRequest, "the API version in the data (" + std::string(version) +
                                       ") does not match the expected API version (" + resource.ApiVersion() + ")");
  }
  base::JsonObject& fields = object.get_object();
  fields["apiVersion"] = resource.ApiVersion();
  fields["kind"] = resource.kind;
  Json& metadata = fields["metadata"];
  if (metadata.is_null()) metadata = base::JsonObject();
  if (!metadata.is_object()) return Fail(Code::kBadRequest, "metadata: must be an object");
  return {};
}

std::optional<std::string> FindWrongType(const Served& served, const Json& object) {
  if (!served.custom)
    return served.resource.schema == nullptr ? std::nullopt : kube::FindTypeError(object, *served.resource.schema);
  static const kube::Schema* const kMetadata = kube::FindBuiltInSchema("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  const Json* metadata = base::Find(object, {"metadata"});
  return metadata == nullptr ? std::nullopt : kube::FindTypeError(*metadata, *kMetadata, "metadata");
}

std::optional<std::string> PruneUnknown(const Call& call, Json& object, std::vector<std::string>& warnings) {
  const kube::Resource& resource = call.served->resource;
  std::vector<std::string> unknown;
  if (resource.schema != nullptr) kube::Prune(object, *resource.schema, &unknown);
  std::vector<std::string> wrong = call.repeated_keys;
  for (const std::string& path : unknown) {
    // A field that nobody knows is told of once, however often it is there.
    std::erase(wrong, "duplicate field \"" + path + "\"");
    wrong.push_back("unknown field \"" + path + "\"");
  }
  if (!wrong.empty() && call.field_validation == FieldValidation::kStrict) {
    std::string text;
    for (const std::string& one : wrong) text += (text.empty() ? "strict decoding error: " : ", ") + one;
    return text;
  }
  if (call.field_validation == FieldValidation::kWarn) std::ranges::move(wrong, std::back_inserter(warnings));
  return std::nullopt;
}

Status DecodeBody(const Call& call, Json& object, std::vector<std::string>& warnings) {
  const kube::Resource& resource = call.served->resource;
  const std::string prefix =
      resource.kind + " in version \"" + resource.version + "\" cannot be handled as a " + resource.kind + ": ";
  if (const auto wrong = FindWrongType(*call.served, object)) return Fail(Code::kBadRequest, prefix + *wrong);
  if (const auto wrong = PruneUnknown(call, object, warnings)) {
    return Fail(Code::kBadRequest, (call.served->custom ? "" : prefix) + *wrong);
  }
  return {};
}

ManagerIdentity ManagerOf(const Call& call, base::Time now) {
  return {.name = call.field_manager.empty() ? "unknown" : call.field_manager,
          .api_version = call.served->resource.ApiVersion(),
          .subresource = call.subresource,
          .now = now};
}

}  // namespace evenkeel::embedded::apiserver
