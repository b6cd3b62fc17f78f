// What the balancer would do now, and why: the answer of the planner, for people and programs. Pure: the same cluster,
// settings, options and memory give the same plan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "balancing/measures/imbalance.h"
#include "balancing/model/cluster.h"
#include "balancing/model/service_groups.h"
#include "balancing/model/settings.h"
#include "balancing/placement/placement_upgrades.h"
#include "balancing/plan/phase_machine.h"
#include "balancing/rules/constraints.h"
#include "balancing/rules/throttles.h"
#include "base/json.h"
#include "base/result.h"

namespace evenkeel::balancing {

enum class ActionKind : uint8_t {
  kMovePrimary,
  kMoveSecondary,
  kMoveInstance,
  kSwapPrimarySecondary,
  kAddPrimary,
  kAddSecondary,
  kAddInstance,
  kPromoteSecondary,
  kDropPrimary,
  kDropSecondary,
  kDropInstance,
  kRequestedPlacementNotPossible,
};
std::string_view Name(ActionKind kind);  ///< "MovePrimary", ...

/// What an action changes of one metric on its nodes.
struct LoadChange {
  MetricId metric = kNoId;
  int64_t source_before = 0, source_after = 0;  ///< 0 when there is no source
  int64_t target_before = 0, target_after = 0;
};

struct Action {
  PartitionId partition = kNoId;
  ActionKind kind = ActionKind::kMoveInstance;
  ReplicaId replica = kNoId;  ///< of the cluster; kNoId: a new one
  NodeId from = kNoId, to = kNoId;
  int64_t partition_version = 0;    ///< at the time of the decision: executed only if it is still this one
  std::string reason;               ///< one sentence: trigger, loads before and after, or the violation that it mends
  MetricId trigger_metric = kNoId;  ///< that was imbalanced or violated
  std::vector<LoadChange> loads;    ///< of each metric of its service, as of this action in the order of the plan
  double energy_gain = 0;           ///< how much lower the energy is with it than with the rest of the plan alone
  /// Priorities under which its target was chosen: every constraint that was looked at.
  int64_t max_priority = 2;
};

/// What might be expected of a plan and is not in it.
struct SkippedItem {
  std::string why;   ///< one clause
  std::string what;  ///< a phase, "partition s1/0", "node type A"
};

/// What a plan makes of one metric.
struct MetricChange {
  MetricId metric = kNoId;
  bool balanced_before = true, balanced_after = true;  ///< per node type: on all of them
  double deviation_before = 0, deviation_after = 0;    ///< GroupScore::Deviation
};

/// What was decided for one group of services.
struct GroupPlan {
  uint32_t group = 0;  ///< index in Plan::groups
  PhaseDecision decision;
  GroupBalance balance;                      ///< before the plan
  std::vector<MetricChange> metrics;         ///< of the group, in its order
  std::vector<Violation> violations;         ///< before the plan
  std::vector<std::string> violation_texts;  ///< one clause for each
  std::vector<Action> actions;
  double deviation_before = 0, deviation_after = 0;  ///< average deviations
  double energy_before = 0, energy_after = 0;
  std::vector<ImpossibleRequest> impossible;                ///< of upgrades
  std::vector<PartitionId> waiting;                         ///< of which a placement leaves the rest for later
  std::vector<ReplicaId> along;                             ///< PlacementResult::along
  std::vector<std::pair<ReplicaId, Elimination>> unplaced;  ///< PlacementResult::why
  std::vector<SkippedItem> skipped;                         ///< phases, replicas and nodes that might be expected here
};

struct Plan {
  Phase phase = Phase::kNoActionNeeded;  ///< that of the first group that has one
  ServiceGroups groups;
  std::vector<GroupPlan> of_groups;  ///< in the order of `groups`
  int64_t evaluations = 0;

  /// Of all groups, in the order in which they may be carried out one after the other.
  std::vector<Action> Actions() const;
};

struct AverageDeviation {
  double before = 0, after = 0;
};
/// Of all groups; each counts the same.
AverageDeviation AverageDeviations(const Plan& plan);

/// What the planner remembers from one plan to the next.
struct PlannerMemory {
  std::vector<GroupPhase> groups;
  MovementThrottles throttles;

  base::Json ToJson() const;
  /// kBadRequest in one line.
  static base::Result<PlannerMemory> FromJson(const base::Json& json);
};
/// From the history in the state of a cluster: every group has the same.
PlannerMemory MemoryOf(const Settings& settings, const Cluster& cluster, double now);
/// What has changed since, as the history of a later state tells: nodes that came or went, states, loads. What the planner did
/// itself it knows better.
void NoteChanges(PlannerMemory& memory, const History& history);

struct PlanOptions {
  double now = 0;
  uint64_t seed = 1;
  /// Steps that one group's search may look at. The default takes milliseconds for tens of nodes and at most two seconds for
  /// thousands.
  int64_t evaluations = 0;  ///< 0: chosen by the size of the group
};

/// One decision of every group; `memory` remembers that it was taken, and which movements it hands out. Movements count as
/// made when they are handed out. Ties are broken by id: bring a cluster that was read from somewhere into its order first
/// (cluster_order.h), so that the same one, written down in another way, gets the same plan.
Plan MakePlan(const Cluster& cluster, const Settings& settings, const PlanOptions& options, PlannerMemory& memory);

}  // namespace evenkeel::balancing
