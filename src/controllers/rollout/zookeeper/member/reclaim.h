// Volumes of servers that were let go. They stay, unless the spec wants otherwise (storage.reclaimPolicy: Delete); and then,
// too, as long as anything could still need them: only a leader can say that a server is no member any more, and what is
// abandoned, or goes with the whole ZooKeeper, was not let go.
#pragma once

#include <optional>

#include "controllers/rollout/zookeeper/member/picture.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

/// One that is to be deleted now.
std::optional<VolumeClaim> NextReclaim(const Picture& picture, const Ensemble& ensemble);

/// How many servers the StatefulSet may have of the `wanted` ones: none comes to a volume that may be taken from it later.
int64_t WithoutDoubted(const Picture& picture, int64_t wanted);

}  // namespace evenkeel::controllers::rollout::zookeeper::member
