// The loads of a cluster metric by metric, under the names of Get-ServiceFabricClusterLoadInformation:
//
//   {"LastBalancingStartTimeUtc", "LastBalancingEndTimeUtc", "LoadMetricInformation": [{"LoadMetricName", "IsBalancedBefore",
//    "IsBalancedAfter", "DeviationBefore", "DeviationAfter", "BalancingThreshold", "Action", "ActivityThreshold",
//    "ClusterCapacity", "ClusterLoad", "ClusterRemainingCapacity", "NodeBufferPercentage", "ClusterBufferedCapacity",
//    "ClusterRemainingBufferedCapacity", "ClusterCapacityViolation", "MinNodeLoadValue", "MinNodeLoadNodeId",
//    "MaxNodeLoadValue", "MaxNodeLoadNodeId", "NodeTypes"}]}
//
// Before is now, after is when the plan has been carried out; a deviation is the metric's global weight times its coefficient
// of variation. Capacities are 0 where a node has none of the metric and the cluster's is unlimited. Nodes are named, instants
// are null when they are not known. NodeTypes is Evenkeel's own: with balancing per node type each type's thresholds and loads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "balancing/measures/node_loads.h"
#include "balancing/plan/plan.h"
#include "base/json.h"

namespace evenkeel::balancing {

struct MetricLoad {
  MetricId metric = kNoId;
  MetricChange change{};
  std::string action{};  ///< of its group, see ActionText
  double balancing_threshold = 1;
  int64_t activity_threshold = 0;
  int64_t load = 0;                         ///< on nodes that count for the cluster's capacity
  std::optional<int64_t> capacity{};        ///< absent: unlimited
  double buffer = 0;                        ///< share of the capacity that is kept free
  int64_t buffered_capacity = 0;            ///< rounded down
  LoadSummary nodes{};                      ///< over nodes whose loads count
  std::vector<MetricBalance> node_types{};  ///< with balancing per node type
};

struct ClusterLoads {
  double last_balancing = kLongAgo;
  std::vector<MetricLoad> metrics;  ///< that services report, by name
};

/// `plan` is that of the cluster as it is, `memory` what the planner remembered before it.
ClusterLoads MakeClusterLoads(const Cluster& cluster, const Settings& settings, const Plan& plan, const PlannerMemory& memory);

/// Service Fabric's word for what a group does: NoActionNeeded, NewReplicaPlacement, NewReplicaPlacementWithMove,
/// ConstraintCheck, LoadBalancing (quick or slow), ActionSkipped (imbalanced, but throttled).
std::string_view ActionText(const PhaseDecision& decision);

base::Json ToJson(const Cluster& cluster, const ClusterLoads& loads);

}  // namespace evenkeel::balancing
