// The pod's row: what its containers are up to, in one word.
#include "embedded/apiserver/table_columns.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Json;

bool HasReadyCondition(const Json& pod) {
  for (const Json& condition : base::FindArray(pod, {"status", "conditions"})) {
    if (base::FindString(condition, {"type"}) == "Ready") return base::FindString(condition, {"status"}) == "True";
  }
  return false;
}

bool IsSidecar(const Json& pod, std::string_view name) {
  for (const Json& container : base::FindArray(pod, {"spec", "initContainers"})) {
    if (base::FindString(container, {"name"}) == name) return base::FindString(container, {"restartPolicy"}) == "Always";
  }
  return false;
}

std::string TerminatedReason(const Json& terminated) {
  const std::string_view reason = base::FindString(terminated, {"reason"});
  if (!reason.empty()) return std::string(reason);
  const int64_t signal = base::FindInt(terminated, {"signal"});
  return signal != 0 ? "Signal:" + std::to_string(signal)
                     : "ExitCode:" + std::to_string(base::FindInt(terminated, {"exitCode"}));
}

// "" when the init containers are through.
std::string InitStatus(const Json& pod) {
  const size_t total = base::FindArray(pod, {"spec", "initContainers"}).size();
  size_t index = 0;
  for (const Json& status : base::FindArray(pod, {"status", "initContainerStatuses"})) {
    const size_t at = index++;
    const Json* terminated = base::Find(status, {"state", "terminated"});
    if (terminated != nullptr && base::FindInt(*terminated, {"exitCode"}) == 0) continue;
    if (IsSidecar(pod, base::FindString(status, {"name"})) && base::FindBool(status, {"started"})) continue;
    if (terminated != nullptr) return "Init:" + TerminatedReason(*terminated);
    const std::string_view waiting = base::FindString(status, {"state", "waiting", "reason"});
    if (!waiting.empty() && waiting != "PodInitializing") return "Init:" + std::string(waiting);
    return "Init:" + std::to_string(at) + "/" + std::to_string(total);
  }
  return "";
}

std::string ContainerStatusText(const Json& pod, std::string reason) {
  bool running = false;
  const base::JsonArray& statuses = base::FindArray(pod, {"status", "containerStatuses"});
  for (auto it = statuses.rbegin(); it != statuses.rend(); ++it) {
    const std::string_view waiting = base::FindString(*it, {"state", "waiting", "reason"});
    const Json* terminated = base::Find(*it, {"state", "terminated"});
    if (!waiting.empty()) {
      reason = waiting;
    } else if (terminated != nullptr) {
      reason = TerminatedReason(*terminated);
    } else if (base::FindBool(*it, {"ready"}) && base::Find(*it, {"state", "running"}) != nullptr) {
      running = true;
    }
  }
  if (reason == "Completed" && running) return HasReadyCondition(pod) ? "Running" : "NotReady";
  return reason;
}

}  // namespace

std::string PodStatusText(const Json& pod) {
  std::string reason(base::FindString(pod, {"status", "phase"}));
  if (const std::string_view given = base::FindString(pod, {"status", "reason"}); !given.empty()) reason = given;
  for (const Json& condition : base::FindArray(pod, {"status", "conditions"})) {
    if (base::FindString(condition, {"type"}) == "PodScheduled" &&
        base::FindString(condition, {"reason"}) == "SchedulingGated") {
      reason = "SchedulingGated";
    }
  }
  const std::string init = InitStatus(pod);
  bool initialized = init.empty();
  reason = initialized ? ContainerStatusText(pod, std::move(reason)) : init;
  if (base::Find(pod, {"metadata", "deletionTimestamp"}) == nullptr) return reason;
  if (base::FindString(pod, {"status", "reason"}) == "NodeLost") return "Unknown";
  const std::string_view phase = base::FindString(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed" ? reason : "Terminating";
}

}  // namespace evenkeel::embedded::apiserver
