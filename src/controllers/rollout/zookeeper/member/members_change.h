// How many servers there are here, and when the ensemble is asked to take one in or to let one go.
//
// ZooKeeper itself agrees on its members, as on a write (reconfigEnabled). A list in a file only counts until a server hears of
// one that was agreed on, so replacing the file and restarting would change nothing; and nobody has to restart. Each cluster
// cares for its own servers only: one that is missing among the members is started from the list that is wanted, follows
// without a vote, and is taken in once it serves; one that is to go is let go first, and stopped then. One at a time each.
//
// Whoever was a member and is none any more was let go by others, who may know better: a cluster that was cut off still has the
// spec of before. So each server is taken in once for each rolloutRevision, and the hub, which sees that it only follows,
// gives another one if it is still wanted.
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
