// What new nodes of groups were like, for the next process: a group's last node may be gone by then.
#include "controllers/autoscaler/facts/node_templates.h"
#include "kube/object.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

JsonObject ToJson(const kube::ResourceList& resources) {
  JsonObject object;
  for (const auto& [name, amount] : resources) object[name] = std::to_string(amount) + (name == "cpu" ? "m" : "");
  return object;
}

JsonObject ToJson(const std::map<std::string, std::string>& texts) {
  JsonObject object;
  for (const auto& [key, value] : texts) object[key] = value;
  return object;
}

JsonArray ToJson(const scheduling::NodeSlices& slices) {
  JsonArray array;
  for (const auto& slice : slices) array.push_back(scheduling::WriteResourceSlice(*slice));
  return array;
}

/// As far as templates look at it.
Json ToJson(const kube::Node& node) {
  JsonArray taints, features;
  for (const kube::Taint& taint : node.taints) {
    taints.push_back(JsonObject{{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  }
  for (const std::string& feature : node.declared_features) features.emplace_back(feature);
  JsonObject status{{"capacity", ToJson(node.capacity)},
                    {"allocatable", ToJson(node.allocatable)},
                    {"conditions", JsonArray{JsonObject{{"type", "Ready"}, {"status", node.ready ? "True" : "False"}}}}};
  if (!features.empty()) status["declaredFeatures"] = std::move(features);
  JsonObject meta{{"name", node.meta.name}, {"labels", ToJson(node.meta.labels)}};
  if (!node.meta.annotations.empty()) meta["annotations"] = ToJson(node.meta.annotations);
  return JsonObject{
      {"metadata", std::move(meta)}, {"spec", JsonObject{{"taints", std::move(taints)}}}, {"status", std::move(status)}};
}

}  // namespace

Json NodeTemplates::CacheToJson() const {
  JsonObject groups;
  for (const auto& [group, cached] : cache_) {
    JsonObject entry{{"node", ToJson(cached.node)},
                     {"pods", JsonArray(cached.pods.begin(), cached.pods.end())},
                     {"sourceNode", cached.source_node},
                     {"at", base::FormatMicroTime(cached.at)}};
    if (cached.volume_limits != nullptr) {
      JsonObject limits;
      for (const auto& [driver, limit] : *cached.volume_limits) limits[driver] = limit;
      entry["volumeLimits"] = std::move(limits);
    }
    if (cached.slices != nullptr) entry["resourceSlices"] = ToJson(*cached.slices);
    groups[group] = std::move(entry);
  }
  return groups;
}

bool NodeTemplates::Same(const Cached& a, const Cached& b) {
  const auto limits = [](const Cached& cached) {
    return cached.volume_limits == nullptr ? scheduling::VolumeLimits() : *cached.volume_limits;
  };
  const auto slices = [](const Cached& cached) { return cached.slices == nullptr ? JsonArray() : ToJson(*cached.slices); };
  return a.source_node == b.source_node && a.pods == b.pods && limits(a) == limits(b) &&
         (a.slices == b.slices || slices(a) == slices(b)) && ToJson(a.node) == ToJson(b.node);
}

base::Status NodeTemplates::RestoreCache(const Json& json) {
  if (!json.is_object()) return base::Fail(base::Code::kBadRequest, "state: templates: not an object");
  for (const auto& [group, entry] : json.get_object()) {
    const Json* node = base::Find(entry, {"node"});
    const auto at = base::ParseTime(base::FindString(entry, {"at"}));
    if (node == nullptr || !node->is_object() || !at) {
      return base::Fail(base::Code::kBadRequest, "state: templates." + std::string(group) + ": node or time is missing");
    }
    Cached cached{kube::Node::Decode(*node), {}, nullptr, nullptr, std::string(base::FindString(entry, {"sourceNode"})), *at};
    for (const Json& pod : base::FindArray(entry, {"pods"})) {
      if (pod.is_object()) cached.pods.push_back(pod);
    }
    scheduling::VolumeLimits limits;
    for (const auto& [driver, limit] : base::FindObject(entry, {"volumeLimits"})) {
      if (limit.is_number()) limits[std::string(driver)] = base::FindInt(entry, {"volumeLimits", driver});
    }
    if (!limits.empty()) cached.volume_limits = std::make_shared<const scheduling::VolumeLimits>(std::move(limits));
    scheduling::NodeSlices slices;
    for (const Json& slice : base::FindArray(entry, {"resourceSlices"})) {
      if (slice.is_object() && slices.size() < kNodeSlicesMax) slices.push_back(snapshot_->DecodeSlice(slice));
    }
    cached.slices = scheduling::SlicesOfNewNodes(slices);
    cache_.insert_or_assign(std::string(group), std::move(cached));
  }
  return {};
}

}  // namespace evenkeel::controllers::autoscaler
