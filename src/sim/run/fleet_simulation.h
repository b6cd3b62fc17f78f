// A whole embedded fleet in virtual time: a hub, members and controller replicas, the same code as `evenkeel up` on memory
// stores and one thread. The replicas are pods of the hub's Deployment, in compatible mode. An hour takes about a second, and
// the same seed gives the same run, step for step.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/world/fleet.h"
#include "sim/world/replica_runtime.h"

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

  base::VirtualExecutor& executor() { return fleet_.executor(); }
  client::Client& hub() { return fleet_.hub().client(); }
  ReplicaRuntime& replicas() { return runtime_; }

  /// The replicas that look after each member right now, by the member's name.
  std::map<std::string, std::vector<std::string>> Owners() const;
  /// `replicas` are ready and each member has exactly one owner.
  bool Settled(size_t replicas) const;

 private:
  const FleetSimulationOptions options_;
  Fleet fleet_;
  ReplicaRuntime runtime_;
};

}  // namespace evenkeel::sim
