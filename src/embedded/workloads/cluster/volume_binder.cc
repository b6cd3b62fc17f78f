#include "embedded/workloads/cluster/volume_binder.h"

#include <algorithm>

#include "controllers/scheduler/scheduler.h"
#include "scheduling/volume_decode.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Find;
using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using controllers::scheduler::kSelectedNode;
using kube::resources::PersistentVolumeClaims;
using kube::resources::PersistentVolumes;
using kube::resources::StorageClasses;

constexpr char kProvisionedBy[] = "pv.kubernetes.io/provisioned-by";
constexpr char kBindCompleted[] = "pv.kubernetes.io/bind-completed";
constexpr char kZone[] = "topology.kubernetes.io/zone";
constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";

std::string_view Phase(const kube::Object& object) { return FindString(*object.json, {"status", "phase"}); }

/// The name of the volume that is made for the claim.
std::string MadeFor(const kube::Object& claim) { return "pvc-" + claim.meta.uid; }

std::string ClaimOf(const kube::Object& volume) {
  const std::string_view name = FindString(*volume.json, {"spec", "claimRef", "name"});
  if (name.empty()) return "";
  return std::string(FindString(*volume.json, {"spec", "claimRef", "namespace"})) + "/" + std::string(name);
}

/// A claimRef without a uid, as people write it, means whatever claim has the name.
bool RefersTo(const kube::Object& volume, const kube::Object& claim) {
  const std::string_view uid = FindString(*volume.json, {"spec", "claimRef", "uid"});
  return ClaimOf(volume) == claim.meta.Key() && (uid.empty() || uid == claim.meta.uid);
}

JsonObject ClaimReference(const kube::Object& claim) {
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolumeClaim"},
          {"namespace", claim.meta.ns},
          {"name", claim.meta.name},
          {"uid", claim.meta.uid}};
}

}  // namespace

VolumeBinder::VolumeBinder(Context& context) : Reconciler(context, "persistentvolume-controller") {
  informers().Of(PersistentVolumeClaims()).AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    const ObjectPointer& claim = after ? after : before;
    if (after != nullptr) Enqueue("claim/" + claim->meta.Key());
    const std::string_view volume = FindString(*claim->json, {"spec", "volumeName"});
    Enqueue("volume/" + (volume.empty() ? MadeFor(*claim) : std::string(volume)));
  });
  informers().Of(PersistentVolumes()).AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    if (after == nullptr) return Enqueue("claim/" + ClaimOf(*before));
    Enqueue("volume/" + after->meta.name);
    if (Phase(*after) != "Available" && !ClaimOf(*after).empty()) return;
    for (const auto& [key, claim] : informers().Of(PersistentVolumeClaims()).items()) {
      if (Phase(*claim) != "Bound") EnqueueSoon("claim/" + key);
    }
  });
  informers().Of(StorageClasses()).AddHandler([this](const ObjectPointer&, const ObjectPointer& after) {
    if (after == nullptr) return;
    for (const auto& [key, claim] : informers().Of(PersistentVolumeClaims()).items()) {
      if (Phase(*claim) != "Bound") EnqueueSoon("claim/" + key);
    }
  });
  informers().pods().AddHandler([this](const PodPointer& before, const PodPointer& after) {
    if (after == nullptr || before != nullptr || after->terminal()) return;
    const base::JsonArray& volumes = FindArray(*after->json, {"spec", "volumes"});
    const bool ephemeral =
        std::any_of(volumes.begin(), volumes.end(), [](const Json& volume) { return Find(volume, {"ephemeral"}) != nullptr; });
    if (ephemeral) Enqueue("pod/" + after->meta.Key());
  });
}

base::Result<Again> VolumeBinder::Reconcile(const std::string& key) {
  const std::string name = key.substr(key.find('/') + 1);
  base::Status done;
  if (key.starts_with("claim/")) {
    if (const ObjectPointer claim = informers().Of(PersistentVolumeClaims()).Get(name)) done = BindClaim(*claim);
  } else if (key.starts_with("volume/")) {
    if (const ObjectPointer volume = informers().Of(PersistentVolumes()).Get(name)) done = FollowClaim(*volume);
  } else if (const PodPointer pod = informers().pods().Get(name)) {
    done = MakeEphemeralClaims(*pod);
  }
  EVENKEEL_TRY(UnlessGone(done));
  return Again{};
}

base::Status VolumeBinder::BindClaim(const kube::Object& claim) {
  if (claim.meta.deletion_time) return {};
  const std::string volume(FindString(*claim.json, {"spec", "volumeName"}));
  // Fleets from before volumes had objects have bound claims without one.
  const bool missing = volume == MadeFor(claim) && informers().Of(PersistentVolumes()).Get(volume) == nullptr;
  if (Phase(claim) == "Bound" && !missing) return {};
  EVENKEEL_ASSIGN(const std::string found, VolumeFor(claim));
  return found.empty() ? base::Status{} : CompleteClaim(claim, found);
}

base::Result<std::string> VolumeBinder::VolumeFor(const kube::Object& claim) {
  const auto wanted = scheduling::DecodePersistentVolumeClaim(*claim.json);
  if (!wanted.volume.empty() && wanted.volume != MadeFor(claim)) {
    const ObjectPointer volume = informers().Of(PersistentVolumes()).Get(wanted.volume);
    if (volume == nullptr || (!ClaimOf(*volume).empty() && !RefersTo(*volume, claim))) return std::string();
    return Reserve(*volume, claim);
  }
  const ObjectPointer class_object =
      wanted.class_name.empty() ? nullptr : informers().Of(StorageClasses()).Get(wanted.class_name);
  const Json* storage_class = class_object == nullptr ? nullptr : class_object->json.get();
  const bool delayed = wanted.volume.empty() && storage_class != nullptr &&
                       FindString(*storage_class, {"volumeBindingMode"}) == "WaitForFirstConsumer";
  NodePointer node;
  if (!wanted.selected_node.empty()) {
    node = informers().nodes().Get(wanted.selected_node);
    if (node == nullptr) {
      // The scheduler has to choose again.
      Json none = JsonObject{{"metadata", JsonObject{{"annotations", JsonObject{{kSelectedNode, nullptr}}}}}};
      EVENKEEL_TRY(api().Patch(PersistentVolumeClaims(), claim.meta.ns, claim.meta.name, client::PatchType::kMerge, none));
      return std::string();
    }
  } else if (delayed) {
    events().Normal(*claim.json, "WaitForFirstConsumer", "waiting for first consumer to be created before binding");
    return std::string();
  }
  if (wanted.volume.empty()) {
    if (const kube::Object* volume = Match(claim, node.get())) return Reserve(*volume, claim);
  }
  if (storage_class != nullptr && FindString(*storage_class, {"provisioner"}) == kNoProvisioner) return std::string();
  return Provision(claim, storage_class, delayed ? node.get() : nullptr);
}

const kube::Object* VolumeBinder::Match(const kube::Object& claim, const NodeItem* node) {
  const auto wanted = scheduling::DecodePersistentVolumeClaim(*claim.json);
  const kube::Object* best = nullptr;
  int64_t best_size = 0;
  for (const auto& [name, object] : informers().Of(PersistentVolumes()).items()) {
    const auto volume = scheduling::DecodePersistentVolume(*object->json);
    const bool reserved = RefersTo(*object, claim);
    if (volume.deleting || (!volume.claim.empty() && !reserved) || volume.class_name != wanted.class_name) continue;
    if (volume.volume_mode != wanted.volume_mode || volume.size < wanted.size || Phase(*object) == "Released") continue;
    if (reserved) return object.get();
    const bool modes = std::ranges::all_of(wanted.access_modes, [&](const std::string& mode) {
      return std::ranges::find(volume.access_modes, mode) != volume.access_modes.end();
    });
    if (!modes || !wanted.selector.Matches(volume.labels)) continue;
    if (node != nullptr && volume.nodes) {
      const auto hostname = node->meta.labels.find(std::string(scheduling::kHostnameLabel));
      const scheduling::NodeLabels labels{node->meta.labels, hostname == node->meta.labels.end() ? nullptr : &hostname->second,
                                          node->meta.name};
      if (!scheduling::MatchesAny(*volume.nodes, labels)) continue;
    }
    if (best != nullptr && volume.size >= best_size) continue;
    best = object.get();
    best_size = volume.size;
  }
  return best;
}

base::Result<std::string> VolumeBinder::Reserve(const kube::Object& volume, const kube::Object& claim) {
  if (FindString(*volume.json, {"spec", "claimRef", "uid"}) == claim.meta.uid) return volume.meta.name;
  Json changed = *volume.json;
  base::Ensure(changed, {"spec", "claimRef"}) = ClaimReference(claim);
  EVENKEEL_TRY(api().Update(PersistentVolumes(), changed));
  return volume.meta.name;
}

base::Result<std::string> VolumeBinder::Provision(const kube::Object& claim, const Json* storage_class, const NodeItem* node) {
  const std::string name = MadeFor(claim);
  const std::string provisioner(storage_class == nullptr
                                    ? "evenkeel.dev/embedded"
                                    : FindString(*storage_class, {"provisioner"}, "evenkeel.dev/embedded"));
  Json volume = kube::NewObject(PersistentVolumes(), "", name);
  base::Ensure(volume, {"metadata", "annotations"}) = JsonObject{{kProvisionedBy, provisioner}};
  const Json* size = Find(*claim.json, {"spec", "resources", "requests", "storage"});
  const Json* modes = Find(*claim.json, {"spec", "accessModes"});
  JsonObject spec{{"capacity", JsonObject{{"storage", size != nullptr ? *size : Json("1Gi")}}},
                  {"accessModes", modes != nullptr ? *modes : Json(JsonArray{"ReadWriteOnce"})},
                  {"claimRef", ClaimReference(claim)},
                  {"persistentVolumeReclaimPolicy",
                   storage_class == nullptr ? "Delete" : FindString(*storage_class, {"reclaimPolicy"}, "Delete")},
                  {"volumeMode", FindString(*claim.json, {"spec", "volumeMode"}, "Filesystem")}};
  if (storage_class != nullptr) {
    spec["storageClassName"] = kube::NameOf(*storage_class);
    spec["csi"] = JsonObject{{"driver", provisioner}, {"volumeHandle", name}};
  } else {
    const std::string_view class_name = FindString(*claim.json, {"spec", "storageClassName"});
    if (!class_name.empty()) spec["storageClassName"] = class_name;
    spec["hostPath"] = JsonObject{{"path", "/var/lib/evenkeel/" + name}};
  }
  const auto zone = node == nullptr ? kube::Labels::const_iterator() : node->meta.labels.find(kZone);
  if (node != nullptr && zone != node->meta.labels.end()) {
    const JsonObject term{
        {"matchExpressions", JsonArray{JsonObject{{"key", kZone}, {"operator", "In"}, {"values", JsonArray{zone->second}}}}}};
    spec["nodeAffinity"] = JsonObject{{"required", JsonObject{{"nodeSelectorTerms", JsonArray{term}}}}};
  }
  volume.get_object()["spec"] = std::move(spec);
  const auto created = api().Create(PersistentVolumes(), volume);
  if (!created && created.error().code() != base::Code::kAlreadyExists) return base::Fail(created.error());
  return name;
}

base::Status VolumeBinder::CompleteClaim(const kube::Object& claim, const std::string& volume) {
  Json current = *claim.json;
  if (FindString(current, {"spec", "volumeName"}) != volume) {
    base::Ensure(current, {"spec", "volumeName"}) = volume;
    base::Ensure(current, {"metadata", "annotations", kBindCompleted}) = "yes";
    EVENKEEL_ASSIGN(current, api().Update(PersistentVolumeClaims(), current));
  }
  JsonObject status{{"phase", "Bound"}};
  if (const Json* modes = Find(current, {"spec", "accessModes"})) status["accessModes"] = *modes;
  if (const Json* size = Find(current, {"spec", "resources", "requests"})) status["capacity"] = *size;
  EVENKEEL_TRY(WriteStatus(api(), PersistentVolumeClaims(), current, std::move(status)));
  return {};
}

base::Status VolumeBinder::FollowClaim(const kube::Object& volume) {
  if (volume.meta.deletion_time) return {};
  const std::string key = ClaimOf(volume);
  std::string_view phase = "Available";
  if (!key.empty()) {
    ObjectPointer claim = informers().Of(PersistentVolumeClaims()).Get(key);
    if (claim != nullptr && !RefersTo(volume, *claim)) claim = nullptr;
    if (claim == nullptr && !FindString(*volume.json, {"spec", "claimRef", "uid"}).empty()) {
      // The cache may be behind; a volume is only given up when the API agrees.
      std::string ns, name;
      kube::SplitKey(key, ns, name);
      const auto live = api().Get(PersistentVolumeClaims(), ns, name);
      if (!live && !IsGone(live.error())) return base::Fail(live.error());
      if (live && RefersTo(volume, kube::Object::Decode(*live))) return {};
      if (FindString(*volume.json, {"spec", "persistentVolumeReclaimPolicy"}) == "Delete" &&
          Find(*volume.json, {"metadata", "annotations", kProvisionedBy}) != nullptr) {
        client::DeleteOptions options;
        options.uid = volume.meta.uid;
        EVENKEEL_TRY(api().Delete(PersistentVolumes(), "", volume.meta.name, options));
        return {};
      }
      phase = "Released";
    } else if (claim != nullptr && FindString(*claim->json, {"spec", "volumeName"}) == volume.meta.name) {
      phase = "Bound";
    } else if (claim != nullptr) {
      // About to be bound.
      return {};
    }
  }
  EVENKEEL_TRY(WriteStatus(api(), PersistentVolumes(), *volume.json, JsonObject{{"phase", phase}}));
  return {};
}

base::Status VolumeBinder::MakeEphemeralClaims(const kube::Pod& pod) {
  if (pod.meta.deletion_time || pod.terminal()) return {};
  for (const Json& volume : FindArray(*pod.json, {"spec", "volumes"})) {
    const Json* made_from = Find(volume, {"ephemeral", "volumeClaimTemplate"});
    if (made_from == nullptr) continue;
    const std::string name = pod.meta.name + "-" + std::string(FindString(volume, {"name"}));
    if (informers().Of(PersistentVolumeClaims()).Get(pod.meta.ns + "/" + name) != nullptr) continue;
    Json claim = kube::NewObject(PersistentVolumeClaims(), pod.meta.ns, name);
    for (const char* part : {"labels", "annotations"}) {
      if (const Json* given = Find(*made_from, {"metadata", part})) base::Ensure(claim, {"metadata", part}) = *given;
    }
    base::Ensure(claim, {"metadata", "ownerReferences"}) =
        JsonArray{kube::ControllerReference(kube::resources::Pods(), pod.meta.name, pod.meta.uid)};
    claim.get_object()["spec"] = base::FindObject(*made_from, {"spec"});
    const auto created = api().Create(PersistentVolumeClaims(), claim);
    if (!created && created.error().code() != base::Code::kAlreadyExists) return base::Fail(created.error());
  }
  return {};
}

}  // namespace evenkeel::embedded::workloads
