#include "controllers/autoscaler/loop/scale_input.h"

#include <map>
#include <set>

#include "base/time.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "kube/types.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Find;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using kube::ManifestObject;

bool IsNamespaced(std::string_view kind) {
  static const std::set<std::string_view> kKinds = {
      "Pod", "PodDisruptionBudget", "ReplicaSet", "ReplicationController", "StatefulSet",
      "Job", "DaemonSet",           "ConfigMap",  "PersistentVolumeClaim", "CSIStorageCapacity"};
  return kKinds.contains(kind);
}

/// Errors about one object: where it stands, what it is, the field.
class ObjectCheck {
 public:
  explicit ObjectCheck(const ManifestObject& manifest) : object_(kube::FieldsOf(manifest)) {}

  base::Status Pod(const std::set<std::string, std::less<>>& nodes) const {
    const base::Field spec = object_["spec"], node = spec["nodeName"];
    EVENKEEL_TRY(spec.Required());
    EVENKEEL_TRY(spec.IsObject());
    EVENKEEL_TRY(Times());
    for (const char* list : {"containers", "initContainers"}) {
      EVENKEEL_TRY(spec[list].ForEach([](const base::Field& container) -> base::Status {
        EVENKEEL_TRY(kube::CheckQuantities(container["resources"]["requests"]));
        return kube::CheckQuantities(container["resources"]["limits"]);
      }));
    }
    EVENKEEL_TRY(kube::CheckQuantities(spec["overhead"]));
    int64_t priority = 0;
    EVENKEEL_TRY(spec["priority"].Whole(priority, INT32_MIN, INT32_MAX));
    std::string name;
    EVENKEEL_TRY(node.Text(name));
    if (name.empty() || kube::HasEnded(object_.value()) || nodes.contains(name)) return {};
    return node.Wrong("there is no Node " + name + " in the input: add it, or leave the pod out");
  }

  base::Status Node() const {
    EVENKEEL_TRY(Times());
    EVENKEEL_TRY(kube::CheckQuantities(object_["status"]["allocatable"]));
    return kube::CheckQuantities(object_["status"]["capacity"]);
  }

 private:
  base::Status Times() const {
    std::optional<base::Time> unused;
    EVENKEEL_TRY(object_["metadata"]["creationTimestamp"].Instant(unused));
    return object_["metadata"]["deletionTimestamp"].Instant(unused);
  }

  const base::Field object_;
};

void Complete(Json& object) {
  const std::string_view kind = FindString(object, {"kind"});
  if (IsNamespaced(kind) && kube::NamespaceOf(object).empty()) base::Ensure(object, {"metadata", "namespace"}) = "default";
  if (kind != "Node") return;
  for (const char* part : {"spec", "status"}) {
    if (const Json* value = Find(object, {part}); value == nullptr || !value->is_object())
      object.as_object()[part] = JsonObject{};
  }
  if (Find(object, {"status", "conditions"}) != nullptr) return;
  base::Ensure(object, {"status", "conditions"}) = JsonArray{JsonObject{{"type", "Ready"}, {"status", "True"}}};
}

}  // namespace

base::Result<ScaleObjects> CheckScaleObjects(std::vector<ManifestObject> objects) {
  ScaleObjects checked;
  std::map<std::string, size_t, std::less<>> last;
  for (size_t i = 0; i < objects.size(); ++i) {
    Complete(objects[i].object);
    last[std::string(FindString(objects[i].object, {"kind"})) + " " + kube::KeyOf(objects[i].object)] = i;
  }
  std::set<std::string, std::less<>> nodes;
  std::vector<ManifestObject> pods;
  for (size_t i = 0; i < objects.size(); ++i) {
    ManifestObject& object = objects[i];
    const std::string kind(FindString(object.object, {"kind"}));
    // Two groups of one name are a mistake that decoding them reports.
    if (kind == "NodeGroup") {
      checked.groups.push_back(std::move(object));
    } else if (last[kind + " " + kube::KeyOf(object.object)] != i) {
      continue;
    } else if (kind == "Node") {
      EVENKEEL_TRY(ObjectCheck(object).Node());
      nodes.emplace(kube::NameOf(object.object));
      checked.others.push_back(std::move(object));
    } else {
      pods.push_back(std::move(object));
    }
  }
  for (ManifestObject& object : pods) {
    if (FindString(object.object, {"kind"}) == "Pod") EVENKEEL_TRY(ObjectCheck(object).Pod(nodes));
    checked.others.push_back(std::move(object));
  }
  return checked;
}

}  // namespace evenkeel::controllers::autoscaler
