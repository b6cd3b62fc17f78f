// What the operator of ZooKeepers in a member writes Events of.
#pragma once

#include "client/event_kind.h"

namespace evenkeel::controllers::rollout::zookeeper::member::events {

using client::EventKind;

inline constexpr EventKind kMembersChanged{"MembersChanged", false, "ZooKeeper",
                                           "the ensemble has taken a server in or let one go"};
inline constexpr EventKind kServerReplaced{"ServerReplaced", false, "ZooKeeper",
                                           "a server is replaced by one with the new revision"};
inline constexpr EventKind kVolumeDeleted{"VolumeDeleted", false, "ZooKeeper",
                                          "the volume of a server that was let go is deleted (storage.reclaimPolicy: Delete)"};

inline constexpr EventKind kWrittenByNewer{
    "WrittenByNewer", true, "ZooKeeper", "a newer program has written something that this one does not know: the servers stay"};

inline constexpr EventKind kEmptyCopyRemoved{
    "EmptyCopyRemoved", false, "ZooKeeper",
    "a copy without servers that Karmada had left behind is gone, so that it can bring another"};

inline constexpr EventKind kAll[] = {kMembersChanged, kServerReplaced, kVolumeDeleted, kWrittenByNewer, kEmptyCopyRemoved};

}  // namespace evenkeel::controllers::rollout::zookeeper::member::events
