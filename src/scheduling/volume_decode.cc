#include "scheduling/volume_decode.h"

namespace evenkeel::scheduling {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;

constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";

std::string ClassNameOf(const Json& json) {
  const std::string_view old = FindString(json, {"metadata", "annotations", kClassAnnotation});
  return std::string(old.empty() ? FindString(json, {"spec", "storageClassName"}) : old);
}

int64_t SizeAt(const Json* list) {
  const kube::ResourceList sizes = kube::DecodeResourceList(list);
  const auto found = sizes.find("storage");
  return found == sizes.end() ? 0 : found->second;
}

/// The drivers that took over from the kinds of volumes that were once built in, and the labels that their zones have.
/// Follows: kubernetes@1.36 staging/src/k8s.io/csi-translation-lib/plugins
struct Moved {
  const char* source;
  const char* id;
  const char* driver;
  const char* zone;  ///< "": it knows none
};
constexpr Moved kMoved[] = {
    {"awsElasticBlockStore", "volumeID", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"},
    {"gcePersistentDisk", "pdName", "pd.csi.storage.gke.io", "topology.gke.io/zone"},
    {"azureDisk", "diskURI", "disk.csi.azure.com", "topology.disk.csi.azure.com/zone"},
    {"cinder", "volumeID", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"},
    {"vsphereVolume", "volumePath", "csi.vsphere.vmware.com", ""},
    {"portworxVolume", "volumeID", "pxd.portworx.com", ""},
};

const Moved* FindMoved(const Json& source) {
  const auto* found = std::ranges::find_if(kMoved, [&](const Moved& moved) {
    const Json* value = base::Find(source, {moved.source});
    return value != nullptr && value->is_object();
  });
  return found == std::end(kMoved) ? nullptr : found;
}

bool NamesKey(const kube::NodeSelectorTerm& term, std::string_view key) {
  return std::ranges::find(term.expressions, key, &kube::NodeSelectorRequirement::key) != term.expressions.end();
}

/// The zone in the volume's node affinity, or else the one of its label, as a label of the driver's.
void TranslateZone(const Moved& moved, PersistentVolume& volume) {
  constexpr std::string_view kNew = "topology.kubernetes.io/zone", kOld = "failure-domain.beta.kubernetes.io/zone";
  const std::string label(volume.labels.contains(std::string(kOld)) && !volume.labels.contains(std::string(kNew)) ? kOld
                                                                                                                  : kNew);
  std::vector<kube::NodeSelectorTerm> terms = volume.nodes.value_or(std::vector<kube::NodeSelectorTerm>());
  bool named = false;
  for (kube::NodeSelectorTerm& term : terms) {
    for (kube::NodeSelectorRequirement& requirement : term.expressions) {
      if (requirement.key != kNew && requirement.key != kOld) continue;
      requirement.key = moved.zone;
      named = true;
    }
  }
  const auto zone = volume.labels.find(label);
  if (!named && zone != volume.labels.end()) {
    if (terms.empty()) terms.emplace_back();
    for (kube::NodeSelectorTerm& term : terms) {
      if (!NamesKey(term, moved.zone)) term.expressions.push_back({moved.zone, "In", SplitZones(zone->second)});
    }
    named = true;
  }
  if (named) volume.nodes_of_driver = std::move(terms);
}

void DecodeDriver(const Json& json, PersistentVolume& volume) {
  if (const Json* csi = base::Find(json, {"spec", "csi"})) {
    volume.driver = FindString(*csi, {"driver"});
    volume.handle = FindString(*csi, {"volumeHandle"});
    return;
  }
  const Json* spec = base::Find(json, {"spec"});
  const Moved* moved = spec == nullptr ? nullptr : FindMoved(*spec);
  if (moved == nullptr) return;
  volume.driver = moved->driver;
  volume.handle = FindString(*spec, {moved->source, moved->id});
  if (std::string_view(moved->zone).empty()) return;
  TranslateZone(*moved, volume);
}

}  // namespace

std::vector<std::string> SplitZones(std::string_view text) {
  std::vector<std::string> zones;
  while (true) {
    const size_t end = text.find("__");
    zones.emplace_back(text.substr(0, end));
    if (end == text.npos) return zones;
    text.remove_prefix(end + 2);
  }
}

std::optional<Attachment> DecodeMoved(const Json& volume) {
  const Moved* moved = FindMoved(volume);
  if (moved == nullptr) return std::nullopt;
  return Attachment{moved->driver, std::string(FindString(volume, {moved->source, moved->id}))};
}

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
  volume.access_modes = base::FindTexts(json, {"spec", "accessModes"});
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
  claim.lost = FindString(json, {"status", "phase"}) == "Lost";
  claim.bound = !claim.volume.empty() && meta.annotations.contains("pv.kubernetes.io/bind-completed");
  for (const Json& owner : FindArray(json, {"metadata", "ownerReferences"})) {
    if (base::FindBool(owner, {"controller"})) claim.controller = FindString(owner, {"uid"});
  }
  claim.selected_node = FindString(json, {"metadata", "annotations", "volume.kubernetes.io/selected-node"});
  claim.size = SizeAt(base::Find(json, {"spec", "resources", "requests"}));
  claim.access_modes = base::FindTexts(json, {"spec", "accessModes"});
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
      conditions.emplace_back(std::string(FindString(item, {"key"})), base::FindTexts(item, {"values"}));
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
