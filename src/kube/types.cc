#include "kube/types.h"

#include "base/hash.h"
#include "base/parse_number.h"
#include "kube/amounts.h"
#include "kube/quantity.h"

namespace evenkeel::kube {
namespace {

using base::Find;
using base::FindArray;
using base::FindBool;
using base::FindInt;
using base::FindObject;
using base::FindString;
using base::Json;

std::string Text(const Json& value, std::initializer_list<std::string_view> path) {
  return std::string(FindString(value, path));
}

Container DecodeContainer(const Json& json, bool init) {
  Container container;
  container.name = Text(json, {"name"});
  container.image = Text(json, {"image"});
  container.requests = DecodeResourceList(Find(json, {"resources", "requests"}));
  container.limits = DecodeResourceList(Find(json, {"resources", "limits"}));
  container.sidecar = init && FindString(json, {"restartPolicy"}) == "Always";
  for (const Json& port : FindArray(json, {"ports"})) {
    container.ports.push_back({Text(port, {"name"}), std::string(FindString(port, {"protocol"}, "TCP")), Text(port, {"hostIP"}),
                               static_cast<int>(FindInt(port, {"containerPort"})),
                               static_cast<int>(FindInt(port, {"hostPort"}))});
  }
  return container;
}

ContainerStatus DecodeStatus(const Json& json) {
  ContainerStatus status;
  status.name = Text(json, {"name"});
  status.ready = FindBool(json, {"ready"});
  status.restart_count = static_cast<int>(FindInt(json, {"restartCount"}));
  status.running = Find(json, {"state", "running"}) != nullptr;
  status.terminated = Find(json, {"state", "terminated"}) != nullptr;
  status.waiting = Find(json, {"state", "waiting"}) != nullptr;
  status.reason = Text(json, {"state", status.terminated ? "terminated" : "waiting", "reason"});
  status.exit_code = static_cast<int>(FindInt(json, {"state", "terminated", "exitCode"}));
  return status;
}

std::vector<NodeSelectorRequirement> DecodeRequirements(const base::JsonArray& array) {
  std::vector<NodeSelectorRequirement> requirements;
  for (const Json& item : array) {
    requirements.push_back({Text(item, {"key"}), Text(item, {"operator"}), base::FindTexts(item, {"values"})});
  }
  return requirements;
}

void DecodePodStatus(const Json& json, Pod& pod) {
  pod.phase = Text(json, {"status", "phase"});
  pod.pod_ip = Text(json, {"status", "podIP"});
  pod.host_ip = Text(json, {"status", "hostIP"});
  pod.reason = Text(json, {"status", "reason"});
  pod.nominated_node = Text(json, {"status", "nominatedNodeName"});
  for (const Json& status : FindArray(json, {"status", "containerStatuses"})) pod.statuses.push_back(DecodeStatus(status));
  pod.ready = ConditionStatus(json, "Ready") == "True";
  pod.scheduled = ConditionStatus(json, "PodScheduled") == "True";
}

void DecodePod(const Json& json, Pod& pod) {
  pod.meta = DecodeMeta(json);
  pod.node_name = Text(json, {"spec", "nodeName"});
  pod.scheduler_name = Text(json, {"spec", "schedulerName"});
  pod.priority_class = Text(json, {"spec", "priorityClassName"});
  pod.restart_policy = std::string(FindString(json, {"spec", "restartPolicy"}, "Always"));
  pod.service_account = Text(json, {"spec", "serviceAccountName"});
  pod.priority = FindInt(json, {"spec", "priority"});
  pod.termination_grace_seconds = FindInt(json, {"spec", "terminationGracePeriodSeconds"}, 30);
  for (const Json& item : FindArray(json, {"spec", "containers"})) pod.containers.push_back(DecodeContainer(item, false));
  for (const Json& item : FindArray(json, {"spec", "initContainers"}))
    pod.init_containers.push_back(DecodeContainer(item, true));
  pod.node_selector = base::FindTextMap(json, {"spec", "nodeSelector"});
  const auto& terms = FindArray(
      json, {"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  for (const Json& term : terms) {
    pod.required_node_terms.push_back(
        {DecodeRequirements(FindArray(term, {"matchExpressions"})), DecodeRequirements(FindArray(term, {"matchFields"}))});
  }
  for (const Json& item : FindArray(json, {"spec", "tolerations"})) {
    Toleration toleration{Text(item, {"key"}), Text(item, {"operator"}), Text(item, {"value"}), Text(item, {"effect"}), {}};
    if (Find(item, {"tolerationSeconds"}) != nullptr) toleration.seconds = FindInt(item, {"tolerationSeconds"});
    pod.tolerations.push_back(std::move(toleration));
  }
  // What it asks for as a whole counts instead of what its containers do: the rest is taken for overhead.
  const ResourceList whole = DecodeResourceList(Find(json, {"spec", "resources", "requests"}));
  ResourceList parts;
  if (!whole.empty()) parts = pod.Requests();
  pod.overhead = DecodeResourceList(Find(json, {"spec", "overhead"}));
  for (const auto& [name, amount] : whole) {
    if (IsPodLevelResourceName(name)) pod.overhead[name] += amount - parts[name];
  }
  DecodePodStatus(json, pod);
}

void Add(ResourceList& sum, const ResourceList& more) {
  for (const auto& [name, amount] : more) sum[name] += amount;
}

void RaiseTo(ResourceList& floor, const ResourceList& other) {
  for (const auto& [name, amount] : other) floor[name] = std::max(floor[name], amount);
}

std::optional<std::string> IntOrPercent(const Json& json, std::initializer_list<std::string_view> path) {
  const Json* value = Find(json, path);
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (const auto* text = value->if_string()) return std::string(*text);
  return std::to_string(FindInt(json, path));
}

}  // namespace

ResourceList DecodeResourceList(const Json* quantities) {
  ResourceList list;
  if (quantities == nullptr || !quantities->is_object()) return list;
  for (const auto& [name, value] : quantities->get_object()) {
    auto quantity =
        value.is_string() ? Quantity::Parse(std::string_view(value.get_string())) : Quantity::Parse(base::ToText(value));
    if (quantity) list[name] = name == "cpu" ? quantity->MilliValue() : quantity->Value();
  }
  return list;
}

std::string AmountText(const std::string& resource, int64_t amount) {
  if (resource == "cpu") return Quantity::FromMilli(amount).ToString();
  const bool bytes = resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
  return Quantity::FromInt(amount, bytes ? Quantity::Format::kBinarySi : Quantity::Format::kDecimalSi).ToString();
}

bool HasEnded(const Json& pod) {
  const std::string_view phase = FindString(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

bool Toleration::Tolerates(const Taint& taint) const {
  if (!effect.empty() && effect != taint.effect) return false;
  if (op == "Exists") return key.empty() || key == taint.key;
  return key == taint.key && value == taint.value;
}

ResourceList Pod::Requests() const {
  // Sidecars start in order with the init containers and stay: an init container runs beside those started before it.
  ResourceList sidecars, peak, sum;
  for (const Container& container : init_containers) {
    ResourceList here = sidecars;
    Add(here, container.requests);
    RaiseTo(peak, here);
    if (container.sidecar) Add(sidecars, container.requests);
  }
  for (const Container& container : containers) Add(sum, container.requests);
  Add(sum, sidecars);
  RaiseTo(sum, peak);
  Add(sum, overhead);
  sum["pods"] = 1;
  return sum;
}

Pod Pod::Decode(const Json& json) {
  Pod pod;
  DecodePod(json, pod);
  pod.json = std::make_shared<const Json>(json);
  return pod;
}

CompactPod CompactPod::Decode(const Json& json) {
  CompactPod pod;
  DecodePod(json, pod);
  return pod;
}

Node Node::Decode(const Json& json) {
  Node node;
  node.meta = DecodeMeta(json);
  node.unschedulable = FindBool(json, {"spec", "unschedulable"});
  node.provider_id = Text(json, {"spec", "providerID"});
  node.pod_cidr = Text(json, {"spec", "podCIDR"});
  for (const Json& taint : FindArray(json, {"spec", "taints"})) {
    node.taints.push_back({Text(taint, {"key"}), Text(taint, {"value"}), Text(taint, {"effect"})});
  }
  node.declared_features = base::FindTexts(json, {"status", "declaredFeatures"});
  std::ranges::sort(node.declared_features);
  node.capacity = DecodeResourceList(Find(json, {"status", "capacity"}));
  const Json* allocatable = Find(json, {"status", "allocatable"});
  node.allocatable = allocatable == nullptr ? node.capacity : DecodeResourceList(allocatable);
  if (const Json* ready = FindCondition(json, "Ready")) {
    node.ready = FindString(*ready, {"status"}) == "True";
    if (auto since = base::ParseTime(FindString(*ready, {"lastTransitionTime"}))) node.ready_since = *since;
  }
  return node;
}

Workload Workload::Decode(const Json& json) {
  Workload workload;
  workload.meta = DecodeMeta(json);
  workload.replicas = FindInt(json, {"spec", "replicas"}, 1);
  if (const Json* selector = Find(json, {"spec", "selector"})) {
    if (auto parsed = LabelSelector::FromJson(*selector)) workload.selector = *std::move(parsed);
  }
  workload.observed_generation = FindInt(json, {"status", "observedGeneration"});
  workload.status_replicas = FindInt(json, {"status", "replicas"});
  workload.ready_replicas = FindInt(json, {"status", "readyReplicas"});
  workload.available_replicas = FindInt(json, {"status", "availableReplicas"});
  workload.updated_replicas = FindInt(json, {"status", "updatedReplicas"});
  workload.min_ready_seconds = FindInt(json, {"spec", "minReadySeconds"});
  workload.paused = FindBool(json, {"spec", "paused"});
  workload.json = std::make_shared<const Json>(json);
  return workload;
}

PodDisruptionBudget PodDisruptionBudget::Decode(const Json& json) {
  PodDisruptionBudget budget;
  budget.meta = DecodeMeta(json);
  if (const Json* selector = Find(json, {"spec", "selector"})) {
    if (auto parsed = LabelSelector::FromJson(*selector)) budget.selector = *std::move(parsed);
  }
  budget.min_available = IntOrPercent(json, {"spec", "minAvailable"});
  budget.max_unavailable = IntOrPercent(json, {"spec", "maxUnavailable"});
  budget.disruptions_allowed = FindInt(json, {"status", "disruptionsAllowed"});
  budget.current_healthy = FindInt(json, {"status", "currentHealthy"});
  budget.desired_healthy = FindInt(json, {"status", "desiredHealthy"});
  budget.expected_pods = FindInt(json, {"status", "expectedPods"});
  budget.observed_generation = FindInt(json, {"status", "observedGeneration"});
  budget.json = std::make_shared<const Json>(json);
  return budget;
}

DataObject DataObject::Decode(const Json& json) {
  DataObject object;
  object.meta = DecodeMeta(json);
  object.type = Text(json, {"type"});
  const bool secret = FindString(json, {"kind"}) == "Secret";
  for (const char* field : {"data", "binaryData"}) {
    const bool base64 = secret || std::string_view(field) == "binaryData";
    for (const auto& [key, value] : FindObject(json, {field})) {
      const auto* text = value.if_string();
      if (text == nullptr) continue;
      std::string bytes(*text);
      if (base64 && !base::Base64Decode(*text, bytes)) continue;
      object.data[key] = std::move(bytes);
    }
  }
  return object;
}

std::optional<int64_t> ScaledValue(const Json* int_or_percent, int64_t total, bool round_up) {
  if (int_or_percent == nullptr) return std::nullopt;
  if (int_or_percent->is_int64()) return int_or_percent->get_int64();
  if (int_or_percent->is_uint64()) return static_cast<int64_t>(int_or_percent->get_uint64());
  const auto* text = int_or_percent->if_string();
  if (text == nullptr || text->empty()) return std::nullopt;
  const bool percent = text->back() == '%';
  const auto number = base::ParseNumber<int64_t>(std::string_view(*text).substr(0, text->size() - (percent ? 1 : 0)));
  if (!number || !percent) return number;
  return round_up ? (*number * total + 99) / 100 : *number * total / 100;
}

}  // namespace evenkeel::kube
