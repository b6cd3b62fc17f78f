// How many servers run in this cluster, and when the operator asks the ensemble to add or to remove one.
//
// The servers of ZooKeeper agree on their members as on a write (reconfigEnabled). A server uses the list in its file only
// until it hears of a list that the servers have agreed on. So the operator changes members by `reconfig`, and restarts no
// server. Each operator adds and removes only the servers of its own cluster, one at a time. It starts a missing server with
// the list that is wanted; the server follows without a vote, and the operator adds it once it serves. It removes a server from
// the ensemble first, and stops it then.
//
// A server that was a member and is none any more was removed by another cluster. That cluster may know better, since a cluster
// that was cut off still has the old spec. So the operator adds each server once for each rolloutRevision. The hub sees that
// the server only follows, and gives the cluster another rolloutRevision if the server is still wanted.
#pragma once

#include <optional>
#include <string>

#include "controllers/rollout/zookeeper/member/picture.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

struct MembersChange {
  int64_t set_replicas = 0;               ///< that the StatefulSet is to have now
  std::optional<Reconfiguration> change;  ///< what the ensemble is asked for
  std::optional<ServerPod> via;           ///< through whom
  std::string released;                   ///< `change` is about a server of another cluster; nothing here waits for that
  std::string waits_for;                  ///< "": as many servers as wanted, all of them members, and no others
};

MembersChange NextMembersChange(const Picture& picture, const Ensemble& ensemble);

}  // namespace evenkeel::controllers::rollout::zookeeper::member
