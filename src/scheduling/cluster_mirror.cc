#include "scheduling/cluster_mirror.h"

namespace evenkeel::scheduling {
namespace {

using base::Json;

std::optional<VolumeKind> VolumeKindOf(std::string_view kind) {
  if (kind == "PersistentVolume") return VolumeKind::kPersistentVolume;
  if (kind == "PersistentVolumeClaim") return VolumeKind::kPersistentVolumeClaim;
  if (kind == "StorageClass") return VolumeKind::kStorageClass;
  if (kind == "CSINode") return VolumeKind::kCsiNode;
  if (kind == "CSIDriver") return VolumeKind::kCsiDriver;
  if (kind == "CSIStorageCapacity") return VolumeKind::kCsiStorageCapacity;
  return std::nullopt;
}

std::optional<DeviceKind> DeviceKindOf(std::string_view kind) {
  if (kind == "ResourceSlice") return DeviceKind::kResourceSlice;
  if (kind == "DeviceClass") return DeviceKind::kDeviceClass;
  if (kind == "ResourceClaim") return DeviceKind::kResourceClaim;
  if (kind == "ResourceClaimTemplate") return DeviceKind::kResourceClaimTemplate;
  return std::nullopt;
}

}  // namespace

const kube::CompactPod& ObjectEvent::DecodedPod() const {
  if (!decoded_pod_) decoded_pod_ = kube::CompactPod::Decode(*object);
  return *decoded_pod_;
}

const kube::Node& ObjectEvent::DecodedNode() const {
  if (!decoded_node_) decoded_node_ = kube::Node::Decode(*object);
  return *decoded_node_;
}

const std::vector<SnapshotKind>& SnapshotKinds() {
  static const std::vector<SnapshotKind> kinds{{kube::resources::Nodes(), ""},
                                               {*kube::FindBuiltIn("", "v1", "persistentvolumes"), ""},
                                               {*kube::FindBuiltIn("", "v1", "persistentvolumeclaims"), ""},
                                               {*kube::FindBuiltIn("storage.k8s.io", "v1", "storageclasses"), ""},
                                               {*kube::FindBuiltIn("storage.k8s.io", "v1", "csinodes"), ""},
                                               {*kube::FindBuiltIn("storage.k8s.io", "v1", "csidrivers"), ""},
                                               {*kube::FindBuiltIn("storage.k8s.io", "v1", "csistoragecapacities"), ""},
                                               {*kube::FindBuiltIn("resource.k8s.io", "v1", "deviceclasses"), ""},
                                               {*kube::FindBuiltIn("resource.k8s.io", "v1", "resourceslices"), ""},
                                               {*kube::FindBuiltIn("resource.k8s.io", "v1", "resourceclaimtemplates"), ""},
                                               {*kube::FindBuiltIn("resource.k8s.io", "v1", "resourceclaims"), ""},
                                               {kube::resources::Namespaces(), ""},
                                               // Pods that have ended hold nothing.
                                               {kube::resources::Pods(), "status.phase!=Succeeded,status.phase!=Failed"}};
  return kinds;
}

void ClusterMirror::Upsert(std::string_view kind, const Json& object) {
  const std::string key = kube::KeyOf(object);
  const bool ended = kind == "Pod" && kube::HasEnded(object);
  Notify({kind, key, ended ? nullptr : &object});
}

void ClusterMirror::Remove(std::string_view kind, const std::string& key) { Notify({kind, key, nullptr}); }

void ClusterMirror::Notify(ObjectEvent event) {
  if (event.kind == "Pod") event.pod = snapshot_.FindPod(event.key);
  if (event.kind == "Node") event.node = snapshot_.FindNodeByName(event.key);
  event.volume = VolumeKindOf(event.kind);
  event.device = DeviceKindOf(event.kind);
  for (ClusterListener* listener : listeners_) listener->BeforeChange(event);
  Apply(event);
  for (ClusterListener* listener : listeners_) listener->AfterChange(event);
}

void ClusterMirror::Apply(ObjectEvent& event) {
  if (event.kind == "Pod") return ApplyPod(event);
  if (event.kind == "Node") {
    if (event.object == nullptr) return snapshot_.RemoveNode(event.key);
    event.node = snapshot_.UpsertNode(event.DecodedNode(), &event.node_changed);
  } else if (event.kind == "Namespace") {
    event.object == nullptr ? snapshot_.RemoveNamespace(event.key)
                            : snapshot_.UpsertNamespace(event.key, kube::DecodeMeta(*event.object).labels);
  } else if (event.volume) {
    event.object == nullptr ? snapshot_.RemoveVolume(*event.volume, event.key)
                            : snapshot_.UpsertVolume(*event.volume, *event.object);
  } else if (event.device) {
    event.object == nullptr ? snapshot_.RemoveDevices(*event.device, event.key)
                            : snapshot_.UpsertDevices(*event.device, *event.object);
  }
}

void ClusterMirror::ApplyPod(ObjectEvent& event) {
  if (event.object == nullptr) {
    snapshot_.RemovePod(event.key);
  } else {
    event.pod = snapshot_.UpsertPod(*event.object);
  }
}

}  // namespace evenkeel::scheduling
