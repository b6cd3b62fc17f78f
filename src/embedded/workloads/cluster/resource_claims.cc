#include "embedded/workloads/cluster/resource_claims.h"

#include <algorithm>

#include "scheduling/devices/pod_devices.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Find;
using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using scheduling::PodDeviceClaim;

constexpr std::string_view kFinalizer = "resource.kubernetes.io/delete-protection";
constexpr size_t kConsumersMax = 256;

/// None of its containers runs, or ever will.
bool IsDone(const kube::Pod& pod) { return pod.terminal() || (pod.meta.deletion_time && pod.node_name.empty()); }

bool HasClaims(const kube::Pod& pod) {
  return !FindArray(*pod.json, {"spec", "resourceClaims"}).empty() ||
         Find(*pod.json, {"status", "extendedResourceClaimStatus"}) != nullptr;
}

/// The names of the claims that there are for the pod.
std::vector<std::string> ClaimKeys(const kube::Pod& pod) {
  const scheduling::PodDevices devices = scheduling::DecodePodDevices(*pod.json);
  std::vector<std::string> keys;
  for (const PodDeviceClaim& claim : devices.claims) {
    if (!claim.claim.empty()) keys.push_back(pod.meta.ns + "/" + claim.claim);
  }
  if (!devices.extended_claim.empty()) keys.push_back(pod.meta.ns + "/" + devices.extended_claim);
  return keys;
}

bool IsOwnedBy(const kube::Object& claim, const kube::Pod& pod) {
  const kube::OwnerReference* owner = claim.meta.Controller();
  return owner != nullptr && owner->uid == pod.meta.uid;
}

bool IsReservedFor(const kube::Object& claim, const kube::Pod& pod) {
  return std::ranges::any_of(FindArray(*claim.json, {"status", "reservedFor"}),
                             [&](const Json& consumer) { return FindString(consumer, {"uid"}) == pod.meta.uid; });
}

base::Status RemoveFinalizer(client::Client& client, Json claim) {
  if (!kube::SetFinalizer(claim, kFinalizer, false)) return {};
  EVENKEEL_TRY(client.Update(kube::resources::ResourceClaims(), claim));
  return {};
}

}  // namespace

ResourceClaims::ResourceClaims(Context& context) : Reconciler(context, "resource_claim") {
  informers().pods().AddHandler([this](const PodPointer& before, const PodPointer& after) { OnPod(before, after); });
  informers().Owned(kube::resources::ResourceClaims());
  informers().Of(kube::resources::ResourceClaims()).AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    OnClaim(before, after);
  });
  informers().Of(kube::resources::ResourceClaimTemplates()).AddHandler([](const ObjectPointer&, const ObjectPointer&) {});
}

void ResourceClaims::OnPod(const PodPointer& before, const PodPointer& after) {
  const kube::Pod& pod = after != nullptr ? *after : *before;
  if (after == nullptr || IsDone(*after)) {
    // Also those that its status does not name: of an attempt to schedule it that came to nothing.
    for (const auto& [name, claim] : informers().Owned(kube::resources::ResourceClaims()).OwnedBy(pod.meta.uid))
      Enqueue("claim/" + claim->meta.Key());
  }
  if (!HasClaims(pod)) return;
  const std::string key = pod.meta.Key();
  const std::vector<std::string> now = after != nullptr ? ClaimKeys(*after) : std::vector<std::string>{};
  const std::vector<std::string> known = before != nullptr ? ClaimKeys(*before) : std::vector<std::string>{};
  for (const std::string& claim : known) {
    Keys& pods = pods_of_claim_[claim];
    pods.erase(key);
    if (pods.empty()) pods_of_claim_.erase(claim);
  }
  for (const std::string& claim : now) pods_of_claim_[claim].insert(key);
  if (after == nullptr || IsDone(*after)) {
    for (const std::string& claim : after == nullptr ? known : now) Enqueue("claim/" + claim);
  }
  if (after != nullptr && !after->meta.deletion_time) Enqueue("pod/" + key);
}

void ResourceClaims::OnClaim(const ObjectPointer& before, const ObjectPointer& after) {
  const std::string key = (after != nullptr ? after : before)->meta.Key();
  if (after != nullptr) Enqueue("claim/" + key);
  const auto pods = pods_of_claim_.find(key);
  if (pods == pods_of_claim_.end()) return;
  for (const std::string& pod : pods->second) Enqueue("pod/" + pod);
}

base::Result<Again> ResourceClaims::Reconcile(const std::string& key) {
  const std::string name = key.substr(key.find('/') + 1);
  base::Status done;
  if (key.starts_with("claim/")) {
    if (const ObjectPointer claim = informers().Of(kube::resources::ResourceClaims()).Get(name)) done = FollowClaim(*claim);
  } else if (const PodPointer pod = informers().pods().Get(name)) {
    done = FollowPod(*pod);
  }
  EVENKEEL_TRY(UnlessGone(done));
  return Again{};
}

base::Status ResourceClaims::FollowPod(const kube::Pod& pod) {
  if (pod.meta.deletion_time || IsDone(pod)) return {};
  EVENKEEL_ASSIGN(const auto made, MakeClaims(pod));
  if (!made.empty()) return TellPod(pod, made);  // goes on when the pod is told of
  return pod.node_name.empty() ? base::Status{} : ReserveForBound(pod);
}

base::Result<std::map<std::string, std::string>> ResourceClaims::MakeClaims(const kube::Pod& pod) {
  std::map<std::string, std::string> made;
  for (const PodDeviceClaim& claim : scheduling::DecodePodDevices(*pod.json).claims) {
    if (claim.template_name.empty() || claim.not_needed) continue;
    const ObjectPointer known =
        claim.claim.empty() ? nullptr : informers().Of(kube::resources::ResourceClaims()).Get(pod.meta.ns + "/" + claim.claim);
    if (known != nullptr && IsOwnedBy(*known, pod)) continue;
    auto name = MakeClaim(pod, claim.name, claim.template_name);
    if (!name) {
      events().Warning(*pod.json, "FailedResourceClaimCreation",
                       "PodResourceClaim " + claim.name + ": " + name.error().message());
      return base::Fail(base::Error(base::Code::kUnavailable, name.error().message()));
    }
    if (*name != claim.claim) made[claim.name] = *std::move(name);
  }
  return made;
}

base::Result<std::string> ResourceClaims::MakeClaim(const kube::Pod& pod, const std::string& pod_claim,
                                                    const std::string& template_name) {
  // One that was made before the pod could be told of it.
  for (const auto& [key, claim] : informers().Owned(kube::resources::ResourceClaims()).OwnedBy(pod.meta.uid)) {
    const auto of = claim->meta.annotations.find(std::string(scheduling::kPodClaimAnnotation));
    if (of != claim->meta.annotations.end() && of->second == pod_claim) return claim->meta.name;
  }
  const ObjectPointer found = informers().Of(kube::resources::ResourceClaimTemplates()).Get(pod.meta.ns + "/" + template_name);
  if (found == nullptr) {
    return base::Fail(base::Code::kNotFound, "resource claim template \"" + template_name +
                                                 "\": resourceclaimtemplate.resource.k8s.io \"" + template_name +
                                                 "\" not found");
  }
  Json wanted = scheduling::ClaimFromTemplate(*pod.json, pod_claim, *found->json);
  base::Ensure(wanted, {"metadata", "ownerReferences"}) =
      JsonArray{kube::ControllerReference(kube::resources::Pods(), pod.meta.name, pod.meta.uid)};
  const auto created = api().Create(kube::resources::ResourceClaims(), wanted);
  if (!created) return base::Fail(created.error().code(), "create ResourceClaim : " + created.error().message());
  return std::string(kube::NameOf(*created));
}

base::Status ResourceClaims::TellPod(const kube::Pod& pod, const std::map<std::string, std::string>& made) {
  Json status = base::FindObject(*pod.json, {"status"});
  JsonArray statuses;
  for (const Json& one : FindArray(status, {"resourceClaimStatuses"})) {
    if (!made.contains(std::string(FindString(one, {"name"})))) statuses.push_back(one);
  }
  for (const auto& [name, claim] : made) statuses.push_back(JsonObject{{"name", name}, {"resourceClaimName", claim}});
  status.get_object()["resourceClaimStatuses"] = std::move(statuses);
  EVENKEEL_TRY(WriteStatus(api(), kube::resources::Pods(), *pod.json, std::move(status)));
  return {};
}

base::Status ResourceClaims::ReserveForBound(const kube::Pod& pod) {
  for (const std::string& key : ClaimKeys(pod)) {
    const ObjectPointer claim = informers().Of(kube::resources::ResourceClaims()).Get(key);
    if (claim == nullptr) return {};
    const JsonArray& consumers = FindArray(*claim->json, {"status", "reservedFor"});
    if (Find(*claim->json, {"status", "allocation"}) == nullptr || IsReservedFor(*claim, pod) || claim->meta.deletion_time ||
        consumers.size() >= kConsumersMax) {
      continue;
    }
    Json status = base::FindObject(*claim->json, {"status"});
    JsonArray reserved = consumers;
    reserved.push_back(JsonObject{{"resource", "pods"}, {"name", pod.meta.name}, {"uid", pod.meta.uid}});
    status.get_object()["reservedFor"] = std::move(reserved);
    EVENKEEL_TRY(WriteStatus(api(), kube::resources::ResourceClaims(), *claim->json, std::move(status)));
  }
  return {};
}

base::Status ResourceClaims::FollowClaim(const kube::Object& claim) {
  EVENKEEL_ASSIGN(JsonArray valid, ValidReservations(claim));
  const bool unused = valid.empty();
  if (valid.size() < FindArray(*claim.json, {"status", "reservedFor"}).size()) {
    EVENKEEL_TRY(DropReservations(claim, std::move(valid)));
  } else if (unused && claim.meta.deletion_time && claim.meta.HasFinalizer(kFinalizer)) {
    Json status = base::FindObject(*claim.json, {"status"});
    status.get_object().erase("allocation");
    EVENKEEL_ASSIGN(const Json freed, WriteStatus(api(), kube::resources::ResourceClaims(), *claim.json, std::move(status)));
    EVENKEEL_TRY(RemoveFinalizer(api(), freed));
  }
  return unused ? DeleteUnused(claim) : base::Status{};
}

base::Result<JsonArray> ResourceClaims::ValidReservations(const kube::Object& claim) {
  JsonArray valid;
  for (const Json& consumer : FindArray(*claim.json, {"status", "reservedFor"})) {
    const bool is_pod = FindString(consumer, {"resource"}) == "pods" && FindString(consumer, {"apiGroup"}).empty();
    if (!is_pod) {
      valid.push_back(consumer);
      continue;
    }
    const std::string_view name = FindString(consumer, {"name"}), uid = FindString(consumer, {"uid"});
    PodPointer pod = informers().pods().Get(claim.meta.ns + "/" + std::string(name));
    if (pod == nullptr) {
      // The cache may be behind the scheduler, and what is given up may be given to others at once.
      const auto live = api().Get(kube::resources::Pods(), claim.meta.ns, name);
      if (!live && !IsGone(live.error())) return base::Fail(live.error());
      if (live) pod = std::make_shared<const kube::Pod>(kube::Pod::Decode(*live));
    }
    if (pod != nullptr && pod->meta.uid == uid && !IsDone(*pod)) valid.push_back(consumer);
  }
  return valid;
}

base::Status ResourceClaims::DropReservations(const kube::Object& claim, JsonArray valid) {
  Json status = base::FindObject(*claim.json, {"status"});
  const bool last = valid.empty();
  if (last) {
    status.get_object().erase("reservedFor");
    if (claim.meta.HasFinalizer(kFinalizer)) status.get_object().erase("allocation");
  } else {
    status.get_object()["reservedFor"] = std::move(valid);
  }
  EVENKEEL_ASSIGN(const Json written, WriteStatus(api(), kube::resources::ResourceClaims(), *claim.json, std::move(status)));
  return last ? RemoveFinalizer(api(), written) : base::Status{};
}

base::Status ResourceClaims::DeleteUnused(const kube::Object& claim) {
  const kube::OwnerReference* owner = claim.meta.Controller();
  if (owner == nullptr || owner->kind != "Pod" || claim.meta.deletion_time) return {};
  // Where the pod is not known the garbage collector sees to it.
  const PodPointer pod = informers().pods().Get(claim.meta.ns + "/" + owner->name);
  if (pod == nullptr || (pod->meta.uid == owner->uid && !IsDone(*pod))) return {};
  client::DeleteOptions options;
  options.uid = claim.meta.uid;
  EVENKEEL_TRY(api().Delete(kube::resources::ResourceClaims(), claim.meta.ns, claim.meta.name, options));
  return {};
}

}  // namespace evenkeel::embedded::workloads
