// PersistentVolumes, claims, classes and drivers, and what they say about where a pod can run: the filters VolumeRestrictions
// (ReadWriteOncePod), NodeVolumeLimits, VolumeBinding and VolumeZone.
//
// As in upstream's cluster-autoscaler, a what-if placement does not reserve a volume: two pods can count on the same one that
// is still free.
// Follows: kubernetes@1.36 pkg/scheduler/framework/plugins/{volumerestrictions,nodevolumelimits,volumebinding,volumezone}
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "kube/selector.h"
#include "scheduling/fit.h"
#include "scheduling/node_shape.h"
#include "scheduling/pod_volumes.h"

namespace evenkeel::scheduling {

enum class VolumeKind {
  kPersistentVolume,
  kPersistentVolumeClaim,
  kStorageClass,
  kCsiNode,
  kCsiDriver,
  kCsiStorageCapacity,
};

struct StorageClass {
  std::string name, provisioner;
  bool delayed = false;  ///< volumeBindingMode WaitForFirstConsumer
  /// allowedTopologies: all conditions of one of them hold; empty: anywhere.
  std::vector<std::vector<std::pair<std::string, std::vector<std::string>>>> topologies;
};

struct PersistentVolume {
  std::string name, class_name, claim, volume_mode;  ///< claim: "namespace/name", "" for none
  bool available = false, deleting = false;
  int64_t size = 0;
  std::vector<std::string> access_modes;
  kube::Labels labels;
  std::optional<std::vector<kube::NodeSelectorTerm>> nodes;  ///< nullopt: reachable from everywhere
  /// Likewise on a node that has a CSINode: the zone of a kind that was moved to CSI is its driver's.
  std::optional<std::vector<kube::NodeSelectorTerm>> nodes_of_driver;
  std::string driver, handle;  ///< of CSI and of the kinds that were moved to CSI; else ""
};

struct PersistentVolumeClaim {
  std::string key, name, class_name, volume, selected_node, volume_mode;
  bool bound = false, deleting = false, lost = false;
  int64_t size = 0;
  std::vector<std::string> access_modes;
  kube::LabelSelector selector;
  std::optional<std::string> controller;  ///< the uid of its controller
};

/// The claims of a pod, looked up. Points into the catalog: good until its version changes.
struct ResolvedVolumes {
  uint64_t version = 0;
  Filter rejected_by = Filter::kPass;  ///< before any node is looked at
  std::string rejected;
  std::vector<const PersistentVolume*> bound;  ///< those with a node affinity
  bool volume_missing = false;
  std::vector<std::pair<std::string, std::vector<std::string>>> zones;  ///< label of nodes, its values
  std::vector<const PersistentVolumeClaim*> delayed;
  std::vector<Attachment> attachments;
  std::vector<std::string> exclusive;  ///< keys of ReadWriteOncePod claims
};

/// Attachments that a node takes, by driver.
using VolumeLimits = std::map<std::string, int64_t>;

class VolumeCatalog {
 public:
  void Upsert(VolumeKind kind, const base::Json& object);
  /// `key`: "namespace/name" for claims and capacities, the name for the others. Unknown ones are fine.
  void Remove(VolumeKind kind, const std::string& key);
  /// Changes with every change.
  uint64_t version() const { return version_; }

  ResolvedVolumes Resolve(const PodVolumes& volumes, const std::string& ns) const;

  /// The text of VolumeBinding for that node; empty: it fits. Several at once.
  std::vector<std::string> Binding(const ResolvedVolumes& volumes, const NodeLabels& node) const;
  bool ZoneFits(const ResolvedVolumes& volumes, const NodeLabels& node) const;
  /// By driver; null when the node has no CSINode with a limit.
  const VolumeLimits* Limits(std::string_view node) const;

 private:
  struct StorageCapacity {
    std::string class_name;
    std::optional<kube::LabelSelector> nodes;
    int64_t capacity = 0;
  };
  void ResolveClaim(const PersistentVolumeClaim& claim, bool ephemeral, ResolvedVolumes& resolved) const;
  void ResolveAttachment(const PersistentVolumeClaim& claim, ResolvedVolumes& resolved) const;
  bool Reaches(const PersistentVolume& volume, const NodeLabels& node) const;
  const PersistentVolumeClaim* FindClaim(const std::string& ns, const PodClaim& claim) const;
  const PersistentVolume* Match(const PersistentVolumeClaim& claim, const std::set<std::string>& taken,
                                const NodeLabels& node) const;
  bool CanProvision(const PersistentVolumeClaim& claim, const NodeLabels& node) const;
  bool HasRoom(const PersistentVolumeClaim& claim, const StorageClass& storage_class, const NodeLabels& node) const;

  uint64_t version_ = 1;
  std::map<std::string, PersistentVolume> volumes_;
  std::map<std::string, std::set<std::string>> volumes_of_class_;
  std::map<std::string, PersistentVolumeClaim> claims_;
  std::map<std::string, StorageClass> classes_;
  std::map<std::string, VolumeLimits, std::less<>> limits_;  // by node and driver
  std::map<std::string, bool> capacity_drivers_;             // CSIDrivers: do they tell their room
  std::map<std::string, StorageCapacity> capacities_;
};

}  // namespace evenkeel::scheduling
