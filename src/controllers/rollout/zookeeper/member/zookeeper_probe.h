// The real Probe: four-letter words over TCP, and changes of the members through ZooKeeper's own client library.
#pragma once

#include <memory>
#include <string>

#include "base/time.h"
#include "controllers/rollout/zookeeper/member/probe.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

struct ZooKeeperProbeOptions {
  /// For all servers together. Connections are opened one after the other, each with its share of the time, and are answered
  /// at the same time: one that swallows packets costs the others nothing but time.
  base::Duration ask_timeout = std::chrono::seconds(1);
  /// Shorter than what a successor in the ownership of a cluster waits (controllers/distribution).
  base::Duration change_timeout = std::chrono::milliseconds(1500);
};

/// From where the servers' addresses can be reached: in a cluster's own network of pods.
std::unique_ptr<Probe> NewZooKeeperProbe(ZooKeeperProbeOptions options = {});

/// 40 hexadecimal digits from the operating system's random numbers.
std::string NewPassword();

}  // namespace evenkeel::controllers::rollout::zookeeper::member
