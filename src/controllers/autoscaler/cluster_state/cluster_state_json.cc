#include "controllers/autoscaler/cluster_state/cluster_state.h"
#include "controllers/autoscaler/facts/state_fields.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Field;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr int64_t kNodesMax = 1'000'000'000;

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
  for (const auto& [group, ids] : failed_creations_) failed[group] = base::ToJsonArray(ids);
  return JsonObject{{"unregistered", std::move(unregistered)}, {"scaleUps", std::move(scale_ups)},
                    {"scaleDowns", std::move(scale_downs)},    {"incorrectSizes", std::move(sizes)},
                    {"failedCreations", std::move(failed)},    {"backoff", backoff_.ToJson()}};
}

base::Status ClusterState::ReadUnregistered(const Field& fields) {
  EVENKEEL_TRY(fields["unregistered"].ForEachMember([&](std::string_view id, const Field& field) -> base::Status {
    UnregisteredInstance& instance = unregistered_[std::string(id)];
    EVENKEEL_TRY(field["group"].Text(instance.group));
    return ReadTime(field["since"], instance.since);
  }));
  return fields["failedCreations"].ForEachMember(
      [&](std::string_view group, const Field& ids) { return ReadTexts(ids, failed_creations_[std::string(group)]); });
}

base::Status ClusterState::ReadRequests(const Field& fields) {
  EVENKEEL_TRY(fields["scaleUps"].ForEachMember([&](std::string_view group, const Field& field) -> base::Status {
    ScaleUp& request = scale_ups_[std::string(group)];
    EVENKEEL_TRY(ReadCount(field["increase"], request.increase, 1, kNodesMax));
    EVENKEEL_TRY(ReadTime(field["at"], request.at));
    EVENKEEL_TRY(ReadTime(field["expected"], request.expected));
    if (!field["unanswered"]) return {};
    EVENKEEL_TRY(field["unanswered"].Whole(request.unanswered, 1, kNodesMax));
    EVENKEEL_TRY(ReadCount(field["unansweredTarget"], request.unanswered_target, 1, kNodesMax));
    return ReadTime(field["unansweredUntil"], request.unanswered_until);
  }));
  return fields["scaleDowns"].ForEach([&](const Field& field) -> base::Status {
    ScaleDown& request = scale_downs_.emplace_back();
    EVENKEEL_TRY(field["group"].Text(request.group));
    EVENKEEL_TRY(field["node"].Text(request.node));
    EVENKEEL_TRY(ReadTime(field["at"], request.at));
    return ReadTime(field["expected"], request.expected);
  });
}

base::Status ClusterState::ReadSizes(const Field& fields) {
  return fields["incorrectSizes"].ForEachMember([&](std::string_view group, const Field& field) -> base::Status {
    IncorrectSize& size = incorrect_[std::string(group)];
    EVENKEEL_TRY(ReadCount(field["current"], size.current, 0, kNodesMax));
    EVENKEEL_TRY(ReadCount(field["expected"], size.expected, 0, kNodesMax));
    return ReadTime(field["firstObserved"], size.first_observed);
  });
}

base::Result<ClusterState> ClusterState::FromJson(const Json& json, const Options& options) {
  const Field fields(&json, "state", "cluster");
  ClusterState state(options);
  EVENKEEL_TRY(fields.IsObject());
  EVENKEEL_TRY(state.ReadUnregistered(fields));
  EVENKEEL_TRY(state.ReadRequests(fields));
  EVENKEEL_TRY(state.ReadSizes(fields));
  if (const Json* backoff = base::Find(json, {"backoff"})) {
    EVENKEEL_ASSIGN(state.backoff_, Backoff::FromJson(*backoff, {options.initial_node_group_backoff_duration,
                                                                 options.max_node_group_backoff_duration,
                                                                 options.node_group_backoff_reset_timeout}));
  }
  return state;
}

}  // namespace evenkeel::controllers::autoscaler
