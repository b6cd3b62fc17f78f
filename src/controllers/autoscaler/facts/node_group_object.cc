#include "controllers/autoscaler/facts/node_group_object.h"

#include <cmath>

#include "kube/object.h"
#include "kube/quantity.h"
#include "kube/selector.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Find;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using providers::Instance;
using providers::NodeGroup;
using providers::NodeGroupOptions;

constexpr int64_t kSizeMax = 1'000'000;

/// Reads the fields of one object; errors say where it stands, its name and the field.
class Reader {
 public:
  explicit Reader(const kube::ManifestObject& object) : object_(object) {
    where_ = object.where.empty() ? "" : object.where + ": ";
    where_ += "NodeGroup " + std::string(kube::NameOf(object.object)) + ": ";
  }

  std::unexpected<base::Error> Wrong(const std::string& field, const std::string& what) const {
    std::string message = where_ + field + ": " + what;
    std::ranges::replace_if(message, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    return base::Fail(base::Code::kBadRequest, std::move(message));
  }

  const Json* At(std::string_view field) const {
    const Json* value = Find(object_.object, {"spec", field});
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  const Json* InStatus(std::string_view field) const {
    const Json* value = Find(object_.object, {"status", field});
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  base::Result<std::optional<int64_t>> Size(std::string_view field) const {
    const Json* value = At(field);
    if (value == nullptr) return std::nullopt;
    const int64_t size = base::FindInt(object_.object, {"spec", field}, -1);
    if (size < 0 || size > kSizeMax) {
      return Wrong("spec." + std::string(field), "not a whole number from 0 to " + std::to_string(kSizeMax));
    }
    return size;
  }

 private:
  const kube::ManifestObject& object_;
  std::string where_;
};

base::Status ReadSizes(const Reader& reader, NodeGroup& group) {
  EVENKEEL_ASSIGN(const auto min, reader.Size("minSize"));
  EVENKEEL_ASSIGN(const auto max, reader.Size("maxSize"));
  EVENKEEL_ASSIGN(const auto target, reader.Size("targetSize"));
  if (!max) return reader.Wrong("spec.maxSize", "missing");
  group.min_size = min.value_or(0);
  group.max_size = *max;
  group.target_size = target.value_or(-1);
  if (group.max_size < group.min_size) {
    return reader.Wrong("spec.maxSize",
                        std::to_string(group.max_size) + " is less than spec.minSize " + std::to_string(group.min_size));
  }
  if (const Json* price = reader.At("pricePerHour")) {
    if (!price->is_number() || !(price->to_number<double>() >= 0) || !std::isfinite(price->to_number<double>())) {
      return reader.Wrong("spec.pricePerHour", "not a number of at least 0");
    }
    group.price_per_hour = price->to_number<double>();
  }
  return {};
}

base::Status CheckQuantities(const Reader& reader, const Json& status, std::string_view list) {
  const Json* amounts = Find(status, {list});
  if (amounts == nullptr || amounts->is_null()) return {};
  const std::string field = "spec.template.status." + std::string(list);
  if (!amounts->is_object()) return reader.Wrong(field, "not an object of quantities");
  for (const auto& [name, value] : amounts->get_object()) {
    const auto quantity = kube::Quantity::FromJson(value);
    if (!quantity) return reader.Wrong(field + "." + std::string(name), quantity.error().message());
    if (*quantity < kube::Quantity()) return reader.Wrong(field + "." + std::string(name), "less than 0");
  }
  return {};
}

base::Status CheckTaints(const Reader& reader, const Json& node) {
  const Json* taints = Find(node, {"spec", "taints"});
  if (taints == nullptr || taints->is_null()) return {};
  if (!taints->is_array()) return reader.Wrong("spec.template.spec.taints", "not a list");
  size_t index = 0;
  for (const Json& taint : taints->get_array()) {
    const std::string field = "spec.template.spec.taints[" + std::to_string(index++) + "]";
    if (base::FindString(taint, {"key"}).empty()) return reader.Wrong(field + ".key", "missing");
    const std::string_view effect = base::FindString(taint, {"effect"});
    if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute") {
      return reader.Wrong(field + ".effect", "must be NoSchedule, PreferNoSchedule or NoExecute");
    }
  }
  return {};
}

base::Status ReadTemplate(const Reader& reader, NodeGroup& group) {
  const Json* given = reader.At("template");
  if (given == nullptr) return {};
  if (!given->is_object()) return reader.Wrong("spec.template", "not an object");
  Json node(*given, {});
  const Json* allocatable = Find(node, {"status", "allocatable"});
  if (allocatable == nullptr || !allocatable->is_object() || allocatable->get_object().empty()) {
    return reader.Wrong("spec.template.status.allocatable", "missing: it says how much fits on a new node");
  }
  for (const char* list : {"allocatable", "capacity"}) EVENKEEL_TRY(CheckQuantities(reader, node.at("status"), list));
  EVENKEEL_TRY(CheckTaints(reader, node));
  for (const char* part : {"metadata", "spec"}) {
    const Json* value = Find(node, {part});
    if (value != nullptr && !value->is_object()) return reader.Wrong("spec.template." + std::string(part), "not an object");
  }
  const Json* labels = Find(node, {"metadata", "labels"});
  if (labels != nullptr && !labels->is_null()) {
    if (!labels->is_object()) return reader.Wrong("spec.template.metadata.labels", "not an object of texts");
    for (const auto& [name, value] : labels->get_object()) {
      if (!value.is_string()) return reader.Wrong("spec.template.metadata.labels." + std::string(name), "not a text");
    }
  } else {
    base::Ensure(node, {"metadata", "labels"}) = JsonObject{};
  }
  node.as_object()["apiVersion"] = "v1";
  node.as_object()["kind"] = "Node";
  if (base::FindObject(node, {"status", "capacity"}).empty()) {
    Json capacity = base::FindObject(node, {"status", "allocatable"});
    base::Ensure(node, {"status", "capacity"}) = std::move(capacity);
  }
  group.template_node = std::move(node);
  return {};
}

base::Result<Instance> ReadInstance(const Reader& reader, const Json& json, const std::string& field) {
  Instance instance;
  instance.id = base::FindString(json, {"id"});
  if (instance.id.empty()) return reader.Wrong(field + ".id", "missing");
  const std::string_view state = base::FindString(json, {"state"}, "Running");
  if (state == "Creating") {
    instance.state = Instance::State::kCreating;
  } else if (state == "Deleting") {
    instance.state = Instance::State::kDeleting;
  } else if (state != "Running") {
    return reader.Wrong(field + ".state", "\"" + std::string(state) + "\" is not Running, Creating or Deleting");
  }
  const std::string_view error_class = base::FindString(json, {"errorClass"}), code = base::FindString(json, {"errorCode"});
  if (error_class.empty() && code.empty()) return instance;
  Instance::Error error{Instance::ErrorClass::kOther, std::string(code), std::string(base::FindString(json, {"errorMessage"}))};
  if (error_class == "OutOfResources" || error_class == "OutOfResource") {
    error.error_class = Instance::ErrorClass::kOutOfResources;
  } else if (!error_class.empty() && error_class != "Other") {
    return reader.Wrong(field + ".errorClass", "\"" + std::string(error_class) + "\" is not OutOfResources or Other");
  }
  instance.error = std::move(error);
  return instance;
}

base::Status ReadInstances(const Reader& reader, NodeGroup& group) {
  const bool given = reader.At("instances") != nullptr;
  const std::string where = given ? "spec.instances" : "status.instances";
  const Json* list = given ? reader.At("instances") : reader.InStatus("instances");
  if (list == nullptr) return {};
  if (!list->is_array()) return reader.Wrong(where, "not a list");
  std::set<std::string> seen;
  for (const Json& json : list->get_array()) {
    const std::string field = where + "[" + std::to_string(group.instances.size()) + "]";
    EVENKEEL_ASSIGN(Instance instance, ReadInstance(reader, json, field));
    if (!seen.insert(instance.id).second) return reader.Wrong(field + ".id", "\"" + instance.id + "\" is listed twice");
    group.instances.push_back(std::move(instance));
  }
  return {};
}

base::Status ReadShare(const Reader& reader, const Json& json, const char* name, std::optional<double>& share) {
  const Json* value = Find(json, {name});
  if (value == nullptr || value->is_null()) return {};
  if (!value->is_number() || !(value->to_number<double>() >= 0) || !(value->to_number<double>() <= 1)) {
    return reader.Wrong("spec.options." + std::string(name), "not a number from 0 to 1");
  }
  share = value->to_number<double>();
  return {};
}

base::Status ReadWait(const Reader& reader, const Json& json, const char* name, std::optional<base::Duration>& time) {
  const Json* value = Find(json, {name});
  if (value == nullptr || value->is_null()) return {};
  const auto parsed = base::ParseDuration(base::FindString(json, {name}));
  if (!parsed || *parsed < base::Duration{}) {
    return reader.Wrong("spec.options." + std::string(name), "not a duration such as 10m or 1h30m");
  }
  time = *parsed;
  return {};
}

base::Status ReadSwitch(const Reader& reader, const Json& json, const char* name, std::optional<bool>& on) {
  const Json* value = Find(json, {name});
  if (value == nullptr || value->is_null()) return {};
  if (!value->is_bool()) return reader.Wrong("spec.options." + std::string(name), "not true or false");
  on = value->get_bool();
  return {};
}

base::Status ReadOptions(const Reader& reader, NodeGroupOptions& options) {
  const Json* json = reader.At("options");
  if (json == nullptr) return {};
  if (!json->is_object()) return reader.Wrong("spec.options", "not an object");
  EVENKEEL_TRY(ReadShare(reader, *json, "scaleDownUtilizationThreshold", options.scale_down_utilization_threshold));
  EVENKEEL_TRY(ReadShare(reader, *json, "scaleDownGpuUtilizationThreshold", options.scale_down_gpu_utilization_threshold));
  EVENKEEL_TRY(ReadWait(reader, *json, "scaleDownUnneededTime", options.scale_down_unneeded_time));
  EVENKEEL_TRY(ReadWait(reader, *json, "scaleDownUnreadyTime", options.scale_down_unready_time));
  EVENKEEL_TRY(ReadWait(reader, *json, "maxNodeProvisionTime", options.max_node_provision_time));
  EVENKEEL_TRY(ReadWait(reader, *json, "maxNodeStartupTime", options.max_node_startup_time));
  EVENKEEL_TRY(ReadSwitch(reader, *json, "zeroOrMaxNodeScaling", options.zero_or_max_node_scaling));
  EVENKEEL_TRY(ReadSwitch(reader, *json, "allowNonAtomicScaleUpToMax", options.allow_non_atomic_scale_up_to_max));
  return ReadSwitch(reader, *json, "ignoreDaemonSetsUtilization", options.ignore_daemonsets_utilization);
}

base::Result<kube::LabelSelector> ReadSelector(const Reader& reader, const std::string& name) {
  const Json* json = reader.At("selector");
  if (json == nullptr) return kube::LabelSelector::FromLabels({{std::string(kNodeGroupLabel), name}});
  auto selector = kube::LabelSelector::FromJson(*json);
  if (!selector) return reader.Wrong("spec.selector", selector.error().message());
  return *std::move(selector);
}

/// Assigns nodes to the group that selects them.
base::Status Claim(const Reader& reader, const kube::LabelSelector& selector, std::span<const Json> nodes,
                   providers::NodeGroups& all, NodeGroup& group) {
  std::set<std::string_view> listed;
  for (const Instance& instance : group.instances) listed.insert(instance.id);
  int64_t count = 0;
  std::vector<Instance> registered;
  for (const Json& node : nodes) {
    if (!selector.Matches(base::FindObject(node, {"metadata", "labels"}))) continue;
    const std::string name(kube::NameOf(node));
    const auto [claimed, fresh] = all.group_of_node.emplace(name, group.id);
    if (!fresh && claimed->second != group.id) {
      return reader.Wrong("spec.selector", "selects node " + name + ", which is in NodeGroup " + claimed->second + " already");
    }
    ++count;
    const std::string_view id = base::FindString(node, {"spec", "providerID"});
    if (!id.empty() && !listed.contains(id)) registered.push_back({std::string(id), Instance::State::kRunning, std::nullopt});
  }
  if (group.target_size < 0) group.target_size = count;
  std::ranges::move(registered, std::back_inserter(group.instances));
  std::ranges::sort(group.instances, {}, &Instance::id);
  return {};
}

void CollectGpuTypes(std::span<const Json> nodes, providers::NodeGroups& all) {
  all.gpu_label = kNodeGroupGpuLabel;
  std::set<std::string> types;
  const auto note = [&types](const Json& node) {
    const std::string_view type = base::FindString(node, {"metadata", "labels", kNodeGroupGpuLabel});
    if (!type.empty()) types.emplace(type);
  };
  for (const Json& node : nodes) note(node);
  for (const NodeGroup& group : all.groups) {
    if (group.template_node) note(*group.template_node);
  }
  all.gpu_types.assign(types.begin(), types.end());
}

}  // namespace

base::Result<NodeGroup> DecodeNodeGroup(const kube::ManifestObject& object) {
  const Reader reader(object);
  NodeGroup group;
  group.id = kube::NameOf(object.object);
  if (group.id.empty()) return reader.Wrong("metadata.name", "missing");
  const Json* spec = Find(object.object, {"spec"});
  if (spec == nullptr || !spec->is_object()) return reader.Wrong("spec", "missing");
  EVENKEEL_TRY(ReadSizes(reader, group));
  EVENKEEL_TRY(ReadTemplate(reader, group));
  EVENKEEL_TRY(ReadInstances(reader, group));
  EVENKEEL_TRY(ReadOptions(reader, group.options));
  EVENKEEL_TRY(ReadSelector(reader, group.id));
  group.debug = group.id + " (" + std::to_string(group.min_size) + ":" + std::to_string(group.max_size) + ")";
  return group;
}

base::Result<providers::NodeGroups> DecodeNodeGroups(std::span<const kube::ManifestObject> groups,
                                                     std::span<const Json> nodes) {
  std::vector<const kube::ManifestObject*> objects;
  for (const kube::ManifestObject& object : groups) objects.push_back(&object);
  std::ranges::stable_sort(objects, {}, [](const auto* object) { return kube::NameOf(object->object); });
  providers::NodeGroups all;
  for (const kube::ManifestObject* object : objects) {
    const Reader reader(*object);
    EVENKEEL_ASSIGN(NodeGroup group, DecodeNodeGroup(*object));
    if (!all.groups.empty() && all.groups.back().id == group.id) {
      return reader.Wrong("metadata.name", "there is another NodeGroup of that name");
    }
    EVENKEEL_ASSIGN(const kube::LabelSelector selector, ReadSelector(reader, group.id));
    EVENKEEL_TRY(Claim(reader, selector, nodes, all, group));
    all.groups.push_back(std::move(group));
  }
  CollectGpuTypes(nodes, all);
  return all;
}

}  // namespace evenkeel::controllers::autoscaler
