// What the kubelet would say about a pod, computed from what its containers do. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace evenkeel::embedded::nodeagent {

struct Termination {
  int exit_code = 0;
  int signal = 0;
  std::string reason, message;
  base::Time started{}, finished{};
  std::string id;
};

/// One container of a pod: what it is and what it does.
struct ContainerRecord {
  enum class Role { kInit, kSidecar, kMain };
  enum class State { kWaiting, kRunning, kTerminated };

  std::string name, image;
  Role role = Role::kMain;
  State state = State::kWaiting;
  std::string waiting_reason, waiting_message;
  std::string id;
  base::Time running_since{};
  bool started = false;  ///< the startup probe has passed, or there is none
  bool ready = false;
  int restarts = 0;
  std::optional<Termination> last;  ///< state when terminated, otherwise lastState

  bool Succeeded() const { return state == State::kTerminated && last->exit_code == 0; }
};

struct PodRecord {
  std::string ip, host_ip;
  std::optional<base::Time> start_time;
  bool terminating = false;
  bool sandbox = false;                     ///< address given, volumes there: containers may start
  std::string phase_override;               ///< set when the pod was rejected: "Failed"
  std::string reason, message;              ///< of the pod
  std::vector<ContainerRecord> init, main;  ///< sidecars are among `init`, in the order of the spec
};

/// "Pending", "Running", "Succeeded", "Failed". A terminal phase follows only when nothing of the pod can start again.
std::string ComputePhase(const PodRecord& record, std::string_view restart_policy);

/// The status of `pod` (the whole object) with what `record` says put in; fields and conditions of others are kept, transition
/// times change only with the status they belong to.
base::Json ComputeStatus(const base::Json& pod, const PodRecord& record, base::Time now);

/// Reads the records of containers back from the status that an earlier agent wrote.
PodRecord RecallRecord(const base::Json& pod);

/// Whether a container that ended with `exit_code` starts again.
bool ShouldRestart(std::string_view restart_policy, ContainerRecord::Role role, int exit_code);

}  // namespace evenkeel::embedded::nodeagent
