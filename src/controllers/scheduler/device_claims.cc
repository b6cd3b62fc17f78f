#include "controllers/scheduler/device_claims.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "kube/object.h"

namespace evenkeel::controllers::scheduler {
namespace {

using base::Code;
using base::Fail;
using base::Find;
using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using kube::resources::ResourceClaims;

constexpr std::string_view kFinalizer = "resource.kubernetes.io/delete-protection";
/// Of a name, before the random letters.
constexpr size_t kGenerateNameMax = 57;
/// By then a list has shown what there is, however late events are.
constexpr base::Duration kAssumedMax = std::chrono::minutes(10);

const client::WriteOptions& OfStatus() {
  static const client::WriteOptions options{.subresource = "status", .field_manager = "", .dry_run = false};
  return options;
}

JsonArray Consumers(const Json& claim) { return FindArray(claim, {"status", "reservedFor"}); }

bool IsOf(const Json& consumer, const kube::Pod& pod) { return FindString(consumer, {"uid"}) == pod.meta.uid; }

bool IsReserved(const Json& claim, const kube::Pod& pod) {
  return std::ranges::any_of(FindArray(claim, {"status", "reservedFor"}), [&](const Json& one) { return IsOf(one, pod); });
}

/// Whether the claim's devices are these, in whatever order.
bool HasDevices(const Json& claim, const scheduling::ClaimAllocation& allocation) {
  std::multiset<std::string> has, wanted;
  for (const Json& result : FindArray(claim, {"status", "allocation", "devices", "results"})) {
    has.insert(scheduling::DeviceName{std::string(FindString(result, {"driver"})), std::string(FindString(result, {"pool"})),
                                      std::string(FindString(result, {"device"}))}
                   .ToString());
  }
  for (const scheduling::DeviceResult& result : allocation.results) wanted.insert(result.device.ToString());
  return has == wanted;
}

base::Error Because(std::string what, const base::Error& error) {
  return base::Error(error.code(), std::move(what) + ": " + error.message());
}

/// Warns if an attempt to give the claim back has failed.
void NoteGivenBack(const kube::Pod& pod, const std::string& claim, const base::Status& done) {
  if (done || done.error().code() == Code::kNotFound) return;
  base::log::Warn("a claim for devices is not given back",
                  {{"pod", pod.meta.Key()}, {"claim", claim}, {"error", done.error()}});
}

}  // namespace

void DeviceClaims::Assume(Json claim, scheduling::Snapshot& snapshot) {
  const std::string key = kube::DecodeMeta(claim).Key();
  snapshot.UpsertDevices(scheduling::DeviceKind::kResourceClaim, claim);
  Assumed& assumed = assumed_[key];
  assumed = {std::move(claim), clock_.Monotonic(), assumed.told};
}

void DeviceClaims::OnClaim(const std::string& key, const Json* object, scheduling::Snapshot& snapshot) {
  const auto found = assumed_.find(key);
  if (found == assumed_.end()) return;
  const Json& ours = found->second.claim;
  if (object == nullptr || !client::IsOlderVersion(kube::ResourceVersionOf(*object), kube::ResourceVersionOf(ours))) {
    assumed_.erase(found);
    return;
  }
  found->second.told = true;
  snapshot.UpsertDevices(scheduling::DeviceKind::kResourceClaim, ours);
}

/// One that was made here and is gone before a list could show it would be kept for ever.
void DeviceClaims::ForgetAssumed(scheduling::Snapshot& snapshot) {
  const base::Instant before = clock_.Monotonic() - kAssumedMax;
  std::erase_if(assumed_, [&](const auto& entry) {
    if (entry.second.since > before) return false;
    if (!entry.second.told) snapshot.RemoveDevices(scheduling::DeviceKind::kResourceClaim, entry.first);
    return true;
  });
}

base::Status DeviceClaims::Write(const kube::Pod& pod, const scheduling::PlacedDevices& placed,
                                 scheduling::Snapshot& snapshot) {
  ForgetAssumed(snapshot);
  std::vector<Json> written;
  const base::Status done = WriteAll(pod, placed, written);
  for (Json& claim : written) Assume(std::move(claim), snapshot);
  return done;
}

base::Status DeviceClaims::WriteAll(const kube::Pod& pod, const scheduling::PlacedDevices& placed, std::vector<Json>& written) {
  for (const scheduling::PlacedClaim& claim : placed.claims) {
    if (claim.allocation == nullptr) {
      return Fail(Code::kConflict, "devices for " + claim.pod_claim + " can be had no more");
    }
    if (!claim.in_flight && !claim.to_reserve) continue;
    for (const scheduling::DeviceResult& result : claim.allocation->results) {
      if (claim.in_flight && !result.binding_conditions.empty()) {
        return Fail(Code::kInvalid,
                    "device " + result.device.ToString() + " has binding conditions, for which nobody waits here");
      }
    }
    std::string name = claim.claim;
    if (name.empty()) {
      EVENKEEL_ASSIGN(name, MakeExtended(pod, claim));
      written_[pod.meta.Key()].mappings = placed.mappings;
    }
    EVENKEEL_ASSIGN(written.emplace_back(), WriteClaim(pod, name, claim));
  }
  // Also of an attempt before that has come no further than the claim.
  const auto made = written_.find(pod.meta.Key());
  if (made == written_.end() || made->second.extended.empty() || made->second.told) return {};
  EVENKEEL_TRY(TellPod(pod, made->second.extended, made->second.mappings));
  made->second.told = true;
  return {};
}

base::Result<Json> DeviceClaims::WriteClaim(const kube::Pod& pod, const std::string& name,
                                            const scheduling::PlacedClaim& placed) {
  const std::string key = pod.meta.ns + "/" + name;
  const auto check = [&](const Json& claim) -> base::Status {
    if (Find(claim, {"metadata", "deletionTimestamp"}) != nullptr) {
      return Fail(Code::kInvalid, "claim " + key + " got deleted in the meantime");
    }
    const bool allocated = Find(claim, {"status", "allocation"}) != nullptr;
    if (placed.in_flight && allocated && !(IsReserved(claim, pod) && HasDevices(claim, *placed.allocation))) {
      return Fail(Code::kInvalid, "claim " + key + " got allocated elsewhere in the meantime");
    }
    return {};
  };
  if (placed.in_flight) {
    const auto protect = [&](Json& claim) -> base::Result<bool> {
      EVENKEEL_TRY(check(claim));
      return kube::SetFinalizer(claim, kFinalizer, true);
    };
    const auto protected_now = client::ReadModifyWrite(client_, ResourceClaims(), pod.meta.ns, name, protect);
    if (!protected_now) return Fail(Because("add finalizer to claim " + key, protected_now.error()));
  }
  Json allocation;
  if (placed.in_flight) {
    allocation = placed.allocation->ToJson([this] { return random_.Uuid(); });
    allocation.as_object()["allocationTimestamp"] = base::FormatTime(clock_.Now());
  }
  const auto reserve = [&](Json& claim) -> base::Result<bool> {
    EVENKEEL_TRY(check(claim));
    // An earlier attempt of this pod, whose answer was lost.
    if (IsReserved(claim, pod)) return false;
    JsonArray consumers = Consumers(claim);
    if (placed.in_flight) base::Ensure(claim, {"status", "allocation"}) = allocation;
    consumers.push_back(JsonObject{{"resource", "pods"}, {"name", pod.meta.name}, {"uid", pod.meta.uid}});
    base::Ensure(claim, {"status", "reservedFor"}) = std::move(consumers);
    return true;
  };
  written_[pod.meta.Key()].reserved.push_back(name);
  auto written = client::ReadModifyWrite(client_, ResourceClaims(), pod.meta.ns, name, reserve, OfStatus());
  if (written) return written;
  const char* const what = placed.in_flight ? "add allocation and reservation to claim " : "add reservation to claim ";
  return Fail(Because(what + key, written.error()));
}

base::Result<std::string> DeviceClaims::MakeExtended(const kube::Pod& pod, const scheduling::PlacedClaim& placed) {
  constexpr std::string_view kSuffix = "-extended-resources-";
  // Of an attempt after which nobody knew whether the rest had been written.
  if (const auto before = written_.find(pod.meta.Key()); before != written_.end() && !before->second.extended.empty()) {
    return before->second.extended;
  }
  JsonArray requests;
  for (const scheduling::ClaimRequest& request : placed.spec->requests) {
    requests.push_back(scheduling::WriteExtendedRequest(request));
  }
  Json claim = kube::NewObject(ResourceClaims(), pod.meta.ns, "");
  JsonObject& metadata = claim.at("metadata").get_object();
  metadata.erase("name");
  metadata["generateName"] = pod.meta.name.substr(0, kGenerateNameMax - kSuffix.size()) + std::string(kSuffix);
  metadata["annotations"] = JsonObject{{scheduling::kExtendedClaimAnnotation, "true"}};
  metadata["ownerReferences"] = JsonArray{kube::ControllerReference(kube::resources::Pods(), pod.meta.name, pod.meta.uid)};
  metadata["finalizers"] = JsonArray{kFinalizer};
  claim.get_object()["spec"] = JsonObject{{"devices", JsonObject{{"requests", std::move(requests)}}}};
  const auto created = client_.Create(ResourceClaims(), claim);
  if (!created) return Fail(Because("create claim for extended resources", created.error()));
  std::string name(kube::NameOf(*created));
  written_[pod.meta.Key()].extended = name;
  return name;
}

base::Status DeviceClaims::TellPod(const kube::Pod& pod, const std::string& claim,
                                   const std::vector<scheduling::RequestMapping>& mappings) {
  JsonArray list;
  for (const scheduling::RequestMapping& mapping : mappings) {
    list.push_back(
        JsonObject{{"containerName", mapping.container}, {"resourceName", mapping.resource}, {"requestName", mapping.request}});
  }
  const JsonObject status{{"resourceClaimName", claim}, {"requestMappings", std::move(list)}};
  const auto tell = [&](Json& object) -> base::Result<bool> {
    if (kube::UidOf(object) != pod.meta.uid) return Fail(Code::kNotFound, "it is another pod");
    base::Ensure(object, {"status", "extendedResourceClaimStatus"}) = status;
    return true;
  };
  const auto told = client::ReadModifyWrite(client_, kube::resources::Pods(), pod.meta.ns, pod.meta.name, tell, OfStatus());
  if (!told) return Fail(Because("update pod " + pod.meta.Key() + " ExtendedResourceClaimStatus", told.error()));
  return {};
}

base::Status DeviceClaims::Release(const kube::Pod& pod, const std::string& name) {
  const auto release = [&](Json& claim) -> base::Result<bool> {
    JsonArray consumers = Consumers(claim);
    const auto removed = std::ranges::remove_if(consumers, [&](const Json& one) { return IsOf(one, pod); });
    if (removed.empty()) return false;
    consumers.erase(removed.begin(), removed.end());
    base::Ensure(claim, {"status", "reservedFor"}) = std::move(consumers);
    return true;
  };
  EVENKEEL_TRY(client::ReadModifyWrite(client_, ResourceClaims(), pod.meta.ns, name, release, OfStatus()));
  return {};
}

base::Status DeviceClaims::DeleteExtended(const kube::Pod& pod, const std::string& name) {
  const auto unprotect = [](Json& claim) -> base::Result<bool> { return kube::SetFinalizer(claim, kFinalizer, false); };
  EVENKEEL_ASSIGN(const Json claim, client::ReadModifyWrite(client_, ResourceClaims(), pod.meta.ns, name, unprotect));
  EVENKEEL_TRY(client_.Delete(ResourceClaims(), pod.meta.ns, name, {.uid = std::string(kube::UidOf(claim))}));
  return {};
}

void DeviceClaims::TakeBack(const kube::Pod& pod) {
  const auto found = written_.find(pod.meta.Key());
  if (found == written_.end()) return;
  const Written written = std::move(found->second);
  written_.erase(found);
  for (const std::string& name : written.reserved) {
    if (name != written.extended) NoteGivenBack(pod, name, Release(pod, name));
  }
  if (!written.extended.empty()) NoteGivenBack(pod, written.extended, DeleteExtended(pod, written.extended));
}

void DeviceClaims::GiveUpExtended(const kube::Pod& pod, const std::string& claim, scheduling::Snapshot& snapshot) {
  ForgetAssumed(snapshot);
  NoteGivenBack(pod, claim, DeleteExtended(pod, claim));
}

bool DeviceClaims::GiveUpAllocation(const kube::Pod& pod, scheduling::Snapshot& snapshot) {
  const scheduling::PodDevices devices = scheduling::DecodePodDevices(*pod.json);
  if (!devices.extended_claim.empty()) {
    const auto deleted = DeleteExtended(pod, devices.extended_claim);
    if (deleted) return true;
  }
  for (const scheduling::PodDeviceClaim& entry : devices.claims) {
    if (entry.claim.empty()) continue;
    const auto claim = client_.Get(ResourceClaims(), pod.meta.ns, entry.claim);
    if (!claim) continue;
    const scheduling::ResourceClaim decoded = scheduling::DecodeResourceClaim(*claim);
    if (decoded.allocation == nullptr || !decoded.allocation->nodes) continue;
    const bool others = std::ranges::any_of(decoded.reserved_for, [&](const std::string& uid) { return uid != pod.meta.uid; });
    const bool reached = std::ranges::all_of(snapshot.order(), [&](scheduling::NodeId node) {
      return node == scheduling::kNone || scheduling::MatchesAny(*decoded.allocation->nodes, snapshot.LabelsOf(node));
    });
    if (others || reached) continue;
    Json freed = *claim;
    base::Erase(freed, {"status", "allocation"});
    base::Erase(freed, {"status", "reservedFor"});
    // As it was read: if anybody has reserved it since, it is a conflict, and nothing is given up.
    if (client_.Update(ResourceClaims(), freed, OfStatus())) return true;
  }
  return false;
}

}  // namespace evenkeel::controllers::scheduler
