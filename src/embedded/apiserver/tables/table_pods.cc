// The pod's row: what its containers are up to, in one word and some numbers.
#include "embedded/apiserver/tables/table_columns.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Json;

bool HasCondition(const Json& pod, std::string_view type) {
  for (const Json& condition : base::FindArray(pod, {"status", "conditions"})) {
    if (base::FindString(condition, {"type"}) == type) return base::FindString(condition, {"status"}) == "True";
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

struct Counts {
  int64_t restarts = 0;
  std::optional<base::Time> last;
  void Add(const Json& status) {
    restarts += base::FindInt(status, {"restartCount"});
    const auto finished = base::ParseTime(base::FindString(status, {"lastState", "terminated", "finishedAt"}));
    if (finished && (!last || *finished > *last)) last = *finished;
  }
};

// What keeps the pod from having been initialized; "" when nothing does. Init containers that go on running count like others:
// those that are `ready`, and their restarts, which are `sidecars`; those of all of them are `all`.
std::string InitStatus(const Json& pod, int64_t& ready, Counts& all, Counts& sidecars) {
  const size_t total = base::FindArray(pod, {"spec", "initContainers"}).size();
  size_t index = 0;
  for (const Json& status : base::FindArray(pod, {"status", "initContainerStatuses"})) {
    const size_t at = index++;
    const bool sidecar = IsSidecar(pod, base::FindString(status, {"name"}));
    all.Add(status);
    if (sidecar) sidecars.Add(status);
    const Json* terminated = base::Find(status, {"state", "terminated"});
    if (terminated != nullptr && base::FindInt(*terminated, {"exitCode"}) == 0) continue;
    if (sidecar && base::FindBool(status, {"started"})) {
      if (base::FindBool(status, {"ready"})) ++ready;
      continue;
    }
    if (terminated != nullptr) return "Init:" + TerminatedReason(*terminated);
    const std::string_view waiting = base::FindString(status, {"state", "waiting", "reason"});
    if (!waiting.empty() && waiting != "PodInitializing") return "Init:" + std::string(waiting);
    return "Init:" + std::to_string(at) + "/" + std::to_string(total);
  }
  return "";
}

std::string ContainerStatus(const Json& pod, std::string reason, int64_t& ready, Counts& counts) {
  bool running = false;
  const base::JsonArray& statuses = base::FindArray(pod, {"status", "containerStatuses"});
  for (auto it = statuses.rbegin(); it != statuses.rend(); ++it) {
    counts.Add(*it);
    const std::string_view waiting = base::FindString(*it, {"state", "waiting", "reason"});
    const Json* terminated = base::Find(*it, {"state", "terminated"});
    if (!waiting.empty()) {
      reason = waiting;
    } else if (terminated != nullptr) {
      reason = TerminatedReason(*terminated);
    } else if (base::FindBool(*it, {"ready"}) && base::Find(*it, {"state", "running"}) != nullptr) {
      running = true;
      ++ready;
    }
  }
  if (reason == "Completed" && running) return HasCondition(pod, "Ready") ? "Running" : "NotReady";
  return reason;
}

}  // namespace

PodSummary SummaryOf(const Json& pod) {
  PodSummary summary;
  std::string& reason = summary.status;
  reason = Or(base::FindString(pod, {"status", "reason"}), base::FindString(pod, {"status", "phase"}));
  for (const Json& condition : base::FindArray(pod, {"status", "conditions"})) {
    if (base::FindString(condition, {"type"}) == "PodScheduled" &&
        base::FindString(condition, {"reason"}) == "SchedulingGated") {
      reason = "SchedulingGated";
    }
  }
  summary.total = static_cast<int64_t>(base::FindArray(pod, {"spec", "containers"}).size());
  for (const Json& container : base::FindArray(pod, {"spec", "initContainers"})) {
    if (base::FindString(container, {"restartPolicy"}) == "Always") ++summary.total;
  }
  Counts all, counts;
  const std::string init = InitStatus(pod, summary.ready, all, counts);
  if (!init.empty()) reason = init;
  if (init.empty() || HasCondition(pod, "Initialized")) {
    reason = ContainerStatus(pod, std::move(reason), summary.ready, counts);
  } else {
    counts = all;
  }
  summary.restarts = counts.restarts;
  summary.last_restart = counts.last;
  if (base::Find(pod, {"metadata", "deletionTimestamp"}) == nullptr) return summary;
  const std::string_view phase = base::FindString(pod, {"status", "phase"});
  if (base::FindString(pod, {"status", "reason"}) == "NodeLost") {
    reason = "Unknown";
  } else if (phase != "Succeeded" && phase != "Failed") {
    reason = "Terminating";
  }
  return summary;
}

}  // namespace evenkeel::embedded::apiserver
