// Plans scale-ups. Step O of the loop, after the pod filters (pod_filters.h) and before anything is asked of the provider:
//
//   1. pods become groups of equal ones (pod_groups.h)
//   2. node groups that may not grow are left out, each with its reason (resource_limits.h)
//   3. which pods fit on a fresh node of which group (scheduling::Snapshot, in a fork)
//   4. how many nodes each group would need (estimator.h), similar groups taken together (similar_groups.h)
//   5. the best of these options (expander.h), cut to what the limits allow and shared among similar groups
//   6. with --max-groups-per-loop above 1: the nodes are taken as if they were there; what is left over takes the room that
//   they
//      have left, and what is left then starts again at 3, until as many different groups grow (so pods that spread over zones
//      get all their nodes in one loop, where upstream adds them one by one)
//
// A plan changes nothing: the snapshot is left as it was, and target sizes are for the caller to write into the view once the
// provider has agreed. When a provider refuses, plan again with that group in `excluded` and the steps that it did agree to in
// `granted`: the pods go to the next best group in the same loop.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/core/scaleup/orchestrator/orchestrator.go
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "controllers/autoscaler/expanders/expander.h"
#include "controllers/autoscaler/facts/cluster_view.h"
#include "controllers/autoscaler/facts/node_templates.h"
#include "controllers/autoscaler/facts/pod_filters.h"
#include "controllers/autoscaler/facts/pod_groups.h"
#include "controllers/autoscaler/facts/resource_limits.h"
#include "controllers/autoscaler/options/options.h"
#include "controllers/autoscaler/scale_up/estimator.h"
#include "controllers/autoscaler/scale_up/similar_groups.h"

namespace evenkeel::controllers::autoscaler {

struct GroupHealth {
  bool healthy = true, backed_off = false;
};

/// An option that was weighed.
struct ScaleUpOption {
  std::string group;
  int64_t nodes = 0;
  int64_t pods = 0;
  std::vector<std::string> similar;  ///< groups that would grow with it
};

/// What is to be done together: one option, perhaps over several similar groups.
struct ScaleUpStep {
  ScaleUpOption option;
  std::vector<GroupDelta> changes;        ///< in the order in which they are to be made
  bool atomic = false;                    ///< all nodes or none
  PodIds triggered_by;                    ///< pods of the option, also those that a limit has cut off
  std::vector<ScaleUpOption> considered;  ///< by group, the chosen one among them

  /// What the new nodes will hold, so that a later step, or a plan after a refusal, goes on from there.
  struct NewNode {
    std::string group;  ///< "": the node `existing`, whose room the option counts on
    scheduling::NodeId existing = scheduling::kNone;
    std::vector<std::pair<scheduling::ClassId, int64_t>> pods;
  };
  std::vector<NewNode> nodes;
  PodIds placed;  ///< pods that have a place on them, also some that needed no node of their own
};

struct ScaleUpRequest {
  PodIds pods;  ///< pending, in the order in which they are to be listed
  /// Of groups that are not listed here nothing bad is known.
  std::map<std::string, GroupHealth, std::less<>> health;
  std::vector<UpcomingNode> upcoming;           ///< nodes of the snapshot that are not there yet
  std::vector<Quota> quotas;                    ///< beside the cluster-wide one of the flags
  std::set<std::string, std::less<>> excluded;  ///< groups that have refused in this loop
  std::vector<ScaleUpStep> granted;             ///< steps of earlier plans of this loop; targets in the view include them
  /// For the expander; what it wants to be seen is in the plan.
  ExpanderContext expander;
  /// With it --max-binpacking-time is kept; without, plans depend on nothing but their input.
  const base::Clock* clock = nullptr;
};

struct ScaleUpPlan {
  enum class Outcome {
    kPlanned,
    kNotNeeded,
    kNoOptions,        ///< upstream: ScaleUpNoOptionsAvailable
    kMaxNodesReached,  ///< "max node total count already reached"; event MaxNodesTotalReached
  };
  /// Why a group is not asked at all.
  struct Skipped {
    std::string group;
    std::string reason;  ///< in upstream's words
  };
  /// Why pods of a group do not fit on a fresh node of a node group.
  struct Misfit {
    std::string group;
    scheduling::Fit fit;
  };
  /// Why pods of a group that are left over get no node of a node group, as things stand at the end of the plan. Where none is
  /// noted, the misfit says it.
  struct Leftover {
    std::string group;
    std::string reason;     ///< "": `fit` says it
    scheduling::Fit fit{};  ///< on a fresh node of the group, beside what the plan has added
  };
  Outcome outcome = Outcome::kNotNeeded;
  std::vector<ScaleUpStep> steps;
  std::vector<PodGroup> pod_groups;
  std::vector<Skipped> skipped;              ///< by group
  std::vector<std::vector<Misfit>> misfits;  ///< per pod group, by node group
  std::vector<std::vector<Leftover>> left;   ///< per pod group, by node group; none: all its pods have a place
  PodIds remain_unschedulable;               ///< fit on no group that may grow
  PodIds await_evaluation;                   ///< fit somewhere, but were not part of this plan
  std::vector<ExpanderEvent> warnings;
  size_t overflowing_controllers = 0;

  bool planned() const { return !steps.empty(); }
};

/// The step without the groups that have refused: the pods of their nodes are not placed any more.
ScaleUpStep WithoutGroups(scheduling::Snapshot& snapshot, const ScaleUpStep& step,
                          const std::set<std::string, std::less<>>& refused);

class ScaleUpPlanner {
 public:
  ScaleUpPlanner(Options options, ExpanderChain expanders)
      : options_(std::move(options)), expanders_(std::move(expanders)), similar_(options_) {}

  /// The view's snapshot is forked and reverted. O(nodes) for the limits, then by groups of pods, node groups and new nodes.
  ScaleUpPlan Plan(const ClusterView& view, const NodeTemplates& templates, const NodeObjects& objects,
                   const ScaleUpRequest& request, base::Random& random) const;

 private:
  Options options_;
  ExpanderChain expanders_;
  SimilarGroups similar_;
};

/// Groups below their minimum, and by how much they are to grow (--enforce-node-group-min-size). Groups that are unhealthy or
/// backed off, or that the limits hold, are left out.
std::vector<GroupDelta> EnforceMinSizes(const ClusterView& view, const Options& options, const NodeTemplates& templates,
                                        const NodeObjects& objects, const ScaleUpRequest& request);

}  // namespace evenkeel::controllers::autoscaler
