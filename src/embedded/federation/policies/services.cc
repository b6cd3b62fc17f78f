#include "embedded/federation/policies/services.h"

#include "embedded/federation/policies/bindings.h"
#include "kube/karmada.h"
#include "kube/object.h"

namespace evenkeel::embedded::federation {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
namespace karmada = kube::karmada;

constexpr char kCollectedNamespace[] = "endpointslice.karmada.io/namespace";
constexpr char kCollectedName[] = "endpointslice.karmada.io/name";
constexpr char kCollectedBy[] = "endpointslice.karmada.io/managed-by";
constexpr char kExports[] = "ServiceExport";

std::string_view LabelOf(const Json& object, const char* label) { return FindString(object, {"metadata", "labels", label}); }

}  // namespace

bool IsOwnSlice(const Json& slice) {
  // Other labels are of its Service, which has come from the hub itself.
  return LabelOf(slice, kSliceManagedBy) != kImportedBy;
}

std::string ServiceOfCollected(const Json& work) {
  if (LabelOf(work, kCollectedBy) != kExports) return "";
  return std::string(LabelOf(work, kCollectedNamespace)) + "/" + std::string(LabelOf(work, kCollectedName));
}

Json CollectedWork(const Json& slice, const std::string& cluster) {
  const std::string_view ns = kube::NamespaceOf(slice);
  Json manifest = PrunedManifest(slice);
  manifest.as_object()["apiVersion"] = kube::resources::EndpointSlices().ApiVersion();
  manifest.as_object()["kind"] = kube::resources::EndpointSlices().kind;
  Json work = kube::NewObject(karmada::Works(), karmada::ExecutionNamespace(cluster),
                              karmada::WorkName(kube::resources::EndpointSlices().kind, kube::NameOf(slice), ns));
  base::Ensure(work, {"metadata", "labels"}) =
      JsonObject{{kCollectedNamespace, ns}, {kCollectedName, LabelOf(slice, kServiceNameLabel)}, {kCollectedBy, kExports}};
  base::Ensure(work, {"metadata", "finalizers"}) = JsonArray{kCollectedFinalizer};
  base::Ensure(work, {"spec"}) =
      JsonObject{{"suspendDispatching", true}, {"workload", JsonObject{{"manifests", JsonArray{std::move(manifest)}}}}};
  return work;
}

base::Result<Json> ImportedSlice(const Json& work) {
  EVENKEEL_ASSIGN(const std::string cluster, karmada::ClusterOfExecutionNamespace(kube::NamespaceOf(work)));
  const JsonArray& manifests = FindArray(work, {"spec", "workload", "manifests"});
  if (manifests.size() != 1 || FindString(manifests[0], {"kind"}) != kube::resources::EndpointSlices().kind) {
    return base::Fail(base::Code::kBadRequest, "Work " + kube::KeyOf(work) + ": not one EndpointSlice");
  }
  Json slice(manifests[0], {});
  base::Ensure(slice, {"metadata", "name"}) = karmada::ImportedSliceName(cluster, kube::NameOf(manifests[0]));
  base::Ensure(slice, {"metadata", "labels"}) =
      JsonObject{{kServiceNameLabel, karmada::DerivedServiceName(LabelOf(work, kCollectedName))},
                 {kSliceManagedBy, kImportedBy},
                 {kWorkId, FindString(work, {"metadata", "uid"})}};
  return slice;
}

Json DerivedService(const Json& service_import) {
  if (FindString(service_import, {"spec", "type"}) != "ClusterSetIP") return nullptr;
  Json service = kube::NewObject(kube::resources::Services(), kube::NamespaceOf(service_import),
                                 karmada::DerivedServiceName(kube::NameOf(service_import)));
  JsonArray ports;
  for (const Json& port : FindArray(service_import, {"spec", "ports"})) {
    JsonObject made;
    for (const char* field : {"name", "protocol", "port", "appProtocol"}) {
      if (const Json* value = base::Find(port, {field})) made[field] = *value;
    }
    ports.push_back(std::move(made));
  }
  base::Ensure(service, {"spec"}) = JsonObject{{"type", "ClusterIP"}, {"ports", std::move(ports)}};
  return service;
}

}  // namespace evenkeel::embedded::federation
