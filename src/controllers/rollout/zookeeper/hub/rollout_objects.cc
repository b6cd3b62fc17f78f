#include "controllers/rollout/zookeeper/hub/rollout_objects.h"

#include <spdlog/fmt/fmt.h>

#include <array>

#include "controllers/rollout/zookeeper/reading/render.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "controllers/rollout/zookeeper/spec/unknown_fields.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Find;
using base::FindString;
using base::Json;

std::string_view NamespaceIn(const Json& object) {
  const std::string_view ns = kube::NamespaceOf(object);
  return ns.empty() ? "default" : ns;
}

/// The list at a path, if it is there, holds objects with a text at `name`.
base::Status CheckList(const kube::ManifestObject& object, std::array<const char*, 2> path, const char* name) {
  const Json* list = Find(object.object, {path[0], path[1]});
  if (list == nullptr || list->is_null()) return {};
  const std::string field = fmt::format("{}.{}", path[0], path[1]);
  if (!list->is_array()) return WrongField(object, field, "not a list");
  size_t index = 0;
  for (const Json& item : list->get_array()) {
    const std::string at = fmt::format("{}[{}]", field, index++);
    if (FindString(item, {name}).empty()) return WrongField(object, at + "." + name, "missing");
    const Json* replicas = Find(item, {"replicas"});
    if (replicas == nullptr || replicas->is_null()) continue;
    const int64_t count = base::FindInt(item, {"replicas"}, -1);
    if (count < 0 || count > 1'000'000) return WrongField(object, at + ".replicas", "not a whole number of at least 0");
  }
  return {};
}

base::Status CheckBinding(const kube::ManifestObject& object) {
  EVENKEEL_TRY(CheckList(object, {"spec", "clusters"}, "name"));
  return CheckList(object, {"status", "aggregatedStatus"}, "clusterName");
}

bool IsChild(std::string_view kind) {
  return kind == "OverridePolicy" || kind == "PropagationPolicy" || kind == "ServiceExport";
}

void Replace(std::vector<const Json*>& objects, const Json& object) {
  std::erase_if(objects, [&](const Json* other) {
    return FindString(*other, {"kind"}) == FindString(object, {"kind"}) && kube::NameOf(*other) == kube::NameOf(object);
  });
  objects.push_back(&object);
}

base::Status Add(const kube::ManifestObject& manifest, std::string_view name, std::string_view ns, FleetObjects& fleet) {
  const Json& object = manifest.object;
  const std::string_view kind = FindString(object, {"kind"});
  if (kind == "Cluster") {
    if (FindString(object, {"apiVersion"}).starts_with("cluster.karmada.io/")) Replace(fleet.clusters, object);
    return {};
  }
  if (kind == "ClusterOverridePolicy") {
    Replace(fleet.cluster_overrides, object);
    return {};
  }
  if (NamespaceIn(object) != ns) return {};
  if (IsChild(kind)) Replace(fleet.children, object);
  if (kind == "ResourceBinding") {
    if (FindString(object, {"spec", "resource", "kind"}) != ZooKeepers().kind) return {};
    if (FindString(object, {"spec", "resource", "name"}) != name) return {};
    EVENKEEL_TRY(CheckBinding(manifest));
    fleet.binding = &object;
  }
  if (kind == ZooKeepers().kind && kube::NameOf(object) == name) {
    const std::string_view cluster = FindString(object, {"metadata", "labels", kClusterLabel});
    (cluster.empty() ? fleet.zookeeper : fleet.members[std::string(cluster)]) = &object;
  }
  return {};
}

}  // namespace

base::Result<PlanInput> PickObjects(const std::vector<kube::ManifestObject>& objects, base::Time now) {
  PlanInput input;
  input.now = now;
  const kube::ManifestObject* ensemble = nullptr;
  for (const kube::ManifestObject& object : objects) {
    if (FindString(object.object, {"kind"}) != MultiClusterZooKeepers().kind) continue;
    if (ensemble != nullptr && (kube::NameOf(ensemble->object) != kube::NameOf(object.object) ||
                                NamespaceIn(ensemble->object) != NamespaceIn(object.object))) {
      return WrongField(object, "metadata.name", "one ensemble is planned at a time, and " + ensemble->where + " has another");
    }
    ensemble = &object;
  }
  if (ensemble == nullptr) return base::Fail(base::Code::kBadRequest, "there is no MultiClusterZooKeeper in the input");
  if (const auto unknown = FindUnknownFields(ensemble->object); !unknown.empty()) {
    return WrongField(*ensemble, unknown.front().field, unknown.front().message);
  }
  input.object = {Json(ensemble->object, {}), ensemble->where};
  for (const kube::ManifestObject& object : objects) {
    EVENKEEL_TRY(Add(object, kube::NameOf(ensemble->object), NamespaceIn(ensemble->object), input.fleet));
  }
  return input;
}

}  // namespace evenkeel::controllers::rollout::zookeeper
