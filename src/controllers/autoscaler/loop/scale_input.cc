#include "controllers/autoscaler/loop/scale_input.h"

#include <map>
#include <set>

#include "base/time.h"
#include "kube/object.h"
#include "kube/quantity.h"

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
  explicit ObjectCheck(const ManifestObject& manifest) : manifest_(manifest), object_(manifest.object) {}

  base::Status Pod(const std::set<std::string, std::less<>>& nodes) const {
    if (const Json* spec = Find(object_, {"spec"}); spec == nullptr || !spec->is_object()) return Wrong("spec", "missing");
    EVENKEEL_TRY(Times());
    for (const char* list : {"containers", "initContainers"}) EVENKEEL_TRY(Containers(list));
    EVENKEEL_TRY(Quantities(Find(object_, {"spec", "overhead"}), "spec.overhead"));
    const Json* priority = Find(object_, {"spec", "priority"});
    if (priority != nullptr && !priority->is_null() && !priority->is_int64() && !priority->is_uint64()) {
      return Wrong("spec.priority", "not a whole number");
    }
    const Json* node = Find(object_, {"spec", "nodeName"});
    if (node == nullptr || node->is_null()) return {};
    if (!node->is_string()) return Wrong("spec.nodeName", "not a text");
    const std::string_view phase = FindString(object_, {"status", "phase"});
    const std::string_view name = FindString(object_, {"spec", "nodeName"});
    if (name.empty() || phase == "Succeeded" || phase == "Failed" || nodes.contains(name)) return {};
    return Wrong("spec.nodeName", "there is no Node " + std::string(name) + " in the input: add it, or leave the pod out");
  }

  base::Status Node() const {
    EVENKEEL_TRY(Times());
    EVENKEEL_TRY(Quantities(Find(object_, {"status", "allocatable"}), "status.allocatable"));
    return Quantities(Find(object_, {"status", "capacity"}), "status.capacity");
  }

 private:
  std::unexpected<base::Error> Wrong(const std::string& field, const std::string& what) const {
    std::string message = manifest_.where.empty() ? "" : manifest_.where + ": ";
    message += std::string(FindString(object_, {"kind"})) + " " + kube::KeyOf(object_) + ": " + field + ": " + what;
    for (char& c : message) {
      if (static_cast<unsigned char>(c) < ' ') c = ' ';
    }
    return base::Fail(base::Code::kBadRequest, std::move(message));
  }

  base::Status Times() const {
    for (const char* name : {"creationTimestamp", "deletionTimestamp"}) {
      const Json* time = Find(object_, {"metadata", name});
      if (time == nullptr || time->is_null()) continue;
      if (!base::ParseTime(FindString(object_, {"metadata", name}))) {
        return Wrong(std::string("metadata.") + name, "not an RFC 3339 time");
      }
    }
    return {};
  }

  base::Status Containers(const std::string& list) const {
    const Json* containers = Find(object_, {"spec", list});
    if (containers == nullptr || containers->is_null()) return {};
    if (!containers->is_array()) return Wrong("spec." + list, "not a list");
    size_t index = 0;
    for (const Json& container : containers->get_array()) {
      const std::string field = "spec." + list + "[" + std::to_string(index++) + "].resources.";
      for (const char* kind : {"requests", "limits"}) {
        EVENKEEL_TRY(Quantities(Find(container, {"resources", kind}), field + kind));
      }
    }
    return {};
  }

  base::Status Quantities(const Json* amounts, const std::string& field) const {
    if (amounts == nullptr || amounts->is_null()) return {};
    if (!amounts->is_object()) return Wrong(field, "not an object of quantities");
    for (const auto& [name, value] : amounts->get_object()) {
      const auto quantity = kube::Quantity::FromJson(value);
      const std::string amount = field + "." + std::string(name);
      if (!quantity) return Wrong(amount, base::ToText(value) + " is not a quantity: " + quantity.error().message());
      if (*quantity < kube::Quantity()) return Wrong(amount, "less than 0");
    }
    return {};
  }

  const ManifestObject& manifest_;
  const Json& object_;
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
