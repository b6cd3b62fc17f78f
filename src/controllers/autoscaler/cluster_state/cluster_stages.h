// The stages of a loop that look at node groups and not at pods, one function each, in the order in which a loop calls them:
//
//   A  CleanUpLeftovers        marks that a predecessor has left on nodes; only in the first loop
//   C  CheckActionable         with --scale-up-from-zero=false a cluster without (ready) nodes is left alone
//   I  UpdateClusterState      what there is, what is missing, what has failed
//   J  RemoveLongUnregistered  instances that never became nodes
//   K  CheckClusterHealth      too much is broken: hands off
//   L  DeleteFailedCreations   instances that the provider could not make
//   M  FixNodeGroupSize        targets that nothing stands behind
//   N  FindUpcomingNodes       what will be there soon
//   Q  EnforceMinSize          groups below their minimum; after scale-up and scale-down
//
// Each answers what is to be done and changes the view's groups, so that the next one sees it as done. No stage takes a target
// below the group's minimum (but with --force-delete-...) or above its maximum, and none touches a group that is set aside.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controllers/autoscaler/cluster_state/cluster_state.h"
#include "controllers/autoscaler/cluster_state/decisions.h"
#include "controllers/autoscaler/facts/cluster_view.h"
#include "controllers/autoscaler/options/options.h"

namespace evenkeel::controllers::autoscaler {

/// Marks to take off one node.
struct NodeCleanup {
  std::string node;
  bool to_be_deleted = false;       ///< taint ToBeDeletedByClusterAutoscaler
  bool uncordon = false;            ///< spec.unschedulable
  bool deletion_candidate = false;  ///< taint DeletionCandidateOfClusterAutoscaler
};

/// By node name, without nodes that the provider is deleting already. The event on a node that loses
/// ToBeDeletedByClusterAutoscaler has reason ClusterAutoscalerCleanup.
std::vector<NodeCleanup> CleanUpLeftovers(const ClusterView& view, const Options& options);

/// `uptime`: of this process; young ones do not complain about nodes that are not ready yet. Where it stops the loop, `why` is
/// the message of the status "Initializing".
StageResult CheckActionable(const ClusterView& view, const Options& options, base::Duration uptime);

StageResult UpdateClusterState(ClusterView& view, const Options& options, ClusterState& state);
/// Failures of these changes are for the log and their events; the loop goes on.
StageResult RemoveLongUnregistered(ClusterView& view, const Options& options, ClusterState& state);
StageResult CheckClusterHealth(const ClusterView& view, const Options& options, const ClusterState& state);
/// Stops the loop with 1.26's rules when there was something to delete.
StageResult DeleteFailedCreations(ClusterView& view, const Options& options, ClusterState& state);
/// Stops the loop when it has changed anything; a failure of such a change is one of the loop.
StageResult FixNodeGroupSize(ClusterView& view, const Options& options, ClusterState& state);
/// NotStarted nodes that count as upcoming leave the snapshot and the candidates for scale-down; templates stand for all.
ClusterState::Upcoming FindUpcomingNodes(const ClusterView& view, const Options& options, const ClusterState& state);

/// How many of `wanted` more nodes of a group the limits of the cluster let through.
using SizeAllowance = std::function<int64_t(const providers::NodeGroup& group, int64_t wanted)>;

/// With --enforce-node-group-min-size. The scale-ups are registered as begun; one that fails is to be taken back with
/// RegisterScaleUp(group, -delta) and told to RegisterFailedScaleUp.
StageResult EnforceMinSize(ClusterView& view, const Options& options, ClusterState& state, const SizeAllowance& allowance = {});

/// The two events around a change of a group's size, and the one when it fails; upstream's texts.
void AddScaleUpEvents(GroupChange& change, int64_t from, int64_t max);

}  // namespace evenkeel::controllers::autoscaler
