// Talking to the servers of an ensemble. The real body asks over TCP and changes the membership through libzookeeper
// (zookeeper_probe.h); tests and the simulator bring their own.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "controllers/rollout/zookeeper/member/server_line.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

/// Where a server listens for clients.
struct Endpoint {
  int64_t id = 0;  ///< for messages, and for bodies that need no network
  std::string host;
  int port = 0;
  auto operator<=>(const Endpoint&) const = default;
};

/// kNotServing: its process answers, but it belongs to no quorum (it is looking for a leader, or catching up with one).
enum class Mode { kNotServing, kLeader, kFollower, kObserver, kStandalone };

/// What a server says of itself at one instant.
struct Answer {
  Mode mode = Mode::kNotServing;
  std::string zxid;  ///< "0x100000003"; "" while it does not serve
  /// Of a leader: followers that have all it has and vote; it is not one of them. -1: not said.
  int64_t synced_voters = -1;
  /// The members that the ensemble has agreed on, which may be others than those that the server was started with, by id.
  std::vector<ServerLine> servers;
  std::string config_version;  ///< of that agreement, as ZooKeeper writes it: hexadecimal, without 0x
};

/// One change of the members, which the ensemble agrees on as on a write. Nobody has to restart.
struct Reconfiguration {
  std::vector<std::string> joining;  ///< lines "server.4=HOST:2888:3888:participant;2181"
  std::vector<int64_t> leaving;
  std::string from_version;  ///< refused unless this is the present one, so that two of them cannot cross
  std::string password;      ///< of ZooKeeper's user "super", who alone may do it
};

class Probe {
 public:
  virtual ~Probe() = default;
  /// Asks all of them at the same time; one answer each, in their order, within about a second altogether. An error: nothing
  /// answers there, or nothing that is understood.
  virtual std::vector<base::Result<Answer>> Ask(const std::vector<Endpoint>& servers) = 0;
  /// Through any server that serves. kConflict: the present version is another, or another change is under way;
  /// kUnavailable: a majority of the new members is not connected and in sync, or no answer came (it may have taken effect).
  virtual base::Status Reconfigure(const Endpoint& via, const Reconfiguration& change) = 0;
};

}  // namespace evenkeel::controllers::rollout::zookeeper::member
