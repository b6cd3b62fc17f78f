// Which phase a group of services runs next: placement of missing replicas, repair of violated constraints, balancing, or none.
// One phase at a time; the one that is longest overdue is asked first, and what is not needed lets the next one have its turn.
// A decision answers why the other phases did not run, and how far the chosen one may go.
//
//   placement         as often as PLBActionRetryTimes says without moves of existing replicas, then once with them
//   constraint check  while nodes have just come or gone: light, fault and upgrade domains are left alone
//   balancing         as often as PLBActionRetryTimes says the quick search, then as often the slow one; not soon after a node
//                     came or went, not beyond the limits of movements, not when nothing has changed since the last time
//
// With balancing per node type (PerNodeType) each type has its own interval: a type is paused until it has passed, however
// imbalanced it is, and the phase runs for the others.
//
// Between two looks at the state passes PLBRefreshGap, where it is given: a decision within it finds nothing due, and what has
// changed meanwhile is found together at the next one.
//
// The rest of the planner is asked by callbacks, each at most once in a decision and only when the answer matters, since a
// full look at a cluster is what costs. Time is given, nothing is random: the same input and state give the same decision.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "balancing/model/cluster.h"
#include "balancing/model/phase_state.h"
#include "balancing/model/settings.h"
#include "balancing/rules/throttles.h"

namespace evenkeel::balancing {

enum class Phase { kNoActionNeeded, kPlacement, kPlacementWithMove, kConstraintCheck, kQuickBalancing, kBalancing };
std::string_view Name(Phase phase);  ///< "NoActionNeeded", "Placement", "PlacementWithMove", ...

/// What has a timer of its own.
enum class Stage { kPlacement, kConstraintCheck, kBalancing };
std::string_view Name(Stage stage);  ///< "Placement", "ConstraintCheck", "Balancing"

enum class Violations {
  kNone,
  kLightOnly,  ///< only of fault and upgrade domains, which a light check leaves alone
  kSome,
};

struct ImbalanceAnswer {
  bool balanced = true;
  int64_t partitions = 0;               ///< that may move because of it
  int64_t throttled_partitions = 0;     ///< of these, by MovementThrottles::PartitionThrottled
  std::vector<std::string> node_types;  ///< with balancing per node type: the imbalanced ones
};

/// What is not set answers no: nothing needed, nothing violated, balanced, no score; but yes to has_movable_replica.
struct PhaseQuestions {
  std::function<bool()> has_movable_replica;
  /// A replica is to be placed, promoted or swapped because of an upgrade, or dropped.
  std::function<bool()> placement_needed;
  /// Of constraints that are looked at (priority 0 or above).
  std::function<Violations()> violations;
  std::function<ImbalanceAnswer()> imbalance;
  /// The average deviation at present; asked only with AvgStdDevDeltaThrottleThreshold.
  std::function<double()> score;
};

struct PhaseInput {
  double now = 0;
  RuntimeSwitches runtime;
  bool in_application_upgrade = false;  ///< any partition of the group
  ReplicaCounts replicas;
  std::span<const std::string> node_types;       ///< all of the cluster; with balancing per node type
  const MovementThrottles* throttles = nullptr;  ///< null: nothing has moved
  PhaseQuestions questions;
};

enum class SkipReason {
  kNotRefreshed,         ///< the state was looked at a moment ago
  kNotDue,               ///< its interval has not passed
  kDisabled,             ///< by settings, by the cluster, or because of an application upgrade
  kNothingMovable,       ///< no replica of the group can move
  kNotNeeded,            ///< nothing to place or drop, or nothing violated
  kOnlyLight,            ///< only domains are violated, and nodes have just come or gone
  kNodeChange,           ///< balancing waits after a node came or went
  kMovementThrottle,     ///< too many movements lately
  kNothingMayMove,       ///< MaxPercentageToMove is 0, or no replica exists
  kPartitionsThrottled,  ///< too many of the imbalanced partitions moved lately
  kBalanced,
  kNodeTypesPaused,  ///< every imbalanced node type was balanced a short time ago
  kNoChange,         ///< neither state nor loads changed since the last balancing
  kSmallChange,      ///< loads changed, but the deviation hardly rose
  kAnotherRan,       ///< not asked: a phase that was longer overdue runs
};

struct PhaseSkip {
  Stage stage = Stage::kPlacement;
  SkipReason reason = SkipReason::kNotDue;
  std::string text;  ///< one clause for people
};

struct PhaseDecision {
  Phase phase = Phase::kNoActionNeeded;
  std::string why;     ///< one clause for people; empty when nothing runs
  bool light = false;  ///< constraint check: fault and upgrade domains are left alone
  /// How many existing replicas may move: 0 for a placement without moves, kUnlimited for a constraint check.
  int64_t movement_slots = 0;
  std::vector<std::string> node_types;         ///< balancing per node type: only replicas there may move
  std::vector<std::string> paused_node_types;  ///< imbalanced, but not yet again
  std::vector<PhaseSkip> skipped;              ///< one for each of the other stages
};

/// Decides, and remembers in `state` that it did: the caller runs the phase that is answered. After a balancing run it tells
/// NoteScore; when a run was interrupted, or changed something, NoteStateChange.
PhaseDecision ChoosePhase(const Settings& settings, const PhaseInput& input, PhaseState& state);

/// The instant at which the first stage of the group is due, which may be past; not before the state is looked at again.
double NextStage(const Settings& settings, const PhaseState& state);

}  // namespace evenkeel::balancing
