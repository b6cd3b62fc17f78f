// What runs containers, as the node agent sees it: few verbs, no Kubernetes decisions. Restarting, probing, back-off and status
// are the agent's; a runtime starts one attempt of one container and tells when it ended. Bodies: simulated_runtime.h (virtual
// or real time), process_runtime.h (local processes), and in the simulator in-process controller replicas.
//
// Everything is called on the agent's strand, and all callbacks are run as tasks of the strand passed in, never from
// within the call that causes them.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "kube/types.h"

namespace evenkeel::embedded::nodeagent {

/// Name and value; later entries win over earlier ones of the same name.
using Environment = std::vector<std::pair<std::string, std::string>>;

struct PodIdentity {
  std::string ns, name, uid, node, ip, host_ip;
  std::string Key() const { return ns + "/" + name; }
};

/// One file of a volume.
struct VolumeFile {
  std::string path;  ///< relative, no ".."
  std::string content;
  unsigned mode = 0644;
};

/// A volume of a pod with its content, where it has one.
struct Volume {
  enum class Kind { kFiles, kEmptyDir, kClaim };
  std::string name;
  Kind kind = Kind::kFiles;
  std::string claim;  ///< kClaim: the PersistentVolumeClaim, which outlives the pod
  std::vector<VolumeFile> files;
};

struct Mount {
  std::string volume, path, sub_path;
};

struct ContainerStart {
  PodIdentity pod;
  std::shared_ptr<const kube::Pod> spec;  ///< as last read
  std::string container, image;
  int attempt = 0;  ///< restartCount: 0 is the first
  bool init = false;
  /// The container is expected to end by itself with exit status 0 (init containers, restart policies Never and OnFailure).
  bool runs_to_completion = false;
  /// Set when the container of an earlier agent is adopted (only from runtimes whose containers survive it): since when it
  /// runs.
  std::optional<base::Time> running_since;
  std::vector<std::string> command;  ///< command and args, variables expanded
  Environment env;
  std::string working_dir;
  std::vector<Mount> mounts;
};

struct ContainerExit {
  int exit_code = 0;
  int signal = 0;      ///< 0: ended by itself
  std::string reason;  ///< empty: "Completed" or "Error" by the exit code
  std::string message;
};

struct ProbeAction {
  enum class Kind { kExec, kHttp, kTcp };
  Kind kind = Kind::kTcp;
  std::vector<std::string> command;
  std::string host, scheme, path;
  int port = 0;
  std::vector<std::pair<std::string, std::string>> headers;
};

struct ProbeResult {
  bool success = false;
  std::string message;  ///< why not, as the kubelet words it
};

/// A container that has been started. Destroying it kills it and everything it started; no callback comes after.
class RunningContainer {
 public:
  virtual ~RunningContainer() = default;
  /// "simulated://...", "process://PID".
  virtual std::string id() const = 0;
  /// SIGKILL ends the container with all it started, other signals go to its first process.
  virtual void Signal(int signal) = 0;
  /// Runs the action once (liveness, readiness, startup and the preStop hook); a time-out is a failure. `done` is posted to the
  /// strand.
  virtual void Probe(const ProbeAction& action, base::Duration timeout, std::function<void(ProbeResult)> done) = 0;
  /// The first result holds until the container ends, so that thousands of such containers need no periodic work.
  virtual bool ProbesAreConstant() const { return false; }
};

class ContainerRuntime {
 public:
  virtual ~ContainerRuntime() = default;

  /// "simulated", "process".
  virtual std::string_view name() const = 0;
  /// How long getting the container ready takes before Start may be called (the pull of its image).
  virtual base::Duration StartDelay(const ContainerStart&) const { return {}; }
  /// `exited` is posted to `strand` once, unless the RunningContainer is destroyed first. An error means that nothing runs.
  virtual base::Result<std::unique_ptr<RunningContainer>> Start(const ContainerStart& start,
                                                                std::shared_ptr<base::Strand> strand,
                                                                std::function<void(ContainerExit)> exited) = 0;

  /// Containers go on while no agent looks after them, so a new agent adopts them instead of starting them again.
  virtual bool SurvivesAgent() const { return false; }
  /// Environment, ConfigMaps, Secrets and volumes are resolved before Start; false saves the agent reading them.
  virtual bool NeedsConfiguration() const { return false; }
  /// A container without a command has nothing to run here.
  virtual bool NeedsCommand() const { return false; }
  /// Pods get addresses from the node's loopback range instead of its pod range.
  virtual bool UsesLoopback() const { return false; }
  /// The pod shall not become ready, whatever its probes say.
  virtual bool HoldsUnready(const kube::Pod&) const { return false; }

  /// What every container of the pod finds in its environment, before its own.
  virtual Environment BaseEnvironment(const PodIdentity&) const { return {}; }
  /// Makes the files of the pod's volumes what is given, each replaced atomically. Called before Start and whenever they
  /// change.
  virtual base::Status SyncVolumes(const PodIdentity&, const std::vector<Volume>&) { return {}; }
  /// Where the container's log of that attempt is (container_log.h); empty when there is none.
  virtual std::string LogPath(std::string_view, std::string_view, int) const { return {}; }
  /// The pod is gone: what belongs to it on disk goes too.
  virtual void RemovePod(const PodIdentity&) {}
  /// Drops what belongs to pods with other uids, left behind by an earlier agent.
  virtual void RetainPods(const std::set<std::string>&) {}
};

}  // namespace evenkeel::embedded::nodeagent
