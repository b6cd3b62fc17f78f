// Pods that break a rule of Kubernetes where they run, and where they could go. Kubernetes looks at these rules only when a pod
// is scheduled; afterwards nodes change their labels and taints, other pods come and go, and zones empty. The scheduler's
// filters judge (Snapshot::CheckRule): the pod is taken off its node, and they are asked whether it could come back. It goes to
// the node that all filters and the capacities of the policy allow and that leaves the loads of its group the most even. A pod
// for which there is no such node stays.
//
// Pods are asked one after the other, each as the moves before it leave the cluster: of two that may not be together one goes.
// Those that are cheap to move come first; pods that others do not want to be with move only when those others cannot.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "balancing/plan/plan.h"
#include "controllers/balancer/member_cluster.h"

namespace evenkeel::controllers::balancer {

/// A pod that stays although it breaks a rule.
struct BrokenPod {
  std::string pod;  ///< namespace/name
  std::string why;  ///< one clause: which field is not kept, and why the pod stays
};

struct MendOptions {
  /// Nodes came or went a short time ago: topology spread is left alone until pods have followed.
  bool nodes_change = false;
  /// Uids of pods that stay for the moment, and why, as their last move failed.
  std::map<std::string, std::string> failed{};
};

struct GroupMending {
  std::vector<balancing::Action> actions;  ///< in the order in which they were found
  std::vector<BrokenPod> left;
  double deviation_before = 0, deviation_after = 0;
  double energy_before = 0, energy_after = 0;
};
/// By index of GroupServices; groups where no rule is broken are not there.
using Mending = std::map<uint32_t, GroupMending>;

/// The snapshot is as before afterwards. O(pods + pods with rules about others * rules + broken * nodes).
Mending MendRules(const MemberInput& input, const MemberCluster& member, const MendOptions& options);

}  // namespace evenkeel::controllers::balancer
