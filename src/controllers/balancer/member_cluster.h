// A Kubernetes cluster as the planner sees it (cluster.h). A Deployment, StatefulSet or bare ReplicaSet is a service called
// "namespace/name", each of its pods a partition of one replica called as the pod is, so that every pod can move by itself.
// What never moves (DaemonSets, Jobs, pods without a controller ...) is there as load. Nodes that neither give nor get pods are
// not, and neither are their pods, those that end and those that wait for a node.
//
// Where a pod may run by its own wishes and by the nodes' taints is known to the planner as the blocked nodes of its service;
// what depends on other pods (room, spread, affinity, ports, volumes) is looked at afterwards (what_if.h).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "balancing/model/cluster.h"
#include "base/time.h"
#include "controllers/balancer/member_objects.h"
#include "controllers/balancer/past_moves.h"
#include "controllers/balancer/policy.h"

namespace evenkeel::controllers::balancer {

/// What pods use now, by key; as kube::ResourceList.
using PodUsage = std::map<std::string, kube::ResourceList, std::less<>>;
/// What the metrics API has of pods: not watched, but listed where a policy looks at usage.
const kube::Resource& PodMetrics();
/// Of PodMetrics objects (metrics.k8s.io/v1beta1).
PodUsage DecodeUsage(const std::vector<base::Json>& pod_metrics);

struct MemberInput {
  MemberObjects& objects;
  const Policy& policy;
  const PodUsage& usage;
  const PastMoves& past;
  base::Time now{};
};

/// What a service has beside the pods that are there.
struct AbsentPods {
  std::set<std::string> nodes;  ///< that are left out and have some of its pods
  size_t waiting = 0;           ///< for a node
  size_t ending = 0;
  bool loads_nothing = false;  ///< no metric is about it
};

struct MemberCluster {
  balancing::Cluster cluster;
  balancing::Settings settings;
  std::vector<int64_t> scale;                   ///< by metric of the policy: what amounts were divided by, so that sums fit
  std::map<std::string, std::string> left_out;  ///< nodes that are not there, and why
  std::map<std::string, std::string> fixed;     ///< pods on the other nodes that do not move, and why
  std::map<std::string, AbsentPods> absent;     ///< by service
};

/// O(pods * metrics + classes of pods * nodes). History: the past moves, of pods that are still there.
MemberCluster BuildCluster(const MemberInput& input);

/// Why a service is not there although the member has it, one line; "": the member does not have it either.
std::string WhyAbsent(const MemberCluster& member, const std::string& service);

/// What a pod loads its node with, by metric of the policy; not scaled.
std::map<std::string, int64_t> LoadsOf(const SeenPod& pod, const Policy& policy, const PodUsage& usage);

/// "namespace/name" of what a pod is one of: the Deployment of its ReplicaSet, its StatefulSet or ReplicaSet; itself. Two of
/// these kinds with one name are one service.
std::string ServiceNameOf(const SeenPod& pod, const MemberObjects& objects);

/// Seconds of the planner's clock: those since 1970.
double PlannerTime(base::Time time);

}  // namespace evenkeel::controllers::balancer
