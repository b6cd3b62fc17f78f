// Pools of devices as one node sees them, and what of them is in use.
// Follows: kubernetes@1.36 staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scheduling/devices/device_objects.h"
#include "scheduling/ids.h"
#include "scheduling/node_shape.h"

namespace evenkeel::scheduling {

/// Kubernetes' feature gates, with the defaults of 1.36.
struct DeviceGates {
  bool admin_access = true, prioritized_list = true, partitionable = true, taints = true, binding_conditions = true,
       consumable_capacity = true;
};

struct DeviceUse {
  int64_t claims = 0;      ///< allocations without admin access that have it for themselves
  int64_t shares = 0;      ///< allocations of a part
  DeviceAmounts consumed;  ///< by those
};

/// What is in use of one pool, whatever slices say of it.
struct PoolUse {
  std::unordered_map<std::string, DeviceUse, TextHash, std::equal_to<>> devices;  ///< entries do not move and stay
  uint64_t version = 0;                                                           ///< counts up with every change
};

struct PooledDevice {
  const Device* device;
  const ResourceSlice* slice;
  DeviceUse* use;
};

/// A pool as one node sees it. Points into slices, which it keeps.
struct NodePool {
  PoolName name;
  bool incomplete = false, invalid = false;
  std::vector<PooledDevice> devices;    ///< of the slices that the node reaches, in their order
  std::vector<PooledDevice> elsewhere;  ///< the others of the generation that take counters
  std::vector<const CounterSet*> counters;
  std::shared_ptr<PoolUse> use;
  std::vector<std::shared_ptr<const ResourceSlice>> slices;
};

/// In the order in which devices are tried.
struct NodePools {
  std::vector<NodePool> pools;
  uint64_t UseVersion() const {
    uint64_t sum = 0;
    for (const NodePool& pool : pools) sum += pool.use->version;
    return sum;
  }
};

using Slices = std::vector<std::shared_ptr<const ResourceSlice>>;

/// What is in use, by pool. Entries stay as long as anybody holds them or anything in them is in use.
class DevicesInUse {
 public:
  const std::shared_ptr<PoolUse>& Of(const PoolName& pool);
  /// Notes (1) or forgets (-1) that the devices of an allocation are in use. O(results).
  void Take(const ClaimAllocation& allocation, int64_t by);
  /// Drops the entries of which nobody knows.
  void Collect();
  size_t size() const { return pools_.size(); }

 private:
  std::map<PoolName, std::shared_ptr<PoolUse>> pools_;
};

/// Of one pool, `slices` being all that there are of it in the order of their names: what the node sees. nullopt: nothing.
std::optional<NodePool> SeePool(const PoolName& name, std::span<const std::shared_ptr<const ResourceSlice>> slices,
                                const NodeLabels& node, const DeviceGates& gates, DevicesInUse& use);
/// Slices of one node.
using NodeSlices = Slices;
/// The same for nodes that are made from a template: each brings them as its own, in pools "POOL-NODE". Null: there are none.
std::shared_ptr<const NodeSlices> SlicesOfNewNodes(const NodeSlices& slices);
/// Whether they have the same devices, as far as selectors see of them, in whatever pools and slices. Null: none.
bool SameDevices(const NodeSlices* a, const NodeSlices* b);

/// A pool as the slices that one node has for itself tell of it. Good as long as those.
struct LocalPool {
  PoolName name;
  bool complete = false;                     ///< as many slices of the newest generation as they say there are
  std::vector<const ResourceSlice*> slices;  ///< of the newest generation
};
/// By driver and pool.
std::vector<LocalPool> LocalPools(std::span<const std::shared_ptr<const ResourceSlice>> slices);
/// How much of the pool its `taken` devices are, from 0 to 1. Devices that take counters are parts of others: of those, each
/// set of counters counts with the counter that is used most. Both kinds together count by how many they are. Follows:
/// kubernetes/autoscaler@1.37 cluster-autoscaler/simulator/dynamicresources/utils/utilization.go
double PoolShare(const LocalPool& pool, const std::set<std::string_view>& taken);
/// Sorts as devices are tried: by driver and pool as text, pools with binding conditions behind.
void SortPools(std::vector<NodePool>& pools);
bool Reaches(const NodeChoice& choice, const NodeLabels& node);

}  // namespace evenkeel::scheduling
