// What new nodes of groups were like, for the next process: a group's last node may be gone by then.
#include <limits>

#include "controllers/autoscaler/facts/node_templates.h"
#include "controllers/autoscaler/facts/state_fields.h"
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
  JsonArray taints;
  for (const kube::Taint& taint : node.taints) {
    taints.push_back(JsonObject{{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  }
  JsonObject status{{"capacity", ToJson(node.capacity)},
                    {"allocatable", ToJson(node.allocatable)},
                    {"conditions", JsonArray{JsonObject{{"type", "Ready"}, {"status", node.ready ? "True" : "False"}}}}};
  if (!node.declared_features.empty()) status["declaredFeatures"] = base::ToJsonArray(node.declared_features);
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

base::Status NodeTemplates::RestoreCache(const base::Field& groups) {
  return groups.ForEachMember([&](std::string_view group, const base::Field& field) -> base::Status {
    EVENKEEL_ASSIGN(cache_[std::string(group)], ReadCached(field));
    return {};
  });
}

base::Result<NodeTemplates::Cached> NodeTemplates::ReadCached(const base::Field& field) const {
  Cached cached;
  EVENKEEL_TRY(field["node"].IsObject());
  cached.node = kube::Node::Decode(field["node"].value());
  EVENKEEL_TRY(ReadTime(field["at"], cached.at));
  EVENKEEL_TRY(field["sourceNode"].Text(cached.source_node));
  EVENKEEL_TRY(field["pods"].ForEach([&](const base::Field& pod) -> base::Status {
    EVENKEEL_TRY(pod.IsObject());
    cached.pods.push_back(pod.value());
    return {};
  }));
  scheduling::VolumeLimits limits;
  EVENKEEL_TRY(field["volumeLimits"].ForEachMember([&](std::string_view driver, const base::Field& limit) {
    return limit.Whole(limits[std::string(driver)], std::numeric_limits<int64_t>::min());
  }));
  if (!limits.empty()) cached.volume_limits = std::make_shared<const scheduling::VolumeLimits>(std::move(limits));
  scheduling::NodeSlices slices;
  EVENKEEL_TRY(field["resourceSlices"].ForEach([&](const base::Field& slice) -> base::Status {
    EVENKEEL_TRY(slice.IsObject());
    if (slices.size() < kNodeSlicesMax) slices.push_back(snapshot_->DecodeSlice(slice.value()));
    return {};
  }));
  cached.slices = scheduling::SlicesOfNewNodes(slices);
  return cached;
}

}  // namespace evenkeel::controllers::autoscaler
