#include "scheduling/volume_catalog.h"

#include <spdlog/fmt/fmt.h>

#include "scheduling/volume_decode.h"

namespace evenkeel::scheduling {
namespace {

using base::FindString;
using base::Json;

constexpr const char* kUnbound = "pod has unbound immediate PersistentVolumeClaims";
constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";
constexpr std::string_view kZoneLabels[] = {"failure-domain.beta.kubernetes.io/zone",
                                            "failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/zone",
                                            "topology.kubernetes.io/region"};

std::string_view Successor(std::string_view label) {
  if (label == kZoneLabels[0]) return kZoneLabels[2];
  if (label == kZoneLabels[1]) return kZoneLabels[3];
  return label;
}

bool Has(const std::vector<std::string>& values, std::string_view value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool TopologyMatches(const StorageClass& storage_class, const NodeLabels& node) {
  if (storage_class.topologies.empty()) return true;
  return std::any_of(storage_class.topologies.begin(), storage_class.topologies.end(), [&](const auto& conditions) {
    return !conditions.empty() && std::all_of(conditions.begin(), conditions.end(), [&](const auto& condition) {
      const std::string* value = node.Find(condition.first);
      return value != nullptr && Has(condition.second, *value);
    });
  });
}

std::string NotFound(std::string_view kind, std::string_view name) {
  return std::string(kind) + " \"" + std::string(name) + "\" not found";
}

void Reject(ResolvedVolumes& resolved, Filter filter, std::string text) {
  // Upstream asks for all claims' being there before it asks whether one is bound.
  const bool late = resolved.rejected == kUnbound && text != kUnbound;
  if (resolved.rejected_by != Filter::kPass && (resolved.rejected_by < filter || (resolved.rejected_by == filter && !late)))
    return;
  resolved.rejected_by = filter;
  resolved.rejected = std::move(text);
}

}  // namespace

void VolumeCatalog::Upsert(VolumeKind kind, const Json& object) {
  const std::string key = kube::KeyOf(object);
  switch (kind) {
    case VolumeKind::kPersistentVolume: {
      Remove(kind, key);
      PersistentVolume volume = DecodePersistentVolume(object);
      volumes_of_class_[volume.class_name].insert(key);
      volumes_.insert_or_assign(key, std::move(volume));
      break;
    }
    case VolumeKind::kPersistentVolumeClaim:
      claims_.insert_or_assign(key, DecodePersistentVolumeClaim(object));
      break;
    case VolumeKind::kStorageClass:
      classes_.insert_or_assign(key, DecodeStorageClass(object));
      break;
    case VolumeKind::kCsiNode:
      limits_.insert_or_assign(key, DecodeCsiNode(object));
      break;
    case VolumeKind::kCsiDriver:
      capacity_drivers_.insert_or_assign(key, base::FindBool(object, {"spec", "storageCapacity"}));
      break;
    case VolumeKind::kCsiStorageCapacity: {
      StorageCapacity capacity{std::string(FindString(object, {"storageClassName"})), {}, 0};
      const Json* nodes = base::Find(object, {"nodeTopology"});
      if (nodes != nullptr && !nodes->is_null()) {
        capacity.nodes = kube::LabelSelector::FromJson(*nodes).value_or(kube::LabelSelector::Nothing());
      }
      const bool whole = base::Find(object, {"maximumVolumeSize"}) == nullptr;
      const Json* size = base::Find(object, {whole ? "capacity" : "maximumVolumeSize"});
      if (size != nullptr) {
        const Json list = base::JsonObject{{"storage", Json(*size, {})}};
        const kube::ResourceList sizes = kube::DecodeResourceList(&list);
        capacity.capacity = sizes.contains("storage") ? sizes.at("storage") : 0;
      }
      capacities_.insert_or_assign(key, std::move(capacity));
      break;
    }
  }
  ++version_;
}

void VolumeCatalog::Remove(VolumeKind kind, const std::string& key) {
  switch (kind) {
    case VolumeKind::kPersistentVolume:
      if (const auto found = volumes_.find(key); found != volumes_.end()) {
        volumes_of_class_[found->second.class_name].erase(key);
        volumes_.erase(found);
      }
      break;
    case VolumeKind::kPersistentVolumeClaim:
      claims_.erase(key);
      break;
    case VolumeKind::kStorageClass:
      classes_.erase(key);
      break;
    case VolumeKind::kCsiNode:
      limits_.erase(key);
      break;
    case VolumeKind::kCsiDriver:
      capacity_drivers_.erase(key);
      break;
    case VolumeKind::kCsiStorageCapacity:
      capacities_.erase(key);
      break;
  }
  ++version_;
}

const PersistentVolumeClaim* VolumeCatalog::FindClaim(const std::string& ns, const PodClaim& claim) const {
  const auto found = claims_.find(ns + "/" + claim.name);
  return found == claims_.end() ? nullptr : &found->second;
}

ResolvedVolumes VolumeCatalog::Resolve(const PodVolumes& volumes, const std::string& ns) const {
  ResolvedVolumes resolved;
  resolved.version = version_;
  resolved.attachments = volumes.attachments;
  for (const PodClaim& named : volumes.claims) {
    const PersistentVolumeClaim* claim = FindClaim(ns, named);
    if (claim != nullptr && named.ephemeral && claim->controller != named.pod_uid) {
      Reject(resolved, Filter::kVolumeBinding,
             fmt::format("PVC {0}/{1} was not created for pod {0}/{2} (pod is not owner)", ns, named.name, named.pod_name));
    } else if (claim != nullptr) {
      ResolveClaim(*claim, named.ephemeral, resolved);
    } else if (named.ephemeral) {
      Reject(resolved, Filter::kVolumeBinding,
             "waiting for ephemeral volume controller to create the persistentvolumeclaim \"" + named.name + "\"");
    } else {
      Reject(resolved, Filter::kVolumeRestrictions, NotFound("persistentvolumeclaim", named.name));
    }
  }
  std::sort(resolved.attachments.begin(), resolved.attachments.end());
  resolved.attachments.erase(std::unique(resolved.attachments.begin(), resolved.attachments.end()), resolved.attachments.end());
  std::stable_sort(resolved.delayed.begin(), resolved.delayed.end(),
                   [](const auto* a, const auto* b) { return a->size < b->size; });
  return resolved;
}

void VolumeCatalog::ResolveClaim(const PersistentVolumeClaim& claim, bool ephemeral, ResolvedVolumes& resolved) const {
  if (!ephemeral && Has(claim.access_modes, "ReadWriteOncePod")) resolved.exclusive.push_back(claim.key);
  ResolveAttachment(claim, resolved);
  if (claim.lost) {
    Reject(resolved, Filter::kVolumeBinding,
           "persistentvolumeclaim \"" + claim.name + "\" bound to non-existent persistentvolume \"" + claim.volume + "\"");
  } else if (claim.deleting) {
    Reject(resolved, Filter::kVolumeBinding, "persistentvolumeclaim \"" + claim.name + "\" is being deleted");
  }
  if (claim.lost || claim.deleting) return;
  const auto storage_class = classes_.find(claim.class_name);
  if (!claim.bound) {
    const bool delayed = claim.volume.empty() && storage_class != classes_.end() && storage_class->second.delayed;
    if (delayed) {
      resolved.delayed.push_back(&claim);
    } else {
      Reject(resolved, Filter::kVolumeBinding, kUnbound);
    }
    return;
  }
  const auto found = volumes_.find(claim.volume);
  if (found == volumes_.end()) {
    resolved.volume_missing = true;
    if (!ephemeral) Reject(resolved, Filter::kVolumeZone, NotFound("persistentvolume", claim.volume));
    return;
  }
  const PersistentVolume& volume = found->second;
  if (volume.nodes || volume.nodes_of_driver) resolved.bound.push_back(&volume);
  if (ephemeral) return;
  for (const std::string_view label : kZoneLabels) {
    const auto value = volume.labels.find(std::string(label));
    if (value != volume.labels.end()) resolved.zones.emplace_back(label, SplitZones(value->second));
  }
}

void VolumeCatalog::ResolveAttachment(const PersistentVolumeClaim& claim, ResolvedVolumes& resolved) const {
  if (!claim.volume.empty()) {
    const auto volume = volumes_.find(claim.volume);
    if (volume != volumes_.end()) {
      if (!volume->second.driver.empty()) resolved.attachments.push_back({volume->second.driver, volume->second.handle});
      return;
    }
  }
  const auto storage_class = classes_.find(claim.class_name);
  // A volume that is still to be made counts once per claim.
  if (storage_class != classes_.end())
    resolved.attachments.push_back({storage_class->second.provisioner, "claim:" + claim.key});
}

bool VolumeCatalog::Reaches(const PersistentVolume& volume, const NodeLabels& node) const {
  const bool has_drivers = volume.nodes_of_driver && limits_.contains(node.name);
  const auto& nodes = has_drivers ? volume.nodes_of_driver : volume.nodes;
  return !nodes || MatchesAny(*nodes, node);
}

const PersistentVolume* VolumeCatalog::Match(const PersistentVolumeClaim& claim, const std::set<std::string>& taken,
                                             const NodeLabels& node) const {
  const PersistentVolume* best = nullptr;
  const auto candidates = volumes_of_class_.find(claim.class_name);
  if (candidates == volumes_of_class_.end()) return nullptr;
  for (const std::string& name : candidates->second) {
    const PersistentVolume& volume = volumes_.at(name);
    if (taken.contains(name) || volume.deleting || volume.volume_mode != claim.volume_mode) continue;
    const bool reserved = volume.claim == claim.key;
    if (!volume.claim.empty() && !reserved) continue;
    if (volume.size < claim.size || (volume.nodes && !MatchesAny(*volume.nodes, node))) continue;
    if (reserved) return &volume;
    if (!volume.available || !claim.selector.Matches(volume.labels)) continue;
    const bool modes = std::all_of(claim.access_modes.begin(), claim.access_modes.end(),
                                   [&](const std::string& mode) { return Has(volume.access_modes, mode); });
    if (modes && (best == nullptr || volume.size < best->size)) best = &volume;
  }
  return best;
}

bool VolumeCatalog::CanProvision(const PersistentVolumeClaim& claim, const NodeLabels& node) const {
  const auto found = classes_.find(claim.class_name);
  if (found == classes_.end()) return false;
  const StorageClass& storage_class = found->second;
  if (storage_class.provisioner.empty() || storage_class.provisioner == kNoProvisioner) return false;
  return TopologyMatches(storage_class, node);
}

bool VolumeCatalog::HasRoom(const PersistentVolumeClaim& claim, const StorageClass& storage_class,
                            const NodeLabels& node) const {
  const auto driver = capacity_drivers_.find(storage_class.provisioner);
  if (driver == capacity_drivers_.end() || !driver->second) return true;
  const auto matches = [&](const kube::LabelSelector& nodes) {
    kube::Labels labels = node.shared;
    if (node.hostname != nullptr) labels[std::string(kHostnameLabel)] = *node.hostname;
    return nodes.Matches(labels);
  };
  return std::any_of(capacities_.begin(), capacities_.end(), [&](const auto& entry) {
    const StorageCapacity& room = entry.second;
    return room.class_name == storage_class.name && room.capacity >= claim.size && room.nodes && matches(*room.nodes);
  });
}

std::vector<std::string> VolumeCatalog::Binding(const ResolvedVolumes& volumes, const NodeLabels& node) const {
  std::vector<std::string> reasons;
  const bool bound = std::all_of(volumes.bound.begin(), volumes.bound.end(),
                                 [&](const PersistentVolume* volume) { return Reaches(*volume, node); });
  if (!bound) reasons.emplace_back("node(s) didn't match PersistentVolume's node affinity");
  bool found = true, room = true;
  std::set<std::string> taken;
  std::vector<const PersistentVolumeClaim*> provision;
  for (const PersistentVolumeClaim* claim : volumes.delayed) {
    if (!claim->selected_node.empty()) {
      found &= claim->selected_node == node.name;
      provision.push_back(claim);
    } else if (const PersistentVolume* match = Match(*claim, taken, node)) {
      taken.insert(match->name);
    } else {
      provision.push_back(claim);
    }
  }
  for (const PersistentVolumeClaim* claim : provision) {
    if (!found) break;
    found = CanProvision(*claim, node);
    room = !found || HasRoom(*claim, classes_.at(claim->class_name), node);
    if (!room) break;
  }
  if (!found) reasons.emplace_back("node(s) didn't find available persistent volumes to bind");
  if (!room) reasons.emplace_back("node(s) did not have enough free storage");
  if (volumes.volume_missing) {
    reasons.emplace_back("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
  }
  return reasons;
}

bool VolumeCatalog::ZoneFits(const ResolvedVolumes& volumes, const NodeLabels& node) const {
  if (volumes.zones.empty()) return true;
  const bool zoned = std::any_of(std::begin(kZoneLabels), std::end(kZoneLabels),
                                 [&](std::string_view label) { return node.Find(label) != nullptr; });
  if (!zoned) return true;
  return std::all_of(volumes.zones.begin(), volumes.zones.end(), [&](const auto& zone) {
    const std::string* value = node.Find(zone.first);
    if (value == nullptr) value = node.Find(Successor(zone.first));
    return value != nullptr && Has(zone.second, *value);
  });
}

const VolumeLimits* VolumeCatalog::Limits(std::string_view node) const {
  const auto found = limits_.find(node);
  return found == limits_.end() || found->second.empty() ? nullptr : &found->second;
}

}  // namespace evenkeel::scheduling
