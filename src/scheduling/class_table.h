// Pods by equivalence class. 150,000 pods of 50 deployments are 50 classes and 50 specs; 10,000 pods of one StatefulSet, each
// with labels and claims of its own, are 10,000 small classes of one spec.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "scheduling/devices/device_catalog.h"
#include "scheduling/pod_constraints.h"
#include "scheduling/pod_volumes.h"
#include "scheduling/topology.h"
#include "scheduling/volume_catalog.h"

namespace evenkeel::scheduling {

/// Names of resources and their numbers.
class ResourceNames {
 public:
  ResourceNames();
  ResourceId Intern(std::string_view name);
  /// kNone when nobody has named it.
  ResourceId Find(std::string_view name) const;
  const std::string& Name(ResourceId id) const { return names_[id]; }
  size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, ResourceId, TextHash, std::equal_to<>> ids_;
};

/// A spec with what is worked out from it once.
struct SpecEntry {
  PodSpec spec;
  std::vector<Amount> requests;  ///< those above 0, by resource, and 1 of "pods"
  bool uses_identity = false;    ///< nodes of one shape can differ
  /// Answer of the filters that look at labels and taints only, per shape: 0 unknown, else a Verdict.
  std::vector<uint8_t> verdicts;
  std::string key;
  std::vector<std::string> texts;  ///< ways in which it was written
  uint32_t users = 0;
};

struct PodClass {
  SpecEntry* spec = nullptr;
  SpecId spec_id = 0;
  uint32_t labels_id = 0, volumes_id = 0, devices_id = 0;  ///< kNone: no volumes, no devices
  const kube::Labels* labels = nullptr;
  const PodVolumes* volumes = nullptr;  ///< null: none
  const PodDevices* devices = nullptr;  ///< null: no claims
  std::string ns;
  std::string pinned_node;   ///< see PinnedNode
  std::string node_name;     ///< spec.nodeName, when the NodeName filter is to look at it
  bool terminating = false;  ///< metadata.deletionTimestamp
  std::string key;
  uint64_t signature = 0;  ///< of all that makes the class; the same in every process

  std::vector<PodId> pods;  ///< in no particular order
  uint32_t users = 0;       ///< pods, copies and callers
  ClassTopology topology;
  ResolvedVolumes resolved;
  ResolvedDevices resolved_devices;
  bool wants_devices = false;    ///< known once it is resolved
  uint64_t fits_nowhere_at = 0;  ///< the snapshot's version when a search found nothing; 0: none did

  /// Only resources and the node's shape decide (as long as topology.empty()).
  bool simple() const {
    return pinned_node.empty() && node_name.empty() && volumes == nullptr && spec->spec.ports.empty() && !wants_devices;
  }
  bool may_want_devices() const { return devices != nullptr || !spec->spec.containers.empty(); }
  /// Before any node is looked at: by which filter, and in which words. kPass: it is not.
  Filter rejected_by() const {
    if (resolved.rejected_by != Filter::kPass) return resolved.rejected_by;
    return resolved_devices.rejected.empty() ? Filter::kPass : Filter::kDynamicResources;
  }
  const std::string& rejected() const {
    return resolved.rejected_by != Filter::kPass ? resolved.rejected : resolved_devices.rejected;
  }
};

class ClassTable {
 public:
  struct Found {
    ClassId id;
    bool added;
  };
  /// `keep_node_name`: spec.nodeName is a wish to be checked, not the place where the pod already is.
  Found Intern(const base::Json& pod, bool keep_node_name, ResourceNames& resources);

  PodClass& operator[](ClassId id) { return *classes_[id]; }
  const PodClass& operator[](ClassId id) const { return *classes_[id]; }
  /// Null for a number that is not in use.
  PodClass* Find(ClassId id) { return id < classes_.size() ? classes_[id].get() : nullptr; }
  const PodClass* Find(ClassId id) const { return id < classes_.size() ? classes_[id].get() : nullptr; }
  /// See LabelBits; 0 for a number that is not in use.
  uint64_t BitsOf(ClassId id) const { return bits_[id]; }
  size_t slots() const { return classes_.size(); }
  size_t size() const { return by_key_.size(); }
  size_t specs() const { return spec_by_key_.size(); }

  void AddUser(ClassId id);
  void RemoveUser(ClassId id);
  /// Drops the classes that nobody uses once they are many; `forget` is called before each.
  void Collect(const std::function<void(ClassId, PodClass&)>& forget);

  void ForEachSpec(const std::function<void(SpecEntry&)>& visit);

 private:
  struct LabelSet {
    kube::Labels labels;
    std::string key;
    uint32_t users = 0;
  };
  struct VolumeSet {
    PodVolumes volumes;
    std::string key;
    uint32_t users = 0;
  };
  struct DeviceSet {
    PodDevices devices;
    std::string key;
    uint32_t users = 0;
  };
  template <typename T>
  struct Slots {
    std::vector<std::unique_ptr<T>> items;
    std::vector<uint32_t> free;
    std::unordered_map<std::string, uint32_t> by_key;
  };

  SpecId InternSpec(const base::Json& pod, bool pinned, ResourceNames& resources);
  uint32_t InternLabels(const base::Json& pod);
  uint32_t InternVolumes(const base::Json& pod);
  uint32_t InternDevices(const base::Json& pod);
  void Free(ClassId id);

  std::vector<std::unique_ptr<PodClass>> classes_;
  std::vector<uint64_t> bits_;
  std::vector<ClassId> free_;
  std::unordered_map<std::string, ClassId> by_key_;
  std::vector<std::unique_ptr<SpecEntry>> specs_;
  std::vector<SpecId> free_specs_;
  std::unordered_map<std::string, SpecId> spec_by_text_, spec_by_key_;
  Slots<LabelSet> labels_;
  Slots<VolumeSet> volumes_;
  Slots<DeviceSet> devices_;
  size_t unused_ = 0;
  std::string scratch_;
};

}  // namespace evenkeel::scheduling
