#include "scheduling/devices/device_pools.h"

#include <algorithm>

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

std::shared_ptr<const NodeSlices> SlicesOfNewNodes(const NodeSlices& slices) {
  if (slices.empty()) return nullptr;
  auto made = std::make_shared<NodeSlices>();
  for (const auto& slice : slices) {
    auto own = std::make_shared<ResourceSlice>(*slice);
    own->nodes = {NodeChoice::Kind::kAll, "", {}};
    for (Device& device : own->devices) device.binds_to_node = true;
    made->push_back(std::move(own));
  }
  std::ranges::sort(*made, [](const auto& a, const auto& b) { return a->name < b->name; });
  return made;
}

bool SameDevices(const NodeSlices* a, const NodeSlices* b) {
  if (a == b) return true;
  // Equal facts are one object.
  const auto facts_of = [](const NodeSlices* slices) {
    std::vector<const DeviceFacts*> facts;
    if (slices == nullptr) return facts;
    for (const auto& slice : *slices) {
      for (const Device& device : slice->devices) facts.push_back(device.facts.get());
    }
    std::ranges::sort(facts);
    return facts;
  };
  return facts_of(a) == facts_of(b);
}

std::vector<LocalPool> LocalPools(std::span<const std::shared_ptr<const ResourceSlice>> slices) {
  std::map<PoolName, LocalPool> pools;
  for (const auto& slice : slices) {
    LocalPool& pool = pools[slice->pool];
    pool.name = slice->pool;
    if (!pool.slices.empty() && slice->generation < pool.slices.front()->generation) continue;
    if (!pool.slices.empty() && slice->generation > pool.slices.front()->generation) pool.slices.clear();
    pool.slices.push_back(slice.get());
  }
  std::vector<LocalPool> list;
  for (auto& [name, pool] : pools) {
    pool.complete = static_cast<int64_t>(pool.slices.size()) == pool.slices.front()->slice_count;
    list.push_back(std::move(pool));
  }
  return list;
}

double PoolShare(const LocalPool& pool, const std::set<std::string_view>& taken) {
  int64_t whole = 0, whole_taken = 0, parts_taken = 0;
  std::set<std::string_view> parted;  // what parts are parts of: a set of counters each
  std::map<std::string_view, std::map<std::string_view, kube::Quantity>> there, used;
  const auto add = [](auto& sums, const CounterSet& set) {
    for (const auto& [name, amount] : set.counters) sums[set.name][name] += amount;
  };
  for (const ResourceSlice* slice : pool.slices) {
    for (const CounterSet& set : slice->counters) add(there, set);
    for (const Device& device : slice->devices) {
      const bool is_taken = taken.contains(device.name);
      if (device.consumes.empty()) {
        ++whole;
        whole_taken += is_taken ? 1 : 0;
        continue;
      }
      parts_taken += is_taken ? 1 : 0;
      for (const CounterSet& set : device.consumes) {
        parted.insert(set.name);
        if (is_taken) add(used, set);
      }
    }
  }
  const double of_whole = whole == 0 ? 0 : static_cast<double>(whole_taken) / static_cast<double>(whole);
  if (parts_taken == 0) return of_whole;
  const auto sets = static_cast<double>(parted.size());
  double of_parts = 0;
  for (const auto& [set, counters] : there) {
    double most = 0;
    for (const auto& [name, amount] : counters) {
      if (amount.Value() != 0)
        most = std::max(most, static_cast<double>(used[set][name].Value()) / static_cast<double>(amount.Value()));
    }
    of_parts += most / sets;
  }
  if (whole_taken == 0) return of_parts;
  return (of_parts * sets + of_whole * static_cast<double>(whole)) / (sets + static_cast<double>(whole));
}

void SortPools(std::vector<NodePool>& pools) {
  std::ranges::sort(pools, [](const NodePool& a, const NodePool& b) {
    const bool a_last = HasConditions(a), b_last = HasConditions(b);
    if (a_last != b_last) return b_last;
    return a.name < b.name;
  });
}

}  // namespace evenkeel::scheduling
