// What the placement phase has to place: the missing replicas of a group, partition by partition, and how well it went.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "balancing/measures/arrangement.h"
#include "balancing/model/service_groups.h"
#include "balancing/search/step_journal.h"

namespace evenkeel::balancing {

/// What one partition needs.
struct Demand {
  PartitionId partition = kNoId;
  double size = 0;  ///< the largest of its replicas, in averages of its metrics' loads or capacities
  std::vector<ReplicaId> replicas;
  int64_t below_target = 0;  ///< of these, without which it has fewer than its service wants
};

struct Demands {
  /// Parents before their children, then what is below its target, then the largest first.
  std::vector<Demand> demands;
  /// Partitions that get fewer replicas than they miss, or none, until their parent has more.
  std::vector<PartitionId> waiting;
};

/// Of the group's partitions, without those that are `waiting` already. O(missing replicas + partitions + nodes * metrics), and
/// O(waiting) more for each partition that misses something.
Demands FindDemands(const Arrangement& arrangement, const ServiceGroup& group, std::span<const PartitionId> waiting);

/// All that the demand asks for is on nodes.
bool Placed(const Arrangement& arrangement, const Demand& demand);
/// The partition is placed entirely or not at all: PlacePolicy NonPartially, or PartiallyPlaceServices off, while none of its
/// replicas exists.
bool AllOrNothing(const Arrangement& arrangement, PartitionId partition);
/// Takes off what was placed of demands that are placed entirely or not at all, and are not placed entirely.
void TakeBackPartial(StepJournal& journal, std::span<const Demand> demands);

/// How well a placement went: smaller is better.
struct PlacementOutcome {
  size_t unplaced = 0;
  int64_t below_target = 0;
  int64_t movements = 0;
  double deviation = 0;
  auto operator<=>(const PlacementOutcome&) const = default;
};
/// As it is now. O(replicas of the demands).
PlacementOutcome OutcomeOf(const StepJournal& journal, std::span<const Demand> demands);

}  // namespace evenkeel::balancing
