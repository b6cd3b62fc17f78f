// A container runtime whose containers are controller replicas in this process, in virtual time: the pods of the hub's
// Deployment are then the real controllers, started, probed, killed and restarted by the real node agent.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "embedded/nodeagent/container_runtime.h"
#include "sim/world/replica.h"

namespace evenkeel::sim {

class ReplicaRuntime final : public embedded::nodeagent::ContainerRuntime {
 public:
  ReplicaRuntime(ReplicaContext context, base::Random random);
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
  class Container;
  const ReplicaContext context_;
  base::Random random_;
  std::map<std::string, Container*> containers_;
};

}  // namespace evenkeel::sim
