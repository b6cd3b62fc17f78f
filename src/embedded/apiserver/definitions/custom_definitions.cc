#include "embedded/apiserver/definitions/custom_definitions.h"

#include "base/text.h"
#include "embedded/apiserver/definitions/conversion.h"
#include "kube/object.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Json;
using base::JsonArray;

std::string StorageVersion(const Json& crd) {
  for (const Json& version : base::FindArray(crd, {"spec", "versions"})) {
    if (base::FindBool(version, {"storage"})) return std::string(base::FindString(version, {"name"}));
  }
  return "";
}

}  // namespace

void PrepareDefinition(Json& crd, const Json* old, const std::string& conflict, base::Time now) {
  if (!crd.is_object()) return;
  const std::string_view kind = base::FindString(crd, {"spec", "names", "kind"});
  if (!kind.empty()) {
    if (base::FindString(crd, {"spec", "names", "singular"}).empty())
      base::Ensure(crd, {"spec", "names", "singular"}) = base::Lower(kind);
    if (base::FindString(crd, {"spec", "names", "listKind"}).empty()) {
      base::Ensure(crd, {"spec", "names", "listKind"}) = std::string(kind) + "List";
    }
  }
  if (base::Find(crd, {"spec", "conversion", "strategy"}) == nullptr)
    base::Ensure(crd, {"spec", "conversion", "strategy"}) = "None";
  if (old == nullptr) crd.get_object()["status"] = base::JsonObject();
  if (base::Find(crd, {"metadata", "deletionTimestamp"}) == nullptr) {
    kube::SetFinalizer(crd, kCustomCleanupFinalizer, true);
  }
  if (conflict.empty()) {
    kube::SetCondition(crd, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now);
    kube::SetCondition(crd, "Established", "True", "InitialNamesAccepted", "the initial names set has been accepted", now);
    base::Ensure(crd, {"status", "acceptedNames"}) = base::FindObject(crd, {"spec", "names"});
  } else {
    kube::SetCondition(crd, "NamesAccepted", "False", "NamesConflict", conflict, now);
    const bool established = old != nullptr && base::Find(crd, {"status", "acceptedNames", "plural"}) != nullptr;
    if (!established) {
      kube::SetCondition(crd, "Established", "False", "NotAccepted", "not all names are accepted", now);
      base::Ensure(crd, {"status", "acceptedNames"}) = base::JsonObject{{"plural", ""}, {"kind", ""}};
    }
  }
  Json& stored = base::Ensure(crd, {"status", "storedVersions"});
  if (!stored.is_array()) stored = JsonArray();
  const std::string storage = StorageVersion(crd);
  const bool known = std::ranges::any_of(stored.get_array(),
                                         [&](const Json& item) { return item.is_string() && item.get_string() == storage; });
  if (!known && !storage.empty()) stored.get_array().emplace_back(storage);
}

std::vector<std::string> WarnOfDefinition(const Json& crd, const ServiceAddress& service_address) {
  std::vector<std::string> warnings;
  if (const auto conversion = ConversionOf(crd); conversion != nullptr && conversion->address.by_service()) {
    const WebhookAddress& at = conversion->address;
    if (service_address(at.service_ns, at.service_name, at.service_port).empty()) {
      warnings.push_back(
          fmt::format("spec.conversion.webhook is not asked, and objects of other versions than the stored one cannot be read: "
                      "service {}/{} "
                      "has no endpoint here that a process listens on",
                      at.service_ns, at.service_name));
    }
  }
  return warnings;
}

}  // namespace evenkeel::embedded::apiserver
