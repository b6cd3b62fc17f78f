// What upgrades ask of a placement: primaries that leave or come back, and replicas that come back to their nodes.
#pragma once

#include <optional>
#include <vector>

#include "balancing/measures/arrangement.h"
#include "balancing/measures/node_ties.h"
#include "balancing/rules/constraints.h"
#include "balancing/search/search_levels.h"
#include "balancing/search/step_journal.h"

namespace evenkeel::balancing {

/// What an upgrade asked for in vain: that the primary leaves the node, or that one comes back to it.
struct ImpossibleRequest {
  PartitionId partition = kNoId;
  NodeId node = kNoId;
  std::optional<Constraint> obstacle;  ///< none: nobody could take over
};

struct UpgradeOutcome {
  std::vector<ImpossibleRequest> impossible;
  /// Partitions of which nothing more is placed now: their primary changes, or the rest was asked for at nodes.
  std::vector<PartitionId> waiting;
  /// Partitions whose missing replicas may only take the places of their stand-by ones, one at a time.
  std::vector<PartitionId> stand_by_first;
};

/// Whether the node is in an upgrade domain that the upgrade of the service's application has done; no with PreferUpgradedUDs
/// off.
bool IsUpgraded(const Arrangement& arrangement, ServiceId service, NodeId node);

/// Promotes, exchanges and places what upgrades ask for, parents before children. O(replicas of the group).
UpgradeOutcome MeetUpgrades(StepJournal& journal, SearchLevels& levels, const NodeTies& ties);

}  // namespace evenkeel::balancing
