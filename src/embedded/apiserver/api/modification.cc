#include "embedded/apiserver/api/modification.h"

#include <spdlog/fmt/fmt.h>

#include "embedded/apiserver/requests/errors.h"
#include "kube/schema/strategic_merge.h"

namespace evenkeel::embedded::apiserver {

using base::Code;
using base::Fail;

Status CheckPreconditions(const Call& call, std::string_view uid, std::string_view resource_version, const Stored& current) {
  const auto check = [&](std::string_view what, std::string_view wanted, const std::string& actual) -> Status {
    if (wanted.empty() || wanted == actual) return {};
    const std::string field(what);
    return Fail(ConflictError(call.served->resource, call.name,
                              "Precondition failed: " + field + " in precondition: " + std::string(wanted) + ", " + field +
                                  " in object meta: " + actual));
  };
  EVENKEEL_TRY(check("UID", uid, StoredMetaText(current, "uid")));
  return check("ResourceVersion", resource_version, std::to_string(current.revision));
}

Status CheckDepth(const Call& call, const Json& object) {
  if (base::DepthOf(object) <= base::kJsonDepthMax) return {};
  return Fail(InvalidError(call.served->resource, call.name,
                           {{.reason = "FieldValueInvalid",
                             .message = fmt::format("nested deeper than {} levels", base::kJsonDepthMax),
                             .field = ""}}));
}

bool DeletionIsComplete(const Served& served, const Json& object, const Json& old) {
  if (base::Find(old, {"metadata", "deletionTimestamp"}) == nullptr) return false;
  if (!base::FindArray(object, {"metadata", "finalizers"}).empty()) return false;
  if (base::FindInt(old, {"metadata", "deletionGracePeriodSeconds"}) > 0) return false;
  const bool is_namespace = served.resource.group.empty() && served.resource.plural == "namespaces";
  return !is_namespace || base::FindArray(object, {"spec", "finalizers"}).empty();
}

Status PatchObject(const kube::Resource& resource, const std::string& name, const PatchBody& patch, Json& object) {
  switch (patch.type) {
    case client::PatchType::kJson: {
      if (!patch.value.is_array()) {
        return Fail(Code::kBadRequest, "json: cannot unmarshal object into Go value of type jsonpatch.Patch");
      }
      auto applied = base::ApplyJsonPatch(object, patch.value);
      if (!applied && applied.error().code() == Code::kTooLarge) return applied;
      if (!applied) {
        return Fail(base::Error(Code::kInvalid,
                                "the server rejected our request due to an error in our request: " + applied.error().message(),
                                {.name = name, .group = resource.group, .kind = resource.kind, .uid = {}, .causes = {}}));
      }
      break;
    }
    case client::PatchType::kMerge:
      if (!patch.value.is_object()) return Fail(Code::kBadRequest, "a merge patch must be a JSON object");
      base::ApplyMergePatch(object, patch.value);
      break;
    case client::PatchType::kStrategic:
      if (!patch.value.is_object()) return Fail(Code::kBadRequest, "a strategic merge patch must be a JSON object");
      EVENKEEL_TRY(kube::ApplyStrategicMergePatch(object, patch.value, resource.schema));
      break;
    case client::PatchType::kApply:
      EVENKEEL_CHECK(false);
  }
  return {};
}

void KeepApplyTime(Json& object, const Json& old) {
  const auto without_times = [](const Json& from) {
    Json fields = base::FindArray(from, {"metadata", "managedFields"});
    for (Json& entry : fields.as_array()) base::Erase(entry, {"time"});
    return fields;
  };
  if (base::Find(old, {"metadata", "managedFields"}) == nullptr) return;
  if (!base::Equal(without_times(object), without_times(old))) return;
  Json candidate = object;
  base::Ensure(candidate, {"metadata", "managedFields"}) = *base::Find(old, {"metadata", "managedFields"});
  if (base::Equal(candidate, old)) object = std::move(candidate);
}

}  // namespace evenkeel::embedded::apiserver
