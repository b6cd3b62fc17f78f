#include "embedded/apiserver/objects/strategy.h"

#include <set>

#include "base/hash.h"
#include "kube/amounts.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr std::string_view kDeviceGroup = "resource.k8s.io";

bool IsKind(const Served& served, std::string_view group, std::string_view plural) {
  return !served.custom && served.resource.group == group && served.resource.plural == plural;
}

void SetOrErase(JsonObject& object, std::string_view key, const Json* value) {
  if (value == nullptr) {
    object.erase(key);
  } else {
    object[key] = *value;
  }
}

void AddToleration(Json& spec, std::string_view key) {
  Json& tolerations = base::Ensure(spec, {"tolerations"});
  if (!tolerations.is_array()) tolerations = JsonArray();
  for (const Json& toleration : tolerations.get_array()) {
    const std::string_view present = base::FindString(toleration, {"key"});
    const std::string_view effect = base::FindString(toleration, {"effect"});
    if ((present == key || present.empty()) && (effect.empty() || effect == "NoExecute")) return;
  }
  tolerations.get_array().push_back(
      JsonObject{{"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 300}});
}

void PreparePod(Json& pod) {
  Json& spec = base::Ensure(pod, {"spec"});
  if (spec.is_object()) {
    AddToleration(spec, "node.kubernetes.io/not-ready");
    AddToleration(spec, "node.kubernetes.io/unreachable");
    JsonObject& fields = spec.get_object();
    if (!fields.contains("serviceAccountName")) fields["serviceAccountName"] = "default";
    const Json account = fields["serviceAccountName"];  // a copy: another field may move this one
    fields["serviceAccount"] = account;
    if (!fields.contains("priority")) fields["priority"] = 0;
    if (!fields.contains("preemptionPolicy")) fields["preemptionPolicy"] = "PreemptLowerPriority";
  }
  pod.as_object()["status"] = JsonObject{{"phase", "Pending"}, {"qosClass", QosClass(pod)}};
}

void PrepareJob(Json& job) {
  const std::string_view uid = base::FindString(job, {"metadata", "uid"});
  const std::string_view name = base::FindString(job, {"metadata", "name"});
  job.as_object()["status"] = JsonObject();
  if (base::FindBool(job, {"spec", "manualSelector"})) return;
  Json& labels = base::Ensure(job, {"spec", "template", "metadata", "labels"});
  if (!labels.is_object()) labels = JsonObject();
  labels.get_object()["batch.kubernetes.io/controller-uid"] = uid;
  labels.get_object()["batch.kubernetes.io/job-name"] = name;
  labels.get_object()["controller-uid"] = uid;
  labels.get_object()["job-name"] = name;
  Json& selector = base::Ensure(job, {"spec", "selector", "matchLabels"});
  if (!selector.is_object()) selector = JsonObject();
  selector.get_object()["batch.kubernetes.io/controller-uid"] = uid;
  // A job without labels has those of its pods.
  if (!base::FindObject(job, {"metadata", "labels"}).empty()) return;
  const Json of_pods = *base::Find(job, {"spec", "template", "metadata", "labels"});
  base::Ensure(job, {"metadata", "labels"}) = of_pods;
}

void PrepareSecret(Json& secret) {
  const Json* plain = base::Find(secret, {"stringData"});
  if (plain != nullptr && plain->is_object()) {
    const JsonObject copy = plain->get_object();
    Json& data = base::Ensure(secret, {"data"});
    if (!data.is_object()) data = JsonObject();
    for (const auto& [key, value] : copy) {
      if (value.is_string()) data.get_object()[key] = base::Base64Encode(value.get_string());
    }
  }
  secret.as_object().erase("stringData");
}

void PrepareNamespace(Json& ns) {
  Json& finalizers = base::Ensure(ns, {"spec", "finalizers"});
  if (!finalizers.is_array()) finalizers = JsonArray();
  if (std::ranges::find(finalizers.get_array(), Json("kubernetes")) == finalizers.get_array().end()) {
    finalizers.get_array().emplace_back("kubernetes");
  }
  ns.as_object()["status"] = JsonObject{{"phase", "Active"}};
  const std::string name(base::FindString(ns, {"metadata", "name"}));  // making the labels moves what a view would look at
  base::Ensure(ns, {"metadata", "labels", "kubernetes.io/metadata.name"}) = name;
}

// When a taint came is said once.
void StampTaints(Json& slice, base::Time now) {
  Json* devices = base::Find(slice, {"spec", "devices"});
  if (devices == nullptr || !devices->is_array()) return;
  for (Json& device : devices->get_array()) {
    Json* taints = base::Find(device, {"taints"});
    if (taints == nullptr || !taints->is_array()) continue;
    for (Json& taint : taints->get_array()) {
      if (taint.is_object() && !taint.get_object().contains("timeAdded"))
        taint.get_object()["timeAdded"] = base::FormatTime(now);
    }
  }
}

// What drivers have said of devices that the claim has no more goes with them.
void DropStatusOfFreed(Json& claim, const Json& old) {
  const auto name = [](const Json& device) {
    std::string text;
    for (const std::string_view part : {"driver", "pool", "device"}) text.append(base::FindString(device, {part})).append("\n");
    return text;
  };
  const auto allocated = [&](const Json& from) {
    std::set<std::string> names;
    for (const Json& result : base::FindArray(from, {"status", "allocation", "devices", "results"})) names.insert(name(result));
    return names;
  };
  const std::set<std::string> before = allocated(old), now = allocated(claim);
  Json* devices = base::Find(claim, {"status", "devices"});
  if (devices == nullptr || !devices->is_array()) return;
  JsonArray kept;
  for (Json& device : devices->get_array()) {
    const std::string text = name(device);
    if (!before.contains(text) || now.contains(text)) kept.push_back(std::move(device));
  }
  if (kept.empty()) {
    base::Erase(claim, {"status", "devices"});
  } else {
    *devices = std::move(kept);
  }
}

// The status that a kind begins with: counters that are written even when zero.
JsonObject FirstStatus(const Served& served) {
  const std::string& plural = served.resource.plural;
  if (plural == "replicasets" || plural == "replicationcontrollers") return {{"replicas", 0}};
  if (plural == "statefulsets") return {{"replicas", 0}, {"availableReplicas", 0}};
  if (plural == "daemonsets") {
    return {{"currentNumberScheduled", 0}, {"numberMisscheduled", 0}, {"desiredNumberScheduled", 0}, {"numberReady", 0}};
  }
  if (plural == "poddisruptionbudgets") {
    return {{"disruptionsAllowed", 0}, {"currentHealthy", 0}, {"desiredHealthy", 0}, {"expectedPods", 0}};
  }
  if (plural == "services" || plural == "ingresses") return {{"loadBalancer", JsonObject()}};
  if (plural == "persistentvolumes" || plural == "persistentvolumeclaims") return {{"phase", "Pending"}};
  if (plural == "horizontalpodautoscalers") return {{"currentReplicas", 0}, {"desiredReplicas", 0}};
  return {};
}

bool AllZero(const JsonObject& amounts) {
  for (const auto& [name, amount] : amounts) {
    if (amount.is_string() && amount.get_string() != "0") return false;
    if (amount.is_number() && amount.to_number<double>() != 0) return false;
  }
  return true;
}

// Of a container, or of a pod as a whole.
void JudgeQos(const Json& taker, bool& any, bool& guaranteed) {
  const JsonObject& requests = base::FindObject(taker, {"resources", "requests"});
  const JsonObject& limits = base::FindObject(taker, {"resources", "limits"});
  any = any || !AllZero(requests) || !AllZero(limits);
  for (const std::string_view name : {"cpu", "memory"}) {
    const Json* limit = limits.if_contains(name);
    const Json* request = requests.if_contains(name);
    if (limit == nullptr || (request != nullptr && !base::Equal(*limit, *request))) guaranteed = false;
  }
}

// Whether what the user asks for differs: everything but metadata and status.
bool SpecChanged(const Json& object, const Json& old) {
  const auto differs = [](const JsonObject& a, const JsonObject& b) {
    for (const auto& field : a) {
      if (field.key() == "metadata" || field.key() == "status" || field.key() == "apiVersion" || field.key() == "kind")
        continue;
      const Json* other = b.if_contains(field.key());
      if (other == nullptr || !base::Equal(field.value(), *other)) return true;
    }
    return false;
  };
  return differs(object.get_object(), old.get_object()) || differs(old.get_object(), object.get_object());
}

// Whether a request to the status subresource changes nothing of the metadata; of other kinds it does, as upstream's strategies
// have it: kubernetes@1.36:pkg/registry (ResetObjectMetaForStatus), apiextensions-apiserver/pkg/registry/customresource.
bool KeepsMetadataFromStatus(const Served& served) {
  return served.custom || IsKind(served, "apiregistration.k8s.io", "apiservices") ||
         IsKind(served, "flowcontrol.apiserver.k8s.io", "flowschemas") ||
         IsKind(served, "flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations") ||
         IsKind(served, "storage.k8s.io", "volumeattachments") || IsKind(served, kDeviceGroup, "resourceclaims");
}

}  // namespace

std::string_view QosClass(const Json& pod) {
  bool any = false, guaranteed = true;
  const bool whole = kube::HasPodLevelResources(pod);
  if (whole) JudgeQos(pod.at("spec"), any, guaranteed);
  for (const std::string_view list : {"containers", "initContainers"}) {
    for (const Json& container : base::FindArray(pod, {"spec", list})) {
      if (!whole) JudgeQos(container, any, guaranteed);
    }
  }
  if (!any) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

void FillNewMetadata(const Served& served, Json& object, std::string_view uid, base::Time now) {
  JsonObject& metadata = base::Ensure(object, {"metadata"}).as_object();
  for (const std::string_view field :
       {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion", "generation"}) {
    metadata.erase(field);
  }
  metadata["uid"] = uid;
  metadata["creationTimestamp"] = base::FormatTime(now);
  if (served.has_generation) metadata["generation"] = 1;
}

void PrepareForCreate(const Served& served, Json& object, base::Time now) {
  if (served.custom) {
    if (served.status_subresource) object.as_object().erase("status");
    return;
  }
  if (IsKind(served, "", "pods")) return PreparePod(object);
  if (IsKind(served, "batch", "jobs")) return PrepareJob(object);
  if (IsKind(served, "", "secrets")) return PrepareSecret(object);
  if (IsKind(served, "", "namespaces")) return PrepareNamespace(object);
  if (IsKind(served, kDeviceGroup, "resourceslices")) return StampTaints(object, now);
  // A kubelet registers its node together with the node's status.
  if (IsKind(served, "", "nodes")) return;
  if (served.status_subresource) object.as_object()["status"] = FirstStatus(served);
}

void KeepServerMetadata(Json& object, const Json& old) {
  JsonObject& metadata = base::Ensure(object, {"metadata"}).as_object();
  for (const std::string_view field : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
                                       "deletionGracePeriodSeconds", "generation", "generateName"}) {
    SetOrErase(metadata, field, base::Find(old, {"metadata", field}));
  }
  metadata.erase("selfLink");
}

void PrepareForUpdate(const Served& served, Json& object, const Json& old, base::Time now) {
  KeepServerMetadata(object, old);
  if (served.status_subresource) SetOrErase(object.as_object(), "status", base::Find(old, {"status"}));
  if (IsKind(served, "", "secrets")) PrepareSecret(object);
  if (IsKind(served, kDeviceGroup, "resourceslices")) StampTaints(object, now);
  if (IsKind(served, "", "namespaces")) {
    SetOrErase(object.as_object(), "spec", base::Find(old, {"spec"}));
    base::Ensure(object, {"metadata", "labels", "kubernetes.io/metadata.name"}) =
        base::FindString(object, {"metadata", "name"});
  }
  if (served.has_generation && SpecChanged(object, old)) {
    base::Ensure(object, {"metadata", "generation"}) = base::FindInt(old, {"metadata", "generation"}) + 1;
  }
}

void PrepareForStatusUpdate(const Served& served, Json& object, const Json& old) {
  Json result = old;
  SetOrErase(result.as_object(), "status", base::Find(object, {"status"}));
  if (IsKind(served, kDeviceGroup, "resourceclaims")) DropStatusOfFreed(result, old);
  if (KeepsMetadataFromStatus(served)) {
    if (const Json* fields = base::Find(object, {"metadata", "managedFields"})) {
      base::Ensure(result, {"metadata", "managedFields"}) = *fields;
    }
    object = std::move(result);
    return;
  }
  if (const Json* metadata = base::Find(object, {"metadata"})) base::Ensure(result, {"metadata"}) = *metadata;
  KeepServerMetadata(result, old);
  JsonObject& metadata = base::Ensure(result, {"metadata"}).as_object();
  if (IsKind(served, "apps", "deployments")) SetOrErase(metadata, "labels", base::Find(old, {"metadata", "labels"}));
  if (IsKind(served, "", "pods")) SetOrErase(metadata, "ownerReferences", base::Find(old, {"metadata", "ownerReferences"}));
  object = std::move(result);
}

}  // namespace evenkeel::embedded::apiserver
