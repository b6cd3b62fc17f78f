// Which nodes are not needed, since when, which of them go now, and why every other one stays. One call per loop; pure: looks
// at the view, tries in forks that it takes back, and changes nothing but its own state.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/core/scaledown/planner/planner.go
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "controllers/autoscaler/facts/eligibility.h"
#include "controllers/autoscaler/facts/pod_filters.h"
#include "controllers/autoscaler/scale_down/consolidation.h"
#include "controllers/autoscaler/scale_down/removal_simulation.h"
#include "controllers/autoscaler/scale_down/scale_down_limits.h"
#include "controllers/autoscaler/scale_down/unneeded_nodes.h"

namespace evenkeel::controllers::autoscaler {

/// When things last happened that scale-down waits after.
struct CoolDown {
  std::optional<base::Time> scale_up, deletion, failure;
  bool operator==(const CoolDown&) const = default;
};

/// A node whose removal was tried and failed is not tried again for a while.
struct RecentlyUnremovable {
  base::Time until{};
  UnremovableReason reason = UnremovableReason::kNoReason;
  BlockingReason blocking = BlockingReason::kNoReason;
  std::string pod;  ///< in the way, or without another place; "" when it is no single one
  bool operator==(const RecentlyUnremovable&) const = default;
};

/// What scale-down remembers from loop to loop.
struct ScaleDownState {
  UnneededNodes unneeded;
  CoolDown cool_down;                                            ///< of the cluster; set by whoever acts
  std::map<std::string, CoolDown, std::less<>> group_cool_down;  ///< for --scale-down-delay-type-local
  std::optional<ActiveConsolidation> consolidation;
  std::optional<base::Time> last_consolidation;
  UnneededNodes replaceable;  ///< nodes that a consolidation would remove, since when without a break

  std::optional<base::Time> last_update;
  std::optional<base::Duration> shortest_interval;

  // Much of it in a large cluster; kept apart (loop/autoscaler_memory.h).
  std::unordered_map<std::string, RecentlyUnremovable, scheduling::TextHash, std::equal_to<>> unremovable;
  uint64_t unremovable_changes = 0;
  PlacementHints hints;
  PodHints moves;  ///< the same as upstream has it, for ScaleDownRequest::turn

  /// Notes for the cool-downs.
  void ScaledUp(const std::string& group, base::Time now);
  void Deleted(const std::string& group, base::Time now);
  void Failed(const std::string& group, base::Time now);

  /// What the next loop goes by is the same, whenever the last update was. Never while a consolidation is under way.
  bool SameMemory(const ScaleDownState& other) const;
  /// A loop that would have found all as the last one did is left out; false: it comes sooner than any before, which counts.
  bool PassLoop(base::Time now);

  base::Json ToJson() const;
  /// kBadRequest names what cannot be read.
  static base::Result<ScaleDownState> FromJson(const base::Json& json);
};

struct ScaleDownRequest {
  std::vector<std::string> deleting_empty{}, deleting_drain{};  ///< names of nodes whose deletion is under way
  bool disabled_for_loop = false;                               ///< a scale-up of this loop speaks against it
  std::string plan_under_way{};                                 ///< a BalancingPlan that counts on room; "": none does
  const base::Clock* clock = nullptr;                           ///< for --scale-down-simulation-timeout; null: no time-out
  std::span<const ReplacementTemplate> templates{};             ///< for --consolidate
  std::optional<Turn> turn{};  ///< of upstream's search; without, pods go where they are out of the way
};

struct MovedPod {
  scheduling::PodId pod;
  scheduling::NodeId to;  ///< where the simulation has put it
};

struct UnneededNode {
  scheduling::NodeId node = scheduling::kNone;
  const providers::NodeGroup* group = nullptr;
  base::Time since{};
  base::Duration wait{};  ///< it goes when it has been unneeded for longer than this; 0: at once
  bool risky = false;
  Utilization utilization{};
  std::vector<MovedPod> pods{};  ///< by key
  std::vector<scheduling::PodId> daemons{}, on_completion{};

  bool empty() const { return pods.empty(); }
};

/// Rows and groups are those of the view the plan was made from, and good as long as that has not changed.
struct ScaleDownPlan {
  std::vector<UnneededNode> unneeded;              ///< in the order in which they were tried
  std::vector<Unremovable> unremovable;            ///< by node name; also of unneeded nodes that do not go now
  std::vector<size_t> delete_empty, delete_drain;  ///< into `unneeded`: to be deleted now, within the budgets
  std::vector<scheduling::NodeId> taint, untaint;  ///< soft taints to set and remove in this loop
  size_t candidates = 0;                           ///< nodes whose group is above its minimum
  size_t simulated = 0;
  bool timed_out = false, enough = false;  ///< the simulation stopped before all eligible nodes were tried
  std::string cool_down;                   ///< "" when not in cool-down; otherwise why
  /// Begun with this loop: the caller adds the nodes, or resets ScaleDownState::consolidation when it cannot.
  std::optional<ConsolidationPlan> consolidation;

  bool in_cool_down() const { return !cool_down.empty(); }
  /// Null when the node is not among them.
  const UnneededNode* FindUnneeded(scheduling::NodeId node) const;
  const Unremovable* FindUnremovable(scheduling::NodeId node) const;
};

/// "" or the cool-down that is not over.
std::string CoolDownReason(const ScaleDownState& state, const Options& options, bool disabled_for_loop, const LoopTime& now);

/// "" or why nothing may be deleted now. `plan_under_way`: see ScaleDownRequest.
std::string WhyNoDeletions(const ScaleDownState& state, const Options& options, bool disabled_for_loop,
                           const std::string& plan_under_way, const LoopTime& now);

/// Why nothing may be deleted while pods of the BalancingPlan are on the move.
std::string WhyNotDuring(const std::string& balancing_plan);

/// Steps P of the loop but for the acting. Cost: O(nodes + classes), and for eligible nodes their pods.
ScaleDownPlan PlanScaleDown(const ClusterView& view, const Options& options, const ScaleDownRequest& request,
                            ScaleDownState& state);

/// One line: why the node stays, or since when it is unneeded and when it goes.
std::string ExplainNode(const ClusterView& view, const Options& options, const ScaleDownState& state, const ScaleDownPlan& plan,
                        std::string_view node);

/// Why a node stays, in words that are the same from loop to loop as long as the reason is: instants instead of durations.
struct NodeWord {
  scheduling::NodeId node = scheduling::kNone;
  std::string text;
};
/// Unneeded nodes first, then the others by name; at most `limit`. O(limit * pods of a node).
std::vector<NodeWord> ExplainStays(const ClusterView& view, const Options& options, const ScaleDownState& state,
                                   const ScaleDownPlan& plan, size_t limit);

}  // namespace evenkeel::controllers::autoscaler
