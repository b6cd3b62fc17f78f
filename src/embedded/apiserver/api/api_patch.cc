// Patches: JSON, merge and strategic merge patches edit an object, server-side apply merges what it owns.
// Follows: kubernetes@1.36 staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go
#include "embedded/apiserver/access/access_control.h"
#include "embedded/apiserver/access/request_attributes.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/api/modification.h"
#include "embedded/apiserver/objects/decoding.h"
#include "embedded/apiserver/objects/managed_fields.h"
#include "embedded/apiserver/objects/typed_config.h"
#include "embedded/apiserver/requests/errors.h"
#include "kube/field_path.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;

// What a patch has made of an object is refused not as a bad request, but as an invalid patch.
Status DecodePatched(const Call& call, const PatchBody& patch, Json& object, std::vector<std::string>& warnings) {
  const Json before = object;
  auto wrong = FindWrongType(*call.served, object);
  if (!wrong) wrong = PruneUnknown(call, object, warnings);
  if (!wrong) return {};
  std::string shown = patch.type == client::PatchType::kStrategic ? GoText(patch.value) : base::ToText(before);
  // Errors are kept in audit logs.
  const kube::Resource& resource = call.served->resource;
  if (resource.group.empty() && resource.plural == "secrets") shown = "a secret";
  return Fail(InvalidError(kube::Resource(), "", {kube::InvalidText(kube::FieldPath("patch"), shown, *wrong)}));
}

// Who applies what is not there creates it. Callers in this process are not asked.
Status MayCreate(const Call& call, const access::Authorizer& authorizer) {
  if (call.origin == nullptr) return {};
  const kube::Resource& resource = call.served->resource;
  const access::Attributes create{.verb = "create",
                                  .group = resource.group,
                                  .resource = resource.plural,
                                  .subresource = call.subresource,
                                  .ns = call.ns,
                                  .name = call.name};
  const access::Decision decision = authorizer.Authorize(call.user, create);
  if (decision.allowed) return {};
  return Fail(ForbiddenFor(call.user, create, decision.reason));
}

// What is applied must be a typed object, whatever the call says of fields that nobody knows.
Status CheckApplied(const Call& call, const Json& config) {
  const kube::Resource& resource = call.served->resource;
  const std::vector<std::string> errors = TypedErrors(config, resource.schema);
  if (errors.empty()) return {};
  return Fail(base::Error(Code::kInternal,
                          "failed to create typed patch object (" + std::string(kube::NamespaceOf(config)) + "/" +
                              std::string(kube::NameOf(config)) + "; " + resource.group + "/" + resource.version +
                              ", Kind=" + resource.kind + "): " + JoinTypedErrors(errors),
                          {.unspecified = true}));
}

// What the endpoint does not write is nobody's by applying it there: whoever applies an object as it was read is not to fight
// with its controller about its status.
void EraseOthers(const Call& call, Json& config) {
  if (call.subresource == "status") {
    base::JsonObject kept;
    for (const char* name : {"apiVersion", "kind", "metadata", "status"}) {
      if (Json* value = config.get_object().if_contains(name)) kept[name] = std::move(*value);
    }
    config = std::move(kept);
  } else if (call.subresource.empty() && call.served->status_subresource) {
    config.get_object().erase("status");
  }
}

}  // namespace

void Api::Patch(Call call, PatchBody patch, Done done) {
  done = Audited(call, "patch", std::move(done));
  call.served = WithSchema(std::move(call.served));
  if (call.subresource == "scale") {
    return UpdateScale(
        std::move(call),
        [patch = std::move(patch)](Json& scale) -> Status {
          if (patch.type == client::PatchType::kJson) return base::ApplyJsonPatch(scale, patch.value);
          base::ApplyMergePatch(scale, patch.value);
          return {};
        },
        std::move(done));
  }
  if (patch.type == client::PatchType::kApply) return ApplyPatch(std::move(call), std::move(patch.value), std::move(done));
  if (patch.type == client::PatchType::kStrategic && call.served->custom) {
    return done(Fail(Code::kUnsupportedMediaType,
                     "the body of the request was in an unknown format - accepted media types include: "
                     "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"));
  }
  auto shared = std::make_shared<const Call>(call);
  // What nobody knows is told of once.
  auto quiet = call;
  quiet.field_validation = FieldValidation::kIgnore;
  quiet.repeated_keys.clear();
  auto decoded = std::make_shared<const Call>(std::move(quiet));
  Modify(
      std::move(call),
      [this, shared, decoded, patch = std::move(patch)](Json& object, const Stored& current, Answer& answer) -> Result<bool> {
        Json old = object;
        EVENKEEL_TRY(PatchObject(shared->served->resource, shared->name, patch, object));
        EVENKEEL_TRY(CheckSubmitted(*shared, object, current));
        EVENKEEL_TRY(DecodePatched(*shared, patch, object, answer.warnings));
        base::Erase(old, {"metadata", "resourceVersion"});
        EVENKEEL_TRY(FinishUpdate(*decoded, object, old, answer, false));
        return true;
      },
      std::move(done));
}

void Api::ApplyPatch(Call call, Json config, Done done) {
  if (call.field_manager.empty()) {
    return done(Fail(InvalidError(NamedKind("meta.k8s.io", "PatchOptions", "patchoptions"), "",
                                  {{.reason = "FieldValueRequired",
                                    .message = "Required value: is required for apply patch",
                                    .field = "fieldManager"}})));
  }
  const std::string version(base::FindString(config, {"apiVersion"}));
  if (config.is_object() && version != call.served->resource.ApiVersion()) {
    return done(Fail(Code::kBadRequest, "Incorrect version specified in apply patch. Specified patch version: " + version +
                                            ", expected: " + call.served->resource.ApiVersion()));
  }
  if (const auto checked = CheckKind(*call.served, config); !checked) return done(Fail(checked.error()));
  if (const std::string_view named = kube::NameOf(config); !named.empty() && named != call.name) {
    return done(Fail(Code::kBadRequest, "the name of the object (" + std::string(named) +
                                            ") does not match the name on the URL (" + call.name + ")"));
  }
  if (base::Find(config, {"metadata", "managedFields"}) != nullptr) {
    return done(Fail(Code::kBadRequest, "metadata.managedFields must be nil"));
  }
  std::vector<std::string> warnings;
  if (const auto checked = CheckApplied(call, config); !checked) return done(Fail(checked.error()));
  if (const auto decoded = DecodeBody(call, config, warnings); !decoded) return done(Fail(decoded.error()));
  const bool exists = options_.store->Get(call.served->Key(call.ns, call.name)).has_value();
  // A node is registered together with its status.
  if (exists || call.served->resource.plural != "nodes") EraseOthers(call, config);
  auto shared = std::make_shared<const Call>(call);
  if (!exists) {
    if (const auto allowed = MayCreate(call, access_->authorizer()); !allowed) return done(Fail(allowed.error()));
    if (!call.subresource.empty()) return done(Fail(NotFoundError(call.served->resource, call.name)));
    if (const std::string_view uid = kube::UidOf(config); !uid.empty()) {
      return done(Fail(ConflictError(
          call.served->resource, call.name,
          "uid mismatch: the provided object specified uid " + std::string(uid) + ", and no existing object was found")));
    }
    base::Ensure(config, {"metadata", "name"}) = call.name;
    auto created = ApplyConfig(Json(), config, call.served->resource.schema, ManagerOf(call, Now()), call.force);
    if (!created) return done(Fail(created.error()));
    // Somebody may create it in between: then the answer is AlreadyExists, and applying again merges.
    return BeginCreate(std::move(call), *std::move(created), std::move(done));
  }
  Modify(
      std::move(call),
      [this, shared, config = std::move(config)](Json& object, const Stored& current, Answer& answer) -> Result<bool> {
        Json old = object;
        Json checked = config;
        base::Ensure(checked, {"metadata", "name"}) = shared->name;
        EVENKEEL_TRY(CheckSubmitted(*shared, checked, current));
        base::Erase(old, {"metadata", "resourceVersion"});
        base::Erase(checked, {"metadata", "resourceVersion"});
        const kube::Resource& resource = shared->served->resource;
        if (resource.schema != nullptr) kube::Normalize(checked, *resource.schema);
        EVENKEEL_ASSIGN(object, ApplyConfig(old, checked, resource.schema, ManagerOf(*shared, Now()), shared->force));
        EVENKEEL_TRY(FinishUpdate(*shared, object, old, answer, true));
        KeepApplyTime(object, old);
        return true;
      },
      std::move(done));
}

}  // namespace evenkeel::embedded::apiserver
