// A whole embedded fleet in virtual time: a hub, members and controller replicas, the same code as `evenkeel up` on memory
// stores and one thread. An hour takes about a second, and the same seed gives the same run, step for step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "embedded/fleet/cluster.h"
#include "sim/replica_runtime.h"

namespace evenkeel::sim {

struct FleetSimulationOptions {
  uint64_t seed = 1;
  int members = 3;
  int nodes = 3;  ///< per member
  int replicas = 3;
  std::string sharding_method = "round-robin";
};

class FleetSimulation {
 public:
  explicit FleetSimulation(FleetSimulationOptions options);
  ~FleetSimulation();

  /// Brings up the clusters and registers the members with the hub.
  base::Status Start();

  base::VirtualExecutor& executor() { return executor_; }
  client::Client& hub() { return clusters_.front()->client(); }
  ReplicaRuntime& replicas() { return runtime_; }

  /// The replicas that look after each member right now, by the member's name.
  std::map<std::string, std::vector<std::string>> Owners() const;
  /// `replicas` are ready and each member has exactly one owner.
  bool Settled(size_t replicas) const;

 private:
  base::Result<std::unique_ptr<client::Client>> NewClient(const std::string& server, const std::string& replica);

  const FleetSimulationOptions options_;
  base::VirtualExecutor executor_;
  base::Random random_;
  ReplicaRuntime runtime_;
  std::vector<std::unique_ptr<embedded::fleet::Cluster>> clusters_;  ///< the hub first
  std::vector<std::unique_ptr<embedded::store::Watch>> traces_;
};

}  // namespace evenkeel::sim
