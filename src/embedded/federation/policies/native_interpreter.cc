#include "embedded/federation/policies/native_interpreter.h"

#include <array>
#include <map>
#include <span>

#include "embedded/federation/policies/bindings.h"
#include "embedded/federation/policies/services.h"
#include "kube/karmada.h"
#include "kube/object.h"
#include "kube/quantity.h"

namespace evenkeel::embedded::federation {
namespace {

using base::Find;
using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr char kRetainReplicasLabel[] = "resourcetemplate.karmada.io/retain-replicas";

std::string_view KindOf(const Json& object) { return FindString(object, {"kind"}); }

bool InGroup(const Json& object, std::string_view group) { return FindString(object, {"apiVersion"}).starts_with(group); }

bool IsScaled(const Json& object) {
  const std::string_view kind = KindOf(object);
  return InGroup(object, "apps/") && (kind == "Deployment" || kind == "StatefulSet" || kind == "ReplicaSet");
}

/// The sum of the containers' requests; null when there are none.
Json RequirementsOf(const Json& object) {
  std::map<std::string, kube::Quantity> sums;
  for (const Json& container : FindArray(object, {"spec", "template", "spec", "containers"})) {
    for (const auto& [name, amount] : base::FindObject(container, {"resources", "requests"})) {
      if (const auto quantity = kube::Quantity::FromJson(amount)) sums[std::string(name)] += *quantity;
    }
  }
  if (sums.empty()) return nullptr;
  JsonObject requests;
  for (const auto& [name, amount] : sums) requests[name] = amount.ToString();
  JsonObject requirements{{"resourceRequest", std::move(requests)}};
  if (const std::string_view ns = kube::NamespaceOf(object); !ns.empty()) requirements["namespace"] = ns;
  return requirements;
}

void Keep(Json& desired, const Json& observed, std::initializer_list<std::string_view> path) {
  const Json* value = Find(observed, path);
  if (value != nullptr && Find(desired, path) == nullptr) base::Ensure(desired, path) = *value;
}

/// The numbers of a status that add up over members.
std::span<const char* const> SummedFields(const Json& object) {
  static constexpr std::array kDeployment{"replicas", "readyReplicas", "updatedReplicas", "availableReplicas",
                                          "unavailableReplicas"};
  static constexpr std::array kStatefulSet{"replicas", "readyReplicas", "currentReplicas", "updatedReplicas",
                                           "availableReplicas"};
  static constexpr std::array kReplicaSet{"replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas"};
  static constexpr std::array kDaemonSet{
      "currentNumberScheduled", "desiredNumberScheduled", "numberAvailable", "numberMisscheduled", "numberReady",
      "updatedNumberScheduled", "numberUnavailable"};
  static constexpr std::array kJob{"active", "succeeded", "failed"};
  const std::string_view kind = KindOf(object);
  if (InGroup(object, "batch/")) return kind == "Job" ? std::span<const char* const>(kJob) : std::span<const char* const>();
  if (!InGroup(object, "apps/")) return {};
  if (kind == "Deployment") return kDeployment;
  if (kind == "StatefulSet") return kStatefulSet;
  if (kind == "ReplicaSet") return kReplicaSet;
  if (kind == "DaemonSet") return kDaemonSet;
  return {};
}

/// A member has seen the template when the copy that it has observed carries the template's generation.
bool HasCaughtUp(const Json& item, int64_t generation) {
  const Json* status = Find(item, {"status"});
  if (status == nullptr) return false;
  return FindInt(*status, {"resourceTemplateGeneration"}) == generation &&
         FindInt(*status, {"generation"}) == FindInt(*status, {"observedGeneration"});
}

}  // namespace

std::optional<ReplicaDemand> NativeReplicas(const Json& object) {
  if (IsScaled(object)) return ReplicaDemand{FindInt(object, {"spec", "replicas"}, 1), RequirementsOf(object)};
  if (InGroup(object, "batch/") && KindOf(object) == "Job")
    return ReplicaDemand{FindInt(object, {"spec", "parallelism"}, 1), RequirementsOf(object)};
  return std::nullopt;
}

bool NativeRevise(Json& object, int64_t replicas) {
  if (IsScaled(object)) {
    base::Ensure(object, {"spec", "replicas"}) = replicas;
    return true;
  }
  if (!InGroup(object, "batch/") || KindOf(object) != "Job") return false;
  base::Ensure(object, {"spec", "parallelism"}) = replicas;
  return true;
}

void NativeRetain(Json& desired, const Json& observed) {
  const std::string_view kind = KindOf(desired);
  if (IsScaled(desired) && FindString(desired, {"metadata", "labels", kRetainReplicasLabel}) == "true") {
    if (const Json* replicas = Find(observed, {"spec", "replicas"})) base::Ensure(desired, {"spec", "replicas"}) = *replicas;
  } else if (kind == "Service") {
    for (const char* field : {"clusterIP", "clusterIPs", "healthCheckNodePort"}) Keep(desired, observed, {"spec", field});
  } else if (kind == "Job") {
    Keep(desired, observed, {"spec", "selector"});
    for (const char* label :
         {"controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name"})
      Keep(desired, observed, {"spec", "template", "metadata", "labels", label});
  } else if (kind == "PersistentVolumeClaim") {
    Keep(desired, observed, {"spec", "volumeName"});
  } else if (kind == "ServiceAccount") {
    Keep(desired, observed, {"secrets"});
  } else if (kind == "Pod") {
    for (const char* field : {"nodeName", "serviceAccountName", "volumes", "tolerations"})
      Keep(desired, observed, {"spec", field});
  }
}

JsonArray NativeDependencies(const Json& object) {
  if (KindOf(object) != kube::karmada::ServiceImports().kind || !InGroup(object, "multicluster.x-k8s.io/")) return {};
  const std::string service = kube::karmada::DerivedServiceName(kube::NameOf(object));
  const JsonObject labels{{"matchLabels", JsonObject{{kServiceNameLabel, service}}}};
  return {JsonObject{{"apiVersion", "v1"}, {"kind", "Service"}, {"namespace", kube::NamespaceOf(object)}, {"name", service}},
          JsonObject{{"apiVersion", kube::resources::EndpointSlices().ApiVersion()},
                     {"kind", kube::resources::EndpointSlices().kind},
                     {"namespace", kube::NamespaceOf(object)},
                     {"labelSelector", labels}}};
}

Json NativeStatus(const Json& observed) {
  const Json* status = Find(observed, {"status"});
  const auto summed = SummedFields(observed);
  if (summed.empty()) return status == nullptr ? Json(nullptr) : *status;
  JsonObject reflected;
  for (const char* field : summed) {
    if (const Json* value = Find(observed, {"status", field})) reflected[field] = *value;
  }
  for (const char* field : {"observedGeneration", "conditions"}) {
    if (const Json* value = Find(observed, {"status", field})) reflected[field] = *value;
  }
  reflected["generation"] = FindInt(observed, {"metadata", "generation"});
  const std::string generation(FindString(observed, {"metadata", "annotations", kTemplateGeneration}, "0"));
  reflected["resourceTemplateGeneration"] = std::strtoll(generation.c_str(), nullptr, 10);
  return reflected;
}

std::optional<bool> NativeHealth(const Json& observed) {
  const std::string_view kind = KindOf(observed);
  const auto status = [&](const char* field) { return FindInt(observed, {"status", field}); };
  if (IsScaled(observed)) {
    if (status("observedGeneration") != FindInt(observed, {"metadata", "generation"})) return false;
    const char* done = kind == "ReplicaSet" ? "replicas" : "updatedReplicas";
    return status(done) >= FindInt(observed, {"spec", "replicas"}, 1) && status("availableReplicas") >= status(done);
  }
  if (kind == "DaemonSet" && InGroup(observed, "apps/")) {
    if (status("observedGeneration") != FindInt(observed, {"metadata", "generation"})) return false;
    return status("updatedNumberScheduled") >= status("desiredNumberScheduled") &&
           status("numberAvailable") >= status("updatedNumberScheduled");
  }
  if (kind == "Pod" && FindString(observed, {"apiVersion"}) == "v1") {
    const std::string_view phase = FindString(observed, {"status", "phase"});
    return phase == "Succeeded" || (phase == "Running" && kube::ConditionStatus(observed, "Ready") == "True");
  }
  return std::nullopt;
}

std::optional<Json> NativeAggregate(const Json& object, const JsonArray& items) {
  const auto summed = SummedFields(object);
  if (summed.empty()) return std::nullopt;
  JsonObject status = base::FindObject(object, {"status"});
  for (const char* field : summed) {
    int64_t sum = 0;
    for (const Json& item : items) sum += FindInt(item, {"status", field});
    if (sum != 0 || status.contains(field)) status[field] = sum;
  }
  const int64_t generation = FindInt(object, {"metadata", "generation"});
  const bool all = std::ranges::all_of(items, [&](const Json& item) { return HasCaughtUp(item, generation); });
  // A Job's status has no such field.
  if (all && InGroup(object, "apps/")) status["observedGeneration"] = generation;
  return status;
}

}  // namespace evenkeel::embedded::federation
