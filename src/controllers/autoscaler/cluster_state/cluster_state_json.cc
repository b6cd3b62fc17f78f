#include "controllers/autoscaler/cluster_state/cluster_state.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr int64_t kNodesMax = 1'000'000'000;

base::Result<base::Time> TimeAt(const Json& json, std::string_view field, const std::string& where) {
  auto time = base::ParseTime(base::FindString(json, {field}));
  if (!time) return base::Fail(time.error().Wrap("cluster state: " + where + "." + std::string(field)));
  return *time;
}

base::Result<int64_t> CountAt(const Json& json, std::string_view field, int64_t min, const std::string& where) {
  const int64_t count = base::FindInt(json, {field}, -1);
  if (count >= min && count <= kNodesMax) return count;
  return base::Fail(base::Code::kBadRequest, "cluster state: " + where + "." + std::string(field) +
                                                 ": not a number of nodes of at least " + std::to_string(min));
}

}  // namespace

Json ClusterState::ToJson() const {
  JsonObject unregistered, scale_ups, sizes, failed;
  JsonArray scale_downs;
  for (const auto& [id, instance] : unregistered_) {
    unregistered[id] = JsonObject{{"group", instance.group}, {"since", base::FormatMicroTime(instance.since)}};
  }
  for (const auto& [group, request] : scale_ups_) {
    scale_ups[group] = JsonObject{{"increase", request.increase},
                                  {"at", base::FormatMicroTime(request.at)},
                                  {"expected", base::FormatMicroTime(request.expected)}};
    if (request.unanswered == 0) continue;
    JsonObject& entry = scale_ups[group].as_object();
    entry["unanswered"] = request.unanswered;
    entry["unansweredTarget"] = request.unanswered_target;
    entry["unansweredUntil"] = base::FormatMicroTime(request.unanswered_until);
  }
  for (const ScaleDown& request : scale_downs_) {
    scale_downs.push_back(JsonObject{{"group", request.group},
                                     {"node", request.node},
                                     {"at", base::FormatMicroTime(request.at)},
                                     {"expected", base::FormatMicroTime(request.expected)}});
  }
  for (const auto& [group, size] : incorrect_) {
    sizes[group] = JsonObject{
        {"current", size.current}, {"expected", size.expected}, {"firstObserved", base::FormatMicroTime(size.first_observed)}};
  }
  for (const auto& [group, ids] : failed_creations_) {
    JsonArray& list = failed[group].emplace_array();
    for (const std::string& id : ids) list.emplace_back(id);
  }
  return JsonObject{{"unregistered", std::move(unregistered)}, {"scaleUps", std::move(scale_ups)},
                    {"scaleDowns", std::move(scale_downs)},    {"incorrectSizes", std::move(sizes)},
                    {"failedCreations", std::move(failed)},    {"backoff", backoff_.ToJson()}};
}

base::Status ClusterState::ReadUnregistered(const Json& json) {
  for (const auto& [id, value] : base::FindObject(json, {"unregistered"})) {
    EVENKEEL_ASSIGN(const base::Time since, TimeAt(value, "since", "unregistered." + std::string(id)));
    unregistered_[std::string(id)] = {std::string(base::FindString(value, {"group"})), since};
  }
  for (const auto& [group, value] : base::FindObject(json, {"failedCreations"})) {
    if (!value.is_array()) continue;
    for (const Json& id : value.get_array()) {
      if (const auto* text = id.if_string()) failed_creations_[std::string(group)].emplace(*text);
    }
  }
  return {};
}

base::Status ClusterState::ReadRequests(const Json& json) {
  for (const auto& [group, value] : base::FindObject(json, {"scaleUps"})) {
    const std::string where = "scaleUps." + std::string(group);
    ScaleUp request;
    EVENKEEL_ASSIGN(request.increase, CountAt(value, "increase", 1, where));
    EVENKEEL_ASSIGN(request.at, TimeAt(value, "at", where));
    EVENKEEL_ASSIGN(request.expected, TimeAt(value, "expected", where));
    if (base::Find(value, {"unanswered"}) != nullptr) {
      EVENKEEL_ASSIGN(request.unanswered, CountAt(value, "unanswered", 1, where));
      EVENKEEL_ASSIGN(request.unanswered_target, CountAt(value, "unansweredTarget", 1, where));
      EVENKEEL_ASSIGN(request.unanswered_until, TimeAt(value, "unansweredUntil", where));
    }
    scale_ups_[std::string(group)] = request;
  }
  for (const Json& value : base::FindArray(json, {"scaleDowns"})) {
    const std::string where = "scaleDowns[" + std::to_string(scale_downs_.size()) + "]";
    ScaleDown request{std::string(base::FindString(value, {"group"})), std::string(base::FindString(value, {"node"})), {}, {}};
    EVENKEEL_ASSIGN(request.at, TimeAt(value, "at", where));
    EVENKEEL_ASSIGN(request.expected, TimeAt(value, "expected", where));
    scale_downs_.push_back(std::move(request));
  }
  return {};
}

base::Status ClusterState::ReadSizes(const Json& json) {
  for (const auto& [group, value] : base::FindObject(json, {"incorrectSizes"})) {
    const std::string where = "incorrectSizes." + std::string(group);
    IncorrectSize size;
    EVENKEEL_ASSIGN(size.current, CountAt(value, "current", 0, where));
    EVENKEEL_ASSIGN(size.expected, CountAt(value, "expected", 0, where));
    EVENKEEL_ASSIGN(size.first_observed, TimeAt(value, "firstObserved", where));
    incorrect_[std::string(group)] = size;
  }
  return {};
}

base::Result<ClusterState> ClusterState::FromJson(const Json& json, const Options& options) {
  ClusterState state(options);
  if (!json.is_object()) return base::Fail(base::Code::kBadRequest, "cluster state: not an object");
  EVENKEEL_TRY(state.ReadUnregistered(json));
  EVENKEEL_TRY(state.ReadRequests(json));
  EVENKEEL_TRY(state.ReadSizes(json));
  if (const Json* backoff = base::Find(json, {"backoff"})) {
    EVENKEEL_ASSIGN(state.backoff_, Backoff::FromJson(*backoff, {options.initial_node_group_backoff_duration,
                                                                 options.max_node_group_backoff_duration,
                                                                 options.node_group_backoff_reset_timeout}));
  }
  return state;
}

}  // namespace evenkeel::controllers::autoscaler
