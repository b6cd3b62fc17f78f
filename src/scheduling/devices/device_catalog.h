// Slices, classes and claims of one cluster, and who has which devices: as the API says, and what was chosen on top of that.
// Whose changes can be taken back keeps what SetLayer and SetOwn answer.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "scheduling/devices/device_allocator.h"
#include "scheduling/devices/placed_devices.h"

namespace evenkeel::scheduling {

/// What is chosen here about a claim, on top of what the API says.
struct ClaimLayer {
  std::shared_ptr<const ClaimAllocation> taken;  ///< in flight
  bool given_back = false;                       ///< what the API says is allocated counts no more
  std::vector<uint64_t> added, lifted;           ///< reservations, by hashes of the pods' uids

  bool operator==(const ClaimLayer&) const = default;
};

struct ClaimState {
  std::shared_ptr<const ResourceClaim> told;
  std::vector<uint64_t> told_reserved;
  uint64_t owner = 0;  ///< hash of the owner's uid; 0: none
  ClaimLayer layer;

  /// Null: not allocated.
  const std::shared_ptr<const ClaimAllocation>& allocation() const;
  bool ReservedBy(uint64_t uid_hash) const;
  bool Reserved() const;
};

/// A pod's claims, looked up. Points into the catalog: good until its version changes.
struct ResolvedDevices {
  struct Entry {
    std::string pod_claim;
    ClaimState* state;  ///< null: each pod has one of its own, which is no object
    std::shared_ptr<const ClaimSpec> spec;
    bool own;  ///< made for the pod from a template
  };
  uint64_t version = 0;
  std::string rejected;  ///< before any node is looked at; "": it is not
  std::vector<Entry> entries;
  bool extended = false;                 ///< a class stands behind an extended resource of it
  ClaimState* extended_claim = nullptr;  ///< of the pod's extended resources, as the API has it
  /// By which entries are not allocated (a bit each): what is asked for then, as a number.
  std::vector<std::pair<uint64_t, uint32_t>> shapes;
};

/// Claims that are no objects: of copies, and for extended resources.
struct OwnDevices {
  std::vector<PlacedClaim> claims;
  std::vector<RequestMapping> mappings;
};

/// Which node, as allocations see it.
struct DeviceNode {
  NodeId id;
  NodeLabels labels;
  const NodeSlices* slices;  ///< of its template; null: none
};

class DeviceCatalog {
 public:
  // What the API says.
  void Upsert(DeviceKind kind, const base::Json& object);
  /// Unknown ones are fine.
  void Remove(DeviceKind kind, const std::string& key);
  /// Changes with every change.
  uint64_t version() const { return version_; }
  /// Nothing was ever told: no pod can have devices.
  bool empty() const { return version_ == 1; }
  /// "": none stands behind the resource.
  const std::string& ClassOf(std::string_view resource) const { return resolver_.Find(resource); }
  bool has_classes() const { return !classes_.empty(); }

  /// `devices` null: none. `containers` are those of the pod.
  ResolvedDevices Resolve(const PodDevices* devices, const std::vector<ContainerDevices>& containers, const std::string& ns);
  uint32_t InternShape(const std::string& text);

  // Nodes.
  const NodePools& PoolsOn(const DeviceNode& node);
  /// It looks different, or is gone.
  void ForgetNode(NodeId node);
  /// The slices that name the node, by pool and name.
  NodeSlices SlicesFor(std::string_view node) const;
  ResourceSlice Decode(const base::Json& slice) { return DecodeResourceSlice(slice, selectors_); }
  /// Changes with every slice.
  uint64_t slices_version() const { return slices_version_; }

  // Who has what.
  Allocated Allocate(const DeviceNode& node, const std::vector<ClaimToAllocate>& claims);
  /// How Allocate ended on the node when that was asked for last, if nothing has changed since that could change it. `shape`: a
  /// number that is equal for what is asked for alike.
  std::optional<Allocated::Outcome> Recall(const DeviceNode& node, uint32_t shape);
  void Remember(const DeviceNode& node, uint32_t shape, Allocated::Outcome outcome);
  std::string Explain(const DeviceNode& node, const std::vector<ClaimToAllocate>& claims);
  void SetLayer(ClaimState& claim, ClaimLayer layer);
  void Take(const OwnDevices& own, int64_t by);

  ClaimState* FindClaim(std::string_view key);
  /// The claim that a scheduler made for the extended resources of the pod with that uid, once it is allocated.
  bool ExtendedTold(uint64_t owner) const;
  /// The name of one that was made for the pod with that uid, allocated or not; "": there is none.
  std::string ExtendedOf(uint64_t owner) const;

 private:
  struct Pool {
    Slices slices;                             ///< by name
    std::set<std::string, std::less<>> nodes;  ///< that slices or devices name
    bool wide = false;                         ///< some are for others
    bool bad_counters = false;                 ///< what nodes see of it that only see its counters cannot be used
  };
  struct View {
    uint64_t slices_version = 0, local_version = 0, wide_version = 0, classes_version = 0;
    NodePools pools;
    struct Remembered {
      uint64_t use_version;
      Allocated::Outcome outcome;
    };
    std::unordered_map<uint32_t, Remembered> answers;
  };

  void SetSlice(const std::string& name, std::shared_ptr<const ResourceSlice> slice);
  void Reindex(const PoolName& name);
  void SetClaim(const std::string& key, std::shared_ptr<const ResourceClaim> claim);
  void ResolveClaim(const PodDevices& pod, const PodDeviceClaim& claim, const std::string& ns, ResolvedDevices& resolved);
  std::string MissingClass(const ClaimSpec& spec) const;
  View& ViewOf(const DeviceNode& node);
  AllocatorInput InputFor(const DeviceNode& node, const NodePools& pools);

  uint64_t version_ = 1, slices_version_ = 1, wide_version_ = 1, classes_version_ = 1;
  DeviceSelectors selectors_;
  /// Nobody here waits until a device says that it can be had.
  DeviceGates gates_{.binding_conditions = false};
  std::map<std::string, std::shared_ptr<const ResourceSlice>, std::less<>> slices_;
  std::map<PoolName, Pool> pools_;
  struct Local {
    std::set<PoolName> pools;
    uint64_t version = 0;
  };
  std::unordered_map<std::string, Local, TextHash, std::equal_to<>> local_;  ///< by node
  std::set<PoolName> wide_, bad_counters_;
  std::map<std::string, DeviceClass, std::less<>> classes_;
  DeviceClassResolver resolver_;
  std::map<std::string, std::shared_ptr<const ClaimSpec>, std::less<>> templates_;
  std::map<std::string, ClaimState, std::less<>> claims_;
  std::map<uint64_t, std::set<std::string>> extended_;  ///< keys of claims for extended resources, by hash of the owner's uid
  DevicesInUse use_;
  size_t collect_at_ = 4096;
  std::vector<std::unique_ptr<View>> views_;  ///< by node; null: not asked for
  std::unordered_map<std::string, uint32_t> shape_numbers_;
};

}  // namespace evenkeel::scheduling
