#include "providers/kwok_config.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/input/yaml.h"
#include "kube/manifest.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "providers/complaints.h"

namespace evenkeel::providers {
namespace {

using base::Code;
using base::Fail;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr int64_t kCountMax = 1'000'000;

std::unexpected<base::Error> Wrong(std::string_view where, std::string_view field, std::string_view what) {
  return Fail(Code::kBadRequest, OneLine(where) + ": " + OneLine(field) + ": " + OneLine(what));
}

/// "" where it is absent or blank.
base::Result<std::string> Text(const Json& config, std::initializer_list<std::string_view> path, std::string_view source) {
  const Json* value = base::Find(config, path);
  if (value == nullptr || value->is_null()) return std::string();
  std::string field;
  for (const std::string_view step : path) field += (field.empty() ? "" : ".") + std::string(step);
  if (!value->is_string()) return Wrong(source, field, "not a text");
  const std::string_view text = value->get_string();
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return std::string();
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin));
}

base::Status ReadGrouping(const Json& document, std::string_view source, KwokConfig& config) {
  EVENKEEL_ASSIGN(const std::string label, Text(document, {"nodegroups", "fromNodeLabelKey"}, source));
  EVENKEEL_ASSIGN(std::string annotation, Text(document, {"nodegroups", "fromNodeAnnotationKey"}, source));
  if (annotation.empty()) {
    // The name that its documentation uses.
    EVENKEEL_ASSIGN(annotation, Text(document, {"nodegroups", "fromNodeAnnotation"}, source));
  }
  if (label.empty() == annotation.empty()) {
    return Wrong(source, "nodegroups", "exactly one of fromNodeLabelKey and fromNodeAnnotationKey must be given");
  }
  config.by_label = annotation.empty();
  config.key = config.by_label ? label : annotation;
  return {};
}

base::Status ReadNodeSettings(const Json& document, std::string_view source, KwokConfig& config) {
  if (const Json* skip = base::Find(document, {"nodes", "skipTaint"}); skip != nullptr && !skip->is_null()) {
    if (!skip->is_bool()) return Wrong(source, "nodes.skipTaint", "not true or false");
    config.skip_taint = skip->get_bool();
  }
  const Json* gpu = base::Find(document, {"nodes", "gpuConfig"});
  if (gpu == nullptr || gpu->is_null()) return {};
  EVENKEEL_ASSIGN(config.gpu_label, Text(document, {"nodes", "gpuConfig", "gpuLabelKey"}, source));
  const Json* types = base::Find(*gpu, {"availableGPUTypes"});
  if (config.gpu_label.empty()) return Wrong(source, "nodes.gpuConfig.gpuLabelKey", "missing");
  if (types == nullptr || !types->is_object()) {
    return Wrong(source, "nodes.gpuConfig.availableGPUTypes", "missing: an object with a key for each type is expected");
  }
  for (const auto& [type, unused] : types->get_object()) config.gpu_types.emplace_back(type);
  std::ranges::sort(config.gpu_types);
  return {};
}

std::string NameFor(const Json& node) { return "Node " + OneLine(kube::NameOf(node)); }

base::Status CheckTexts(const Json& node, std::string_view list, const std::string& where) {
  const Json* texts = base::Find(node, {"metadata", list});
  if (texts == nullptr || texts->is_null()) return {};
  const std::string field = "metadata." + std::string(list);
  if (!texts->is_object()) return Wrong(where, field, "not an object of texts");
  for (const auto& [key, value] : texts->get_object()) {
    if (!value.is_string()) return Wrong(where, field + "." + std::string(key), "not a text");
  }
  return {};
}

base::Status CheckAmounts(const Json& node, std::string_view list, const std::string& where) {
  const Json* amounts = base::Find(node, {"status", list});
  if (amounts == nullptr || amounts->is_null()) return {};
  const std::string field = "status." + std::string(list);
  if (!amounts->is_object()) return Wrong(where, field, "not an object of quantities");
  for (const auto& [name, value] : amounts->get_object()) {
    const auto quantity = kube::Quantity::FromJson(value);
    if (!quantity) return Wrong(where, field + "." + std::string(name), quantity.error().message());
    if (*quantity < kube::Quantity()) return Wrong(where, field + "." + std::string(name), "less than 0");
  }
  return {};
}

base::Status CheckTaints(const Json& node, const std::string& where) {
  const Json* taints = base::Find(node, {"spec", "taints"});
  if (taints == nullptr || taints->is_null()) return {};
  if (!taints->is_array()) return Wrong(where, "spec.taints", "not a list");
  size_t index = 0;
  for (const Json& taint : taints->get_array()) {
    const std::string field = "spec.taints[" + std::to_string(index++) + "]";
    if (base::FindString(taint, {"key"}).empty()) return Wrong(where, field + ".key", "missing");
    if (base::FindString(taint, {"effect"}).empty()) return Wrong(where, field + ".effect", "missing");
  }
  return {};
}

/// Checks what others count on, and fills in allocatable from capacity.
base::Status CheckTemplate(Json& node, const std::string& where) {
  for (const std::string_view part : {"metadata", "spec", "status"}) {
    const Json* value = base::Find(node, {part});
    if (value != nullptr && !value->is_null() && !value->is_object()) return Wrong(where, part, "not an object");
  }
  for (const std::string_view list : {"labels", "annotations"}) EVENKEEL_TRY(CheckTexts(node, list, where));
  for (const std::string_view list : {"allocatable", "capacity"}) EVENKEEL_TRY(CheckAmounts(node, list, where));
  EVENKEEL_TRY(CheckTaints(node, where));
  const JsonObject capacity = base::FindObject(node, {"status", "capacity"});
  if (!base::FindObject(node, {"status", "allocatable"}).empty()) return {};
  if (capacity.empty()) return Wrong(where, "status.allocatable", "missing: it says how much fits on a new node");
  base::Ensure(node, {"status", "allocatable"}) = capacity;
  return {};
}

base::Result<int64_t> Count(const Json& node, std::string_view annotation, int64_t fallback) {
  const std::string_view text = base::FindString(node, {"metadata", "annotations", annotation});
  if (text.empty()) return fallback;
  int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 0 || count > kCountMax) {
    return Wrong(NameFor(node), "metadata.annotations." + std::string(annotation),
                 "\"" + std::string(text) + "\" is not a whole number from 0 to " + std::to_string(kCountMax));
  }
  return count;
}

base::Status ReadBounds(const Json& node, KwokGroup& group) {
  EVENKEEL_ASSIGN(group.min_size, Count(node, kKwokMinAnnotation, 0));
  EVENKEEL_ASSIGN(group.max_size, Count(node, kKwokMaxAnnotation, 200));
  EVENKEEL_ASSIGN(const int64_t desired, Count(node, kKwokDesiredAnnotation, group.min_size));
  const std::string annotations = "metadata.annotations.";
  if (group.max_size < group.min_size) {
    return Wrong(NameFor(node), annotations + std::string(kKwokMaxAnnotation),
                 std::to_string(group.max_size) + " is less than the least size " + std::to_string(group.min_size));
  }
  if (desired < group.min_size || desired > group.max_size) {
    return Wrong(
        NameFor(node), annotations + std::string(kKwokDesiredAnnotation),
        std::to_string(desired) + " is not from " + std::to_string(group.min_size) + " to " + std::to_string(group.max_size));
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
  const Json& document = *parsed;
  if (!document.is_object()) return Wrong(source, "readNodesFrom", "missing: cluster or configmap is expected");
  KwokConfig config;
  EVENKEEL_ASSIGN(const std::string version, Text(document, {"apiVersion"}, source));
  if (!version.empty() && version != "v1alpha1") return Wrong(source, "apiVersion", "\"" + version + "\" is not v1alpha1");
  EVENKEEL_ASSIGN(const std::string from, Text(document, {"readNodesFrom"}, source));
  if (from != "cluster" && from != "configmap") {
    return Wrong(source, "readNodesFrom", "\"" + from + "\" is not cluster or configmap");
  }
  config.from_cluster = from == "cluster";
  if (!config.from_cluster) {
    EVENKEEL_ASSIGN(config.templates_config_map, Text(document, {"configmap", "name"}, source));
    EVENKEEL_ASSIGN(config.templates_key, Text(document, {"configmap", "key"}, source));
    if (config.templates_config_map.empty()) return Wrong(source, "configmap.name", "missing: it has the templates");
  }
  EVENKEEL_TRY(ReadGrouping(document, source, config));
  EVENKEEL_TRY(ReadNodeSettings(document, source, config));
  return config;
}

base::Result<std::vector<Json>> ParseKwokTemplates(std::string_view text, std::string_view source) {
  const auto objects = kube::ParseManifests(text, source);
  if (!objects) return Fail(OnOneLine(objects.error()));
  std::vector<Json> nodes;
  for (const kube::ManifestObject& object : *objects) {
    if (base::FindString(object.object, {"kind"}) != "Node") continue;
    Json node(object.object, {});
    EVENKEEL_TRY(CheckTemplate(node, object.where + ": " + NameFor(node)));
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
