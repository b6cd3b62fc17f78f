// Plans of whatever the reader takes, looked at from every side: for fuzz targets and for tests.
#pragma once

#include <algorithm>
#include <set>
#include <string>

#include "balancing/model/cluster_order.h"
#include "balancing/plan/cluster_load.h"
#include "balancing/plan/explain_service.h"
#include "balancing/plan/plan.h"
#include "balancing/plan/plan_apply.h"
#include "balancing/plan/plan_json.h"
#include "balancing/rules/placement_needs.h"

namespace evenkeel::balancing::testing {

/// The plan can be carried out as it stands, and puts nothing where it must not be.
inline void CheckActions(const Cluster& cluster, const Settings& settings, const Plan& plan) {
  const NodeSets sets(cluster);
  Arrangement arrangement(cluster, settings, sets);
  for (const Action& action : plan.Actions()) {
    const bool promotes = action.kind == ActionKind::kPromoteSecondary || action.kind == ActionKind::kSwapPrimarySecondary;
    const bool returns = action.kind == ActionKind::kAddPrimary || action.kind == ActionKind::kAddSecondary;
    if (action.to != kNoId && !promotes) {
      const Node& node = cluster.nodes[action.to];
      EVENKEEL_CHECK(node.Available() || (returns && MayReturnTo(node)));
    }
    Apply(action, arrangement);
  }
  for (PartitionId partition = 0; partition < cluster.partitions.size(); ++partition) {
    std::set<NodeId> nodes;
    arrangement.ForEachOf(partition, [&](ReplicaId replica) {
      // A new replica may take over what a stand-by one has.
      if (arrangement.NodeOf(replica) == kNoId || arrangement.RoleOf(replica) == Role::kStandBy) return;
      EVENKEEL_CHECK(nodes.insert(arrangement.NodeOf(replica)).second);
    });
  }
}

/// Three plans one after the other, each made twice, told and explained. Bounded: searches look at few steps, and clusters with
/// more than a few hundred replicas are passed over.
inline void PlanAndCheck(Cluster cluster, const Settings& settings) {
  constexpr size_t kReplicasMax = 300, kServicesMax = 20;
  size_t replicas = cluster.replicas.size();
  for (const Partition& partition : cluster.partitions) {
    const bool everywhere = cluster.ServiceOf(partition).on_every_node;
    replicas += everywhere ? cluster.nodes.size() : static_cast<size_t>(std::max(partition.missing, 0));
  }
  if (replicas > kReplicasMax || cluster.services.size() > kServicesMax) return;
  SortByName(cluster);
  PlannerMemory memory = MemoryOf(settings, cluster, 1000);
  for (const double now : {1000.0, 1001.0, 1010.0}) {
    const PlannerMemory before = memory;
    PlannerMemory again = memory;
    const PlanOptions options{.now = now, .seed = 1, .evaluations = 300};
    const Plan plan = MakePlan(cluster, settings, options, memory);
    const std::string text = base::ToText(PlanToJson(cluster, settings, plan, 0));
    EVENKEEL_CHECK(base::ToText(PlanToJson(cluster, settings, MakePlan(cluster, settings, options, again), 0)) == text);
    CheckActions(cluster, settings, plan);
    EVENKEEL_CHECK(!base::ToText(ToJson(cluster, MakeClusterLoads(cluster, settings, plan, before))).empty());
    for (const Service& service : cluster.services) {
      EVENKEEL_CHECK(ExplainService(cluster, settings, plan, before, now, service.name).has_value());
    }
    EVENKEEL_CHECK(PlannerMemory::FromJson(memory.ToJson()).has_value());
  }
}

}  // namespace evenkeel::balancing::testing
