// A kubelet stand-in for one node or for many: registers Nodes, renews their Leases, and drives the pods bound to them through
// a ContainerRuntime. All its nodes share one strand and one watch of pods, so a member of hundreds of simulated nodes costs
// little: a lease write per node every 10 s, a status write every 5 minutes, and nothing per pod while nothing happens.
//
// Lives on its strand: every member function and the destructor run on it, or before it has run anything, or after it is
// closed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/random.h"
#include "client/client.h"
#include "embedded/nodeagent/container_runtime.h"
#include "embedded/nodeagent/node_objects.h"
#include "embedded/nodeagent/pod_logs.h"

namespace evenkeel::embedded::nodeagent {

struct NodeAgentOptions {
  client::Client* client = nullptr;
  std::shared_ptr<base::Strand> strand;
  base::Clock* clock = nullptr;
  base::Random random{0};
  std::vector<NodeConfig> nodes;

  /// Runs every pod that no other runtime claims. Required, outlives the agent.
  ContainerRuntime* simulated = nullptr;
  /// Runs pods by the value of their annotation `evenkeel.dev/runtime`, e.g. "process". Outlive the agent.
  std::map<std::string, ContainerRuntime*> runtimes;
  PodLogs* logs = nullptr;  ///< is told what logs there are; may be null

  bool events = true;       ///< writes Events about pods
  bool reregister = false;  ///< makes a Node anew when somebody has deleted it
  base::Duration lease_period = std::chrono::seconds(10);
  base::Duration lease_duration = std::chrono::seconds(40);
  base::Duration status_period = std::chrono::minutes(5);
};

class NodeAgent {
 public:
  explicit NodeAgent(NodeAgentOptions options);
  /// Kills the containers of runtimes that do not survive it; the pods' objects stay as they are.
  ~NodeAgent();
  NodeAgent(const NodeAgent&) = delete;
  NodeAgent& operator=(const NodeAgent&) = delete;

  /// Registers the nodes (retried until it succeeds) and begins to watch. kInvalid names a configuration that cannot work.
  base::Status Start();

  base::Status AddNode(const NodeConfig& config);
  /// Stops the node for good; with `delete_object` its Node is deleted too.
  void RemoveNode(const std::string& name, bool delete_object);
  /// The node, if it is one of these, has other devices from now on.
  void SetDevices(const std::string& node, const std::vector<base::Json>& slices);
  /// As if the machine were switched off: no more leases, status or pods; its containers are gone.
  void StopNode(const std::string& name);
  /// Switches it on again: it reports, and takes its pods up where the API says they are.
  void StartNode(const std::string& name);

  /// How many pods it has a worker for.
  size_t pods() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evenkeel::embedded::nodeagent
