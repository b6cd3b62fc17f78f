// How an operator in virtual time talks to the servers of a ZooKeeperModel: over the network between its host and the member
// that they run in, with all that goes wrong there.
#pragma once

#include <memory>
#include <string>

#include "base/random.h"
#include "sim/network/network.h"
#include "sim/world/zookeeper_model.h"

namespace evenkeel::sim {

/// All must outlive it; the process, whose tasks alone may use it, runs on `host`.
struct ZooKeeperProbeContext {
  ZooKeeperModel& model;
  Network& network;
  base::Executor& executor;
  Process& process;
  std::string host;
  base::Random random;
};

std::unique_ptr<zookeeper::Probe> NewSimulatedProbe(ZooKeeperProbeContext context);

}  // namespace evenkeel::sim
