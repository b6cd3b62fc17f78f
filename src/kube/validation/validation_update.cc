// What may not change between two versions of an object.
#include <set>

#include "kube/object.h"
#include "kube/schema/schema.h"
#include "kube/validation/validation.h"
#include "kube/validation/validation_devices.h"
#include "kube/validation/validation_pod.h"

namespace evenkeel::kube {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
using validation::Causes;
using validation::Flag;
using validation::Has;
using validation::List;
using validation::Member;
using validation::Number;
using validation::SameMember;
using validation::Text;

constexpr std::string_view kImmutable = "field is immutable";

const Json& MemberOf(const Json& parent, std::string_view key) {
  static const Json kEmpty = JsonObject();
  const Json* value = Member(parent, key);
  return value == nullptr ? kEmpty : *value;
}

void Immutable(const Json& object, const Json& old, std::string_view key, const FieldPath& path, Causes& causes,
               std::string_view detail = kImmutable) {
  if (SameMember(object, old, key)) return;
  const Json* value = Member(object, key);
  causes.push_back(InvalidValue(path.Field(key), value == nullptr ? Json() : *value, detail));
}

void MetadataUpdate(const Json& object, const Json& old, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("metadata");
  const Json& metadata = MemberOf(object, "metadata");
  const Json& before = MemberOf(old, "metadata");
  for (const char* key : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    Immutable(metadata, before, key, path, causes);
  }
  if (!Has(before, "deletionTimestamp")) return;
  const JsonArray& known = List(before, "finalizers");
  std::string added;
  for (const Json& one : List(metadata, "finalizers")) {
    if (std::find(known.begin(), known.end(), one) == known.end()) added += (added.empty() ? "" : ", ") + base::ToText(one);
  }
  if (added.empty()) return;
  causes.push_back(ForbiddenValue(
      path.Field("finalizers"),
      "no new finalizers can be added if the object is being deleted, found new finalizers []string{" + added + "}"));
}

void FrozenData(const Json& object, const Json& old, std::initializer_list<std::string_view> keys, Causes& causes) {
  if (!Flag(old, "immutable")) return;
  const FieldPath root;
  constexpr std::string_view kFrozen = "field is immutable when `immutable` is set";
  if (!Flag(object, "immutable")) causes.push_back(ForbiddenValue(root.Field("immutable"), kFrozen));
  for (const std::string_view key : keys) {
    if (!SameMember(object, old, key)) causes.push_back(ForbiddenValue(root.Field(key), kFrozen));
  }
}

/// All tolerations that were there must still be, apart from their seconds.
bool OnlyAddsTolerations(const Json& spec, const Json& before) {
  for (const Json& old : List(before, "tolerations")) {
    const auto& now = List(spec, "tolerations");
    const bool kept = std::any_of(now.begin(), now.end(), [&](const Json& one) {
      return SameMember(one, old, "key") && SameMember(one, old, "operator") && SameMember(one, old, "value") &&
             SameMember(one, old, "effect");
    });
    if (!kept) return false;
  }
  return true;
}

/// The spec without what a pod's update may change, so that the rest can be compared.
Json FrozenPodSpec(const Json& spec) {
  Json frozen = spec;
  if (!frozen.is_object()) return frozen;
  JsonObject& object = frozen.get_object();
  for (const char* list : {"containers", "initContainers"}) {
    Json* containers = object.if_contains(list);
    if (containers == nullptr || !containers->is_array()) continue;
    for (Json& container : containers->get_array()) {
      if (container.is_object()) container.get_object().erase("image");
    }
  }
  for (const char* key : {"activeDeadlineSeconds", "tolerations", "schedulingGates"}) object.erase(key);
  return frozen;
}

void PodUpdate(const Json& object, const Json& old, Causes& causes) {
  const FieldPath root;
  validation::PodClaimStatuses(object, old, causes);
  const FieldPath path = root.Field("spec");
  const Json& spec = MemberOf(object, "spec");
  const Json& before = MemberOf(old, "spec");
  for (const char* list : {"containers", "initContainers"}) {
    if (List(spec, list).size() == List(before, list).size()) continue;
    causes.push_back(ForbiddenValue(path.Field(list), "pod updates may not add or remove containers"));
    return;
  }
  const Json* deadline = Member(spec, "activeDeadlineSeconds");
  if (Has(before, "activeDeadlineSeconds") && !SameMember(spec, before, "activeDeadlineSeconds")) {
    if (deadline == nullptr) {
      causes.push_back(
          InvalidValue(path.Field("activeDeadlineSeconds"), Json(), "must not update from a positive integer to nil value"));
    } else if (Number(spec, "activeDeadlineSeconds") > Number(before, "activeDeadlineSeconds")) {
      causes.push_back(
          InvalidValue(path.Field("activeDeadlineSeconds"), *deadline, "must be less than or equal to previous value"));
    }
  }
  if (!OnlyAddsTolerations(spec, before)) {
    causes.push_back(
        ForbiddenValue(path.Field("tolerations"), "existing toleration can not be modified except its tolerationSeconds"));
  }
  const JsonArray& gates = List(before, "schedulingGates");
  for (const Json& gate : List(spec, "schedulingGates")) {
    if (std::find(gates.begin(), gates.end(), gate) != gates.end()) continue;
    causes.push_back(ForbiddenValue(path.Field("schedulingGates"), "only deletion is allowed, but found new scheduling gate '" +
                                                                       std::string(Text(gate, "name")) + "'"));
  }
  Json frozen = FrozenPodSpec(spec);
  const Json frozen_before = FrozenPodSpec(before);
  // Pods that were stored with a negative period may be brought to the shortest one.
  if (Number(before, "terminationGracePeriodSeconds") < 0 && Number(spec, "terminationGracePeriodSeconds") == 1) {
    frozen.get_object()["terminationGracePeriodSeconds"] = Json(frozen_before.at("terminationGracePeriodSeconds"));
  }
  if (base::Equal(frozen, frozen_before)) return;
  causes.push_back(ForbiddenValue(
      path,
      "pod updates may not change fields other than "
      "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
      "additions to "
      "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"));
}

bool SameExcept(const Json& a, const Json& b, std::initializer_list<std::string_view> except) {
  Json left = a, right = b;
  for (Json* one : {&left, &right}) {
    if (!one->is_object()) continue;
    for (const std::string_view key : except) one->get_object().erase(key);
  }
  return base::Equal(left, right);
}

void AppsUpdate(const Resource& resource, const Json& object, const Json& old, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  const Json& spec = MemberOf(object, "spec");
  const Json& before = MemberOf(old, "spec");
  if (resource.kind == "StatefulSet") {
    if (!SameExcept(spec, before,
                    {"replicas", "ordinals", "template", "updateStrategy", "persistentVolumeClaimRetentionPolicy",
                     "minReadySeconds"})) {
      causes.push_back(ForbiddenValue(
          path,
          "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
          "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"));
    }
  } else if (resource.kind == "ControllerRevision") {
    Immutable(object, old, "data", root, causes);
  } else {
    Immutable(spec, before, "selector", path, causes);
  }
}

void JobUpdate(const Json& object, const Json& old, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  const Json& spec = MemberOf(object, "spec");
  const Json& before = MemberOf(old, "spec");
  for (const char* key :
       {"selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"}) {
    Immutable(spec, before, key, path, causes);
  }
  if (Text(spec, "completionMode") != "Indexed") Immutable(spec, before, "completions", path, causes);
  // A job that never ran may still be told where to run.
  if (Flag(before, "suspend") && !Has(MemberOf(old, "status"), "startTime")) return;
  Immutable(spec, before, "template", path, causes);
}

void ClaimUpdate(const Json& object, const Json& old, Causes& causes) {
  const Json& spec = MemberOf(object, "spec");
  const Json& before = MemberOf(old, "spec");
  const bool bound = Text(MemberOf(old, "status"), "phase") == "Bound";
  const bool binding = Text(before, "volumeName").empty();
  bool same = SameExcept(spec, before,
                         {"resources", "volumeAttributesClassName", binding ? "volumeName" : "resources",
                          Has(before, "storageClassName") ? "resources" : "storageClassName"});
  if (!bound && !SameMember(spec, before, "resources")) same = false;
  if (same) return;
  const FieldPath root;
  causes.push_back(ForbiddenValue(
      root.Field("spec"),
      "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"));
}

void VolumeUpdate(const Json& object, const Json& old, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  const Json& spec = MemberOf(object, "spec");
  const Json& before = MemberOf(old, "spec");
  if (!SameExcept(spec, before,
                  {"capacity", "accessModes", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName", "mountOptions",
                   "volumeMode", "nodeAffinity", "volumeAttributesClassName"})) {
    causes.push_back(
        ForbiddenValue(path.Field("persistentvolumesource"), "spec.persistentvolumesource is immutable after creation"));
  }
  // Upstream leaves spec out of these paths.
  Immutable(spec, before, "volumeMode", root, causes);
  if (Has(before, "nodeAffinity")) Immutable(spec, before, "nodeAffinity", root, causes);
}

void ServiceUpdate(const Json& object, const Json& old, Causes& causes) {
  const Json& spec = MemberOf(object, "spec");
  const Json& before = MemberOf(old, "spec");
  const std::string_view address = Text(before, "clusterIP");
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  if (Text(spec, "type") == "LoadBalancer" && Text(before, "type") == "LoadBalancer") {
    Immutable(spec, before, "loadBalancerClass", path, causes, "may not change once set");
  }
  if (Text(spec, "type") == "ExternalName" || Text(before, "type") == "ExternalName" || address.empty()) return;
  if (Text(spec, "clusterIP") == address) return;
  const FieldPath addresses = path.Field("clusterIPs");
  causes.push_back(InvalidText(addresses.Index(0), Text(spec, "clusterIP"), "may not change once set"));
}

void QuotaUpdate(const Json& object, const Json& old, Causes& causes) {
  const auto scopes = [](const Json& quota) {
    const std::vector<std::string> names = base::FindTexts(quota, {"spec", "scopes"});
    return std::set<std::string>(names.begin(), names.end());
  };
  if (scopes(object) == scopes(old)) return;
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  causes.push_back(InvalidValue(path.Field("scopes"), List(MemberOf(object, "spec"), "scopes"), kImmutable));
}

void CoreUpdate(const Resource& resource, const Json& object, const Json& old, Causes& causes) {
  const FieldPath root;
  if (resource.kind == "Pod") {
    PodUpdate(object, old, causes);
  } else if (resource.kind == "ConfigMap") {
    FrozenData(object, old, {"data", "binaryData"}, causes);
  } else if (resource.kind == "Secret") {
    Immutable(object, old, "type", root, causes);
    FrozenData(object, old, {"data"}, causes);
  } else if (resource.kind == "PersistentVolumeClaim") {
    ClaimUpdate(object, old, causes);
  } else if (resource.kind == "PersistentVolume") {
    VolumeUpdate(object, old, causes);
  } else if (resource.kind == "Service") {
    ServiceUpdate(object, old, causes);
  } else if (resource.kind == "ResourceQuota") {
    QuotaUpdate(object, old, causes);
  } else if (resource.kind == "Node") {
    const FieldPath path = root.Field("spec");
    if (!Text(MemberOf(old, "spec"), "providerID").empty() &&
        !SameMember(MemberOf(object, "spec"), MemberOf(old, "spec"), "providerID")) {
      causes.push_back(
          ForbiddenValue(path.Field("providerID"), "node updates may not change providerID except from \"\" to valid"));
    }
    const Json& before = MemberOf(old, "spec");
    if ((Has(before, "podCIDR") && !SameMember(MemberOf(object, "spec"), before, "podCIDR")) ||
        (!List(before, "podCIDRs").empty() && !SameMember(MemberOf(object, "spec"), before, "podCIDRs"))) {
      causes.push_back(ForbiddenValue(path.Field("podCIDRs"), "node updates may not change podCIDR except from \"\" to valid"));
    }
  }
}

void DeviceUpdate(const Resource& resource, const Json& object, const Json& old, Causes& causes) {
  const FieldPath root;
  if (resource.kind == "ResourceSlice") {
    const FieldPath path = root.Field("spec");
    const Json& spec = MemberOf(object, "spec");
    const Json& before = MemberOf(old, "spec");
    Immutable(MemberOf(spec, "pool"), MemberOf(before, "pool"), "name", path.Field("pool"), causes);
    Immutable(spec, before, "driver", path, causes);
    Immutable(spec, before, "nodeName", path, causes);
  } else if (resource.kind != "DeviceClass") {
    Immutable(object, old, "spec", root, causes);
  }
  if (resource.kind == "ResourceClaim") validation::ClaimStatusUpdate(object, old, causes);
}

void OtherUpdate(const Resource& resource, const Json& object, const Json& old, Causes& causes) {
  const FieldPath root;
  if (resource.group == "rbac.authorization.k8s.io" && resource.kind.ends_with("Binding")) {
    Immutable(object, old, "roleRef", root, causes, "cannot change roleRef");
  } else if (resource.kind == "StorageClass") {
    for (const char* key : {"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"}) {
      if (SameMember(object, old, key)) continue;
      const std::string what =
          std::string_view(key) == "volumeBindingMode" ? "" : "updates to " + std::string(key) + " are forbidden.";
      causes.push_back(what.empty() ? InvalidValue(root.Field(key), MemberOf(object, key), kImmutable)
                                    : ForbiddenValue(root.Field(key), what));
    }
  } else if (resource.kind == "PriorityClass") {
    if (!SameMember(object, old, "value"))
      causes.push_back(ForbiddenValue(root.Field("value"), "may not be changed in an update."));
    Immutable(object, old, "preemptionPolicy", root, causes);
  } else if (resource.kind == "IngressClass") {
    const FieldPath path = root.Field("spec");
    Immutable(MemberOf(object, "spec"), MemberOf(old, "spec"), "controller", path, causes);
  } else if (resource.kind == "EndpointSlice") {
    Immutable(object, old, "addressType", root, causes);
  } else if (resource.kind == "CustomResourceDefinition") {
    const FieldPath path = root.Field("spec");
    const FieldPath names = path.Field("names");
    Immutable(MemberOf(object, "spec"), MemberOf(old, "spec"), "group", path, causes);
    Immutable(MemberOf(object, "spec"), MemberOf(old, "spec"), "scope", path, causes);
    Immutable(MemberOf(MemberOf(object, "spec"), "names"), MemberOf(MemberOf(old, "spec"), "names"), "plural", names, causes);
    Immutable(MemberOf(MemberOf(object, "spec"), "names"), MemberOf(MemberOf(old, "spec"), "names"), "kind", names, causes);
  }
}

}  // namespace

std::vector<base::Cause> ValidateUpdate(const Resource& resource, const Json& object, const Json& old) {
  Causes causes;
  MetadataUpdate(object, old, causes);
  if (resource.schema != nullptr && !resource.schema->native) return causes;
  if (resource.group.empty()) {
    CoreUpdate(resource, object, old, causes);
  } else if (resource.group == "apps") {
    AppsUpdate(resource, object, old, causes);
  } else if (resource.group == "batch" && resource.kind == "Job") {
    JobUpdate(object, old, causes);
  } else if (resource.group == "resource.k8s.io") {
    DeviceUpdate(resource, object, old, causes);
  } else {
    OtherUpdate(resource, object, old, causes);
  }
  return causes;
}

}  // namespace evenkeel::kube
