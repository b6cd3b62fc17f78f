// ResourceSlices, DeviceClasses and claims from JSON, and allocations back to it.
#include <algorithm>

#include "scheduling/devices/device_objects.h"
#include "scheduling/devices/device_selectors.h"
#include "scheduling/node_shape.h"

namespace evenkeel::scheduling {
namespace {

using base::FindArray;
using base::FindBool;
using base::FindInt;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

/// The API's limits; what is beyond them is not looked at.
constexpr size_t kDevicesMax = 128, kAttributesMax = 32, kTaintsMax = 16, kConditionsMax = 4, kSetsMax = 8, kCountersMax = 32,
                 kRequestsMax = 32, kChoicesMax = 8, kSelectorsMax = 32, kConfigsMax = 32, kValuesMax = 10, kReservedMax = 256,
                 kResultsMax = 32;
constexpr int64_t kSlicesMax = int64_t{1} << 40;

std::string TextAt(const Json& json, std::initializer_list<std::string_view> path) {
  return std::string(FindString(json, path));
}

template <typename Read>
void ReadItems(const Json& json, std::initializer_list<std::string_view> path, size_t most, const Read& read) {
  size_t seen = 0;
  for (const Json& item : FindArray(json, path)) {
    if (++seen > most) return;
    if (item.is_object()) read(item);
  }
}

std::vector<std::string> ReadTexts(const Json& json, std::string_view field, size_t most) {
  std::vector<std::string> texts;
  for (const Json& item : FindArray(json, {field})) {
    if (texts.size() < most && item.is_string()) texts.emplace_back(item.get_string());
  }
  return texts;
}

std::optional<kube::Quantity> QuantityAt(const Json& json, std::string_view field) {
  const Json* value = base::Find(json, {field});
  if (value == nullptr || value->is_null()) return std::nullopt;
  const auto quantity = kube::Quantity::FromJson(*value);
  return quantity ? std::optional(*quantity) : std::nullopt;
}

/// {"name": {"value": "1"}} or {"name": "1"}.
DeviceAmounts ReadAmounts(const JsonObject& object, size_t most) {
  DeviceAmounts amounts;
  for (const auto& [name, value] : object) {
    if (amounts.size() >= most) break;
    const Json* amount = value.is_object() ? base::Find(value.get_object(), "value") : &value;
    const auto quantity =
        amount == nullptr ? base::Result<kube::Quantity>(kube::Quantity()) : kube::Quantity::FromJson(*amount);
    amounts.emplace(name, quantity ? *quantity : kube::Quantity());
  }
  return amounts;
}

std::vector<CounterSet> ReadCounters(const Json& json, std::string_view list, std::string_view name) {
  std::vector<CounterSet> sets;
  ReadItems(json, {list}, kSetsMax, [&](const Json& item) {
    sets.push_back({TextAt(item, {name}), ReadAmounts(FindObject(item, {"counters"}), kCountersMax)});
  });
  return sets;
}

NodeChoice ReadNodes(const Json& json) {
  NodeChoice nodes;
  nodes.name = TextAt(json, {"nodeName"});
  const Json* selector = base::Find(json, {"nodeSelector"});
  if (!nodes.name.empty()) {
    nodes.kind = NodeChoice::Kind::kName;
  } else if (FindBool(json, {"allNodes"})) {
    nodes.kind = NodeChoice::Kind::kAll;
  } else if (selector != nullptr && selector->is_object()) {
    nodes.kind = NodeChoice::Kind::kSelector;
    nodes.terms = DecodeNodeSelectorTerms(FindArray(*selector, {"nodeSelectorTerms"}));
  } else if (FindBool(json, {"perDeviceNodeSelection"})) {
    nodes.kind = NodeChoice::Kind::kPerDevice;
  }
  return nodes;
}

DeviceAttribute ReadAttribute(const Json& json) {
  const JsonObject* object = json.if_object();
  if (object == nullptr) return {};
  if (const Json* text = base::Find(*object, "string"); text != nullptr && text->is_string()) {
    return {DeviceAttribute::Type::kString, std::string(text->get_string())};
  }
  if (const Json* number = base::Find(*object, "int"); number != nullptr && number->is_int64()) {
    return {DeviceAttribute::Type::kInt, std::to_string(number->get_int64())};
  }
  if (const Json* flag = base::Find(*object, "bool"); flag != nullptr && flag->is_bool()) {
    return {DeviceAttribute::Type::kBool, flag->get_bool() ? "true" : "false"};
  }
  if (const Json* version = base::Find(*object, "version"); version != nullptr && version->is_string()) {
    return {DeviceAttribute::Type::kVersion, std::string(version->get_string())};
  }
  return {};
}

DeviceCapacity ReadCapacity(const Json& json) {
  DeviceCapacity capacity;
  if (const auto value = QuantityAt(json, "value")) capacity.value = *value;
  const Json* policy = base::Find(json, {"requestPolicy"});
  if (policy == nullptr || !policy->is_object()) return capacity;
  CapacityPolicy& read = capacity.policy.emplace();
  read.otherwise = QuantityAt(*policy, "default");
  for (const Json& value : FindArray(*policy, {"validValues"})) {
    const auto quantity = kube::Quantity::FromJson(value);
    if (quantity && read.values.size() < kValuesMax) read.values.push_back(*quantity);
  }
  if (const Json* range = base::Find(*policy, {"validRange"}); range != nullptr && range->is_object()) {
    read.min = QuantityAt(*range, "min");
    read.max = QuantityAt(*range, "max");
    read.step = QuantityAt(*range, "step");
    if (!read.min) read.min = kube::Quantity();
  }
  return capacity;
}

Device ReadDevice(const Json& json, const std::string& driver, DeviceSelectors& selectors) {
  Device device;
  device.name = TextAt(json, {"name"});
  device.shared = FindBool(json, {"allowMultipleAllocations"});
  device.binds_to_node = FindBool(json, {"bindsToNode"});
  const JsonObject& attributes = FindObject(json, {"attributes"});
  const JsonObject& capacity = FindObject(json, {"capacity"});
  for (const auto& [name, value] : attributes) {
    if (device.attributes.size() < kAttributesMax) device.attributes.emplace(name, ReadAttribute(value));
  }
  for (const auto& [name, value] : capacity) {
    if (device.capacity.size() < kAttributesMax) device.capacity.emplace(name, ReadCapacity(value));
  }
  device.facts = selectors.Intern({driver, attributes, capacity, device.shared, {}, 0});
  device.consumes = ReadCounters(json, "consumesCounters", "counterSet");
  ReadItems(json, {"taints"}, kTaintsMax, [&](const Json& item) {
    device.taints.push_back({TextAt(item, {"key"}), TextAt(item, {"value"}), TextAt(item, {"effect"})});
  });
  device.binding_conditions = ReadTexts(json, "bindingConditions", kConditionsMax);
  device.binding_failure_conditions = ReadTexts(json, "bindingFailureConditions", kConditionsMax);
  device.nodes = ReadNodes(json);
  return device;
}

std::vector<std::string> ReadSelectors(const Json& json) {
  std::vector<std::string> selectors;
  ReadItems(json, {"selectors"}, kSelectorsMax,
            [&](const Json& item) { selectors.push_back(TextAt(item, {"cel", "expression"})); });
  return selectors;
}

DeviceRequest ReadRequest(const Json& json, std::string name) {
  DeviceRequest request;
  request.name = std::move(name);
  request.class_name = TextAt(json, {"deviceClassName"});
  request.selectors = ReadSelectors(json);
  const std::string_view mode = FindString(json, {"allocationMode"});
  if (mode == "All") {
    request.mode = DeviceRequest::Mode::kAll;
  } else if (!mode.empty() && mode != "ExactCount") {
    request.mode = DeviceRequest::Mode::kUnknown;
  }
  request.count = std::max<int64_t>(FindInt(json, {"count"}, 1), 0);
  request.admin = FindBool(json, {"adminAccess"});
  ReadItems(json, {"tolerations"}, kTaintsMax, [&](const Json& item) {
    std::string op = TextAt(item, {"operator"});
    request.tolerations.push_back(
        {TextAt(item, {"key"}), op.empty() ? "Equal" : std::move(op), TextAt(item, {"value"}), TextAt(item, {"effect"}), {}});
    request.tolerations_json.push_back(item);
  });
  const Json* capacity = base::Find(json, {"capacity"});
  request.asks_capacity = capacity != nullptr && capacity->is_object();
  request.capacity = ReadAmounts(FindObject(json, {"capacity", "requests"}), kAttributesMax);
  return request;
}

ClaimRequest ReadClaimRequest(const Json& json) {
  ClaimRequest request;
  request.name = TextAt(json, {"name"});
  ReadItems(json, {"firstAvailable"}, kChoicesMax,
            [&](const Json& item) { request.first_available.push_back(ReadRequest(item, TextAt(item, {"name"}))); });
  if (const Json* exactly = base::Find(json, {"exactly"}); exactly != nullptr && exactly->is_object()) {
    request.exactly = ReadRequest(*exactly, request.name);
  }
  // Neither: a request of a later version, which asks for what is not known.
  if (!request.exactly && request.first_available.empty()) request.exactly = ReadRequest(json, request.name);
  return request;
}

DeviceConstraint ReadConstraint(const Json& json) {
  DeviceConstraint constraint;
  constraint.requests = ReadTexts(json, "requests", kRequestsMax);
  constraint.attribute = TextAt(json, {"matchAttribute"});
  if (!constraint.attribute.empty()) {
    constraint.kind = DeviceConstraint::Kind::kMatch;
    return constraint;
  }
  constraint.attribute = TextAt(json, {"distinctAttribute"});
  if (!constraint.attribute.empty()) constraint.kind = DeviceConstraint::Kind::kDistinct;
  return constraint;
}

DeviceResult ReadResult(const Json& json) {
  DeviceResult result;
  result.request = TextAt(json, {"request"});
  result.device = {TextAt(json, {"driver"}), TextAt(json, {"pool"}), TextAt(json, {"device"})};
  result.admin = FindBool(json, {"adminAccess"});
  result.share_id = TextAt(json, {"shareID"});
  result.consumed = ReadAmounts(FindObject(json, {"consumedCapacity"}), kAttributesMax);
  result.shared = !result.share_id.empty() || !result.consumed.empty();
  result.tolerations = FindArray(json, {"tolerations"});
  result.binding_conditions = ReadTexts(json, "bindingConditions", kConditionsMax);
  result.binding_failure_conditions = ReadTexts(json, "bindingFailureConditions", kConditionsMax);
  return result;
}

std::shared_ptr<const ClaimAllocation> ReadAllocation(const Json& claim) {
  const Json* json = base::Find(claim, {"status", "allocation"});
  if (json == nullptr || !json->is_object()) return nullptr;
  auto allocation = std::make_shared<ClaimAllocation>();
  ReadItems(*json, {"devices", "results"}, kResultsMax,
            [&](const Json& item) { allocation->results.push_back(ReadResult(item)); });
  allocation->config = FindArray(*json, {"devices", "config"});
  const Json* selector = base::Find(*json, {"nodeSelector"});
  if (selector != nullptr && selector->is_object()) {
    allocation->nodes = DecodeNodeSelectorTerms(FindArray(*selector, {"nodeSelectorTerms"}));
  }
  return allocation;
}

bool BindingFailed(const Json& claim, const DeviceResult& result) {
  if (result.binding_failure_conditions.empty()) return false;
  for (const Json& device : FindArray(claim, {"status", "devices"})) {
    const DeviceName name{TextAt(device, {"driver"}), TextAt(device, {"pool"}), TextAt(device, {"device"})};
    if (name != result.device) continue;
    for (const Json& condition : FindArray(device, {"conditions"})) {
      if (FindString(condition, {"status"}) == "True" &&
          std::ranges::find(result.binding_failure_conditions, FindString(condition, {"type"})) !=
              result.binding_failure_conditions.end()) {
        return true;
      }
    }
  }
  return false;
}

JsonArray WriteRequirements(const std::vector<kube::NodeSelectorRequirement>& requirements) {
  JsonArray items;
  for (const auto& requirement : requirements) {
    JsonObject item{{"key", requirement.key}, {"operator", requirement.op}};
    if (!requirement.values.empty()) item["values"] = JsonArray(requirement.values.begin(), requirement.values.end());
    items.push_back(std::move(item));
  }
  return items;
}

Json WriteNodeSelector(const std::vector<kube::NodeSelectorTerm>& terms) {
  JsonArray items;
  for (const auto& term : terms) {
    JsonObject item;
    if (!term.expressions.empty()) item["matchExpressions"] = WriteRequirements(term.expressions);
    if (!term.fields.empty()) item["matchFields"] = WriteRequirements(term.fields);
    items.push_back(std::move(item));
  }
  return JsonObject{{"nodeSelectorTerms", std::move(items)}};
}

void WriteNodes(const NodeChoice& nodes, JsonObject& object) {
  switch (nodes.kind) {
    case NodeChoice::Kind::kName:
      object["nodeName"] = nodes.name;
      return;
    case NodeChoice::Kind::kAll:
      object["allNodes"] = true;
      return;
    case NodeChoice::Kind::kSelector:
      object["nodeSelector"] = WriteNodeSelector(nodes.terms);
      return;
    case NodeChoice::Kind::kPerDevice:
      object["perDeviceNodeSelection"] = true;
      return;
    case NodeChoice::Kind::kUnknown:
      return;
  }
}

JsonArray WriteCounters(const std::vector<CounterSet>& sets, std::string_view name) {
  JsonArray items;
  for (const CounterSet& set : sets) {
    JsonObject counters;
    for (const auto& [counter, amount] : set.counters) counters[counter] = JsonObject{{"value", amount.ToString()}};
    items.push_back(JsonObject{{name, set.name}, {"counters", std::move(counters)}});
  }
  return items;
}

void WriteTexts(std::string_view field, const std::vector<std::string>& list, JsonObject& object) {
  if (!list.empty()) object[field] = JsonArray(list.begin(), list.end());
}

Json WriteDevice(const Device& device) {
  JsonObject item{{"name", device.name}, {"attributes", device.facts->attributes}, {"capacity", device.facts->capacity}};
  if (device.shared) item["allowMultipleAllocations"] = true;
  if (device.binds_to_node) item["bindsToNode"] = true;
  if (!device.consumes.empty()) item["consumesCounters"] = WriteCounters(device.consumes, "counterSet");
  JsonArray taints;
  for (const kube::Taint& taint : device.taints) {
    taints.push_back(JsonObject{{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  }
  if (!taints.empty()) item["taints"] = std::move(taints);
  WriteTexts("bindingConditions", device.binding_conditions, item);
  WriteTexts("bindingFailureConditions", device.binding_failure_conditions, item);
  WriteNodes(device.nodes, item);
  return item;
}

}  // namespace

Json WriteResourceSlice(const ResourceSlice& slice) {
  JsonObject spec{
      {"driver", slice.pool.driver},
      {"pool",
       JsonObject{{"name", slice.pool.pool}, {"generation", slice.generation}, {"resourceSliceCount", slice.slice_count}}}};
  WriteNodes(slice.nodes, spec);
  JsonArray devices;
  for (const Device& device : slice.devices) devices.push_back(WriteDevice(device));
  if (!devices.empty()) spec["devices"] = std::move(devices);
  if (!slice.counters.empty()) spec["sharedCounters"] = WriteCounters(slice.counters, "name");
  return JsonObject{{"metadata", JsonObject{{"name", slice.name}}}, {"spec", std::move(spec)}};
}

ResourceSlice DecodeResourceSlice(const Json& json, DeviceSelectors& selectors) {
  ResourceSlice slice;
  slice.name = kube::NameOf(json);
  const Json* found = base::Find(json, {"spec"});
  if (found == nullptr || !found->is_object()) return slice;
  const Json& spec = *found;
  slice.pool = {TextAt(spec, {"driver"}), TextAt(spec, {"pool", "name"})};
  slice.generation = FindInt(spec, {"pool", "generation"});
  slice.slice_count = std::min(FindInt(spec, {"pool", "resourceSliceCount"}), kSlicesMax);
  slice.nodes = ReadNodes(spec);
  ReadItems(spec, {"devices"}, kDevicesMax,
            [&](const Json& item) { slice.devices.push_back(ReadDevice(item, slice.pool.driver, selectors)); });
  slice.counters = ReadCounters(spec, "sharedCounters", "name");
  return slice;
}

DeviceClass DecodeDeviceClass(const Json& json) {
  DeviceClass device_class;
  device_class.name = kube::NameOf(json);
  device_class.created = TextAt(json, {"metadata", "creationTimestamp"});
  if (const Json* spec = base::Find(json, {"spec"}); spec != nullptr && spec->is_object()) {
    device_class.selectors = ReadSelectors(*spec);
    device_class.extended_resource = TextAt(*spec, {"extendedResourceName"});
    ReadItems(*spec, {"config"}, kConfigsMax, [&](const Json& item) { device_class.config.push_back(item); });
  }
  return device_class;
}

ClaimSpec DecodeClaimSpec(const Json& spec) {
  ClaimSpec read;
  ReadItems(spec, {"devices", "requests"}, kRequestsMax,
            [&](const Json& item) { read.requests.push_back(ReadClaimRequest(item)); });
  ReadItems(spec, {"devices", "constraints"}, kRequestsMax,
            [&](const Json& item) { read.constraints.push_back(ReadConstraint(item)); });
  ReadItems(spec, {"devices", "config"}, kConfigsMax, [&](const Json& item) {
    const Json* opaque = base::Find(item, {"opaque"});
    read.config.push_back({ReadTexts(item, "requests", kRequestsMax), opaque == nullptr ? Json() : *opaque});
  });
  const Json* devices = base::Find(spec, {"devices"});
  read.text = devices == nullptr ? "" : base::CanonicalText(*devices);
  return read;
}

ResourceClaim DecodeResourceClaim(const Json& json) {
  ResourceClaim claim;
  claim.ns = kube::NamespaceOf(json);
  claim.name = kube::NameOf(json);
  claim.uid = kube::UidOf(json);
  claim.deleting = base::Find(json, {"metadata", "deletionTimestamp"}) != nullptr;
  for (const Json& owner : FindArray(json, {"metadata", "ownerReferences"})) {
    if (FindBool(owner, {"controller"})) claim.owner_uid = TextAt(owner, {"uid"});
  }
  claim.extended_resource =
      FindString(json, {"metadata", "annotations", "resource.kubernetes.io/extended-resource-claim"}) == "true";
  const Json* spec = base::Find(json, {"spec"});
  claim.spec = std::make_shared<const ClaimSpec>(spec == nullptr ? ClaimSpec() : DecodeClaimSpec(*spec));
  claim.allocation = ReadAllocation(json);
  ReadItems(json, {"status", "reservedFor"}, kReservedMax,
            [&](const Json& item) { claim.reserved_for.push_back(TextAt(item, {"uid"})); });
  if (claim.allocation != nullptr) {
    claim.binding_failed =
        std::ranges::any_of(claim.allocation->results, [&](const DeviceResult& result) { return BindingFailed(json, result); });
  }
  return claim;
}

ResourceClaimTemplate DecodeResourceClaimTemplate(const Json& json) {
  const Json* spec = base::Find(json, {"spec", "spec"});
  return {std::string(kube::NamespaceOf(json)), std::string(kube::NameOf(json)),
          std::make_shared<const ClaimSpec>(spec == nullptr ? ClaimSpec() : DecodeClaimSpec(*spec))};
}

Json ClaimAllocation::Write(const std::vector<std::string>& share_ids) const {
  JsonArray items;
  for (size_t i = 0; i < results.size(); ++i) {
    const DeviceResult& result = results[i];
    JsonObject item{{"request", result.request},
                    {"driver", result.device.driver},
                    {"pool", result.device.pool},
                    {"device", result.device.device}};
    if (result.admin) item["adminAccess"] = true;
    if (!result.tolerations.empty()) item["tolerations"] = result.tolerations;
    WriteTexts("bindingConditions", result.binding_conditions, item);
    WriteTexts("bindingFailureConditions", result.binding_failure_conditions, item);
    if (result.shared) {
      item["shareID"] = share_ids[i];
      JsonObject consumed;
      for (const auto& [name, amount] : result.consumed) consumed[name] = amount.ToString();
      if (!consumed.empty()) item["consumedCapacity"] = std::move(consumed);
    }
    items.push_back(std::move(item));
  }
  JsonObject devices{{"results", std::move(items)}};
  if (!config.empty()) devices["config"] = config;
  JsonObject json{{"devices", std::move(devices)}};
  if (nodes) json["nodeSelector"] = WriteNodeSelector(*nodes);
  return json;
}

}  // namespace evenkeel::scheduling
