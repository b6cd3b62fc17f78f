// A container runtime whose containers are controller replicas in this process, in virtual time: the pods of the hub's
// Deployment are then the real controllers, started, probed, killed and restarted by the real node agent.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "controllers/distribution/distributor.h"
#include "embedded/nodeagent/container_runtime.h"

namespace evenkeel::sim {

/// Makes a client of the hub ("hub") or of the member with that server URL, for a replica of that name.
using ClientMaker =
    std::function<base::Result<std::unique_ptr<client::Client>>(const std::string& server, const std::string& replica)>;

class ReplicaRuntime final : public embedded::nodeagent::ContainerRuntime {
 public:
  ReplicaRuntime(base::Executor& executor, base::Random random, ClientMaker clients);
  ~ReplicaRuntime() override;

  /// Takes the place of the process runtime, so that the Deployment is the same.
  std::string_view name() const override { return "process"; }
  bool NeedsConfiguration() const override { return true; }
  base::Result<std::unique_ptr<embedded::nodeagent::RunningContainer>> Start(
      const embedded::nodeagent::ContainerStart& start, std::shared_ptr<base::Strand> strand,
      std::function<void(embedded::nodeagent::ContainerExit)> exited) override;

  /// As `kill -9`: the replica is cut off in the middle of what it does. False when there is none of that name.
  bool Crash(const std::string& replica);
  /// The running replicas by pod name.
  std::map<std::string, controllers::distribution::DistributorStatus> Replicas() const;

 private:
  class Replica;
  base::Executor& executor_;
  base::Random random_;
  ClientMaker clients_;
  std::map<std::string, Replica*> replicas_;
};

}  // namespace evenkeel::sim
