#include "embedded/federation/policies/bindings.h"

#include <algorithm>
#include <map>

#include "kube/karmada.h"
#include "kube/object.h"

namespace evenkeel::embedded::federation {
namespace {

using base::Find;
using base::FindArray;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

std::string JoinedKeys(const JsonObject& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.emplace_back(key);
  std::ranges::sort(keys);
  std::string joined;
  for (const std::string& key : keys) joined += (joined.empty() ? "" : ",") + key;
  return joined;
}

/// What lets the member find the way back, and tells its labels from others'.
void MarkManifest(Json& manifest, const WorkInput& input, const std::string& work, const std::string& ns) {
  const Json& object = *input.object;
  base::Ensure(manifest, {"metadata", "labels", kManagedLabel}) = "true";
  JsonObject& annotations = [&]() -> JsonObject& {
    Json& value = base::Ensure(manifest, {"metadata", "annotations"});
    if (!value.is_object()) value = JsonObject{};
    return value.get_object();
  }();
  annotations[kTemplateUid] = kube::UidOf(object);
  if (const int64_t generation = base::FindInt(object, {"metadata", "generation"}); generation > 0)
    annotations[kTemplateGeneration] = std::to_string(generation);
  annotations[kWorkName] = work;
  annotations[kWorkNamespace] = ns;
  const bool namespaced = !kube::NamespaceOf(*input.binding).empty();
  annotations[namespaced ? "resourcebinding.karmada.io/name" : "clusterresourcebinding.karmada.io/name"] =
      kube::NameOf(*input.binding);
  if (namespaced) annotations["resourcebinding.karmada.io/namespace"] = kube::NamespaceOf(*input.binding);
  annotations[kConflictResolution] = ConflictResolutionOf(*input.binding, object);
  annotations[kManagedLabels] = JoinedKeys(FindObject(manifest, {"metadata", "labels"}));
  annotations[kManagedAnnotations] = "";
  annotations[kManagedAnnotations] = JoinedKeys(annotations);
}

}  // namespace

std::string BindingIdOf(const Json& object) {
  for (const char* label : {kBindingId, kClusterBindingId}) {
    const std::string_view id = FindString(object, {"metadata", "labels", label});
    if (!id.empty()) return std::string(id);
  }
  return "";
}

std::vector<Share> TargetsOf(const Json& binding) {
  std::vector<Share> targets;
  const auto add = [&](const JsonArray& clusters) {
    for (const Json& cluster : clusters) {
      const std::string name(FindString(cluster, {"name"}));
      if (!name.empty() && std::ranges::find(targets, name, &Share::name) == targets.end())
        targets.push_back({name, base::FindInt(cluster, {"replicas"})});
    }
  };
  add(FindArray(binding, {"spec", "clusters"}));
  for (const Json& required : FindArray(binding, {"spec", "requiredBy"})) add(FindArray(required, {"clusters"}));
  return targets;
}

bool IsWorkload(const Json& binding) {
  return base::FindInt(binding, {"spec", "replicas"}) > 0 || !FindObject(binding, {"spec", "replicaRequirements"}).empty() ||
         !FindArray(binding, {"spec", "components"}).empty();
}

std::string_view ConflictResolutionOf(const Json& binding, const Json& object) {
  const std::string_view own = FindString(object, {"metadata", "annotations", kConflictResolution});
  if (own == "overwrite" || own == "abort") return own;
  return FindString(binding, {"spec", "conflictResolution"}) == "Overwrite" ? "overwrite" : "abort";
}

bool SuspendsDispatching(const Json& binding, std::string_view cluster) {
  if (base::FindBool(binding, {"spec", "suspension", "dispatching"})) return true;
  return std::ranges::any_of(FindArray(binding, {"spec", "suspension", "dispatchingOnClusters", "clusterNames"}),
                             [&](const Json& name) { return name.is_string() && name.get_string() == cluster; });
}

base::Result<std::vector<const Json*>> OrphanWorks(const std::vector<const Json*>& works, std::string_view binding_id,
                                                   const std::set<std::string>& clusters) {
  std::vector<const Json*> orphans;
  for (const Json* work : works) {
    if (binding_id.empty() || BindingIdOf(*work) != binding_id) continue;
    EVENKEEL_ASSIGN(const std::string cluster, kube::karmada::ClusterOfExecutionNamespace(kube::NamespaceOf(*work)));
    if (!clusters.contains(cluster)) orphans.push_back(work);
  }
  std::ranges::sort(orphans, {}, [](const Json* work) { return kube::KeyOf(*work); });
  return orphans;
}

Json PrunedManifest(const Json& object) {
  Json manifest = object;
  manifest.get_object().erase("status");
  for (const char* field : {"uid", "generation", "resourceVersion", "selfLink", "creationTimestamp", "deletionTimestamp",
                            "deletionGracePeriodSeconds", "ownerReferences", "finalizers", "managedFields"})
    base::Erase(manifest, {"metadata", field});
  for (const char* note : {"kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision"})
    base::Erase(manifest, {"metadata", "annotations", note});
  const std::string_view kind = FindString(object, {"kind"});
  if (kind == "Service") {
    if (FindString(manifest, {"spec", "clusterIP"}) != "None") {
      base::Erase(manifest, {"spec", "clusterIP"});
      base::Erase(manifest, {"spec", "clusterIPs"});
    }
  } else if (kind == "Job" && !base::FindBool(manifest, {"spec", "manualSelector"})) {
    base::Erase(manifest, {"spec", "selector"});
    for (const char* label : {"controller-uid", "batch.kubernetes.io/controller-uid"})
      base::Erase(manifest, {"spec", "template", "metadata", "labels", label});
  } else if (kind == "ServiceAccount") {
    manifest.get_object().erase("secrets");
  }
  return manifest;
}

Json MakeWork(WorkInput input) {
  const std::string name = kube::karmada::WorkName(FindString(*input.object, {"kind"}), kube::NameOf(*input.object),
                                                   kube::NamespaceOf(*input.object));
  const std::string ns = kube::karmada::ExecutionNamespace(input.cluster);
  MarkManifest(input.manifest, input, name, ns);
  Json work = kube::NewObject(kube::karmada::Works(), ns, name);
  const bool namespaced = !kube::NamespaceOf(*input.binding).empty();
  const char* id = namespaced ? kBindingId : kClusterBindingId;
  base::Ensure(work, {"metadata", "labels", id}) = FindString(*input.binding, {"metadata", "labels", id});
  base::Ensure(work, {"metadata", "finalizers"}) = JsonArray{kExecutionFinalizer};
  JsonObject annotations{{namespaced ? "resourcebinding.karmada.io/name" : "clusterresourcebinding.karmada.io/name",
                          kube::NameOf(*input.binding)}};
  if (namespaced) annotations["resourcebinding.karmada.io/namespace"] = kube::NamespaceOf(*input.binding);
  if (const std::string text = AppliedOverridesText(input.overriders, false); !text.empty())
    annotations[kAppliedOverrides] = text;
  if (const std::string text = AppliedOverridesText(input.overriders, true); !text.empty())
    annotations[kAppliedClusterOverrides] = text;
  base::Ensure(work, {"metadata", "annotations"}) = std::move(annotations);
  base::Ensure(work, {"spec"}) =
      JsonObject{{"suspendDispatching", SuspendsDispatching(*input.binding, input.cluster)},
                 {"preserveResourcesOnDeletion", base::FindBool(*input.binding, {"spec", "preserveResourcesOnDeletion"})},
                 {"workload", JsonObject{{"manifests", JsonArray{std::move(input.manifest)}}}}};
  return work;
}

JsonArray AggregatedStatusOf(const std::vector<const Json*>& works) {
  std::map<std::string, Json> by_cluster;
  for (const Json* work : works) {
    const auto cluster = kube::karmada::ClusterOfExecutionNamespace(kube::NamespaceOf(*work));
    if (!cluster) continue;
    const Json* condition = kube::FindCondition(*work, "Applied");
    const bool applied = condition != nullptr && FindString(*condition, {"status"}) == "True";
    JsonObject item{{"clusterName", *cluster}};
    // As Karmada writes it: what is false or empty is left out, except the health.
    if (applied) item["applied"] = true;
    if (!applied && condition != nullptr) item["appliedMessage"] = FindString(*condition, {"message"});
    item["health"] = "Unknown";
    const auto& statuses = FindArray(*work, {"status", "manifestStatuses"});
    if (applied && !statuses.empty()) {
      item["health"] = FindString(statuses[0], {"health"}, "Unknown");
      if (const Json* status = Find(statuses[0], {"status"})) item["status"] = *status;
    }
    by_cluster[*cluster] = std::move(item);
  }
  JsonArray list;
  for (auto& [cluster, item] : by_cluster) list.push_back(std::move(item));
  return list;
}

}  // namespace evenkeel::embedded::federation
