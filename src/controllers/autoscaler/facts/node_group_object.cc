#include "controllers/autoscaler/facts/node_group_object.h"

#include "controllers/autoscaler/facts/template_slices.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "kube/selector.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Json;
using base::JsonObject;
using providers::Instance;
using providers::NodeGroup;
using providers::NodeGroupOptions;

constexpr int64_t kSizeMax = 1'000'000;

base::Status ReadSizes(const base::Field& spec, NodeGroup& group) {
  const base::Field max = spec["maxSize"], price = spec["pricePerHour"];
  group.min_size = 0;
  group.target_size = -1;
  EVENKEEL_TRY(max.Required());
  EVENKEEL_TRY(spec["minSize"].Whole(group.min_size, 0, kSizeMax));
  EVENKEEL_TRY(max.Whole(group.max_size, 0, kSizeMax));
  EVENKEEL_TRY(spec["targetSize"].Whole(group.target_size, 0, kSizeMax));
  if (group.max_size < group.min_size) {
    return max.Wrong(std::to_string(group.max_size) + " is less than spec.minSize " + std::to_string(group.min_size));
  }
  return price.Number(group.price_per_hour);
}

base::Status CheckTaint(const base::Field& taint) {
  std::string key, effect;
  EVENKEEL_TRY(taint["key"].Text(key));
  if (key.empty()) return taint["key"].Wrong("missing");
  EVENKEEL_TRY(taint["effect"].Required());
  return taint["effect"].Word(effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"});
}

base::Status ReadTemplate(const base::Field& given, NodeGroup& group) {
  if (!given) return {};
  EVENKEEL_TRY(given.IsObject());
  const base::Field allocatable = given["status"]["allocatable"];
  if (!allocatable || !allocatable.value().is_object() || allocatable.value().get_object().empty()) {
    return allocatable.Wrong("missing: it says how much fits on a new node");
  }
  for (const char* list : {"allocatable", "capacity"}) EVENKEEL_TRY(kube::CheckQuantities(given["status"][list]));
  EVENKEEL_TRY(given["spec"]["taints"].ForEach(CheckTaint));
  for (const char* part : {"metadata", "spec"}) {
    if (const base::Field object = given[part]) EVENKEEL_TRY(object.IsObject());
  }
  EVENKEEL_TRY(CheckTemplateSlices(given["resourceSlices"]));
  const base::Field labels = given["metadata"]["labels"];
  EVENKEEL_TRY(labels.ForEachMember([](std::string_view, const base::Field& value) -> base::Status {
    std::string unused;
    EVENKEEL_TRY(value.Required());
    return value.Text(unused);
  }));
  Json node(given.value(), {});
  if (!labels) base::Ensure(node, {"metadata", "labels"}) = JsonObject{};
  node.as_object()["apiVersion"] = "v1";
  node.as_object()["kind"] = "Node";
  if (base::FindObject(node, {"status", "capacity"}).empty()) {
    Json capacity = base::FindObject(node, {"status", "allocatable"});
    base::Ensure(node, {"status", "capacity"}) = std::move(capacity);
  }
  group.template_node = std::move(node);
  return {};
}

base::Status ReadInstance(const base::Field& field, Instance& instance) {
  using State = Instance::State;
  using ErrorClass = Instance::ErrorClass;
  EVENKEEL_TRY(field["id"].Text(instance.id));
  if (instance.id.empty()) return field["id"].Wrong("missing");
  EVENKEEL_TRY(field["state"].Word<State>(
      instance.state, {{"Running", State::kRunning}, {"Creating", State::kCreating}, {"Deleting", State::kDeleting}}));
  Instance::Error error{ErrorClass::kOther, "", ""};
  EVENKEEL_TRY(field["errorClass"].Word<ErrorClass>(error.error_class, {{"OutOfResources", ErrorClass::kOutOfResources},
                                                                        {"OutOfResource", ErrorClass::kOutOfResources},
                                                                        {"Other", ErrorClass::kOther}}));
  EVENKEEL_TRY(field["errorCode"].Text(error.code));
  EVENKEEL_TRY(field["errorMessage"].Text(error.message));
  if (field["errorClass"] || !error.code.empty()) instance.error = std::move(error);
  return {};
}

base::Status ReadInstances(const base::Field& object, NodeGroup& group) {
  const base::Field given = object["spec"]["instances"];
  std::set<std::string> seen;
  return (given ? given : object["status"]["instances"]).ForEach([&](const base::Field& field) -> base::Status {
    EVENKEEL_TRY(ReadInstance(field, group.instances.emplace_back()));
    const std::string& id = group.instances.back().id;
    if (!seen.insert(id).second) return field["id"].Wrong("\"" + id + "\" is listed twice");
    return {};
  });
}

base::Status ReadOptions(const base::Field& field, NodeGroupOptions& options) {
  if (!field) return {};
  EVENKEEL_TRY(field.IsObject());
  EVENKEEL_TRY(field["scaleDownUtilizationThreshold"].Number(options.scale_down_utilization_threshold, 0, 1));
  EVENKEEL_TRY(field["scaleDownGpuUtilizationThreshold"].Number(options.scale_down_gpu_utilization_threshold, 0, 1));
  EVENKEEL_TRY(field["scaleDownUnneededTime"].Wait(options.scale_down_unneeded_time));
  EVENKEEL_TRY(field["scaleDownUnreadyTime"].Wait(options.scale_down_unready_time));
  EVENKEEL_TRY(field["maxNodeProvisionTime"].Wait(options.max_node_provision_time));
  EVENKEEL_TRY(field["maxNodeStartupTime"].Wait(options.max_node_startup_time));
  EVENKEEL_TRY(field["zeroOrMaxNodeScaling"].Flag(options.zero_or_max_node_scaling));
  EVENKEEL_TRY(field["allowNonAtomicScaleUpToMax"].Flag(options.allow_non_atomic_scale_up_to_max));
  return field["ignoreDaemonSetsUtilization"].Flag(options.ignore_daemonsets_utilization);
}

base::Result<kube::LabelSelector> SelectorOf(const base::Field& object) {
  auto selector = kube::LabelSelector::FromLabels({{std::string(kNodeGroupLabel), std::string(kube::NameOf(object.value()))}});
  EVENKEEL_TRY(kube::ReadSelector(object["spec"]["selector"], selector));
  return selector;
}

/// Assigns nodes to the group that selects them.
base::Status Claim(const base::Field& selecting, const kube::LabelSelector& selector, std::span<const Json> nodes,
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
      return selecting.Wrong("selects node " + name + ", which is in NodeGroup " + claimed->second + " already");
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
  const base::Field fields = kube::FieldsOf(object), spec = fields["spec"];
  NodeGroup group;
  group.id = kube::NameOf(object.object);
  if (group.id.empty()) return fields["metadata"]["name"].Wrong("missing");
  EVENKEEL_TRY(spec.Required());
  EVENKEEL_TRY(spec.IsObject());
  EVENKEEL_TRY(ReadSizes(spec, group));
  EVENKEEL_TRY(ReadTemplate(spec["template"], group));
  EVENKEEL_TRY(ReadInstances(fields, group));
  EVENKEEL_TRY(ReadOptions(spec["options"], group.options));
  EVENKEEL_TRY(SelectorOf(fields));
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
    const base::Field fields = kube::FieldsOf(*object);
    EVENKEEL_ASSIGN(NodeGroup group, DecodeNodeGroup(*object));
    if (!all.groups.empty() && all.groups.back().id == group.id) {
      return fields["metadata"]["name"].Wrong("there is another NodeGroup of that name");
    }
    EVENKEEL_ASSIGN(const kube::LabelSelector selector, SelectorOf(fields));
    EVENKEEL_TRY(Claim(fields["spec"]["selector"], selector, nodes, all, group));
    all.groups.push_back(std::move(group));
  }
  CollectGpuTypes(nodes, all);
  return all;
}

}  // namespace evenkeel::controllers::autoscaler
