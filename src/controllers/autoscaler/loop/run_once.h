// One loop of the autoscaler: looks at a cluster and says everything that is to be done, in order, each with its reason. The
// live controller and `plan scale` run the same loop; what differs is who carries it out, and that is never done in here.
//
//   A  clean up after a predecessor       G  budgets (inside P)                M  sizes that nothing stands behind
//   B  lists and readiness (facts)        H  templates                        N  upcoming nodes, pod filters
//   C  is there a cluster to act on       I  state of the cluster             O  scale-up
//   D  pods by schedulability             J  instances that never registered  P  scale-down
//   E  the provider, read by the caller   K  health gate                      Q  minimum sizes
//   F  snapshot                           L  failed creations                 R  status report
//
// A stage sees what the earlier ones have decided as if it were done: the targets in the plan's view are those after the loop.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/core/static_autoscaler.go
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "controllers/autoscaler/cluster_state/cluster_stages.h"
#include "controllers/autoscaler/expanders/expander.h"
#include "controllers/autoscaler/facts/cluster_objects.h"
#include "controllers/autoscaler/loop/autoscaler_state.h"
#include "controllers/autoscaler/loop/nodes_elsewhere.h"
#include "controllers/autoscaler/scale_up/scale_up.h"

namespace evenkeel::controllers::autoscaler {

struct LoopRequest {
  base::Time now{};
  base::Duration uptime = std::chrono::hours(1);            ///< of this process
  std::vector<std::string> deleting_empty, deleting_drain;  ///< nodes whose deletion is under way
  /// Pods that no scheduler has looked at are pending, too (for objects that people wrote).
  bool count_unprocessed = false;
  ListOrder list_order = ListOrder::kByName;  ///< for Options::upstream_placement
  std::vector<Quota> quotas;
  const base::Clock* clock = nullptr;  ///< for time-outs of the planners; null: none
  /// Asked before instances that never became nodes here are deleted; absent: there is no other member.
  std::function<NodesElsewhere()> nodes_elsewhere;
};

struct LoopPlan {
  ClusterView view;                   ///< as the loop leaves it
  std::vector<NodeCleanup> cleanup;   ///< A
  std::vector<ClusterEvent> events;   ///< in their order, without those of changes
  std::vector<GroupChange> changes;   ///< of node groups, in their order, but for deletions by scale-down
  std::vector<std::string> notes;     ///< what was left alone, for the log
  std::vector<LeftAlone> left_alone;  ///< node groups and nodes that the loop may not touch
  std::string stopped_at;             ///< the stage that ended the loop: "CheckClusterHealth"; "" when it ran to its end
  std::string why;                    ///< it did
  std::map<std::string, int64_t, std::less<>> upcoming;
  PodIds pending;                                                     ///< all pods that wait for a node, before the filters
  PodIds unschedulable;                                               ///< of those, what scale-up was asked for
  std::vector<std::pair<scheduling::PodId, PassedOver>> passed_over;  ///< what it was not asked for, as far as the loop came
  ScaleUpDecision decision = ScaleUpDecision::kNotNeeded;
  ScaleUpPlan scale_up;                ///< all steps of the loop, also those before a refusal
  std::vector<ScaleUpStep> scale_ups;  ///< steps that were agreed to
  ScaleDownPlan scale_down;
  bool scale_down_looked = false;  ///< P was reached
  StatusReport status;             ///< R
  /// How long parts of the loop took, by upstream's names; with LoopRequest::clock.
  std::vector<std::pair<std::string, base::Duration>> durations;
  bool stages_ran = true;  ///< false: the loop was spared, this is the last plan again
};

/// A loop that is told how each change of a node group went before it decides the next: a scale-up that is refused goes to
/// another group. What it was made with must outlive it; events of the cluster must not come in between.
///
///   LoopRun loop(...);
///   while (const GroupChange* change = loop.Next()) loop.Answer(CarryOut(*change));
///   const LoopPlan plan = loop.Take();
///
/// Whenever the caller has the word, no what-if is open: the snapshot is as it was before. The caller registers the deletions
/// that it begins (ClusterState::RegisterScaleDown and ScaleDownState::Deleted). O(nodes + pending pods) when there is nothing
/// to do; O(groups) when nothing has changed besides and the plans are given back (AutoscalerState::last_loop).
class LoopRun {
 public:
  /// `groups` are left alone when the loop is spared.
  LoopRun(ClusterObjects& objects, providers::NodeGroups&& groups, const Options& options, const ExpanderChain& expanders,
          AutoscalerState& state, base::Random& random, LoopRequest request);
  ~LoopRun();

  /// What is to be done now, until Answer says how it went; null when the loop has ended.
  const GroupChange* Next();
  void Answer(const base::Status& answer);
  /// After the end, once.
  LoopPlan Take();

 private:
  class Stages;
  const std::unique_ptr<Stages> stages_;
};

/// A loop all of whose changes are assumed to succeed.
LoopPlan RunOnce(ClusterObjects& objects, providers::NodeGroups groups, const Options& options, const ExpanderChain& expanders,
                 AutoscalerState& state, base::Random& random, LoopRequest request);

}  // namespace evenkeel::controllers::autoscaler
