// After a balancing search: where a primary and a secondary on the same two nodes could exchange their roles instead of a
// movement, and the deviation is no higher then, they do. The score may not tell the two apart, but a movement builds a replica
// and an exchange builds none.
#pragma once

#include <cstdint>

#include "balancing/measures/arrangement.h"
#include "balancing/measures/imbalance.h"
#include "balancing/model/service_groups.h"
#include "balancing/search/balancing_search.h"

namespace evenkeel::balancing {

/// Of at most a thousand movements of the group; no deviation and no cost becomes higher, and nothing that `options` forbids
/// moves. Answers how many were exchanged. O(movements * replicas of a node), and once O(replicas of the group).
int64_t ExchangeMovesForSwaps(Arrangement& arrangement, const ServiceGroup& group, const GroupBalance& balance,
                              const BalancingOptions& options);

}  // namespace evenkeel::balancing
