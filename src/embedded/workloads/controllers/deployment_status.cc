#include "embedded/workloads/controllers/deployment_status.h"

#include <algorithm>
#include <limits>

#include "embedded/workloads/pods/pods.h"
#include "kube/types.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Find;
using base::FindInt;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

JsonArray& ConditionsOf(JsonObject& status) {
  Json& list = status["conditions"];
  if (!list.is_array()) list.emplace_array();
  return list.get_array();
}

const Json* FindIn(const JsonObject& status, std::string_view type) {
  const Json* list = status.if_contains("conditions");
  return list == nullptr || !list->is_array() ? nullptr : ConditionIn(list->get_array(), type);
}

std::string_view ReasonIn(const JsonObject& status, std::string_view type) {
  const Json* condition = FindIn(status, type);
  return condition == nullptr ? "" : FindString(*condition, {"reason"});
}

/// Replaces the condition unless status and reason are the same; lastTransitionTime stays while the status does. `touch`: even
/// then.
void PutCondition(JsonObject& status, std::string_view type, std::string_view value, std::string_view reason,
                  std::string_view message, base::Time now, bool touch = false) {
  const std::string time = base::FormatTime(now);
  for (Json& condition : ConditionsOf(status)) {
    if (FindString(condition, {"type"}) != type) continue;
    const bool same = FindString(condition, {"status"}) == value;
    if (same && FindString(condition, {"reason"}) == reason && !touch) return;
    JsonObject& object = condition.get_object();
    if (!same) object["lastTransitionTime"] = time;
    object["status"] = value;
    object["lastUpdateTime"] = time;
    object["reason"] = reason;
    object["message"] = message;
    return;
  }
  ConditionsOf(status).push_back(JsonObject{{"type", type},
                                            {"status", value},
                                            {"lastUpdateTime", time},
                                            {"lastTransitionTime", time},
                                            {"reason", reason},
                                            {"message", message}});
}

void DropCondition(JsonObject& status, std::string_view type) {
  if (FindIn(status, type) == nullptr) return;
  JsonArray kept;
  for (const Json& condition : ConditionsOf(status)) {
    if (FindString(condition, {"type"}) != type) kept.push_back(condition);
  }
  status["conditions"] = std::move(kept);
}

int64_t Count(const JsonObject& status, std::string_view field) {
  const Json* value = status.if_contains(field);
  if (value == nullptr) return 0;
  return value->is_int64() ? value->get_int64() : value->is_uint64() ? static_cast<int64_t>(value->get_uint64()) : 0;
}

std::string Quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

bool Progressed(const JsonObject& status, const Json& deployment) {
  const JsonObject& before = FindObject(deployment, {"status"});
  const int64_t old_before = Count(before, "replicas") - Count(before, "updatedReplicas");
  const int64_t old_now = Count(status, "replicas") - Count(status, "updatedReplicas");
  return Count(status, "updatedReplicas") > Count(before, "updatedReplicas") || old_now < old_before ||
         Count(status, "readyReplicas") > Count(before, "readyReplicas") ||
         Count(status, "availableReplicas") > Count(before, "availableReplicas");
}

bool TimedOut(const JsonObject& status, const DeploymentNumbers& numbers, base::Time now) {
  const Json* progressing = FindIn(status, "Progressing");
  if (progressing == nullptr || !numbers.deadline_seconds) return false;
  const std::string_view reason = FindString(*progressing, {"reason"});
  if (reason == "NewReplicaSetAvailable" || reason == "DeploymentPaused") return false;
  if (reason == "ProgressDeadlineExceeded") return true;
  const auto since = TimeAt(*progressing, {"lastUpdateTime"});
  return since && *since + std::chrono::seconds(*numbers.deadline_seconds) < now;
}

}  // namespace

DeploymentNumbers NumbersOf(const Json& deployment) {
  DeploymentNumbers numbers;
  numbers.replicas = FindInt(deployment, {"spec", "replicas"}, 1);
  const int64_t deadline = FindInt(deployment, {"spec", "progressDeadlineSeconds"}, 600);
  if (deadline < std::numeric_limits<int32_t>::max()) numbers.deadline_seconds = deadline;
  if (FindString(deployment, {"spec", "strategy", "type"}, "RollingUpdate") != "RollingUpdate") return numbers;
  const Json quarter = "25%";
  const Json* surge = Find(deployment, {"spec", "strategy", "rollingUpdate", "maxSurge"});
  const Json* unavailable = Find(deployment, {"spec", "strategy", "rollingUpdate", "maxUnavailable"});
  numbers.max_surge = kube::ScaledValue(surge != nullptr ? surge : &quarter, numbers.replicas, true).value_or(0);
  numbers.max_unavailable =
      kube::ScaledValue(unavailable != nullptr ? unavailable : &quarter, numbers.replicas, false).value_or(0);
  // Neither would mean that nothing may ever move.
  if (numbers.max_surge == 0 && numbers.max_unavailable == 0) numbers.max_unavailable = 1;
  numbers.max_unavailable = std::min(numbers.max_unavailable, numbers.replicas);
  return numbers;
}

void MarkPaused(Json& status, const DeploymentNumbers& numbers, bool paused, base::Time now) {
  if (!numbers.deadline_seconds) return;
  JsonObject& object = status.get_object();
  const std::string_view reason = ReasonIn(object, "Progressing");
  // A rollout that ran out of time stays so until it makes progress.
  if (reason == "ProgressDeadlineExceeded") return;
  if (paused && reason != "DeploymentPaused") {
    PutCondition(object, "Progressing", "Unknown", "DeploymentPaused", "Deployment is paused", now);
  } else if (!paused && reason == "DeploymentPaused") {
    PutCondition(object, "Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed", now);
  }
}

void MarkFound(Json& status, const DeploymentNumbers& numbers, std::string_view replica_set, base::Time now) {
  if (!numbers.deadline_seconds || FindIn(status.get_object(), "Progressing") != nullptr) return;
  PutCondition(status.get_object(), "Progressing", "True", "FoundNewReplicaSet", "Found new replica set " + Quoted(replica_set),
               now);
}

void MarkCreated(Json& status, const DeploymentNumbers& numbers, std::string_view replica_set, base::Time now) {
  if (!numbers.deadline_seconds) return;
  PutCondition(status.get_object(), "Progressing", "True", "NewReplicaSetCreated",
               "Created new replica set " + Quoted(replica_set), now);
}

void MarkFailedCreate(Json& status, const DeploymentNumbers& numbers, std::string_view message, base::Time now) {
  if (!numbers.deadline_seconds) return;
  PutCondition(status.get_object(), "Progressing", "False", "ReplicaSetCreateError", message, now);
}

void CountReplicas(JsonObject& status, const Json& deployment, const std::vector<Json>& sets, std::optional<size_t> newest,
                   const DeploymentNumbers&) {
  int64_t wanted = 0, actual = 0, ready = 0, available = 0;
  for (const Json& set : sets) {
    wanted += FindInt(set, {"spec", "replicas"}, 1);
    actual += FindInt(set, {"status", "replicas"});
    ready += FindInt(set, {"status", "readyReplicas"});
    available += FindInt(set, {"status", "availableReplicas"});
  }
  status["observedGeneration"] = FindInt(deployment, {"metadata", "generation"});
  SetCount(status, "replicas", actual, false);
  SetCount(status, "updatedReplicas", newest ? FindInt(sets[*newest], {"status", "replicas"}) : 0, false);
  SetCount(status, "readyReplicas", ready, false);
  SetCount(status, "availableReplicas", available, false);
  SetCount(status, "unavailableReplicas", std::max<int64_t>(0, wanted - available), false);
}

bool RolloutComplete(const Json& deployment, const JsonObject& status, const DeploymentNumbers& numbers) {
  return Count(status, "updatedReplicas") == numbers.replicas && Count(status, "replicas") == numbers.replicas &&
         Count(status, "availableReplicas") == numbers.replicas &&
         Count(status, "observedGeneration") >= FindInt(deployment, {"metadata", "generation"});
}

void MarkAvailable(JsonObject& status, const Json&, const DeploymentNumbers& numbers, base::Time now) {
  if (Count(status, "availableReplicas") >= numbers.replicas - numbers.max_unavailable) {
    PutCondition(status, "Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", now);
  } else {
    PutCondition(status, "Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.",
                 now);
  }
}

void MarkProgress(JsonObject& status, const Json& deployment, const std::vector<Json>& sets, std::optional<size_t> newest,
                  const DeploymentNumbers& numbers, std::string_view replica_set, base::Time now) {
  const std::string subject =
      replica_set.empty() ? "Deployment " + Quoted(kube::NameOf(deployment)) : "ReplicaSet " + Quoted(replica_set);
  const bool was_complete = Count(status, "replicas") == Count(status, "updatedReplicas") &&
                            ReasonIn(status, "Progressing") == "NewReplicaSetAvailable";
  if (numbers.deadline_seconds && !was_complete) {
    const Json* current = FindIn(status, "Progressing");
    if (RolloutComplete(deployment, status, numbers)) {
      PutCondition(status, "Progressing", "True", "NewReplicaSetAvailable", subject + " has successfully progressed.", now);
    } else if (Progressed(status, deployment)) {
      const bool touch = current != nullptr;
      PutCondition(status, "Progressing", "True", "ReplicaSetUpdated", subject + " is progressing.", now, touch);
    } else if (TimedOut(status, numbers, now)) {
      PutCondition(status, "Progressing", "False", "ProgressDeadlineExceeded", subject + " has timed out progressing.", now);
    }
  }
  // A failure of the new ReplicaSet tells more than one of the others.
  const Json* failure = newest ? kube::FindCondition(sets[*newest], "ReplicaFailure") : nullptr;
  for (size_t i = 0; i < sets.size() && failure == nullptr; ++i) failure = kube::FindCondition(sets[i], "ReplicaFailure");
  if (failure != nullptr) {
    PutCondition(status, "ReplicaFailure", FindString(*failure, {"status"}), FindString(*failure, {"reason"}),
                 FindString(*failure, {"message"}), now);
  } else {
    DropCondition(status, "ReplicaFailure");
  }
}

std::optional<base::Duration> UntilDeadline(const JsonObject& status, const Json& deployment, const DeploymentNumbers& numbers,
                                            base::Time now) {
  const Json* progressing = FindIn(status, "Progressing");
  if (progressing == nullptr || !numbers.deadline_seconds || RolloutComplete(deployment, status, numbers)) return std::nullopt;
  const std::string_view reason = FindString(*progressing, {"reason"});
  if (reason == "NewReplicaSetAvailable" || reason == "ProgressDeadlineExceeded" || reason == "DeploymentPaused")
    return std::nullopt;
  const auto since = TimeAt(*progressing, {"lastUpdateTime"});
  if (!since) return std::nullopt;
  // A second more, as the times in conditions are whole seconds.
  return std::max<base::Duration>(*since + std::chrono::seconds(*numbers.deadline_seconds + 1) - now, std::chrono::seconds(1));
}

}  // namespace evenkeel::embedded::workloads
