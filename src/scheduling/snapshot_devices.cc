// Claims of devices: whether they can be had, and who has them.
// Follows: kubernetes@1.36 pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
#include "scheduling/snapshot.h"

#include <algorithm>

#include "base/hash.h"

namespace evenkeel::scheduling {
namespace {

/// Beyond so many claims of one pod, answers are not remembered.
constexpr size_t kMaskedClaims = 64;
/// What stands for the copies of a class among reservations; uids hash to something else.
constexpr uint64_t kCopyReserver = 0x636f7069'65730000;

Fit DeviceRefusal(bool resolvable, std::string text, std::string detail = "") {
  Fit fit{Filter::kDynamicResources, resolvable, false, {}};
  fit.reasons.push_back({.text = std::move(text), .detail = std::move(detail)});
  return fit;
}

std::string ClaimKey(const PodClass& pod_class, const ResolvedDevices::Entry& entry) {
  return pod_class.ns + "/" + (entry.state != nullptr ? entry.state->told->name : entry.pod_claim);
}

}  // namespace

void Snapshot::PrepareDevices(PodClass& pod_class) {
  if (pod_class.resolved_devices.version == devices_.version()) return;
  pod_class.resolved_devices = devices_.Resolve(pod_class.devices, pod_class.spec->spec.containers, pod_class.ns);
  const ResolvedDevices& resolved = pod_class.resolved_devices;
  pod_class.wants_devices = !resolved.entries.empty() || resolved.extended;
}

Snapshot::WantedDevices Snapshot::Wanted(const PodClass& pod_class, NodeId node, bool copy) const {
  WantedDevices wanted;
  const std::vector<ResolvedDevices::Entry>& entries = pod_class.resolved_devices.entries;
  for (size_t i = 0; i < entries.size(); ++i) {
    const bool has = entries[i].state != nullptr && !(copy && entries[i].own) && entries[i].state->allocation() != nullptr;
    if (has) continue;
    wanted.claims.push_back({ClaimKey(pod_class, entries[i]), entries[i].spec.get()});
    wanted.entries.push_back(i);
  }
  if (!pod_class.resolved_devices.extended) return wanted;
  wanted.extended = MakeExtendedClaim(pod_class.spec->spec.containers, [&](std::string_view resource) -> std::string {
    const ResourceId id = resources_.Find(resource);
    return id != kNone && Allocatable(node, id) > 0 ? "" : devices_.ClassOf(resource);
  });
  if (wanted.extended) {
    wanted.claims.push_back({pod_class.ns + "/" + std::string(kExtendedResourcesClaim), &wanted.extended->spec});
  }
  return wanted;
}

uint32_t Snapshot::DeviceShape(PodClass& pod_class) {
  ResolvedDevices& resolved = pod_class.resolved_devices;
  if (resolved.entries.size() > kMaskedClaims) return kNone;
  uint64_t mask = 0;
  for (size_t i = 0; i < resolved.entries.size(); ++i) {
    const ClaimState* state = resolved.entries[i].state;
    if (state == nullptr || state->allocation() == nullptr) mask |= uint64_t{1} << i;
  }
  for (const auto& [known, shape] : resolved.shapes) {
    if (known == mask) return shape;
  }
  TextKey text;
  for (size_t i = 0; i < resolved.entries.size(); ++i) {
    if ((mask >> i & 1) != 0) text.Add(resolved.entries[i].spec->text);
  }
  if (resolved.extended) text.Add(pod_class.spec->key);
  const uint32_t shape = devices_.InternShape(text.text());
  resolved.shapes.emplace_back(mask, shape);
  return shape;
}

bool Snapshot::ClaimsReach(const PodClass& pod_class, NodeId node) const {
  return std::ranges::all_of(pod_class.resolved_devices.entries, [&](const ResolvedDevices::Entry& entry) {
    if (entry.state == nullptr || entry.state->allocation() == nullptr) return true;
    const auto& nodes = entry.state->allocation()->nodes;
    if (nodes && !MatchesAny(*nodes, LabelsOf(node))) return false;
    return entry.state->layer.taken != nullptr || !entry.state->told->binding_failed;
  });
}

bool Snapshot::DevicesFit(PodClass& pod_class, NodeId node) {
  if (!ClaimsReach(pod_class, node)) return false;
  const DeviceNode where = DeviceNodeOf(node);
  const uint32_t shape = DeviceShape(pod_class);
  if (shape != kNone) {
    if (const auto known = devices_.Recall(where, shape)) return *known == Allocated::Outcome::kAllocated;
  }
  const WantedDevices wanted = Wanted(pod_class, node, false);
  const Allocated::Outcome outcome =
      wanted.claims.empty() ? Allocated::Outcome::kAllocated : devices_.Allocate(where, wanted.claims).outcome;
  if (shape != kNone) devices_.Remember(where, shape, outcome);
  return outcome == Allocated::Outcome::kAllocated;
}

Fit Snapshot::CheckDevices(PodClass& pod_class, NodeId node) {
  const DeviceNode where = DeviceNodeOf(node);
  const WantedDevices wanted = Wanted(pod_class, node, false);
  if (!wanted.claims.empty()) {
    const Allocated allocated = devices_.Allocate(where, wanted.claims);
    if (!allocated.ok()) {
      const bool unsatisfied = allocated.outcome == Allocated::Outcome::kUnsatisfied;
      std::string detail = devices_.Explain(where, wanted.claims);
      if (detail == allocated.text) detail.clear();
      return DeviceRefusal(unsatisfied, allocated.text, std::move(detail));
    }
  }
  if (ClaimsReach(pod_class, node)) return {};
  return DeviceRefusal(true, "resourceclaim not available on the node");
}

std::shared_ptr<const OwnDevices> Snapshot::Allocate(PodClass& pod_class, NodeId node, bool copy, uint64_t reserver) {
  const WantedDevices wanted = Wanted(pod_class, node, copy);
  Allocated allocated;
  if (!wanted.claims.empty()) allocated = devices_.Allocate(DeviceNodeOf(node), wanted.claims);
  const std::vector<ResolvedDevices::Entry>& entries = pod_class.resolved_devices.entries;
  OwnDevices own;
  std::vector<std::shared_ptr<const ClaimAllocation>> chosen(entries.size());
  for (size_t i = 0; i < wanted.entries.size() && allocated.ok(); ++i) chosen[wanted.entries[i]] = allocated.claims[i];
  for (size_t i = 0; i < entries.size(); ++i) {
    const ResolvedDevices::Entry& entry = entries[i];
    if (entry.state == nullptr || (copy && entry.own)) {
      own.claims.push_back({entry.pod_claim, "", entry.spec, chosen[i], chosen[i] != nullptr, false});
      continue;
    }
    ClaimLayer layer = entry.state->layer;
    if (chosen[i] != nullptr) layer.taken = chosen[i];
    const bool has = layer.taken != nullptr || entry.state->allocation() != nullptr;
    if (has && std::erase(layer.lifted, reserver) == 0 && (copy || !entry.state->ReservedBy(reserver))) {
      layer.added.push_back(reserver);
    }
    if (layer != entry.state->layer) SetLayer(*entry.state, std::move(layer));
  }
  if (wanted.extended) {
    const auto allocation = allocated.ok() ? allocated.claims.back() : nullptr;
    own.claims.push_back({std::string(kExtendedResourcesClaim), "", std::make_shared<const ClaimSpec>(wanted.extended->spec),
                          allocation, allocation != nullptr, true});
    own.mappings = wanted.extended->mappings;
  }
  return own.claims.empty() ? nullptr : std::make_shared<const OwnDevices>(std::move(own));
}

void Snapshot::TakeDevices(PodId pod, NodeId node) {
  PodClass& pod_class = classes_[pods_[pod].pod_class];
  if (!pod_class.may_want_devices() || !Present(node)) return;
  PrepareDevices(pod_class);
  if (!pod_class.wants_devices || !pod_class.resolved_devices.rejected.empty()) return;
  auto own = Allocate(pod_class, node, false, pods_[pod].uid_hash);
  if (own != nullptr) SetOwn(pod, std::move(own));
}

void Snapshot::LeaveClaim(ClaimState& claim, uint64_t reserver, bool owner) {
  ClaimState after = claim;
  ClaimLayer& layer = after.layer;
  if (const auto found = std::ranges::find(layer.added, reserver); found != layer.added.end()) {
    layer.added.erase(found);
  } else if (!marks_.empty() && claim.ReservedBy(reserver)) {
    layer.lifted.push_back(reserver);
  }
  if (owner || !after.Reserved()) {
    layer.taken = nullptr;
    // Outside forks the API's word stands until an event says otherwise.
    if (!marks_.empty() && claim.told->allocation != nullptr) layer.given_back = true;
  }
  if (layer != claim.layer) SetLayer(claim, std::move(layer));
}

void Snapshot::GiveBackDevices(PodId pod) {
  const PodRow& row = pods_[pod];
  if (row.pod_class == kNone) return;
  if (!own_of_pods_.empty()) SetOwn(pod, nullptr);
  PodClass& pod_class = classes_[row.pod_class];
  if (!pod_class.may_want_devices()) return;
  PrepareDevices(pod_class);
  ResolvedDevices& resolved = pod_class.resolved_devices;
  for (const ResolvedDevices::Entry& entry : resolved.entries) {
    if (entry.state != nullptr) LeaveClaim(*entry.state, row.uid_hash, entry.state->owner == row.uid_hash);
  }
  if (resolved.extended_claim != nullptr && !marks_.empty()) LeaveClaim(*resolved.extended_claim, row.uid_hash, true);
}

void Snapshot::TakeForCopies(ClassId id, NodeId node, int64_t pods) {
  PodClass& pod_class = classes_[id];
  if (!pod_class.may_want_devices() || !Present(node)) return;
  PrepareDevices(pod_class);
  if (!pod_class.wants_devices || !pod_class.resolved_devices.rejected.empty()) return;
  for (int64_t i = 0; i < pods; ++i) {
    auto own = Allocate(pod_class, node, true, kCopyReserver ^ id);
    if (own != nullptr) devices_.Take(*own, 1);
    own_of_copies_[{id, node}].push_back(std::move(own));
    if (marks_.empty()) continue;
    device_changes_.push_back({.copies = CopiesOnNode{id, node}});
    Record(Op::kDevices, 0, 0);
  }
}

void Snapshot::GiveBackCopies(ClassId id, NodeId node, int64_t pods) {
  const auto found = own_of_copies_.find({id, node});
  if (found == own_of_copies_.end()) return;
  PodClass& pod_class = classes_[id];
  PrepareDevices(pod_class);
  for (int64_t i = 0; i < pods && !found->second.empty(); ++i) {
    std::shared_ptr<const OwnDevices> own = std::move(found->second.back());
    found->second.pop_back();
    if (own != nullptr) devices_.Take(*own, -1);
    for (const ResolvedDevices::Entry& entry : pod_class.resolved_devices.entries) {
      if (entry.state != nullptr && !entry.own) LeaveClaim(*entry.state, kCopyReserver ^ id, false);
    }
    if (marks_.empty()) continue;
    device_changes_.push_back({.copies = CopiesOnNode{id, node}, .went = true, .own = std::move(own)});
    Record(Op::kDevices, 0, 0);
  }
  if (found->second.empty()) own_of_copies_.erase(found);
}

void Snapshot::SetLayer(ClaimState& claim, ClaimLayer layer) {
  if (!marks_.empty()) {
    device_changes_.push_back({.claim = &claim, .layer = claim.layer});
    Record(Op::kDevices, 0, 0);
  }
  const auto before = claim.allocation();
  devices_.SetLayer(claim, std::move(layer));
  ++version_;
  if (before != nullptr && claim.allocation() != before) ++relief_;
}

void Snapshot::SetOwn(PodId pod, std::shared_ptr<const OwnDevices> own) {
  const auto found = own_of_pods_.find(pod);
  std::shared_ptr<const OwnDevices> before = found == own_of_pods_.end() ? nullptr : found->second;
  if (before == own) return;
  if (before != nullptr) devices_.Take(*before, -1);
  if (own != nullptr) devices_.Take(*own, 1);
  own == nullptr ? void(own_of_pods_.erase(pod)) : void(own_of_pods_.insert_or_assign(pod, std::move(own)));
  if (marks_.empty()) return;
  device_changes_.push_back({.pod = pod, .own = std::move(before)});
  Record(Op::kDevices, 0, 0);
}

void Snapshot::UndoDevices() {
  DeviceChange change = std::move(device_changes_.back());
  device_changes_.pop_back();
  ++version_;
  ++relief_;
  if (change.claim != nullptr) return devices_.SetLayer(*change.claim, std::move(change.layer));
  if (change.copies) {
    auto& own = own_of_copies_[*change.copies];
    if (change.went) {
      if (change.own != nullptr) devices_.Take(*change.own, 1);
      own.push_back(std::move(change.own));
      return;
    }
    if (own.back() != nullptr) devices_.Take(*own.back(), -1);
    own.pop_back();
    if (own.empty()) own_of_copies_.erase(*change.copies);
    return;
  }
  if (const auto found = own_of_pods_.find(change.pod); found != own_of_pods_.end()) {
    devices_.Take(*found->second, -1);
    own_of_pods_.erase(found);
  }
  if (change.own == nullptr) return;
  devices_.Take(*change.own, 1);
  own_of_pods_.emplace(change.pod, std::move(change.own));
}

void Snapshot::EndFlights() {
  for (auto entry = own_of_pods_.begin(); entry != own_of_pods_.end();) {
    if (!devices_.ExtendedTold(pods_[entry->first].uid_hash)) {
      ++entry;
      continue;
    }
    devices_.Take(*entry->second, -1);
    entry = own_of_pods_.erase(entry);
  }
}

PlacedDevices Snapshot::DevicesOf(PodId pod) {
  PlacedDevices placed;
  const PodRow& row = pods_[pod];
  if (row.node == kNone || row.pod_class == kNone) return placed;
  PodClass& pod_class = classes_[row.pod_class];
  if (!pod_class.may_want_devices()) return placed;
  PrepareDevices(pod_class);
  const auto tell = [&](const std::string& pod_claim, const ClaimState& state) {
    const bool reserved = std::ranges::find(state.layer.added, row.uid_hash) == state.layer.added.end();
    placed.claims.push_back(
        {pod_claim, state.told->name, state.told->spec, state.allocation(), state.layer.taken != nullptr, !reserved});
  };
  for (const ResolvedDevices::Entry& entry : pod_class.resolved_devices.entries) {
    if (entry.state != nullptr) tell(entry.pod_claim, *entry.state);
  }
  if (ClaimState* state = pod_class.resolved_devices.extended_claim; state != nullptr && !state->layer.given_back) {
    tell(std::string(kExtendedResourcesClaim), *state);
  }
  if (const auto own = own_of_pods_.find(pod); own != own_of_pods_.end()) {
    placed.claims.insert(placed.claims.end(), own->second->claims.begin(), own->second->claims.end());
    placed.mappings = own->second->mappings;
  }
  return placed;
}

PlacedDevices Snapshot::DevicesFor(ClassId id, NodeId node) {
  PlacedDevices placed;
  PodClass& pod_class = classes_[id];
  Prepare(pod_class);
  if (!pod_class.wants_devices || !pod_class.resolved_devices.rejected.empty() || !Present(node)) return placed;
  const WantedDevices wanted = Wanted(pod_class, node, false);
  Allocated allocated;
  if (!wanted.claims.empty()) allocated = devices_.Allocate(DeviceNodeOf(node), wanted.claims);
  const std::vector<ResolvedDevices::Entry>& entries = pod_class.resolved_devices.entries;
  for (size_t i = 0, next = 0; i < entries.size(); ++i) {
    PlacedClaim& claim = placed.claims.emplace_back();
    claim.pod_claim = entries[i].pod_claim;
    claim.spec = entries[i].spec;
    if (entries[i].state != nullptr) {
      claim.claim = entries[i].state->told->name;
      claim.allocation = entries[i].state->allocation();
    }
    if (next == wanted.entries.size() || wanted.entries[next] != i) continue;
    claim.in_flight = claim.to_reserve = true;
    if (allocated.ok()) claim.allocation = allocated.claims[next];
    ++next;
  }
  if (wanted.extended) {
    placed.claims.push_back({std::string(kExtendedResourcesClaim), "", std::make_shared<const ClaimSpec>(wanted.extended->spec),
                             allocated.ok() ? allocated.claims.back() : nullptr, true, true});
    placed.mappings = wanted.extended->mappings;
  }
  return placed;
}

std::optional<std::vector<std::shared_ptr<const ClaimAllocation>>> Snapshot::AllocationsOn(NodeId node) {
  std::vector<std::shared_ptr<const ClaimAllocation>> allocations;
  bool all = true;
  const auto add = [&](const std::shared_ptr<const ClaimAllocation>& allocation) {
    allocation == nullptr ? void(all = false) : allocations.push_back(allocation);
  };
  const auto add_own = [&](const std::shared_ptr<const OwnDevices>& own) {
    if (own == nullptr) return;
    for (const PlacedClaim& claim : own->claims) add(claim.allocation);
  };
  const auto add_claims = [&](PodClass& pod_class, bool copy) {
    PrepareDevices(pod_class);
    const ResolvedDevices& resolved = pod_class.resolved_devices;
    for (const ResolvedDevices::Entry& entry : resolved.entries) {
      if (entry.state != nullptr && !(copy && entry.own)) add(entry.state->allocation());
    }
    // A claim that is not there is not allocated.
    const auto needed = [](const PodDeviceClaim& claim) { return !claim.not_needed; };
    const auto wanted = pod_class.devices == nullptr ? 0 : std::ranges::count_if(pod_class.devices->claims, needed);
    all &= static_cast<int64_t>(resolved.entries.size()) == wanted;
    if (!copy && resolved.extended_claim != nullptr) add(resolved.extended_claim->allocation());
  };
  for (const PodId pod : nodes_[node].pods) {
    PodClass& pod_class = classes_[pods_[pod].pod_class];
    if (!pod_class.may_want_devices()) continue;
    add_claims(pod_class, false);
    if (const auto own = own_of_pods_.find(pod); own != own_of_pods_.end()) add_own(own->second);
  }
  for (const Copies& copies : nodes_[node].copies) {
    if (!classes_[copies.pod_class].may_want_devices()) continue;
    add_claims(classes_[copies.pod_class], true);
    const auto own = own_of_copies_.find({copies.pod_class, node});
    if (own != own_of_copies_.end()) std::ranges::for_each(own->second, add_own);
  }
  if (!all) return std::nullopt;
  return allocations;
}

bool Snapshot::WantsDevices(ClassId id) {
  PodClass& pod_class = classes_[id];
  if (!pod_class.may_want_devices()) return false;
  PrepareDevices(pod_class);
  return pod_class.wants_devices;
}

uint64_t Snapshot::Likeness(ClassId id) {
  PodClass& pod_class = classes_[id];
  if (pod_class.devices == nullptr) return id;
  PrepareDevices(pod_class);
  const ResolvedDevices& resolved = pod_class.resolved_devices;
  const auto own = [](const ResolvedDevices::Entry& entry) { return entry.own; };
  const auto kept = [](const ResolvedDevices::Entry& entry) {
    return entry.own && entry.state != nullptr && entry.state->allocation() != nullptr;
  };
  const bool alone = !resolved.rejected.empty() || resolved.extended_claim != nullptr ||
                     std::ranges::any_of(resolved.entries, kept) || std::ranges::none_of(resolved.entries, own);
  if (alone) return id;
  TextKey text;
  text.Add(pod_class.spec_id).Add(pod_class.labels_id).Add(pod_class.volumes_id).Add(pod_class.ns).Add(pod_class.pinned_node);
  text.Add(pod_class.node_name).Add(pod_class.terminating ? 1 : 0);
  for (const ResolvedDevices::Entry& entry : resolved.entries) {
    const bool shared = entry.state != nullptr && !entry.own;
    text.Add(entry.pod_claim).Add(shared ? 1 : 0).Add(shared ? entry.state->told->name : entry.spec->text);
  }
  // Ids are less than that.
  return base::Blake2b64(text.text()) | uint64_t{1} << 63;
}

const NodePools& Snapshot::PoolsOn(NodeId node) { return devices_.PoolsOn(DeviceNodeOf(node)); }

}  // namespace evenkeel::scheduling
