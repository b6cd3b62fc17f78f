// The search for a more even (or, for defragmentation metrics, a better packed) arrangement of one group of services: which
// replicas to move, and which primaries and secondaries to exchange, so that the energy of deviation.h becomes as low as
// possible with the fewest movements. It stands in the place of Service Fabric's simulated annealing and follows its rules of
// what may move where; what it finds is a local optimum of
//
//   shifts     one replica to another node (a parent of affinity together with the replicas that follow it)
//   swaps      a primary and a secondary of one partition exchange their roles
//   exchanges  two replicas change places
//
// on the way down from where the deviation is rounded off near 0 (what is even already would keep single steps from all else),
// that small groups then leave by many short annealings, from it and from the start, and from which every movement that does
// not pay for itself is taken back. Each step can be carried out at the time it is made, so the found arrangement can as a rule
// be reached without exceeding a capacity on the way (plan_actions.h finds the order).
//
// Deterministic: the same arrangement, options and seed give the same answer, however fast the machine is.
#pragma once

#include <cstdint>
#include <vector>

#include "balancing/measures/arrangement.h"
#include "balancing/measures/imbalance.h"
#include "balancing/model/service_groups.h"

namespace evenkeel::balancing {

/// Constraints of a higher priority do not limit balancing: a preferred location is given up for an even load.
inline constexpr int64_t kBalancingMaxPriority = 1;

struct BalancingOptions {
  /// At most so many movements, of replicas that are moved for affinity too.
  int64_t movement_slots = INT64_MAX;
  /// Balancing per node type: only replicas on nodes of these types move, each within its own. Empty: all, anywhere.
  std::vector<NodeTypeId> node_types = {};
  std::vector<PartitionId> throttled_partitions = {};  ///< that do not move
  bool quick = false;                                  ///< a fifth of the default number of evaluations
  uint64_t seed = 1;
  /// How many steps it may look at. 0: by the size of the group, milliseconds for tens of nodes, about a second for thousands.
  int64_t evaluations = 0;
};

struct BalancingResult {
  double deviation_before = 0, deviation_after = 0;  ///< average deviations
  double energy_before = 0, energy_after = 0;
  int64_t evaluations = 0;
  int64_t moves = 0;  ///< movements; an exchange of roles is one
  /// The steps that it may look at were used up on the way down, where more would still have improved it.
  bool cut_off = false;
};

/// Changes `arrangement`, in which no replica of the group has moved yet, to the best that was found; leaves it as it is unless
/// the energy falls and the average deviation improves by ScoreImprovementThreshold at least.
BalancingResult Balance(Arrangement& arrangement, const ServiceGroup& group, const GroupBalance& balance,
                        const BalancingOptions& options);

}  // namespace evenkeel::balancing
