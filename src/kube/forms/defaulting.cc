#include "kube/forms/defaulting.h"

#include "base/text.h"
#include "kube/amounts.h"
#include "kube/autoscaling.h"

#include <map>

#include "kube/schema/schema.h"

namespace evenkeel::kube {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

JsonObject* DefaultedObject(JsonObject* parent, std::string_view key) {
  Json* value = parent == nullptr ? nullptr : parent->if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

std::string_view DefaultedText(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

bool DefaultedFlag(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

bool IsUnset(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value == nullptr || value->is_null() || (value->is_string() && value->get_string().empty());
}

void SetIfUnset(JsonObject& object, std::string_view key, Json value) {
  if (IsUnset(object, key)) object[key] = std::move(value);
}

template <typename Function>
void ForEachObject(JsonObject& parent, std::string_view key, Function function) {
  Json* list = parent.if_contains(key);
  if (list == nullptr || !list->is_array()) return;
  for (Json& item : list->get_array()) {
    if (item.is_object()) function(item.get_object());
  }
}

template <typename Function>
void ForEachContainer(JsonObject& spec, Function function) {
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) ForEachObject(spec, list, function);
}

/// Always for the tag latest and for none; a digest names the content, so it need not be pulled again.
std::string_view PullPolicyFor(std::string_view image) {
  if (image.find('@') != image.npos) return "IfNotPresent";
  const size_t slash = image.rfind('/');
  const std::string_view last = slash == image.npos ? image : image.substr(slash + 1);
  const size_t colon = last.rfind(':');
  return colon == last.npos || last.substr(colon + 1) == "latest" ? "Always" : "IfNotPresent";
}

bool HasVolumeSource(const JsonObject& volume) {
  for (const auto& [key, value] : volume) {
    if (key != "name" && !value.is_null()) return true;
  }
  return false;
}

void DefaultPodSpec(JsonObject& spec) {
  ForEachContainer(spec, [](JsonObject& container) {
    if (IsUnset(container, "imagePullPolicy")) container["imagePullPolicy"] = PullPolicyFor(DefaultedText(container, "image"));
  });
  ForEachObject(spec, "volumes", [](JsonObject& volume) {
    if (!HasVolumeSource(volume)) volume["emptyDir"].emplace_object();
  });
  if (DefaultedFlag(spec, "hostNetwork")) {
    ForEachContainer(spec, [](JsonObject& container) {
      ForEachObject(container, "ports", [](JsonObject& port) {
        if (const Json* number = port.if_contains("containerPort"); number != nullptr && !port.contains("hostPort")) {
          port["hostPort"] = Json(*number);
        }
      });
    });
  }
  // Two names for one field: whichever is set is shown under both.
  if (!IsUnset(spec, "serviceAccountName")) {
    spec["serviceAccount"] = Json(spec.at("serviceAccountName"));
  } else if (!IsUnset(spec, "serviceAccount")) {
    spec["serviceAccountName"] = Json(spec.at("serviceAccount"));
  }
}

void RequestsFromLimits(JsonObject& container) {
  JsonObject* resources = DefaultedObject(&container, "resources");
  JsonObject* limits = DefaultedObject(resources, "limits");
  if (limits == nullptr || limits->empty()) return;
  Json& requests = (*resources)["requests"];
  if (requests.is_null()) requests.emplace_object();
  if (!requests.is_object()) return;
  // The insertion above may have moved the limits.
  for (const auto& [name, amount] : *DefaultedObject(resources, "limits")) {
    if (!requests.get_object().contains(name)) requests.get_object()[name] = Json(amount);
  }
}

/// Of a pod that is limited as a whole: what its containers request together, else the limit.
void DefaultPodRequests(Json& pod) {
  JsonObject* resources = DefaultedObject(DefaultedObject(pod.if_object(), "spec"), "resources");
  const JsonObject* limits = DefaultedObject(resources, "limits");
  if (limits == nullptr || limits->empty()) return;
  Amounts wanted = PodRequests(pod, PodOverhead::kLeftOut);
  wanted.merge(AmountsOf(resources->if_contains("limits")));
  Json& requests = (*resources)["requests"];
  if (requests.is_null()) requests.emplace_object();
  if (!requests.is_object()) return;
  for (const auto& [name, amount] : wanted) {
    if (IsPodLevelResourceName(name) && !requests.get_object().contains(name)) requests.get_object()[name] = amount.ToString();
  }
}

void DefaultPod(Json& object) {
  JsonObject* spec = DefaultedObject(object.if_object(), "spec");
  if (spec == nullptr) return;
  DefaultPodSpec(*spec);
  for (const char* list : {"initContainers", "containers"}) ForEachObject(*spec, list, RequestsFromLimits);
  DefaultPodRequests(object);
  SetIfUnset(*spec, "enableServiceLinks", true);
}

JsonObject* TemplateOf(JsonObject* spec) { return DefaultedObject(spec, "template"); }

void DefaultTemplate(JsonObject* spec) {
  if (JsonObject* pod = DefaultedObject(TemplateOf(spec), "spec")) DefaultPodSpec(*pod);
}

void DefaultTemplateOnly(Json& object) { DefaultTemplate(DefaultedObject(object.if_object(), "spec")); }

/// Details of a rolling update exist only when that is the strategy.
void DefaultRollingUpdate(JsonObject* spec, std::string_view field, JsonObject details) {
  JsonObject* strategy = DefaultedObject(spec, field);
  if (strategy == nullptr || DefaultedText(*strategy, "type") != "RollingUpdate") return;
  Json& present = (*strategy)["rollingUpdate"];
  if (present.is_null()) present.emplace_object();
  if (!present.is_object()) return;
  for (const auto& [key, value] : details) {
    if (!present.get_object().contains(key)) present.get_object()[key] = Json(value);
  }
}

void DefaultDeployment(Json& object) {
  JsonObject* spec = DefaultedObject(object.if_object(), "spec");
  DefaultRollingUpdate(spec, "strategy", {{"maxUnavailable", "25%"}, {"maxSurge", "25%"}});
  DefaultTemplate(spec);
}

void DefaultDaemonSet(Json& object) {
  JsonObject* spec = DefaultedObject(object.if_object(), "spec");
  DefaultRollingUpdate(spec, "updateStrategy", {{"maxUnavailable", 1}, {"maxSurge", 0}});
  DefaultTemplate(spec);
}

void DefaultStatefulSet(Json& object) {
  JsonObject* spec = DefaultedObject(object.if_object(), "spec");
  DefaultRollingUpdate(spec, "updateStrategy", {{"partition", 0}});
  DefaultTemplate(spec);
  if (spec == nullptr) return;
  ForEachObject(*spec, "volumeClaimTemplates", [](JsonObject& claim) {
    SetIfUnset(claim, "apiVersion", "v1");
    SetIfUnset(claim, "kind", "PersistentVolumeClaim");
  });
}

void CopyTemplateLabels(JsonObject& object, JsonObject& spec) {
  JsonObject* metadata = DefaultedObject(TemplateOf(&spec), "metadata");
  JsonObject* labels = DefaultedObject(metadata, "labels");
  if (labels == nullptr || labels->empty()) return;
  const Json copy = *labels;
  Json& own = object["metadata"];
  if (!own.is_object()) own.emplace_object();
  const JsonObject* present = DefaultedObject(&own.get_object(), "labels");
  if (present == nullptr || present->empty()) own.get_object()["labels"] = copy;
}

void DefaultJob(Json& object) {
  JsonObject* root = object.if_object();
  JsonObject* spec = DefaultedObject(root, "spec");
  if (spec == nullptr) return;
  // One of the two alone means something else: a work queue, or as many at a time as are to complete.
  if (IsUnset(*spec, "completions") && IsUnset(*spec, "parallelism")) (*spec)["completions"] = 1;
  SetIfUnset(*spec, "parallelism", 1);
  SetIfUnset(*spec, "backoffLimit", IsUnset(*spec, "backoffLimitPerIndex") ? 6 : 2147483647);
  SetIfUnset(*spec, "completionMode", "NonIndexed");
  SetIfUnset(*spec, "suspend", false);
  SetIfUnset(*spec, "podReplacementPolicy", IsUnset(*spec, "podFailurePolicy") ? "TerminatingOrFailed" : "Failed");
  CopyTemplateLabels(*root, *DefaultedObject(root, "spec"));
  DefaultTemplate(DefaultedObject(root, "spec"));
}

void DefaultCronJob(Json& object) {
  JsonObject* spec = DefaultedObject(object.if_object(), "spec");
  DefaultTemplate(DefaultedObject(DefaultedObject(spec, "jobTemplate"), "spec"));
}

void DefaultReplicationController(Json& object) {
  JsonObject* root = object.if_object();
  JsonObject* spec = DefaultedObject(root, "spec");
  if (spec == nullptr) return;
  JsonObject* labels = DefaultedObject(DefaultedObject(TemplateOf(spec), "metadata"), "labels");
  if (labels != nullptr && !labels->empty()) {
    const JsonObject* selector = DefaultedObject(spec, "selector");
    if (selector == nullptr || selector->empty()) {
      Json copy = *labels;
      (*spec)["selector"] = std::move(copy);
    }
    CopyTemplateLabels(*root, *DefaultedObject(root, "spec"));
  }
  DefaultTemplate(DefaultedObject(root, "spec"));
}

void DefaultPodTemplate(Json& object) { DefaultTemplate(object.if_object()); }

void DefaultService(Json& object) {
  JsonObject* spec = DefaultedObject(object.if_object(), "spec");
  if (spec == nullptr) return;
  const std::string type(DefaultedText(*spec, "type"));
  if (type != "ExternalName") {
    ForEachObject(*spec, "ports", [](JsonObject& port) {
      const Json* target = port.if_contains("targetPort");
      const bool unset = target == nullptr || target->is_null() || *target == Json(0) || *target == Json("");
      if (const Json* number = port.if_contains("port"); unset && number != nullptr) {
        Json copy = *number;
        port["targetPort"] = std::move(copy);
      }
    });
    SetIfUnset(*spec, "internalTrafficPolicy", "Cluster");
  }
  const Json* addresses = spec->if_contains("externalIPs");
  const bool reachable = addresses != nullptr && addresses->is_array() && !addresses->get_array().empty();
  if (type == "NodePort" || type == "LoadBalancer" || (type == "ClusterIP" && reachable)) {
    SetIfUnset(*spec, "externalTrafficPolicy", "Cluster");
  }
  if (type == "LoadBalancer") SetIfUnset(*spec, "allocateLoadBalancerNodePorts", true);
  if (DefaultedText(*spec, "sessionAffinity") == "ClientIP") {
    Json& config = (*spec)["sessionAffinityConfig"];
    if (config.is_null()) config = JsonObject{{"clientIP", JsonObject{{"timeoutSeconds", 10800}}}};
  }
}

void DefaultNamespace(Json& object) {
  JsonObject* root = object.if_object();
  if (root == nullptr) return;
  Json& status = (*root)["status"];
  if (status.is_null()) status.emplace_object();
  if (status.is_object()) SetIfUnset(status.get_object(), "phase", "Active");
  JsonObject* metadata = DefaultedObject(root, "metadata");
  if (metadata == nullptr || IsUnset(*metadata, "name")) return;
  const Json name = metadata->at("name");
  Json& labels = (*metadata)["labels"];
  if (labels.is_null()) labels.emplace_object();
  if (labels.is_object()) labels.get_object()["kubernetes.io/metadata.name"] = name;
}

void DefaultNode(Json& object) {
  JsonObject* status = DefaultedObject(object.if_object(), "status");
  if (status == nullptr || DefaultedObject(status, "capacity") == nullptr || DefaultedObject(status, "allocatable") != nullptr)
    return;
  Json copy = status->at("capacity");
  (*status)["allocatable"] = std::move(copy);
}

void FillAmounts(JsonObject& limit, std::string_view into, std::string_view from) {
  if (DefaultedObject(&limit, from) == nullptr) return;
  const JsonObject source = *DefaultedObject(&limit, from);
  Json& target = limit[into];
  if (target.is_null()) target.emplace_object();
  if (!target.is_object()) return;
  for (const auto& [name, amount] : source) {
    if (!target.get_object().contains(name)) target.get_object()[name] = Json(amount);
  }
}

void DefaultLimitRange(Json& object) {
  JsonObject* spec = DefaultedObject(object.if_object(), "spec");
  if (spec == nullptr) return;
  ForEachObject(*spec, "limits", [](JsonObject& limit) {
    if (DefaultedText(limit, "type") != "Container") return;
    FillAmounts(limit, "default", "max");
    FillAmounts(limit, "defaultRequest", "default");
    FillAmounts(limit, "defaultRequest", "min");
  });
}

/// What it says nothing about is not its business, but what comes in always is.
void DefaultNetworkPolicy(Json& object) {
  JsonObject* spec = DefaultedObject(object.if_object(), "spec");
  if (spec == nullptr ||
      (spec->contains("policyTypes") && spec->at("policyTypes").is_array() && !spec->at("policyTypes").get_array().empty())) {
    return;
  }
  JsonArray types{"Ingress"};
  const Json* egress = spec->if_contains("egress");
  if (egress != nullptr && egress->is_array() && !egress->get_array().empty()) types.emplace_back("Egress");
  (*spec)["policyTypes"] = std::move(types);
}

void DefaultRoleBinding(Json& object) {
  JsonObject* root = object.if_object();
  if (root == nullptr) return;
  ForEachObject(*root, "subjects", [](JsonObject& subject) {
    const std::string_view kind = DefaultedText(subject, "kind");
    if (kind == "User" || kind == "Group") SetIfUnset(subject, "apiGroup", "rbac.authorization.k8s.io");
  });
}

/// One device, where a number is asked for and none is given.
void DefaultDevices(JsonObject* claim) {
  const auto count = [](JsonObject& request) {
    Json* number = request.if_contains("count");
    const bool unset = number == nullptr || number->is_null() || *number == Json(0);
    if (DefaultedText(request, "allocationMode") == "ExactCount" && unset) request["count"] = 1;
  };
  JsonObject* devices = DefaultedObject(claim, "devices");
  if (devices == nullptr) return;
  ForEachObject(*devices, "requests", [&](JsonObject& request) {
    if (JsonObject* exactly = DefaultedObject(&request, "exactly")) count(*exactly);
    ForEachObject(request, "firstAvailable", count);
  });
}

void DefaultResourceClaim(Json& object) { DefaultDevices(DefaultedObject(object.if_object(), "spec")); }

void DefaultResourceClaimTemplate(Json& object) {
  DefaultDevices(DefaultedObject(DefaultedObject(object.if_object(), "spec"), "spec"));
}

void DefaultCustomResourceDefinition(Json& object) {
  JsonObject* spec = DefaultedObject(object.if_object(), "spec");
  JsonObject* names = DefaultedObject(spec, "names");
  if (names == nullptr || IsUnset(*names, "kind")) return;
  const std::string kind(DefaultedText(*names, "kind"));
  SetIfUnset(*names, "singular", boost::json::string(base::Lower(kind)));
  SetIfUnset(*names, "listKind", boost::json::string(kind + "List"));
}

}  // namespace

ContextualDefaults DefaultsFor(std::string_view group, std::string_view kind) {
  static const std::map<std::pair<std::string_view, std::string_view>, ContextualDefaults> kDefaults = {
      {{"", "Pod"}, DefaultPod},
      {{"", "PodTemplate"}, DefaultPodTemplate},
      {{"", "ReplicationController"}, DefaultReplicationController},
      {{"", "Service"}, DefaultService},
      {{"", "Namespace"}, DefaultNamespace},
      {{"", "Node"}, DefaultNode},
      {{"", "LimitRange"}, DefaultLimitRange},
      {{"apps", "Deployment"}, DefaultDeployment},
      {{"networking.k8s.io", "NetworkPolicy"}, DefaultNetworkPolicy},
      {{"apps", "ReplicaSet"}, DefaultTemplateOnly},
      {{"apps", "StatefulSet"}, DefaultStatefulSet},
      {{"apps", "DaemonSet"}, DefaultDaemonSet},
      {{"autoscaling", "HorizontalPodAutoscaler"}, DefaultAutoscaler},
      {{"batch", "Job"}, DefaultJob},
      {{"batch", "CronJob"}, DefaultCronJob},
      {{"rbac.authorization.k8s.io", "RoleBinding"}, DefaultRoleBinding},
      {{"rbac.authorization.k8s.io", "ClusterRoleBinding"}, DefaultRoleBinding},
      {{"apiextensions.k8s.io", "CustomResourceDefinition"}, DefaultCustomResourceDefinition},
      {{"resource.k8s.io", "ResourceClaim"}, DefaultResourceClaim},
      {{"resource.k8s.io", "ResourceClaimTemplate"}, DefaultResourceClaimTemplate},
  };
  const auto found = kDefaults.find({group, kind});
  return found == kDefaults.end() ? nullptr : found->second;
}

void ApplyKindDefaults(const Resource& resource, Json& object) {
  if (resource.schema != nullptr) ApplyDefaults(object, *resource.schema);
  if (const ContextualDefaults contextual = DefaultsFor(resource.group, resource.kind)) contextual(object);
}

}  // namespace evenkeel::kube
