// Does for one pod on one node what the kubelet does. It is level-triggered: each event (a new version of the pod, a container
// that ended, a probe, a timer) calls Sync, which looks at the whole state and does what is due.
//
// Lives on the agent's strand. Writes status only when it differs from what the API last showed.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "client/client.h"
#include "client/event_recorder.h"
#include "embedded/nodeagent/container_environment.h"
#include "embedded/nodeagent/container_runtime.h"
#include "embedded/nodeagent/pod_logs.h"
#include "embedded/nodeagent/pod_status.h"
#include "embedded/nodeagent/probe.h"
#include "embedded/nodeagent/restart_backoff.h"
#include "kube/types.h"

namespace evenkeel::embedded::nodeagent {

/// What a worker needs from its node and agent; all of it outlives the worker.
struct WorkerHost {
  client::Client& client;
  std::shared_ptr<base::Strand> strand;
  base::Clock& clock;
  client::EventRecorder* events = nullptr;  ///< null: none are written
  PodLogs* logs = nullptr;
  std::string node, host_ip;
  kube::ResourceList allocatable;
  std::function<std::optional<std::string>(bool loopback)> allocate_address;
  /// The pod has reached its terminal phase, or is about to go: it no longer needs anything of the node.
  std::function<void()> released;
};

class PodWorker {
 public:
  /// Recalls from the pod's status what an earlier agent did. Begin starts the work.
  PodWorker(WorkerHost host, ContainerRuntime& runtime, std::shared_ptr<const kube::Pod> pod);
  /// Kills what still runs.
  ~PodWorker();
  PodWorker(const PodWorker&) = delete;
  PodWorker& operator=(const PodWorker&) = delete;

  void Begin();
  /// Refuses the pod: it fails with this reason ("OutOfcpu") and never starts.
  void Reject(std::string_view reason, std::string_view message);
  void Update(std::shared_ptr<const kube::Pod> pod);
  /// A ConfigMap or Secret ("configmap/NAME") has changed.
  void ConfigurationChanged(const std::string& reference);
  /// The object is gone from the API: kills at once and removes what the runtime keeps for it.
  void Forget();

  const kube::Pod& pod() const { return *pod_; }
  const std::string& address() const { return record_.ip; }
  bool uses_loopback() const { return runtime_.UsesLoopback(); }
  bool terminal() const { return terminal_; }

 private:
  enum ProbeKind { kStartup, kLiveness, kReadiness, kProbeKinds };
  struct Probing {
    ProbeSpec spec;
    ProbeTracker tracker;
    base::Timer timer;
  };
  struct Slot {
    ContainerRecord* record = nullptr;
    std::unique_ptr<RunningContainer> running;
    RestartBackoff backoff;
    bool start_pending = false;
    bool stopping = false;
    bool readiness_passed = false;
    base::Timer start_timer, kill_timer, hook_timer;
    std::array<std::unique_ptr<Probing>, kProbeKinds> probes;
  };

  // pod_worker.cc
  void Recall();
  void Sync();
  void SyncContainers();
  void SyncTermination();
  bool PrepareSandbox();
  base::Status SyncVolumes();
  void EnsureRunning(Slot& slot);
  bool AnyRunning(bool sidecars) const;
  std::function<void()> Guarded(std::function<void()> action);

  // pod_worker_containers.cc
  void ScheduleStart(Slot& slot, base::Duration wait);
  void StartNow(Slot& slot, std::optional<base::Time> running_since);
  base::Status Configure(const base::Json& spec, ContainerStart& start, std::string& reason);
  ContainerStart MakeStart(const Slot& slot) const;
  void Exited(Slot& slot, const ContainerExit& exit);
  void Stop(Slot& slot, base::Duration grace, std::string_view message);
  void RunPreStop(Slot& slot, base::Duration grace);
  void StartProbes(Slot& slot);
  void StartProbe(Slot& slot, ProbeKind kind);
  void ScheduleProbe(Slot& slot, ProbeKind kind, base::Duration delay);
  void ProbeNow(Slot& slot, ProbeKind kind);
  void Probed(Slot& slot, ProbeKind kind, const ProbeResult& result);
  const base::Json* Spec(const Slot& slot) const;
  DataLookup Lookup() const;

  // pod_worker_status.cc
  void MarkDirty();
  bool Flush();
  void PublishLogs();
  void FinishTermination();
  void RetryAfter(base::Duration delay);
  void Event(bool warning, std::string_view reason, std::string_view message);

  WorkerHost host_;
  ContainerRuntime& runtime_;
  std::shared_ptr<const kube::Pod> pod_;
  PodIdentity identity_;
  PodRecord record_;
  std::vector<Slot> slots_;  ///< init containers, then main ones; never resized after the constructor
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool dirty_ = false;
  bool terminal_ = false;  ///< Succeeded or Failed, written or about to be
  bool released_ = false;
  bool delete_sent_ = false;
  std::optional<int64_t> grace_;  ///< the grace period that termination works with
  base::Timer retry_;
};

}  // namespace evenkeel::embedded::nodeagent
