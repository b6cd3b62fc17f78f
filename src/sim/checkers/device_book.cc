#include "sim/checkers/device_book.h"

#include <algorithm>

#include "kube/object.h"
#include "kube/types.h"
#include "sim/checkers/member_book.h"
#include "sim/world/device_samples.h"

namespace evenkeel::sim {
namespace {

using base::Find;
using base::FindArray;
using base::FindBool;
using base::FindInt;
using base::FindString;
using base::Json;

std::string TextAt(const Json& object, std::initializer_list<std::string_view> path) {
  return std::string(FindString(object, path));
}

bool KeepsPodsAway(const Json& taint) {
  const std::string_view effect = FindString(taint, {"effect"});
  return effect == "NoSchedule" || effect == "NoExecute";
}

DeviceBook::Slice DecodeSlice(const Json& object) {
  DeviceBook::Slice slice;
  slice.pool = {TextAt(object, {"spec", "driver"}), TextAt(object, {"spec", "pool", "name"})};
  slice.node = TextAt(object, {"spec", "nodeName"});
  slice.generation = FindInt(object, {"spec", "pool", "generation"});
  slice.of = FindInt(object, {"spec", "pool", "resourceSliceCount"});
  for (const Json& device : FindArray(object, {"spec", "devices"})) {
    slice.devices[TextAt(device, {"name"})] = {.model = TextAt(device, {"attributes", kModelAttribute, "string"}),
                                               .tainted = std::ranges::any_of(FindArray(device, {"taints"}), KeepsPodsAway)};
  }
  return slice;
}

DeviceBook::Wanted DecodeWanted(const Json& asked, bool one_model) {
  return {.device_class = TextAt(asked, {"deviceClassName"}),
          .count = FindInt(asked, {"count"}, 1),
          .one_model = one_model,
          .admin = FindBool(asked, {"adminAccess"})};
}

std::vector<DeviceBook::Wanted> DecodeRequests(const Json& claim) {
  std::vector<DeviceBook::Wanted> wanted;
  const base::JsonArray& requests = FindArray(claim, {"spec", "devices", "requests"});
  if (requests.size() != 1) return wanted;
  const bool one_model = !FindArray(claim, {"spec", "devices", "constraints"}).empty();
  if (const Json* exactly = Find(requests.front(), {"exactly"})) wanted.push_back(DecodeWanted(*exactly, one_model));
  for (const Json& one : FindArray(requests.front(), {"firstAvailable"})) wanted.push_back(DecodeWanted(one, one_model));
  return wanted;
}

int64_t ExtendedDevices(const Json& pod) {
  int64_t devices = 0;
  for (const Json& container : FindArray(pod, {"spec", "containers"})) {
    const auto amounts = kube::DecodeResourceList(Find(container, {"resources", "requests"}));
    if (const auto asked = amounts.find(kExtendedDevice); asked != amounts.end()) devices += asked->second;
  }
  return devices;
}

DeviceBook::Pod DecodeDevicesOfPod(const Json& object) {
  const kube::ObjectMeta meta = kube::DecodeMeta(object);
  DeviceBook::Pod pod;
  pod.uid = meta.uid;
  pod.ns = meta.ns;
  pod.node = TextAt(object, {"spec", "nodeName"});
  pod.ended = kube::HasEnded(object);
  pod.live = !pod.ended && !meta.deletion_time;
  pod.gated = !FindArray(object, {"spec", "schedulingGates"}).empty();
  for (const Json& claim : FindArray(object, {"spec", "resourceClaims"})) {
    std::string name = TextAt(claim, {"resourceClaimName"});
    for (const Json& made : FindArray(object, {"status", "resourceClaimStatuses"})) {
      if (FindString(made, {"name"}) == FindString(claim, {"name"})) name = TextAt(made, {"resourceClaimName"});
    }
    pod.claims.push_back(std::move(name));
  }
  pod.extended = ExtendedDevices(object);
  pod.extended_claim = TextAt(object, {"status", "extendedResourceClaimStatus", "resourceClaimName"});
  return pod;
}

std::string DeviceText(const DeviceBook::Pool& pool, const std::string& device) {
  return DeviceBook::Result{.pool = pool, .device = device}.ToString();
}

/// Notes which devices of a pool can be allocated until now, before one of its slices changes.
void NoteAllocatable(DeviceBook::Member& member, const DeviceBook::Pool& pool, base::Instant now) {
  for (const auto& [name, slice] : member.slices) {
    if (slice.pool != pool) continue;
    for (const auto& [device, known] : slice.devices) {
      if (member.Allocatable(pool, device)) member.allocatable_until[DeviceText(pool, device)] = now;
    }
  }
}

}  // namespace

DeviceBook::Claim DeviceBook::DecodeClaim(const Json& object) {
  const kube::ObjectMeta meta = kube::DecodeMeta(object);
  Claim claim;
  claim.uid = meta.uid;
  claim.wanted = DecodeRequests(object);
  claim.deleting = meta.deletion_time.has_value();
  if (const kube::OwnerReference* owner = meta.Controller()) claim.owner = owner->uid;
  const Json* allocation = Find(object, {"status", "allocation"});
  claim.allocated = allocation != nullptr && allocation->is_object();
  for (const Json& result : FindArray(object, {"status", "allocation", "devices", "results"})) {
    claim.results.push_back({.pool = {TextAt(result, {"driver"}), TextAt(result, {"pool"})},
                             .device = TextAt(result, {"device"}),
                             .admin = FindBool(result, {"adminAccess"}),
                             .shared = !FindString(result, {"shareID"}).empty()});
  }
  for (const Json& term : FindArray(object, {"status", "allocation", "nodeSelector", "nodeSelectorTerms"})) {
    for (const Json& field : FindArray(term, {"matchFields"})) {
      for (std::string& node : base::FindTexts(field, {"values"})) claim.nodes.insert(std::move(node));
    }
  }
  for (const Json& consumer : FindArray(object, {"status", "reservedFor"})) {
    claim.reserved[TextAt(consumer, {"uid"})] = TextAt(consumer, {"name"});
  }
  return claim;
}

bool DeviceBook::Member::Allocatable(const Pool& pool, const std::string& device) const {
  int64_t generation = 0;
  const Device* found = nullptr;
  for (const auto& [name, slice] : slices) {
    if (slice.pool != pool || slice.generation < generation) continue;
    if (slice.generation > generation) found = nullptr;
    generation = slice.generation;
    if (const auto known = slice.devices.find(device); known != slice.devices.end()) found = &known->second;
  }
  return found != nullptr && !found->tainted;
}

void DeviceBook::See(const std::string& api, const embedded::store::Event& event, base::Instant now) {
  const std::string& key = event.current.key;
  const std::string slice = NameOfKey(key, "resourceslices"), claim = NameOfKey(key, "resourceclaims"),
                    pod = NameOfKey(key, "pods");
  if (slice.empty() && claim.empty() && pod.empty()) return;
  Member& member = members_[api];
  const std::optional<Json> object = ObjectOf(event);
  if (!slice.empty()) {
    if (const auto before = member.slices.find(slice); before != member.slices.end()) {
      NoteAllocatable(member, before->second.pool, now);
    }
    std::optional<Slice> after = object ? std::optional(DecodeSlice(*object)) : std::nullopt;
    if (after) NoteAllocatable(member, after->pool, now);
    after ? static_cast<void>(member.slices[slice] = *std::move(after)) : static_cast<void>(member.slices.erase(slice));
  } else if (!claim.empty()) {
    object ? static_cast<void>(member.claims[claim] = DecodeClaim(*object)) : static_cast<void>(member.claims.erase(claim));
  } else {
    member.pods.erase(pod);
    if (!object) return;
    Pod decoded = DecodeDevicesOfPod(*object);
    if (!decoded.claims.empty() || decoded.extended > 0) member.pods.emplace(pod, std::move(decoded));
  }
}

const DeviceBook::Member& DeviceBook::Of(const std::string& api) const {
  static const Member nothing;
  const auto found = members_.find(api);
  return found == members_.end() ? nothing : found->second;
}

std::optional<base::Instant> DeviceBook::LastAllocatable(const std::string& api, const Result& result,
                                                         base::Instant now) const {
  const Member& member = Of(api);
  if (member.Allocatable(result.pool, result.device)) return now;
  const auto before = member.allocatable_until.find(result.ToString());
  return before == member.allocatable_until.end() ? std::nullopt : std::optional(before->second);
}

}  // namespace evenkeel::sim
