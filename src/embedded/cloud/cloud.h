// The embedded cloud: makes the world follow a member's NodeGroup objects. Instances take time to come and to go, run into
// quotas, fail and stay away as the object says (group_state.h); those that run become nodes of the member's NodeAgent.
//
// All that is known is in the objects' status, which is written before anything is made and after anything is removed: the
// cloud may be killed at any moment and goes on where it was, with the nodes that there were. Draining a node is the business
// of whoever deletes it: the cloud only switches the machine off, with what still runs there, and removes its Node.
//
// Groups hold each other up in nothing: one that makes no sense gets the condition Valid=False and an Event; its nodes stay.
#pragma once

#include <memory>

#include "base/executor.h"
#include "base/random.h"
#include "client/client.h"
#include "embedded/nodeagent/node_agent.h"

namespace evenkeel::embedded::cloud {

struct CloudOptions {
  client::Client* client = nullptr;
  std::shared_ptr<base::Strand> strand;  ///< the agent's
  base::Clock* clock = nullptr;
  base::Random random{0};
  nodeagent::NodeAgent* agent = nullptr;  ///< outlives the cloud
  int cluster_index = 0;                  ///< see fleet::ClusterOptions
  int loopback_octet = 10;
};

/// Lives on the agent's strand: every member function and the destructor run there, or before it has run anything, or after it
/// is closed.
class Cloud {
 public:
  explicit Cloud(CloudOptions options);
  ~Cloud();
  Cloud(const Cloud&) = delete;
  Cloud& operator=(const Cloud&) = delete;

  /// The API must know the kind NodeGroup (InstallDefinition).
  void Start();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evenkeel::embedded::cloud
