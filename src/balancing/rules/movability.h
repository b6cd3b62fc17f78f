// Whether an existing replica could be moved at all, wherever to.
#pragma once

#include <string_view>

#include "balancing/model/cluster.h"
#include "balancing/model/settings.h"

namespace evenkeel::balancing {

/// Whether replicas may be moved away from the node: not when it is down or paused, nor when it is deactivated otherwise and
/// its safety checks are done.
bool LetsGo(const Node& node);
/// Whether the replica's service type is blocked on its node and not one that leaves blocked nodes: then nobody can move it,
/// and it violates nothing.
bool IsBlockedForType(const Cluster& cluster, const Replica& replica);

/// Its move cost is VeryHigh, and costs count: it moves only to mend what nothing else mends, never for balance.
inline bool MovesLast(const Settings& settings, const Replica& replica) {
  return settings.use_move_cost_reports && replica.move_cost == MoveCost::kVeryHigh;
}

/// One clause for people; empty when the replica is movable. `upgrading_may_move`: partitions in an upgrade too.
std::string_view WhyKept(const Cluster& cluster, const Replica& replica, bool upgrading_may_move);

}  // namespace evenkeel::balancing
