#include "scheduling/volume_decode.h"

namespace evenkeel::scheduling {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;

constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";

std::vector<std::string> TextsAt(const Json& json, std::initializer_list<std::string_view> path) {
  std::vector<std::string> texts;
  for (const Json& item : FindArray(json, path)) {
    if (const auto* text = item.if_string()) texts.emplace_back(*text);
  }
  return texts;
}

std::string ClassNameOf(const Json& json) {
  const std::string_view old = FindString(json, {"metadata", "annotations", kClassAnnotation});
  return std::string(old.empty() ? FindString(json, {"spec", "storageClassName"}) : old);
}

int64_t SizeAt(const Json* list) {
  const kube::ResourceList sizes = kube::DecodeResourceList(list);
  const auto found = sizes.find("storage");
  return found == sizes.end() ? 0 : found->second;
}

/// The drivers that took over from the kinds of volumes that were once built in.
struct Moved {
  const char* source;
  const char* id;
  const char* driver;
};
constexpr Moved kMoved[] = {
    {"awsElasticBlockStore", "volumeID", "ebs.csi.aws.com"},
    {"gcePersistentDisk", "pdName", "pd.csi.storage.gke.io"},
    {"azureDisk", "diskURI", "disk.csi.azure.com"},
    {"cinder", "volumeID", "cinder.csi.openstack.org"},
    {"vsphereVolume", "volumePath", "csi.vsphere.vmware.com"},
    {"portworxVolume", "volumeID", "pxd.portworx.com"},
};

void DecodeDriver(const Json& json, PersistentVolume& volume) {
  if (const Json* csi = base::Find(json, {"spec", "csi"})) {
    volume.driver = FindString(*csi, {"driver"});
    volume.handle = FindString(*csi, {"volumeHandle"});
    return;
  }
  for (const Moved& moved : kMoved) {
    const Json* source = base::Find(json, {"spec", moved.source});
    if (source == nullptr) continue;
    volume.driver = moved.driver;
    volume.handle = FindString(*source, {moved.id});
  }
}

}  // namespace

PersistentVolume DecodePersistentVolume(const Json& json) {
  PersistentVolume volume;
  kube::ObjectMeta meta = kube::DecodeMeta(json);
  volume.name = meta.name;
  volume.labels = std::move(meta.labels);
  volume.deleting = meta.deletion_time.has_value();
  volume.class_name = ClassNameOf(json);
  const std::string_view claim = FindString(json, {"spec", "claimRef", "name"});
  if (!claim.empty())
    volume.claim = std::string(FindString(json, {"spec", "claimRef", "namespace"})) + "/" + std::string(claim);
  volume.available = FindString(json, {"status", "phase"}) == "Available";
  volume.volume_mode = FindString(json, {"spec", "volumeMode"}, "Filesystem");
  volume.size = SizeAt(base::Find(json, {"spec", "capacity"}));
  volume.access_modes = TextsAt(json, {"spec", "accessModes"});
  const Json* required = base::Find(json, {"spec", "nodeAffinity", "required"});
  if (required != nullptr && required->is_object()) {
    volume.nodes = DecodeNodeSelectorTerms(FindArray(*required, {"nodeSelectorTerms"}));
  }
  DecodeDriver(json, volume);
  return volume;
}

PersistentVolumeClaim DecodePersistentVolumeClaim(const Json& json) {
  PersistentVolumeClaim claim;
  const kube::ObjectMeta meta = kube::DecodeMeta(json);
  claim.key = meta.Key();
  claim.name = meta.name;
  claim.deleting = meta.deletion_time.has_value();
  claim.class_name = ClassNameOf(json);
  claim.volume = FindString(json, {"spec", "volumeName"});
  claim.volume_mode = FindString(json, {"spec", "volumeMode"}, "Filesystem");
  const std::string_view phase = FindString(json, {"status", "phase"});
  claim.lost = phase == "Lost";
  claim.bound = !claim.volume.empty() && (phase == "Bound" || meta.annotations.contains("pv.kubernetes.io/bind-completed"));
  claim.selected_node = FindString(json, {"metadata", "annotations", "volume.kubernetes.io/selected-node"});
  claim.size = SizeAt(base::Find(json, {"spec", "resources", "requests"}));
  claim.access_modes = TextsAt(json, {"spec", "accessModes"});
  if (const Json* selector = base::Find(json, {"spec", "selector"}); selector != nullptr && !selector->is_null()) {
    claim.selector = kube::LabelSelector::FromJson(*selector).value_or(kube::LabelSelector::Nothing());
  }
  return claim;
}

StorageClass DecodeStorageClass(const Json& json) {
  StorageClass storage_class;
  storage_class.name = kube::NameOf(json);
  storage_class.provisioner = FindString(json, {"provisioner"});
  storage_class.delayed = FindString(json, {"volumeBindingMode"}) == "WaitForFirstConsumer";
  for (const Json& term : FindArray(json, {"allowedTopologies"})) {
    auto& conditions = storage_class.topologies.emplace_back();
    for (const Json& item : FindArray(term, {"matchLabelExpressions"})) {
      conditions.emplace_back(std::string(FindString(item, {"key"})), TextsAt(item, {"values"}));
    }
  }
  return storage_class;
}

std::map<std::string, int64_t> DecodeCsiNode(const Json& json) {
  std::map<std::string, int64_t> limits;
  for (const Json& driver : FindArray(json, {"spec", "drivers"})) {
    const int64_t count = base::FindInt(driver, {"allocatable", "count"}, -1);
    if (count >= 0) limits.emplace(FindString(driver, {"name"}), count);
  }
  return limits;
}

}  // namespace evenkeel::scheduling
