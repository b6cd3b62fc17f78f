// Which servers an ensemble has next, and in which order its clusters learn of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/rollout/zookeeper/reading/fleet_reading.h"
#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"
#include "controllers/rollout/zookeeper/spec/server_names.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// One step from `now` towards `wanted`: one voter more or less, so that any majority of the old list meets any majority of the
/// new one. Where voters come and go, one comes before one goes, and the ensemble is never smaller than the smaller of the two.
/// Clusters that are there already grow before new ones; what goes is the highest id. Equal lists are answered unchanged.
Shares NextShares(const Shares& now, const Shares& wanted, const Identities& identities);

/// The cluster whose number of voters differs, and by how much (+1 or -1); nullopt: none. At most one differs.
struct VoterChange {
  std::string cluster;
  int64_t by = 0;
};
std::optional<VoterChange> ChangeOf(const Shares& before, const Shares& after);

/// All clusters of either list: by name or as the user wants, the leader's last, unless the user gave an order. A cluster that
/// gets a voter is first of all: when the others learn that they are one more, it is there to be counted. One that loses a
/// voter is last: when it goes, nobody counts on it any more. `before` is empty for a first deployment, which has no such
/// order.
std::vector<std::string> RolloutOrder(const EnsembleSpec& spec, const Shares& before, const Shares& after,
                                      const std::optional<Leader>& leader);

}  // namespace evenkeel::controllers::rollout::zookeeper
