#include "embedded/nodeagent/pod_status.h"

#include <algorithm>

#include "base/hash.h"
#include "kube/object.h"

namespace evenkeel::embedded::nodeagent {
namespace {

using base::Find;
using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using Role = ContainerRecord::Role;
using State = ContainerRecord::State;

Json TerminationJson(const Termination& end) {
  JsonObject json{{"exitCode", end.exit_code}};
  if (end.signal != 0) json["signal"] = end.signal;
  json["reason"] = end.reason;
  if (!end.message.empty()) json["message"] = end.message;
  json["startedAt"] = base::FormatTime(end.started);
  json["finishedAt"] = base::FormatTime(end.finished);
  if (!end.id.empty()) json["containerID"] = end.id;
  return {{"terminated", std::move(json)}};
}

Json ContainerStatusJson(const ContainerRecord& container) {
  JsonObject json{{"name", container.name}, {"image", container.image}};
  const bool begun = container.state != State::kWaiting || container.last.has_value();
  json["imageID"] = begun ? fmt::format("evenkeel.dev/{}@fnv:{:016x}", container.image, base::Fnv1a64(container.image)) : "";
  if (!container.id.empty()) json["containerID"] = container.id;
  json["restartCount"] = container.restarts;
  json["ready"] = container.ready;
  json["started"] = container.started && container.state == State::kRunning;
  json["lastState"] = JsonObject();
  if (container.state == State::kTerminated) {
    json["state"] = TerminationJson(*container.last);
    return json;
  }
  if (container.last) json["lastState"] = TerminationJson(*container.last);
  if (container.state == State::kRunning) {
    json["state"] = {{"running", {{"startedAt", base::FormatTime(container.running_since)}}}};
    return json;
  }
  JsonObject waiting{{"reason", container.waiting_reason}};
  if (!container.waiting_message.empty()) waiting["message"] = container.waiting_message;
  json["state"] = {{"waiting", std::move(waiting)}};
  return json;
}

bool InitDone(const ContainerRecord& container) {
  return container.role == Role::kSidecar ? container.state == State::kRunning && container.started : container.Succeeded();
}

std::string NameList(const std::vector<ContainerRecord>& containers, bool (*wanted)(const ContainerRecord&)) {
  std::string names;
  for (const ContainerRecord& container : containers) {
    if (wanted(container)) names += (names.empty() ? "" : " ") + container.name;
  }
  return names;
}

void SetInitialized(Json& pod, const PodRecord& record, std::string_view phase, base::Time now) {
  const std::string open = NameList(record.init, [](const ContainerRecord& c) { return !InitDone(c); });
  const bool begun = std::ranges::any_of(record.main, [](const auto& c) { return c.state != State::kWaiting || c.last; });
  if (phase == "Succeeded") {
    kube::SetCondition(pod, "Initialized", "True", "PodCompleted", "", now);
  } else if (open.empty() || begun) {
    kube::SetCondition(pod, "Initialized", "True", "", "", now);
  } else {
    kube::SetCondition(pod, "Initialized", "False", "ContainersNotInitialized",
                       fmt::format("containers with incomplete status: [{}]", open), now);
  }
}

void SetReadiness(Json& pod, const PodRecord& record, std::string_view phase, base::Time now) {
  std::string unready = NameList(record.init, [](const ContainerRecord& c) { return c.role == Role::kSidecar && !c.ready; });
  const std::string rest = NameList(record.main, [](const ContainerRecord& c) { return !c.ready; });
  if (!rest.empty()) unready += (unready.empty() ? "" : " ") + rest;
  std::string reason, message;
  if (phase == "Succeeded") {
    reason = "PodCompleted";
  } else if (phase == "Failed") {
    reason = "PodFailed";
  } else if (!unready.empty()) {
    reason = "ContainersNotReady";
    message = fmt::format("containers with unready status: [{}]", unready);
  }
  kube::SetCondition(pod, "ContainersReady", reason.empty() ? "True" : "False", reason, message, now);
  if (reason.empty()) {
    for (const Json& gate : FindArray(pod, {"spec", "readinessGates"})) {
      const std::string_view type = FindString(gate, {"conditionType"});
      const Json* condition = kube::FindCondition(pod, type);
      if (condition != nullptr && FindString(*condition, {"status"}) == "True") continue;
      reason = "ReadinessGatesNotReady";
      message = fmt::format("{}corresponding condition of pod readiness gate \"{}\" {}", message.empty() ? "" : message + ", ",
                            type, condition == nullptr ? "does not exist." : "is not \"True\".");
    }
  }
  kube::SetCondition(pod, "Ready", reason.empty() ? "True" : "False", reason, message, now);
}

Termination ReadTermination(const Json& json) {
  Termination end;
  end.exit_code = static_cast<int>(FindInt(json, {"exitCode"}));
  end.signal = static_cast<int>(FindInt(json, {"signal"}));
  end.reason = FindString(json, {"reason"});
  end.message = FindString(json, {"message"});
  end.id = FindString(json, {"containerID"});
  if (auto time = base::ParseTime(FindString(json, {"startedAt"}))) end.started = *time;
  if (auto time = base::ParseTime(FindString(json, {"finishedAt"}))) end.finished = *time;
  return end;
}

void ReadContainerStatus(const Json& status, ContainerRecord& container) {
  container.restarts = static_cast<int>(FindInt(status, {"restartCount"}));
  container.ready = base::FindBool(status, {"ready"});
  container.started = base::FindBool(status, {"started"});
  container.id = FindString(status, {"containerID"});
  if (const Json* end = Find(status, {"lastState", "terminated"})) container.last = ReadTermination(*end);
  if (const Json* end = Find(status, {"state", "terminated"})) {
    container.state = State::kTerminated;
    container.last = ReadTermination(*end);
  } else if (const Json* running = Find(status, {"state", "running"})) {
    container.state = State::kRunning;
    if (auto time = base::ParseTime(FindString(*running, {"startedAt"}))) container.running_since = *time;
  }
}

std::vector<ContainerRecord> ReadContainers(const Json& pod, std::string_view list, std::string_view statuses, bool init) {
  std::vector<ContainerRecord> records;
  const bool has_init = !FindArray(pod, {"spec", "initContainers"}).empty();
  for (const Json& spec : FindArray(pod, {"spec", list})) {
    ContainerRecord record;
    record.name = FindString(spec, {"name"});
    record.image = FindString(spec, {"image"});
    if (init) record.role = FindString(spec, {"restartPolicy"}) == "Always" ? Role::kSidecar : Role::kInit;
    record.waiting_reason = has_init ? "PodInitializing" : "ContainerCreating";
    for (const Json& status : FindArray(pod, {"status", statuses})) {
      if (FindString(status, {"name"}) == record.name) ReadContainerStatus(status, record);
    }
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

bool ShouldRestart(std::string_view restart_policy, Role role, int exit_code) {
  if (role == Role::kSidecar) return true;
  if (role == Role::kInit) return exit_code != 0 && restart_policy != "Never";
  if (restart_policy == "Never") return false;
  return restart_policy != "OnFailure" || exit_code != 0;
}

std::string ComputePhase(const PodRecord& record, std::string_view restart_policy) {
  if (!record.phase_override.empty()) return record.phase_override;
  const bool main_begun = std::ranges::any_of(record.main, [](const auto& c) { return c.state != State::kWaiting || c.last; });
  for (const ContainerRecord& container : record.init) {
    if (container.role != Role::kInit || container.state != State::kTerminated || container.last->exit_code == 0) continue;
    if (record.terminating || !ShouldRestart(restart_policy, Role::kInit, container.last->exit_code)) return "Failed";
  }
  if (!main_begun && !std::ranges::all_of(record.init, InitDone)) return "Pending";
  size_t running = 0, ended = 0, succeeded = 0;
  for (const ContainerRecord& container : record.main) {
    if (container.state == State::kRunning) ++running;
    if (container.state == State::kRunning || !container.last) continue;
    ++ended;
    if (container.last->exit_code == 0) ++succeeded;
  }
  if (running + ended < record.main.size()) return "Pending";
  if (running > 0) return "Running";
  const bool all_over = std::ranges::all_of(record.main, [](const auto& c) { return c.state == State::kTerminated; });
  const bool sidecars_over = std::ranges::none_of(record.init, [](const auto& c) { return c.state == State::kRunning; });
  if (!all_over || !sidecars_over) return "Running";
  if (record.terminating) return succeeded == record.main.size() ? "Succeeded" : "Failed";
  if (restart_policy == "Always") return "Running";
  if (succeeded == record.main.size()) return "Succeeded";
  return restart_policy == "Never" ? "Failed" : "Running";
}

Json ComputeStatus(const Json& pod, const PodRecord& record, base::Time now) {
  // Only what conditions are computed from is copied, not the whole spec.
  Json copy = {{"spec", JsonObject()}, {"status", JsonObject()}};
  if (const Json* gates = Find(pod, {"spec", "readinessGates"})) copy.at("spec").get_object()["readinessGates"] = *gates;
  if (const Json* status = Find(pod, {"status"}); status != nullptr && status->is_object()) copy.at("status") = *status;
  const std::string phase = ComputePhase(record, FindString(pod, {"spec", "restartPolicy"}, "Always"));
  const auto put = [&copy](std::string_view key, auto value) { copy.at("status").get_object()[key] = std::move(value); };

  put("phase", phase);
  if (!record.reason.empty()) put("reason", record.reason);
  if (!record.message.empty()) put("message", record.message);
  if (!record.host_ip.empty()) {
    put("hostIP", record.host_ip);
    put("hostIPs", JsonArray{JsonObject{{"ip", record.host_ip}}});
  }
  if (!record.ip.empty()) {
    put("podIP", record.ip);
    put("podIPs", JsonArray{JsonObject{{"ip", record.ip}}});
  }
  if (record.start_time) put("startTime", base::FormatTime(*record.start_time));
  if (record.phase_override.empty()) {
    kube::SetCondition(copy, "PodReadyToStartContainers", record.sandbox ? "True" : "False", "", "", now);
    SetInitialized(copy, record, phase, now);
    SetReadiness(copy, record, phase, now);
    if (kube::FindCondition(copy, "PodScheduled") == nullptr) kube::SetCondition(copy, "PodScheduled", "True", "", "", now);
    JsonArray main, init;
    for (const ContainerRecord& container : record.main) main.push_back(ContainerStatusJson(container));
    for (const ContainerRecord& container : record.init) init.push_back(ContainerStatusJson(container));
    put("containerStatuses", std::move(main));
    if (!init.empty()) put("initContainerStatuses", std::move(init));
  }
  return std::move(copy.at("status"));
}

PodRecord RecallRecord(const Json& pod) {
  PodRecord record;
  record.ip = FindString(pod, {"status", "podIP"});
  record.host_ip = FindString(pod, {"status", "hostIP"});
  record.reason = FindString(pod, {"status", "reason"});
  record.message = FindString(pod, {"status", "message"});
  if (auto time = base::ParseTime(FindString(pod, {"status", "startTime"}))) record.start_time = *time;
  record.init = ReadContainers(pod, "initContainers", "initContainerStatuses", true);
  record.main = ReadContainers(pod, "containers", "containerStatuses", false);
  if (!record.init.empty()) {
    for (ContainerRecord& container : record.init) container.waiting_reason = "PodInitializing";
  }
  return record;
}

}  // namespace evenkeel::embedded::nodeagent
