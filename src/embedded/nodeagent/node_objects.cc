#include "embedded/nodeagent/node_objects.h"

#include "kube/object.h"
#include "kube/resource.h"

namespace evenkeel::embedded::nodeagent {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

#if defined(__aarch64__)
constexpr std::string_view kArchitecture = "arm64";
#else
constexpr std::string_view kArchitecture = "amd64";
#endif

kube::Labels NodeLabels(const NodeConfig& config) {
  kube::Labels labels = {
      {"kubernetes.io/hostname", config.name},
      {"kubernetes.io/os", "linux"},
      {"kubernetes.io/arch", std::string(kArchitecture)},
      {"beta.kubernetes.io/os", "linux"},
      {"beta.kubernetes.io/arch", std::string(kArchitecture)},
  };
  if (!config.instance_type.empty()) labels["node.kubernetes.io/instance-type"] = config.instance_type;
  if (!config.zone.empty()) labels["topology.kubernetes.io/zone"] = config.zone;
  if (!config.region.empty()) labels["topology.kubernetes.io/region"] = config.region;
  for (const auto& [key, value] : config.labels) labels[key] = value;
  return labels;
}

JsonObject StringMap(const std::map<std::string, std::string>& map) {
  JsonObject object;
  for (const auto& [key, value] : map) object[key] = value;
  return object;
}

void SetNodeCondition(Json& node, std::string_view type, std::string_view status, std::string_view reason,
                      std::string_view message, base::Time now) {
  kube::SetCondition(node, type, status, reason, message, now);
  for (Json& condition : node.at("status").at("conditions").get_array()) {
    if (base::FindString(condition, {"type"}) == type) condition.get_object()["lastHeartbeatTime"] = base::FormatTime(now);
  }
}

}  // namespace

void ReportNodeStatus(const NodeConfig& config, base::Time now, Json& node) {
  JsonObject& status = [&]() -> JsonObject& {
    Json& value = base::Ensure(node, {"status"});
    return value.is_object() ? value.get_object() : value.emplace_object();
  }();
  status["capacity"] = StringMap(config.capacity);
  status["allocatable"] = StringMap(config.allocatable.empty() ? config.capacity : config.allocatable);
  status["addresses"] = JsonArray{JsonObject{{"type", "InternalIP"}, {"address", config.internal_ip}},
                                  JsonObject{{"type", "Hostname"}, {"address", config.name}}};
  status["daemonEndpoints"] = JsonObject{{"kubeletEndpoint", JsonObject{{"Port", 10250}}}};
  status["nodeInfo"] = JsonObject{{"architecture", kArchitecture},
                                  {"operatingSystem", "linux"},
                                  {"osImage", "Evenkeel node agent"},
                                  {"kernelVersion", "6.1.0"},
                                  {"containerRuntimeVersion", "evenkeel://0.1.0"},
                                  {"kubeletVersion", config.kubelet_version},
                                  {"kubeProxyVersion", config.kubelet_version},
                                  {"machineID", config.name},
                                  {"systemUUID", config.name},
                                  {"bootID", config.name}};
  SetNodeCondition(node, "MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available",
                   now);
  SetNodeCondition(node, "DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure", now);
  SetNodeCondition(node, "PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available", now);
  SetNodeCondition(node, "Ready", "True", "KubeletReady", "kubelet is posting ready status", now);
}

Json NodeObject(const NodeConfig& config, base::Time now) {
  Json node = kube::NewObject(kube::resources::Nodes(), "", config.name);
  node.at("metadata").get_object()["labels"] = StringMap(NodeLabels(config));
  JsonObject spec;
  if (!config.provider_id.empty()) spec["providerID"] = config.provider_id;
  if (!config.pod_cidr.empty()) {
    spec["podCIDR"] = config.pod_cidr;
    spec["podCIDRs"] = JsonArray{config.pod_cidr};
  }
  if (!config.taints.empty()) {
    JsonArray taints;
    for (const kube::Taint& taint : config.taints) {
      taints.push_back(JsonObject{{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
    }
    spec["taints"] = std::move(taints);
  }
  node.get_object()["spec"] = std::move(spec);
  ReportNodeStatus(config, now, node);
  return node;
}

Json NodeLease(const std::string& node, const std::string& uid, base::Duration duration, base::Time now) {
  Json lease = kube::NewObject(kube::resources::Leases(), "kube-node-lease", node);
  if (!uid.empty()) {
    lease.at("metadata").get_object()["ownerReferences"] =
        JsonArray{JsonObject{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}, {"uid", uid}}};
  }
  lease.get_object()["spec"] =
      JsonObject{{"holderIdentity", node},
                 {"leaseDurationSeconds", std::chrono::duration_cast<std::chrono::seconds>(duration).count()},
                 {"renewTime", base::FormatMicroTime(now)}};
  return lease;
}

}  // namespace evenkeel::embedded::nodeagent
