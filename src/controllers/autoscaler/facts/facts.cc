#include "controllers/autoscaler/facts/facts.h"

#include "base/hash.h"
#include "base/parse_number.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "scheduling/pod_constraints.h"
#include "scheduling/well_known.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Find;
using base::FindArray;
using base::FindInt;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr std::array<std::string_view, 2> kStartupPrefixes = {"startup-taint.cluster-autoscaler.kubernetes.io/",
                                                              "ignore-taint.cluster-autoscaler.kubernetes.io/"};
/// Says that a driver of devices tells of the GPUs, not the node's capacity.
constexpr std::string_view kGpusByDriverLabel = "cloud.google.com/gke-gpu-dra-driver";
constexpr std::string_view kPrefix = "cluster-autoscaler.kubernetes.io/";

std::string_view Annotation(const Json& object, std::string_view name) {
  return FindString(object, {"metadata", "annotations", name});
}

std::string_view OurAnnotation(const Json& object, std::string_view name) {
  return Annotation(object, std::string(kPrefix) + std::string(name));
}

bool Listed(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    if (item == name) return true;
  }
  return false;
}

bool HasLocalStorage(const Json& pod) {
  const std::string_view safe = Annotation(pod, scheduling::kSafeVolumesAnnotation);
  for (const Json& volume : FindArray(pod, {"spec", "volumes"})) {
    const Json* path = Find(volume, {"hostPath"});
    const Json* scratch = Find(volume, {"emptyDir"});
    const bool local = (path != nullptr && !path->is_null()) ||
                       (scratch != nullptr && !scratch->is_null() && FindString(*scratch, {"medium"}) != "Memory");
    if (local && !Listed(safe, FindString(volume, {"name"}))) return true;
  }
  return false;
}

bool RequestsGpu(const Json& pod) {
  for (const Json& container : FindArray(pod, {"spec", "containers"})) {
    for (const char* kind : {"requests", "limits"}) {
      for (const auto& [name, amount] : FindObject(container, {"resources", kind})) {
        if (IsGpuResource(name)) return true;
      }
    }
  }
  return false;
}

void DecodeScheduling(const Json& pod, PodFacts& facts) {
  facts.nominated_node = FindString(pod, {"status", "nominatedNodeName"});
  if (!FindString(pod, {"spec", "nodeName"}).empty()) return;
  const Json* condition = kube::FindCondition(pod, "PodScheduled");
  const bool refused = condition != nullptr && FindString(*condition, {"status"}) == "False";
  const std::string_view reason = condition == nullptr ? "" : FindString(*condition, {"reason"});
  facts.unschedulable = refused && reason == "Unschedulable";
  if (refused && !facts.unschedulable) facts.scheduler_says = reason;
  if (const base::JsonArray& gates = FindArray(pod, {"spec", "schedulingGates"}); !gates.empty()) {
    facts.gate = FindString(gates.front(), {"name"}, "without a name");
  }
  facts.unprocessed = condition == nullptr || (refused && reason.empty());
}

/// Writes what of a pod its group depends on, with sorted keys, into one text.
class SpecText {
 public:
  explicit SpecText(const Json& pod) {
    for (const Json& volume : FindArray(pod, {"spec", "volumes"})) {
      if (const Json* projected = Find(volume, {"projected"}); projected != nullptr && !projected->is_null()) {
        projected_.insert(FindString(volume, {"name"}));
      }
    }
    Object(FindObject(pod, {"metadata", "labels"}), Place::kPlain);
    text_ += '|';
    Object(FindObject(pod, {"spec"}), Place::kSpec);
  }
  const std::string& text() const { return text_; }

 private:
  enum class Place { kSpec, kContainer, kVolume, kMount, kAmounts, kPlain };

  static Place Inside(Place place, std::string_view key) {
    if (place == Place::kSpec && (key == "containers" || key == "initContainers" || key == "ephemeralContainers")) {
      return Place::kContainer;
    }
    if (place == Place::kSpec && key == "volumes") return Place::kVolume;
    if (place == Place::kContainer && key == "volumeMounts") return Place::kMount;
    if (key == "requests" || key == "limits" || key == "overhead") return Place::kAmounts;
    return Place::kPlain;
  }

  static bool LeftOut(Place place, std::string_view key, const Json& value) {
    if (value.is_null() || (value.is_array() && value.get_array().empty())) return true;
    // Maps, and structs that are always there: empty says the same as absent.
    if (value.is_object() && value.get_object().empty()) {
      return key == "nodeSelector" || key == "resources" || key == "requests" || key == "limits" || key == "overhead" ||
             key == "matchLabels" || key == "labels" || key == "annotations";
    }
    return (place == Place::kSpec && key == "hostname") || (place == Place::kContainer && key == "env");
  }

  void Object(const JsonObject& object, Place place) {
    std::vector<const JsonObject::value_type*> items;
    for (const auto& item : object) items.push_back(&item);
    std::ranges::sort(items, {}, [](const auto* item) { return std::string_view(item->key()); });
    text_ += '{';
    for (const auto* item : items) {
      if (LeftOut(place, item->key(), item->value())) continue;
      const size_t start = text_.size();
      base::AppendQuoted(text_, item->key());
      const size_t content = text_.size();
      place == Place::kAmounts ? Amount(item->value()) : Value(item->value(), Inside(place, item->key()));
      // What has turned out empty (all mounts were of projected volumes, say) is as good as absent.
      if (std::string_view(text_).substr(content) == "[]") text_.resize(start);
    }
    text_ += '}';
  }

  void Amount(const Json& value) {
    const auto quantity = kube::Quantity::FromJson(value);
    if (!quantity) return base::AppendText(text_, value);
    text_ += std::to_string(quantity->Value()) + "/" + std::to_string(quantity->MilliValue()) + ",";
  }

  void Value(const Json& value, Place place) {
    if (const auto* object = value.if_object()) return Object(*object, place);
    if (const auto* array = value.if_array()) return Array(*array, place);
    base::AppendText(text_, value);
    text_ += ',';
  }

  void Array(const JsonArray& array, Place place) {
    text_ += '[';
    for (const Json& item : array) {
      const bool projected =
          (place == Place::kVolume || place == Place::kMount) && projected_.contains(FindString(item, {"name"}));
      if (!projected) Value(item, place);
    }
    text_ += ']';
  }

  std::set<std::string_view> projected_;
  std::string text_;
};

struct NodeReadiness {
  bool known = false, ready = true;
  base::Time last_transition{};
};

NodeReadiness ReadinessOf(const Json& node) {
  NodeReadiness readiness;
  for (const Json& condition : FindArray(node, {"status", "conditions"})) {
    const std::string_view type = FindString(condition, {"type"}), status = FindString(condition, {"status"});
    if (type == "Ready") {
      readiness.known = true;
      if (status == "False" || status == "Unknown") readiness.ready = false;
    } else if (type == "DiskPressure" || type == "NetworkUnavailable") {
      if (status == "True") readiness.ready = false;
    } else {
      continue;
    }
    const auto since = base::ParseTime(FindString(condition, {"lastTransitionTime"}));
    if (since) readiness.last_transition = std::max(readiness.last_transition, *since);
  }
  return readiness;
}

/// The value of a taint that tells since when it is there; a value that does not is taken for very old.
base::Time TaintTime(std::string_view value) {
  constexpr int64_t kSecondsMax = 9'000'000'000;
  const auto since = base::ParseNumber<int64_t>(value);
  if (!since || *since < 0 || *since > kSecondsMax) return {};
  return base::Time(std::chrono::seconds(*since));
}

void ReadCapacity(const Json& node, NodeFacts& facts) {
  for (const auto& [name, amount] : FindObject(node, {"status", "capacity"})) {
    const auto quantity = kube::Quantity::FromJson(amount);
    if (!quantity || quantity->IsZero()) continue;
    if (name == "cpu") facts.cores = quantity->Value();
    if (name == "memory") facts.memory = quantity->Value();
    if (IsGpuResource(name)) facts.gpus.emplace(name, quantity->Value());
  }
}

bool HasGpus(const Json& node) {
  for (const auto& [name, amount] : FindObject(node, {"status", "allocatable"})) {
    if (!IsGpuResource(name)) continue;
    const auto quantity = kube::Quantity::FromJson(amount);
    if (quantity && !quantity->IsZero()) return true;
  }
  return false;
}

}  // namespace

uint64_t PodSpecHash(const Json& pod) { return base::Blake2b64(SpecText(pod).text()); }

PodFacts DecodePodFacts(const Json& pod) { return DecodePodFacts(pod, kube::DecodeMeta(pod)); }

PodFacts DecodePodFacts(const Json& pod, const kube::ObjectMeta& meta) {
  PodFacts facts;
  facts.present = true;
  facts.key = meta.Key();
  if (const kube::OwnerReference* owner = meta.Controller()) {
    facts.owner_kind = owner->kind;
    facts.owner_name = owner->name;
    facts.owner_uid = owner->uid;
  }
  facts.phase = FindString(pod, {"status", "phase"});
  facts.restart_policy = FindString(pod, {"spec", "restartPolicy"}, "Always");
  facts.scheduler_name = FindString(pod, {"spec", "schedulerName"}, "default-scheduler");
  facts.created = meta.creation_time;
  facts.deleted = meta.deletion_time;
  facts.grace_seconds = FindInt(pod, {"spec", "terminationGracePeriodSeconds"}, 30);
  if (const Json* priority = Find(pod, {"spec", "priority"}); priority != nullptr && priority->is_number()) {
    facts.priority = static_cast<int32_t>(FindInt(pod, {"spec", "priority"}));
  }
  facts.mirror = meta.annotations.contains(scheduling::kMirrorAnnotation);
  facts.daemon = facts.owner_kind == "DaemonSet" || OurAnnotation(pod, "daemonset-pod") == "true";
  facts.requests_gpu = RequestsGpu(pod);
  DecodeScheduling(pod, facts);
  facts.safe_to_evict = Annotation(pod, scheduling::kSafeToEvictAnnotation);
  facts.scale_up_delay = OurAnnotation(pod, "pod-scale-up-delay");
  facts.ds_eviction = OurAnnotation(pod, "enable-ds-eviction");
  facts.local_storage = HasLocalStorage(pod);
  if (FindString(pod, {"spec", "nodeName"}).empty()) facts.spec_hash = PodSpecHash(pod);
  return facts;
}

bool IsStartupTaint(const Options& options, std::string_view key) {
  const auto starts = [key](std::string_view prefix) { return key.starts_with(prefix); };
  return std::ranges::any_of(kStartupPrefixes, starts) || std::ranges::any_of(options.startup_taint_prefixes, starts) ||
         std::ranges::find(options.startup_taints, key) != options.startup_taints.end() ||
         std::ranges::find(options.ignore_taints, key) != options.ignore_taints.end();
}

NodeFacts DecodeNodeFacts(const Json& node, const Options& options, std::string_view gpu_label, std::string_view group,
                          bool lacks_devices) {
  NodeFacts facts;
  facts.present = true;
  const kube::ObjectMeta meta = kube::DecodeMeta(node);
  facts.name = meta.name;
  facts.provider_id = FindString(node, {"spec", "providerID"});
  facts.created = meta.creation_time;
  facts.group = group;
  const NodeReadiness readiness = ReadinessOf(node);
  facts.ready = readiness.known && readiness.ready;
  facts.last_transition = readiness.last_transition;
  bool starting = false;
  for (const Json& taint : FindArray(node, {"spec", "taints"})) {
    const std::string_view key = FindString(taint, {"key"}), value = FindString(taint, {"value"});
    if (key == "node.kubernetes.io/not-ready" || key == "node.kubernetes.io/disk-pressure" ||
        key == "node.kubernetes.io/network-unavailable") {
      facts.ready = false;
    }
    if (key == scheduling::kToBeDeletedTaint) facts.to_be_deleted = TaintTime(value);
    if (key == scheduling::kDeletionCandidateTaint) facts.deletion_candidate = TaintTime(value);
    starting |= IsStartupTaint(options, key);
  }
  if (const auto label = gpu_label.empty() ? meta.labels.end() : meta.labels.find(std::string(gpu_label));
      label != meta.labels.end()) {
    facts.gpu = label->second;
    const auto by_driver = meta.labels.find(std::string(kGpusByDriverLabel));
    facts.gpus_by_driver = by_driver != meta.labels.end() && by_driver->second == "true";
    facts.resource_unready = !facts.gpus_by_driver && !HasGpus(node);
  }
  facts.lacks_devices = lacks_devices;
  facts.resource_unready |= lacks_devices;
  if (facts.resource_unready || starting) {
    facts.ready = false;
    facts.last_transition = meta.creation_time;
  }
  if (const Json* suspended = kube::FindCondition(node, "Suspended")) {
    facts.suspended = FindString(*suspended, {"status"}) == "True";
  }
  ReadCapacity(node, facts);
  const auto type = meta.labels.find("type");
  facts.virtual_kubelet = type != meta.labels.end() && type->second == "virtual-kubelet";
  facts.scale_down_disabled = OurAnnotation(node, "scale-down-disabled") == "true";
  return facts;
}

Budget DecodeBudget(const Json& object) {
  Budget budget{std::string(kube::NamespaceOf(object)), std::string(kube::NameOf(object)), kube::LabelSelector::Nothing(),
                FindInt(object, {"status", "disruptionsAllowed"})};
  if (const Json* selector = Find(object, {"spec", "selector"}); selector != nullptr) {
    budget.selector = kube::LabelSelector::FromJson(*selector).value_or(kube::LabelSelector::Nothing());
  }
  return budget;
}

Owner DecodeOwner(const Json& object) {
  Owner owner{std::string(FindString(object, {"kind"})), std::string(kube::NamespaceOf(object)),
              std::string(kube::NameOf(object)), std::string(kube::UidOf(object)), 1};
  owner.replicas = FindInt(object, {"spec", owner.kind == "Job" ? "parallelism" : "replicas"}, 1);
  return owner;
}

}  // namespace evenkeel::controllers::autoscaler
