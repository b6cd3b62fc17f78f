#include "scheduling/devices/device_catalog.h"

#include <algorithm>

#include "base/hash.h"

namespace evenkeel::scheduling {
namespace {

/// Answers that a node's view remembers, and texts that have numbers: beyond that they are forgotten.
constexpr size_t kAnswersMax = 256, kShapesMax = 100'000;

void NoteNodes(const NodeChoice& choice, std::set<std::string, std::less<>>& nodes, bool& wide) {
  switch (choice.kind) {
    case NodeChoice::Kind::kName:
      nodes.insert(choice.name);
      return;
    case NodeChoice::Kind::kAll:
    case NodeChoice::Kind::kSelector:
      wide = true;
      return;
    case NodeChoice::Kind::kPerDevice:
    case NodeChoice::Kind::kUnknown:
      return;
  }
}

}  // namespace

const std::shared_ptr<const ClaimAllocation>& ClaimState::allocation() const {
  static const std::shared_ptr<const ClaimAllocation> kNothing;
  if (layer.taken != nullptr) return layer.taken;
  return told == nullptr || layer.given_back ? kNothing : told->allocation;
}

bool ClaimState::ReservedBy(uint64_t uid_hash) const {
  const auto has = [&](const std::vector<uint64_t>& list) { return std::ranges::find(list, uid_hash) != list.end(); };
  return has(layer.added) || (has(told_reserved) && !has(layer.lifted));
}

bool ClaimState::Reserved() const {
  return !layer.added.empty() || std::ranges::any_of(told_reserved, [this](uint64_t uid_hash) {
    return std::ranges::find(layer.lifted, uid_hash) == layer.lifted.end();
  });
}

void DeviceCatalog::Upsert(DeviceKind kind, const base::Json& object) {
  switch (kind) {
    case DeviceKind::kResourceSlice: {
      auto slice = std::make_shared<const ResourceSlice>(DecodeResourceSlice(object, selectors_));
      const std::string name = slice->name;
      SetSlice(name, std::move(slice));
      break;
    }
    case DeviceKind::kDeviceClass: {
      DeviceClass device_class = DecodeDeviceClass(object);
      const std::string name = device_class.name;
      classes_.insert_or_assign(name, std::move(device_class));
      resolver_ = DeviceClassResolver(classes_);
      ++classes_version_;
      break;
    }
    case DeviceKind::kResourceClaim:
      SetClaim(kube::KeyOf(object), std::make_shared<const ResourceClaim>(DecodeResourceClaim(object)));
      break;
    case DeviceKind::kResourceClaimTemplate:
      templates_.insert_or_assign(kube::KeyOf(object), DecodeResourceClaimTemplate(object).spec);
      break;
  }
  ++version_;
}

void DeviceCatalog::Remove(DeviceKind kind, const std::string& key) {
  switch (kind) {
    case DeviceKind::kResourceSlice:
      SetSlice(key, nullptr);
      break;
    case DeviceKind::kDeviceClass:
      classes_.erase(key);
      resolver_ = DeviceClassResolver(classes_);
      ++classes_version_;
      break;
    case DeviceKind::kResourceClaim:
      SetClaim(key, nullptr);
      break;
    case DeviceKind::kResourceClaimTemplate:
      templates_.erase(key);
      break;
  }
  ++version_;
}

void DeviceCatalog::SetSlice(const std::string& name, std::shared_ptr<const ResourceSlice> slice) {
  std::optional<PoolName> before;
  if (const auto found = slices_.find(name); found != slices_.end()) {
    before = found->second->pool;
    std::erase(pools_[*before].slices, found->second);
    slices_.erase(found);
  }
  if (slice != nullptr) {
    slices_.emplace(name, slice);
    Slices& siblings = pools_[slice->pool].slices;
    const auto by_name = [](const auto& a, const auto& b) { return a->name < b->name; };
    siblings.insert(std::ranges::upper_bound(siblings, slice, by_name), slice);
    Reindex(slice->pool);
  }
  if (before && (slice == nullptr || *before != slice->pool)) Reindex(*before);
  ++slices_version_;
}

void DeviceCatalog::Reindex(const PoolName& name) {
  Pool& pool = pools_[name];
  std::set<std::string, std::less<>> nodes;
  bool wide = false;
  for (const auto& slice : pool.slices) {
    NoteNodes(slice->nodes, nodes, wide);
    if (slice->nodes.kind != NodeChoice::Kind::kPerDevice) continue;
    for (const Device& device : slice->devices) NoteNodes(device.nodes, nodes, wide);
  }
  for (const std::string& node : pool.nodes) {
    Local& local = local_[node];
    ++local.version;
    local.pools.erase(name);
  }
  for (const std::string& node : nodes) {
    Local& local = local_[node];
    ++local.version;
    local.pools.insert(name);
  }
  // A node that none of its devices is for: it sees the counters.
  static const kube::Labels kNoLabels;
  const auto elsewhere = SeePool(name, pool.slices, {kNoLabels, nullptr, ""}, gates_, use_);
  const bool has_counters = std::ranges::any_of(pool.slices, [](const auto& slice) { return !slice->counters.empty(); });
  const bool bad = has_counters && elsewhere && (elsewhere->incomplete || elsewhere->invalid);
  if (wide || pool.wide || bad != pool.bad_counters || bad) ++wide_version_;
  wide ? void(wide_.insert(name)) : void(wide_.erase(name));
  bad ? void(bad_counters_.insert(name)) : void(bad_counters_.erase(name));
  pool.nodes = std::move(nodes);
  pool.wide = wide;
  pool.bad_counters = bad;
  if (pool.slices.empty()) pools_.erase(name);
}

ClaimState* DeviceCatalog::FindClaim(std::string_view key) {
  const auto found = claims_.find(key);
  return found == claims_.end() ? nullptr : &found->second;
}

bool DeviceCatalog::ExtendedTold(uint64_t owner) const {
  const auto owned = extended_.find(owner);
  return owned != extended_.end() && std::ranges::any_of(owned->second, [this](const std::string& key) {
           return claims_.at(key).told->allocation != nullptr;
         });
}

std::string DeviceCatalog::ExtendedOf(uint64_t owner) const {
  const auto owned = extended_.find(owner);
  return owned == extended_.end() ? "" : claims_.at(*owned->second.begin()).told->name;
}

void DeviceCatalog::SetClaim(const std::string& key, std::shared_ptr<const ResourceClaim> claim) {
  const auto found = claims_.try_emplace(key).first;
  ClaimState& state = found->second;
  const std::shared_ptr<const ClaimAllocation> before = state.allocation();
  if (const auto owned = extended_.find(state.owner); owned != extended_.end()) {
    owned->second.erase(key);
    if (owned->second.empty()) extended_.erase(owned);
  }
  const bool same = claim != nullptr && state.told != nullptr && state.told->uid == claim->uid;
  ClaimLayer layer = same ? std::move(state.layer) : ClaimLayer();
  state.told = std::move(claim);
  state.told_reserved.clear();
  state.owner = 0;
  if (state.told != nullptr) {
    for (const std::string& uid : state.told->reserved_for) state.told_reserved.push_back(base::Fnv1a64(uid));
    if (!state.told->owner_uid.empty()) state.owner = base::Fnv1a64(state.told->owner_uid);
    std::erase_if(layer.added, [&](uint64_t uid_hash) {
      return std::ranges::find(state.told_reserved, uid_hash) != state.told_reserved.end();
    });
    layer.lifted.clear();
    layer.given_back = false;
    if (state.told->allocation != nullptr || layer.added.empty()) layer.taken = nullptr;
    if (state.told->extended_resource && state.owner != 0) extended_[state.owner].insert(key);
  }
  state.layer = std::move(layer);
  const std::shared_ptr<const ClaimAllocation>& now = state.allocation();
  if (now != before) {
    if (before != nullptr) use_.Take(*before, -1);
    if (now != nullptr) use_.Take(*now, 1);
  }
  if (state.told == nullptr) claims_.erase(found);
}

void DeviceCatalog::SetLayer(ClaimState& claim, ClaimLayer layer) {
  const std::shared_ptr<const ClaimAllocation> before = claim.allocation();
  claim.layer = std::move(layer);
  const std::shared_ptr<const ClaimAllocation>& now = claim.allocation();
  if (now == before) return;
  if (before != nullptr) use_.Take(*before, -1);
  if (now != nullptr) use_.Take(*now, 1);
}

void DeviceCatalog::Take(const OwnDevices& own, int64_t by) {
  for (const PlacedClaim& claim : own.claims) {
    if (claim.allocation != nullptr) use_.Take(*claim.allocation, by);
  }
}

std::string DeviceCatalog::MissingClass(const ClaimSpec& spec) const {
  const auto missing = [&](const DeviceRequest& request, const std::string& name) -> std::string {
    if (request.class_name.empty()) return "request " + name + ": unsupported request type";
    if (classes_.contains(request.class_name)) return "";
    return "request " + name + ": device class " + request.class_name + " does not exist";
  };
  for (const ClaimRequest& request : spec.requests) {
    if (request.first_available.empty()) {
      if (auto text = missing(*request.exactly, request.name); !text.empty()) return text;
    }
    for (const DeviceRequest& choice : request.first_available) {
      if (auto text = missing(choice, request.name + "/" + choice.name); !text.empty()) return text;
    }
  }
  return "";
}

void DeviceCatalog::ResolveClaim(const PodDevices& pod, const PodDeviceClaim& claim, const std::string& ns,
                                 ResolvedDevices& resolved) {
  const bool own = !claim.template_name.empty();
  const auto reject = [&](std::string text) { resolved.rejected = std::move(text); };
  if (claim.not_needed) return;
  std::string key = ns;
  key.append("/").append(claim.claim.empty() ? claim.template_name : claim.claim);
  if (claim.claim.empty()) {
    if (!pod.pod_uid.empty()) return reject("pod \"" + ns + "/" + pod.pod_name + "\": ResourceClaim not created yet");
    const auto found = templates_.find(key);
    if (found == templates_.end()) return reject("could not find resource claim template \"" + key + "\"");
    resolved.entries.push_back({claim.name, nullptr, found->second, true});
  } else {
    ClaimState* state = FindClaim(key);
    if (state == nullptr || state->told == nullptr) return reject("could not find claim \"" + key + "\"");
    if (state->told->deleting) return reject("resourceclaim \"" + claim.claim + "\" is being deleted");
    if (own && state->told->owner_uid != pod.pod_uid) {
      return reject("ResourceClaim " + key + " was not created for Pod " + ns + "/" + pod.pod_name + " (Pod is not owner)");
    }
    resolved.entries.push_back({claim.name, state, state->told->spec, own});
    if (state->allocation() != nullptr) return;
  }
  if (auto text = MissingClass(*resolved.entries.back().spec); !text.empty()) reject(std::move(text));
}

ResolvedDevices DeviceCatalog::Resolve(const PodDevices* devices, const std::vector<ContainerDevices>& containers,
                                       const std::string& ns) {
  ResolvedDevices resolved;
  resolved.version = version_;
  if (devices != nullptr) {
    for (const PodDeviceClaim& claim : devices->claims) {
      if (resolved.rejected.empty()) ResolveClaim(*devices, claim, ns, resolved);
    }
    if (!devices->extended_claim.empty()) resolved.extended_claim = FindClaim(ns + "/" + devices->extended_claim);
  }
  for (const ContainerDevices& container : containers) {
    for (const auto& resource : container.resources) resolved.extended |= !ClassOf(resource.name).empty();
  }
  return resolved;
}

uint32_t DeviceCatalog::InternShape(const std::string& text) {
  if (shape_numbers_.size() >= kShapesMax) {
    shape_numbers_.clear();
    for (auto& view : views_) view.reset();
    ++version_;  // whoever has a number looks it up anew
  }
  return shape_numbers_.try_emplace(text, static_cast<uint32_t>(shape_numbers_.size())).first->second;
}

NodeSlices DeviceCatalog::SlicesFor(std::string_view node) const {
  NodeSlices own;
  if (local_.empty()) return own;
  const auto local = local_.find(node);
  if (local == local_.end()) return own;
  for (const PoolName& name : local->second.pools) {
    const auto pool = pools_.find(name);
    if (pool == pools_.end()) continue;
    for (const auto& slice : pool->second.slices) {
      if (slice->nodes.kind == NodeChoice::Kind::kName && slice->nodes.name == node) own.push_back(slice);
    }
  }
  return own;
}

void DeviceCatalog::ForgetNode(NodeId node) {
  if (node < views_.size()) views_[node].reset();
}

DeviceCatalog::View& DeviceCatalog::ViewOf(const DeviceNode& node) {
  if (node.id >= views_.size()) views_.resize(node.id + 1);
  std::unique_ptr<View>& view = views_[node.id];
  if (view != nullptr && view->slices_version == slices_version_) return *view;
  const auto local = local_.find(node.labels.name);
  const uint64_t local_version = local == local_.end() ? 0 : local->second.version;
  if (view != nullptr && view->local_version == local_version && view->wide_version == wide_version_) {
    view->slices_version = slices_version_;
    return *view;
  }
  view = std::make_unique<View>();
  view->slices_version = slices_version_;
  view->local_version = local_version;
  view->wide_version = wide_version_;
  std::set<PoolName> names = wide_;
  names.insert(bad_counters_.begin(), bad_counters_.end());
  if (local != local_.end()) names.insert(local->second.pools.begin(), local->second.pools.end());
  std::vector<NodePool>& pools = view->pools.pools;
  for (const PoolName& name : names) {
    if (auto pool = SeePool(name, pools_.at(name).slices, node.labels, gates_, use_)) pools.push_back(*std::move(pool));
  }
  if (node.slices != nullptr) {
    std::map<PoolName, Slices> own;
    for (const auto& slice : *node.slices) own[slice->pool].push_back(slice);
    for (auto& [name, slices] : own) {
      const PoolName renamed{name.driver, name.pool + "-" + std::string(node.labels.name)};
      if (auto pool = SeePool(renamed, slices, node.labels, gates_, use_)) pools.push_back(*std::move(pool));
    }
  }
  SortPools(pools);
  if (use_.size() >= collect_at_) {
    use_.Collect();
    collect_at_ = std::max<size_t>(4096, use_.size() * 2);
  }
  return *view;
}

const NodePools& DeviceCatalog::PoolsOn(const DeviceNode& node) { return ViewOf(node).pools; }

AllocatorInput DeviceCatalog::InputFor(const DeviceNode& node, const NodePools& pools) {
  return {.pools = &pools,
          .node = node.labels,
          .find_class = [this](std::string_view name) -> const DeviceClass* {
            const auto found = classes_.find(name);
            return found == classes_.end() ? nullptr : &found->second;
          },
          .selectors = &selectors_,
          .gates = gates_};
}

Allocated DeviceCatalog::Allocate(const DeviceNode& node, const std::vector<ClaimToAllocate>& claims) {
  return AllocateDevices(InputFor(node, ViewOf(node).pools), claims);
}

std::optional<Allocated::Outcome> DeviceCatalog::Recall(const DeviceNode& node, uint32_t shape) {
  View& view = ViewOf(node);
  if (view.classes_version != classes_version_ || view.answers.size() > kAnswersMax) {
    view.answers.clear();
    view.classes_version = classes_version_;
  }
  const auto found = view.answers.find(shape);
  if (found == view.answers.end() || found->second.use_version != view.pools.UseVersion()) return std::nullopt;
  return found->second.outcome;
}

void DeviceCatalog::Remember(const DeviceNode& node, uint32_t shape, Allocated::Outcome outcome) {
  View& view = ViewOf(node);
  view.answers[shape] = {view.pools.UseVersion(), outcome};
}

std::string DeviceCatalog::Explain(const DeviceNode& node, const std::vector<ClaimToAllocate>& claims) {
  return ExplainUnsatisfied(InputFor(node, ViewOf(node).pools), claims);
}

}  // namespace evenkeel::scheduling
