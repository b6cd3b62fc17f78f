#include "providers/kwok_config.h"

#include <algorithm>
#include <map>

#include "base/input/option.h"
#include "base/input/yaml.h"
#include "kube/manifest.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "providers/warnings.h"

namespace evenkeel::providers {
namespace {

using base::Code;
using base::Fail;
using base::Field;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr int64_t kCountMax = 1'000'000;

/// "" where it is absent or blank.
base::Result<std::string> Text(const Field& field) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::string text;
  EVENKEEL_TRY(field.Text(text));
  const size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

base::Status ReadGrouping(const Field& groups, KwokConfig& config) {
  EVENKEEL_ASSIGN(const std::string label, Text(groups["fromNodeLabelKey"]));
  EVENKEEL_ASSIGN(std::string annotation, Text(groups["fromNodeAnnotationKey"]));
  if (annotation.empty()) {
    // The name that its documentation uses.
    EVENKEEL_ASSIGN(annotation, Text(groups["fromNodeAnnotation"]));
  }
  if (label.empty() == annotation.empty()) {
    return groups.Wrong("exactly one of fromNodeLabelKey and fromNodeAnnotationKey must be given");
  }
  config.by_label = annotation.empty();
  config.key = config.by_label ? label : annotation;
  return {};
}

base::Status ReadNodeSettings(const Field& nodes, KwokConfig& config) {
  EVENKEEL_TRY(nodes["skipTaint"].Flag(config.skip_taint));
  const Field gpu = nodes["gpuConfig"], types = gpu["availableGPUTypes"];
  if (!gpu) return {};
  EVENKEEL_ASSIGN(config.gpu_label, Text(gpu["gpuLabelKey"]));
  if (config.gpu_label.empty()) return gpu["gpuLabelKey"].Wrong("missing");
  EVENKEEL_TRY(types.Required("an object with a key for each type is expected"));
  EVENKEEL_TRY(types.ForEachMember([&](std::string_view type, const Field&) -> base::Status {
    config.gpu_types.emplace_back(type);
    return {};
  }));
  std::ranges::sort(config.gpu_types);
  return {};
}

base::Status CheckTexts(const Field& texts) {
  return texts.ForEachMember([](std::string_view, const Field& text) -> base::Status {
    std::string unused;
    EVENKEEL_TRY(text.Required());
    return text.Text(unused);
  });
}

base::Status CheckTaint(const Field& taint) {
  for (const char* part : {"key", "effect"}) {
    std::string text;
    EVENKEEL_TRY(taint[part].Text(text));
    if (text.empty()) return taint[part].Wrong("missing");
  }
  return {};
}

/// Checks what others count on, and fills in allocatable from capacity.
base::Status CheckTemplate(const Field& fields, Json& node) {
  for (const char* part : {"metadata", "spec", "status"}) {
    if (const Field object = fields[part]) EVENKEEL_TRY(object.IsObject());
  }
  for (const char* list : {"labels", "annotations"}) EVENKEEL_TRY(CheckTexts(fields["metadata"][list]));
  for (const char* list : {"allocatable", "capacity"}) EVENKEEL_TRY(kube::CheckQuantities(fields["status"][list]));
  EVENKEEL_TRY(fields["spec"]["taints"].ForEach(CheckTaint));
  const JsonObject capacity = base::FindObject(node, {"status", "capacity"});
  if (!base::FindObject(node, {"status", "allocatable"}).empty()) return {};
  if (capacity.empty()) return fields["status"]["allocatable"].Wrong("missing: it says how much fits on a new node");
  base::Ensure(node, {"status", "allocatable"}) = capacity;
  return {};
}

Field AnnotationOf(const Json& node, std::string_view annotation) {
  return Field(&node, "Node " + OneLine(kube::NameOf(node)))["metadata"]["annotations"][annotation];
}

base::Status ReadCount(const Json& node, std::string_view annotation, int64_t& count) {
  const Field field = AnnotationOf(node, annotation);
  std::string text;
  EVENKEEL_TRY(field.Text(text));
  if (text.empty()) return {};
  const auto read = base::ReadOption(text, count, {0, kCountMax});
  if (!read) return field.Wrong(read.error().message());
  return {};
}

base::Status ReadBounds(const Json& node, KwokGroup& group) {
  group.min_size = 0;
  group.max_size = 200;
  EVENKEEL_TRY(ReadCount(node, kKwokMinAnnotation, group.min_size));
  EVENKEEL_TRY(ReadCount(node, kKwokMaxAnnotation, group.max_size));
  int64_t desired = group.min_size;
  EVENKEEL_TRY(ReadCount(node, kKwokDesiredAnnotation, desired));
  if (group.max_size < group.min_size) {
    return AnnotationOf(node, kKwokMaxAnnotation)
        .Wrong(std::to_string(group.max_size) + " is less than the least size " + std::to_string(group.min_size));
  }
  if (desired < group.min_size || desired > group.max_size) {
    return AnnotationOf(node, kKwokDesiredAnnotation)
        .Wrong(std::to_string(desired) + " is not from " + std::to_string(group.min_size) + " to " +
               std::to_string(group.max_size));
  }
  return {};
}

/// What is special about one node goes, what kwok and the provider look for comes.
Json MakeTemplate(const Json& source, const KwokConfig& config, const std::string& group) {
  Json node(source, {});
  for (const std::string_view field :
       {"resourceVersion", "generation", "uid", "creationTimestamp", "managedFields", "ownerReferences", "selfLink"}) {
    base::Erase(node, {"metadata", field});
  }
  for (const std::string_view field : {"podCIDR", "podCIDRs", "externalID"}) base::Erase(node, {"spec", field});
  node.as_object()["apiVersion"] = "v1";
  node.as_object()["kind"] = "Node";
  std::string name(kube::NameOf(node));
  if (!name.starts_with("kwok-fake-")) name = "kwok-fake-" + name;
  base::Ensure(node, {"metadata", "annotations", kKwokManagedAnnotation}) = "fake";
  base::Ensure(node, {"metadata", "annotations", kKwokGroupAnnotation}) = group;
  base::Ensure(node, {"spec", "providerID"}) = "kwok:" + name;
  base::Ensure(node, {"metadata", "name"}) = std::move(name);
  base::Ensure(node, {"status", "nodeInfo", "kubeletVersion"}) = "fake";
  if (config.skip_taint) return node;
  Json& taints = base::Ensure(node, {"spec", "taints"});
  if (!taints.is_array()) taints = JsonArray{};
  const bool present = std::ranges::any_of(
      taints.get_array(), [](const Json& taint) { return base::FindString(taint, {"key"}) == "kwok-provider"; });
  if (!present) taints.get_array().push_back({{"key", "kwok-provider"}, {"value", "true"}, {"effect", "NoSchedule"}});
  return node;
}

}  // namespace

base::Result<KwokConfig> ParseKwokConfig(std::string_view text, std::string_view source) {
  const auto parsed = base::ParseYamlDocument(text, source);
  if (!parsed) return Fail(OnOneLine(parsed.error()));
  const Field fields(&*parsed, OneLine(source)), from = fields["readNodesFrom"], templates = fields["configmap"];
  if (!fields || !fields.value().is_object()) return from.Wrong("missing: cluster or configmap is expected");
  KwokConfig config;
  std::string version;
  EVENKEEL_TRY(fields["apiVersion"].Word(version, {"v1alpha1"}));
  EVENKEEL_ASSIGN(const std::string source_of_nodes, Text(from));
  if (source_of_nodes != "cluster" && source_of_nodes != "configmap") {
    return from.Wrong("\"" + OneLine(source_of_nodes) + "\" is not cluster or configmap");
  }
  config.from_cluster = source_of_nodes == "cluster";
  if (!config.from_cluster) {
    EVENKEEL_ASSIGN(config.templates_config_map, Text(templates["name"]));
    EVENKEEL_ASSIGN(config.templates_key, Text(templates["key"]));
    if (config.templates_config_map.empty()) return templates["name"].Wrong("missing: it has the templates");
  }
  EVENKEEL_TRY(ReadGrouping(fields["nodegroups"], config));
  EVENKEEL_TRY(ReadNodeSettings(fields["nodes"], config));
  return config;
}

base::Result<std::vector<Json>> ParseKwokTemplates(std::string_view text, std::string_view source) {
  const auto objects = kube::ParseManifests(text, source);
  if (!objects) return Fail(OnOneLine(objects.error()));
  std::vector<Json> nodes;
  for (const kube::ManifestObject& object : *objects) {
    if (base::FindString(object.object, {"kind"}) != "Node") continue;
    Json node(object.object, {});
    EVENKEEL_TRY(CheckTemplate(kube::FieldsOf(object), node));
    nodes.push_back(std::move(node));
  }
  if (nodes.empty()) return Fail(Code::kBadRequest, OneLine(source) + ": has no Node that could serve as template");
  return nodes;
}

base::Result<std::vector<KwokGroup>> ReadKwokGroups(const KwokConfig& config, std::span<const Json> nodes) {
  const auto is_fake = [](const Json& node) {
    return base::FindString(node, {"metadata", "annotations", kKwokManagedAnnotation}) == "fake";
  };
  std::vector<const Json*> ordered;
  for (const Json& node : nodes) ordered.push_back(&node);
  std::ranges::stable_sort(ordered, {}, [&](const Json* node) { return std::pair(is_fake(*node), kube::NameOf(*node)); });
  std::map<std::string, KwokGroup> groups;
  for (const Json* node : ordered) {
    const std::string_view value =
        base::FindString(*node, {"metadata", config.by_label ? "labels" : "annotations", config.key});
    if (value.empty()) continue;
    const std::string_view named = base::FindString(*node, {"metadata", "annotations", kKwokGroupAnnotation});
    const std::string id(named.empty() ? value : named);
    if (groups.contains(id)) continue;
    KwokGroup group;
    group.id = id;
    EVENKEEL_TRY(ReadBounds(*node, group));
    group.node = MakeTemplate(*node, config, id);
    groups.emplace(id, std::move(group));
  }
  std::vector<KwokGroup> all;
  for (auto& [id, group] : groups) all.push_back(std::move(group));
  return all;
}

}  // namespace evenkeel::providers
