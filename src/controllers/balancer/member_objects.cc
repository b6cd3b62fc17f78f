#include "controllers/balancer/member_objects.h"

#include <algorithm>

#include "base/input/yaml.h"
#include "controllers/balancer/policy.h"

namespace evenkeel::controllers::balancer {
namespace {

using base::FindString;
using base::Json;

using scheduling::kSafeToEvictAnnotation;

bool IsOwnerKind(std::string_view kind) {
  return kind == "ReplicaSet" || kind == "StatefulSet" || kind == "ReplicationController";
}

std::string_view AnnotationOf(const kube::ObjectMeta& meta, std::string_view key) {
  const auto found = meta.annotations.find(std::string(key));
  return found == meta.annotations.end() ? std::string_view() : std::string_view(found->second);
}

bool ListHas(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == name) return true;
    list.remove_prefix(std::min(list.size(), comma + 1));
  }
  return false;
}

/// A volume whose content goes with the pod, and that is not said to be dispensable.
bool KeepsLocalData(const Json& pod, std::string_view dispensable) {
  for (const Json& volume : base::FindArray(pod, {"spec", "volumes"})) {
    const Json* path = base::Find(volume, {"hostPath"});
    const Json* scratch = base::Find(volume, {"emptyDir"});
    const bool local = (path != nullptr && !path->is_null()) ||
                       (scratch != nullptr && !scratch->is_null() && FindString(*scratch, {"medium"}) != "Memory");
    if (local && !ListHas(dispensable, FindString(volume, {"name"}))) return true;
  }
  return false;
}

std::string WhyFixed(const kube::Pod& pod, const Json& object) {
  const kube::OwnerReference* owner = pod.meta.Controller();
  if (!AnnotationOf(pod.meta, scheduling::kMirrorAnnotation).empty() || (owner != nullptr && owner->kind == "Node")) {
    return "it belongs to its node";
  }
  if (owner == nullptr) return "no controller would make another";
  if (owner->kind == "DaemonSet") return "a DaemonSet has it on this node";
  if (owner->kind == "Job") return "a Job would lose its work";
  if (!IsOwnerKind(owner->kind)) return "it is not known what " + owner->kind + " " + owner->name + " would do";
  for (const char* annotation : {scheduling::kDoNotDisruptAnnotation, scheduling::kKarpenterDoNotDisruptAnnotation}) {
    const std::string_view kept = AnnotationOf(pod.meta, annotation);
    if (!kept.empty() && kept != "false") return "its annotation " + std::string(annotation) + " is " + std::string(kept);
  }
  const std::string_view safe = AnnotationOf(pod.meta, kSafeToEvictAnnotation);
  if (safe == "true") return "";
  if (!safe.empty()) return "its annotation " + std::string(kSafeToEvictAnnotation) + " is " + std::string(safe);
  if (KeepsLocalData(object, AnnotationOf(pod.meta, scheduling::kSafeVolumesAnnotation))) return "it keeps data on its node";
  return "";
}

std::map<std::string, int64_t> DeclaredLoads(const kube::ObjectMeta& meta) {
  std::map<std::string, int64_t> loads;
  const std::string_view text = AnnotationOf(meta, kLoadAnnotation);
  if (text.empty()) return loads;
  const auto json = base::ParseJson(text, kLoadAnnotation);
  if (!json || !json->is_object()) return loads;
  for (const auto& [metric, load] : json->get_object()) {
    if (load.is_int64() && load.get_int64() >= 0) loads[std::string(metric)] = scheduling::Bounded(load.get_int64());
  }
  return loads;
}

std::string WhyLeftOut(const kube::Node& node) {
  for (const kube::Taint& taint : node.taints) {
    if (taint.key == kToBeDeletedTaint) return "the autoscaler removes it";
    if (taint.key == kDeletionCandidateTaint) return "the autoscaler may remove it";
  }
  if (node.meta.deletion_time) return "it is being deleted";
  if (node.unschedulable) return "it is cordoned";
  return node.ready ? "" : "it is not ready";
}

bool SaysScaleUp(const Json& config_map) {
  const auto status = base::ParseYamlDocument(FindString(config_map, {"data", "status"}), kAutoscalerStatus);
  return status && FindString(*status, {"clusterWide", "scaleUp", "status"}) == "InProgress";
}

SeenPod SeenPodOf(const kube::Pod& pod, const Json& object) {
  SeenPod seen;
  seen.key = pod.meta.Key();
  seen.ns = pod.meta.ns;
  seen.name = pod.meta.name;
  seen.uid = pod.meta.uid;
  seen.node = pod.node_name;
  if (const kube::OwnerReference* owner = pod.meta.Controller(); owner != nullptr) {
    seen.owner_kind = owner->kind;
    seen.owner_name = owner->name;
    seen.owner_uid = owner->uid;
  }
  seen.labels = pod.meta.labels;
  seen.requests = pod.Requests();
  seen.declared = DeclaredLoads(pod.meta);
  const auto role = pod.meta.labels.find(kRoleLabel);
  if (role != pod.meta.labels.end()) seen.role = role->second;
  seen.created = pod.meta.creation_time;
  seen.terminating = pod.meta.deletion_time.has_value();
  seen.ready = pod.ready;
  seen.fixed = WhyFixed(pod, object);
  return seen;
}

SeenNode SeenNodeOf(const kube::Node& node) {
  const bool going = std::ranges::any_of(node.taints, [](const kube::Taint& taint) { return taint.key == kToBeDeletedTaint; });
  return {.name = node.meta.name,
          .uid = node.meta.uid,
          .labels = node.meta.labels,
          .allocatable = node.allocatable,
          .ready_since = std::max(node.ready_since, node.meta.creation_time),
          .left_out = WhyLeftOut(node),
          .going = going};
}

}  // namespace

const std::vector<runtime::ReadKind>& ReadKinds() {
  static const std::vector<runtime::ReadKind> kinds = [] {
    std::vector<runtime::ReadKind> made = runtime::SnapshotReadKinds();
    for (const auto& [group, plural] :
         {std::pair{"apps", "replicasets"}, {"apps", "statefulsets"}, {"", "replicationcontrollers"}}) {
      made.push_back({.resource = *kube::FindBuiltIn(group, "v1", plural)});
    }
    made.push_back(
        {.resource = kube::resources::ConfigMaps(), .field_selector = std::string("metadata.name=") + kAutoscalerStatus});
    return made;
  }();
  return kinds;
}

void MemberObjects::AfterChange(const scheduling::ObjectEvent& event) { event.object == nullptr ? Drop(event) : Put(event); }

void MemberObjects::Put(const scheduling::ObjectEvent& event) {
  const Json& object = *event.object;
  if (event.kind == "Pod") {
    pods_.insert_or_assign(event.key, SeenPodOf(event.DecodedPod(), object));
  } else if (event.kind == "Node") {
    nodes_.insert_or_assign(event.key, SeenNodeOf(event.DecodedNode()));
  } else if (IsOwnerKind(event.kind)) {
    PutOwner(event);
  } else if (event.kind == "Namespace") {
    namespaces_[event.key] = kube::DecodeMeta(object).labels;
  } else if (event.kind == "ConfigMap" && kube::NameOf(object) == kAutoscalerStatus) {
    scaling_up_ = SaysScaleUp(object);
  }
}

void MemberObjects::PutOwner(const scheduling::ObjectEvent& event) {
  const kube::Workload workload = kube::Workload::Decode(*event.object);
  SeenOwner owner{.kind = std::string(event.kind),
                  .ns = workload.meta.ns,
                  .name = workload.meta.name,
                  .uid = workload.meta.uid,
                  .parent_kind = "",
                  .parent_name = "",
                  .replicas = workload.meta.deletion_time ? 0 : workload.replicas};
  if (const kube::OwnerReference* parent = workload.meta.Controller(); parent != nullptr) {
    owner.parent_kind = parent->kind;
    owner.parent_name = parent->name;
  }
  std::string& uid = owner_by_key_[owner.kind + " " + event.key];
  if (!uid.empty() && uid != owner.uid) owners_.erase(uid);
  uid = owner.uid;
  owners_.insert_or_assign(uid, std::move(owner));
}

void MemberObjects::Drop(const scheduling::ObjectEvent& event) {
  if (event.kind == "Pod") {
    pods_.erase(event.key);
  } else if (event.kind == "Node") {
    nodes_.erase(event.key);
  } else if (IsOwnerKind(event.kind)) {
    const auto found = owner_by_key_.find(std::string(event.kind) + " " + event.key);
    if (found == owner_by_key_.end()) return;
    owners_.erase(found->second);
    owner_by_key_.erase(found);
  } else if (event.kind == "Namespace") {
    namespaces_.erase(event.key);
  } else if (event.kind == "ConfigMap" && event.key.ends_with(std::string("/") + kAutoscalerStatus)) {
    scaling_up_ = false;
  }
}

const SeenPod* MemberObjects::FindPod(std::string_view key) const {
  const auto found = pods_.find(key);
  return found == pods_.end() ? nullptr : &found->second;
}

const SeenNode* MemberObjects::FindNode(std::string_view name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

const SeenOwner* MemberObjects::FindOwner(const std::string& uid) const {
  const auto found = owners_.find(uid);
  return found == owners_.end() ? nullptr : &found->second;
}

const kube::Labels& MemberObjects::NamespaceLabels(const std::string& name) const {
  static const kube::Labels kNoLabels;
  const auto found = namespaces_.find(name);
  return found == namespaces_.end() ? kNoLabels : found->second;
}

std::vector<const SeenPod*> MemberObjects::PodsOf(std::string_view owner_uid) const {
  std::vector<const SeenPod*> found;
  for (const auto& [key, pod] : pods_) {
    if (pod.owner_uid == owner_uid) found.push_back(&pod);
  }
  return found;
}

std::string MemberObjects::WhyRoomIsShort(const std::function<bool(const SeenPod& pod)>& awaited) const {
  for (const auto& [key, pod] : pods_) {
    if (pod.node.empty()) {
      if (!pod.terminating && !(awaited && awaited(pod))) return "pod " + key + " waits for a node";
      continue;
    }
    const SeenNode* node = FindNode(pod.node);
    const bool stays = pod.owner_kind == "DaemonSet" || pod.owner_kind == "Node";
    if (node != nullptr && node->going && !stays) return "the autoscaler removes node " + pod.node + ", and its pods need room";
  }
  return scaling_up_ ? "the autoscaler adds nodes" : "";
}

}  // namespace evenkeel::controllers::balancer
