#include "scheduling/devices/device_pools.h"

#include <algorithm>
#include <set>

namespace evenkeel::scheduling {
namespace {

bool HasCounters(const ResourceSlice& slice) { return !slice.counters.empty(); }

/// Whether the slice has anything for the node. Those with counters have for all.
bool Concerns(const ResourceSlice& slice, const NodeLabels& node, const DeviceGates& gates) {
  if (HasCounters(slice)) return gates.partitionable;
  if (slice.nodes.kind != NodeChoice::Kind::kPerDevice) return Reaches(slice.nodes, node);
  return gates.partitionable &&
         std::ranges::any_of(slice.devices, [&](const Device& device) { return Reaches(device.nodes, node); });
}

bool CountersKnown(const NodePool& pool, const Device& device) {
  return std::ranges::all_of(device.consumes, [&](const CounterSet& consumed) {
    const auto set = std::ranges::find(pool.counters, consumed.name, &CounterSet::name);
    return set != pool.counters.end() && std::ranges::all_of(consumed.counters, [&](const auto& counter) {
             return (*set)->counters.contains(counter.first);
           });
  });
}

bool IsInvalid(const NodePool& pool) {
  std::set<std::string_view> names, sets;
  for (const PooledDevice& device : pool.devices) {
    if (!names.insert(device.device->name).second) return true;
  }
  for (const CounterSet* set : pool.counters) {
    if (!sets.insert(set->name).second) return true;
  }
  const auto known = [&](const PooledDevice& device) { return CountersKnown(pool, *device.device); };
  return !std::ranges::all_of(pool.devices, known) || !std::ranges::all_of(pool.elsewhere, known);
}

bool HasConditions(const NodePool& pool) {
  return std::ranges::any_of(pool.devices,
                             [](const PooledDevice& device) { return !device.device->binding_conditions.empty(); });
}

}  // namespace

bool Reaches(const NodeChoice& choice, const NodeLabels& node) {
  switch (choice.kind) {
    case NodeChoice::Kind::kName:
      return choice.name == node.name;
    case NodeChoice::Kind::kAll:
      return true;
    case NodeChoice::Kind::kSelector:
      return MatchesAny(choice.terms, node);
    case NodeChoice::Kind::kPerDevice:
    case NodeChoice::Kind::kUnknown:
      break;
  }
  return false;
}

const std::shared_ptr<PoolUse>& DevicesInUse::Of(const PoolName& pool) {
  std::shared_ptr<PoolUse>& use = pools_[pool];
  if (use == nullptr) use = std::make_shared<PoolUse>();
  return use;
}

void DevicesInUse::Take(const ClaimAllocation& allocation, int64_t by) {
  for (const DeviceResult& result : allocation.results) {
    if (result.admin) continue;
    PoolUse& pool = *Of({result.device.driver, result.device.pool});
    ++pool.version;
    DeviceUse& use = pool.devices[result.device.device];
    if (!result.shared) {
      use.claims += by;
      continue;
    }
    use.shares += by;
    for (const auto& [name, amount] : result.consumed) by > 0 ? use.consumed[name] += amount : use.consumed[name] -= amount;
    if (use.shares == 0) use.consumed.clear();
  }
}

void DevicesInUse::Collect() {
  std::erase_if(pools_, [](const auto& entry) {
    return entry.second.use_count() == 1 && std::ranges::all_of(entry.second->devices, [](const auto& device) {
             return device.second.claims == 0 && device.second.shares == 0;
           });
  });
}

std::optional<NodePool> SeePool(const PoolName& name, std::span<const std::shared_ptr<const ResourceSlice>> slices,
                                const NodeLabels& node, const DeviceGates& gates, DevicesInUse& use) {
  std::optional<int64_t> newest;
  for (const auto& slice : slices) {
    if (Concerns(*slice, node, gates)) newest = std::max(newest.value_or(slice->generation), slice->generation);
  }
  if (!newest) return std::nullopt;
  NodePool pool;
  pool.name = name;
  Slices others;
  int64_t of_generation = 0;
  bool replaced = false;
  for (const auto& slice : slices) {
    replaced |= slice->generation > *newest;
    if (slice->generation != *newest || (HasCounters(*slice) && !gates.partitionable)) continue;
    ++of_generation;
    (Concerns(*slice, node, gates) ? pool.slices : others).push_back(slice);
  }
  const int64_t wanted = pool.slices.front()->slice_count;
  const bool complete = static_cast<int64_t>(pool.slices.size()) == wanted;
  if (!complete && replaced) return std::nullopt;
  pool.incomplete = !complete && of_generation != wanted;
  pool.use = use.Of(name);
  for (const auto& slice : pool.slices) {
    for (const CounterSet& set : slice->counters) pool.counters.push_back(&set);
    for (const Device& device : slice->devices) {
      pool.devices.push_back({&device, slice.get(), &pool.use->devices[device.name]});
    }
  }
  if (!complete && !pool.incomplete) {
    for (const auto& slice : others) {
      for (const Device& device : slice->devices) {
        if (!device.consumes.empty()) pool.elsewhere.push_back({&device, slice.get(), &pool.use->devices[device.name]});
      }
    }
    pool.slices.insert(pool.slices.end(), others.begin(), others.end());
  }
  pool.invalid = !pool.incomplete && IsInvalid(pool);
  return pool;
}

void SortPools(std::vector<NodePool>& pools) {
  std::ranges::sort(pools, [](const NodePool& a, const NodePool& b) {
    const bool a_last = HasConditions(a), b_last = HasConditions(b);
    if (a_last != b_last) return b_last;
    return a.name < b.name;
  });
}

}  // namespace evenkeel::scheduling
