#include "embedded/apiserver/admission/admin_access.h"

#include <optional>

#include "embedded/apiserver/definitions/stored.h"
#include "embedded/apiserver/objects/call.h"
#include "kube/field_path.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::FindArray;

constexpr std::string_view kLabel = "resource.kubernetes.io/admin-access";

/// The first of the list that asks for it.
std::optional<size_t> FirstAdmin(const base::JsonArray& list, std::initializer_list<std::string_view> flag) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (base::FindBool(list[i], flag)) return i;
  }
  return std::nullopt;
}

}  // namespace

std::vector<base::Cause> CheckAdminAccess(store::Store& store, const Served& namespaces, const Call& call, const Json& object,
                                          const Json* old) {
  const kube::Resource& resource = call.served->resource;
  if (resource.group != "resource.k8s.io" || !resource.namespaced) return {};
  std::string_view place = "spec.devices.requests";
  std::optional<size_t> first;
  if (old == nullptr) {
    const bool made_from = resource.kind == "ResourceClaimTemplate";
    first = FirstAdmin(made_from ? FindArray(object, {"spec", "spec", "devices", "requests"})
                                 : FindArray(object, {"spec", "devices", "requests"}),
                       {"exactly", "adminAccess"});
  } else if (resource.kind == "ResourceClaim") {
    place = "status.allocation.devices.results";
    const auto in = [](const Json& claim) {
      return FirstAdmin(FindArray(claim, {"status", "allocation", "devices", "results"}), {"adminAccess"});
    };
    if (!in(*old)) first = in(object);
  }
  if (!first) return {};
  const auto found = store.Get(namespaces.Key("", call.ns));
  if (found) {
    const auto ns = DecodeObject(namespaces, {found->value, found->mod_revision});
    if (ns && base::FindString(*ns, {"metadata", "labels", kLabel}) == "true") return {};
  }
  const kube::FieldPath list(place);
  const kube::FieldPath request = list.Index(*first);
  return {kube::ForbiddenValue(request.Field("adminAccess"), "admin access to devices requires the `" + std::string(kLabel) +
                                                                 ": true` label on the containing namespace")};
}

}  // namespace evenkeel::embedded::apiserver
