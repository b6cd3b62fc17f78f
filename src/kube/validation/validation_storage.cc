// Rules of volumes, claims for them and their classes (kubernetes@1.36:pkg/apis/core/validation, pkg/apis/storage/validation).
#include <set>

#include "base/text.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

void AccessModes(const Json& spec, std::string_view missing, const FieldPath& spec_path, Causes& causes) {
  static const std::set<std::string_view> kModes{"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"};
  const JsonArray& modes = List(spec, "accessModes");
  const FieldPath path = spec_path.Field("accessModes");
  if (modes.empty()) causes.push_back(RequiredValue(path, missing));
  bool alone = false, shared = false;
  for (const Json& one : modes) {
    const std::string_view mode = one.is_string() ? std::string_view(one.get_string()) : "";
    // Of the list, not of its entry, as upstream.
    if (!kModes.contains(mode)) causes.push_back(UnsupportedText(path, mode, {kModes.begin(), kModes.end()}));
    (mode == "ReadWriteOncePod" ? alone : shared) = true;
  }
  if (alone && shared) causes.push_back(ForbiddenValue(path, "may not use ReadWriteOncePod with other access modes"));
}

void ClassName(const Json& spec, std::string_view field, const FieldPath& path, Causes& causes) {
  const std::string_view name = Text(spec, field);
  if (std::string problem = CheckDnsSubdomain(name); !name.empty() && !problem.empty()) {
    causes.push_back(InvalidText(path.Field(field), name, problem));
  }
}

void PositiveAmount(const Json& value, const FieldPath& path, Causes& causes) {
  const auto amount = Quantity::FromJson(value);
  if (amount && *amount <= Quantity()) causes.push_back(InvalidText(path, amount->ToString(), "must be greater than zero"));
}

void Claim(const Json& spec, const FieldPath& path, Causes& causes) {
  AccessModes(spec, "at least 1 access mode is required", path, causes);
  if (const Json* selector = Member(spec, "selector")) LabelSelector(*selector, path.Field("selector"), causes);
  const FieldPath resources = path.Field("resources");
  const FieldPath storage_path = resources.Key("storage");
  const JsonObject& requests = Fields(MemberOrNothing(spec, "resources"), "requests");
  if (const Json* storage = requests.if_contains("storage")) {
    PositiveAmount(*storage, storage_path, causes);
  } else {
    causes.push_back(RequiredValue(storage_path));
  }
  ClassName(spec, "storageClassName", path, causes);
  ClassName(spec, "volumeAttributesClassName", path, causes);
}

/// Exactly one thing that the volume is made of.
void OneSource(const Json& spec, const FieldPath& path, Causes& causes) {
  static const std::set<std::string_view> kNotSources = {
      "capacity",     "accessModes", "claimRef",     "persistentVolumeReclaimPolicy", "storageClassName",
      "mountOptions", "volumeMode",  "nodeAffinity", "volumeAttributesClassName"};
  int sources = 0;
  if (!spec.is_object()) return;
  for (const auto& [key, value] : spec.get_object()) {
    if (value.is_null() || kNotSources.contains(key)) continue;
    if (++sources > 1) causes.push_back(ForbiddenValue(path.Field(key), "may not specify more than 1 volume type"));
  }
  if (sources == 0) causes.push_back(RequiredValue(path, "must specify a volume type"));
}

void Volume(const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  const Json& spec = MemberOrNothing(object, "spec");
  AccessModes(spec, "", path, causes);
  const JsonObject& capacity = Fields(spec, "capacity");
  const FieldPath capacity_path = path.Field("capacity");
  if (capacity.empty()) {
    causes.push_back(RequiredValue(capacity_path));
  } else if (!capacity.contains("storage") || capacity.size() > 1) {
    causes.push_back(UnsupportedValue(capacity_path, capacity, {"storage"}));
  }
  for (const auto& [name, amount] : capacity) PositiveAmount(amount, capacity_path.Key(name), causes);
  const Json* affinity = Member(spec, "nodeAffinity");
  const FieldPath affinity_path = path.Field("nodeAffinity");
  if (affinity != nullptr && !Has(*affinity, "required")) {
    causes.push_back(RequiredValue(affinity_path.Field("required"), "must specify required node constraints"));
  } else if (affinity != nullptr) {
    NodeSelector(*Member(*affinity, "required"), affinity_path.Field("required"), causes);
  }
  OneSource(spec, path, causes);
  if (Has(spec, "local") && affinity == nullptr) {
    causes.push_back(RequiredValue(affinity_path, "Local volume requires node affinity"));
  }
  if (const Json* host = Member(spec, "hostPath")) {
    HostPath(*host, path.Field("hostPath"), causes);
    if (Text(*host, "path") == "/" && Text(spec, "persistentVolumeReclaimPolicy") == "Recycle") {
      causes.push_back(
          ForbiddenValue(path.Field("persistentVolumeReclaimPolicy"), "may not be 'recycle' for a hostPath mount of '/'"));
    }
  }
  ClassName(spec, "storageClassName", path, causes);
}

void StorageClass(const Json& object, Causes& causes) {
  const FieldPath root;
  const std::string provisioner = base::Lower(Text(object, "provisioner"));
  if (std::string problem = CheckQualifiedName(provisioner); !provisioner.empty() && !problem.empty()) {
    causes.push_back(InvalidText(root.Field("provisioner"), Text(object, "provisioner"), problem));
  }
  if (Fields(object, "parameters").contains("")) {
    causes.push_back(InvalidText(root.Field("parameters"), "", "field can not be empty."));
  }
}

}  // namespace

void StorageKind(const Resource& resource, const Json& object, Causes& causes) {
  const FieldPath root;
  const std::string_view kind = resource.kind;
  if (resource.group.empty() && kind == "PersistentVolumeClaim") {
    Claim(MemberOrNothing(object, "spec"), root.Field("spec"), causes);
  } else if (resource.group.empty() && kind == "PersistentVolume") {
    Volume(object, causes);
  } else if (resource.group == "storage.k8s.io" && kind == "StorageClass") {
    StorageClass(object, causes);
  }
}

}  // namespace evenkeel::kube::validation
