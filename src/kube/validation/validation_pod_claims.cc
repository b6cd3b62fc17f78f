// Rules of the devices that pods claim (kubernetes@1.36:pkg/apis/core/validation, validatePodResourceClaims and what it calls).
#include "kube/object.h"
#include "kube/validation/validation_pod.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;

void PodClaim(const Json& claim, const FieldPath& path, Causes& causes) {
  const std::string_view name = Text(claim, "name");
  if (std::string problem = CheckDnsLabel(name); !name.empty() && !problem.empty())
    causes.push_back(InvalidText(path.Field("name"), name, problem));
  const bool named = Has(claim, "resourceClaimName"), made = Has(claim, "resourceClaimTemplateName");
  if (named && made) {
    causes.push_back(
        InvalidValue(path, claim, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"));
  } else if (!named && !made) {
    causes.push_back(InvalidValue(path, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"));
  }
  for (const char* field : {"resourceClaimName", "resourceClaimTemplateName"}) {
    if (!Has(claim, field)) continue;
    if (std::string problem = CheckDnsSubdomain(Text(claim, field)); !problem.empty())
      causes.push_back(InvalidText(path.Field(field), Text(claim, field), problem));
  }
}

void UsedClaims(const JsonArray& claims, const Names& known, const FieldPath& path, Causes& causes) {
  Names seen;
  for (size_t i = 0; i < claims.size(); ++i) {
    const FieldPath here = path.Index(i);
    const std::string_view name = Text(claims[i], "name"), request = Text(claims[i], "request");
    if (name.empty()) {
      causes.push_back(RequiredValue(here));
      continue;
    }
    const std::string key = std::string(name) + (request.empty() ? "" : "/") + std::string(request);
    if (!seen.insert(key).second) causes.push_back(DuplicateText(here, key));
    if (known.contains(name)) continue;
    std::string list;
    for (const std::string& one : known) list += (list.empty() ? ": " : ", ") + one;
    base::Cause missing = NotFoundValue(here, name);
    missing.message += ": must be one of the names in pod.spec.resourceClaims" + (list.empty() ? " which is empty" : list);
    causes.push_back(std::move(missing));
  }
}

}  // namespace

void PodClaims(const Json& spec, const FieldPath& path, Causes& causes) {
  Names names;
  const JsonArray& claims = List(spec, "resourceClaims");
  const FieldPath claims_path = path.Field("resourceClaims");
  for (size_t i = 0; i < claims.size(); ++i) {
    const FieldPath here = claims_path.Index(i);
    PodClaim(claims[i], here, causes);
    const std::string_view name = Text(claims[i], "name");
    if (!name.empty() && !names.emplace(name).second) causes.push_back(DuplicateText(here.Field("name"), name));
  }
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    const FieldPath list_path = path.Field(list);
    const JsonArray& containers = List(spec, list);
    for (size_t i = 0; i < containers.size(); ++i) {
      const FieldPath container = list_path.Index(i);
      const FieldPath resources = container.Field("resources");
      UsedClaims(List(MemberOrNothing(containers[i], "resources"), "claims"), names, resources.Field("claims"), causes);
    }
  }
}

void PodClaimStatuses(const Json& pod, const Json& old, Causes& causes) {
  const Json& status = MemberOrNothing(pod, "status");
  if (SameMember(status, MemberOrNothing(old, "status"), "resourceClaimStatuses")) return;
  const FieldPath root("status");
  const FieldPath path = root.Field("resourceClaimStatuses");
  const JsonArray& statuses = List(status, "resourceClaimStatuses");
  Names claims, seen;
  for (const Json& claim : List(MemberOrNothing(pod, "spec"), "resourceClaims")) claims.emplace(Text(claim, "name"));
  for (size_t i = 0; i < statuses.size(); ++i) {
    const FieldPath entry = path.Index(i);
    const FieldPath here = entry.Field("name");
    const std::string_view name = Text(statuses[i], "name"), claim = Text(statuses[i], "resourceClaimName");
    if (!claims.contains(name))
      causes.push_back(InvalidText(here, name, "must match the name of an entry in `spec.resourceClaims`"));
    if (!seen.emplace(name).second) causes.push_back(DuplicateText(here, name));
    if (!Has(statuses[i], "resourceClaimName")) continue;
    if (std::string problem = CheckDnsSubdomain(claim); !problem.empty()) causes.push_back(InvalidText(here, claim, problem));
  }
}

}  // namespace evenkeel::kube::validation
