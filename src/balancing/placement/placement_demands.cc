#include "balancing/placement/placement_demands.h"

#include <algorithm>
#include <tuple>

#include "balancing/rules/placement_needs.h"

namespace evenkeel::balancing {
namespace {

// Averages of node loads where a metric is unlimited, else of capacities: what makes loads of different metrics comparable.
std::vector<double> AverageSizes(const Arrangement& arrangement, const ServiceGroup& group) {
  const Cluster& cluster = arrangement.cluster();
  std::vector<double> averages(cluster.metrics.size(), 1);
  for (const MetricId metric : group.metrics) {
    double capacities = 0, limited = 0;
    for (const NodeId node : arrangement.sets().all()) {
      const int64_t* capacity = cluster.CapacityOf(node, metric);
      if (capacity == nullptr || !arrangement.sets().available().test(node)) continue;
      capacities += static_cast<double>(*capacity);
      limited += 1;
    }
    const LoadSums& sums = arrangement.loads().Summary(metric).sums;
    const double loads = static_cast<double>(sums.sum) / static_cast<double>(std::max<int64_t>(sums.nodes, 1));
    averages[metric] = std::max(limited > 0 ? capacities / limited : loads, 1.0);
  }
  return averages;
}

// In `averages` by metric: of its largest load.
double SizeOf(const Arrangement& arrangement, std::span<const double> averages, ReplicaId replica, Role role) {
  const std::vector<ServiceMetric>& metrics = arrangement.cluster().services[arrangement.ServiceOf(replica)].metrics;
  const std::span<const int64_t> loads = arrangement.LoadsOf(replica, role);
  double size = 0;
  for (size_t i = 0; i < metrics.size(); ++i) {
    size = std::max(size, static_cast<double>(loads[i]) / averages[metrics[i].metric]);
  }
  return size;
}

// With PlaceChildWithoutParent off a child gets no more replicas than its parent has already.
int64_t MostOfChild(const Arrangement& arrangement, PartitionId partition) {
  const Cluster& cluster = arrangement.cluster();
  const ServiceId parent = cluster.ServiceOf(cluster.partitions[partition]).affinity_to;
  if (parent == kNoId || arrangement.settings().place_child_without_parent) return INT64_MAX;
  const auto count = [&](PartitionId of) {
    return std::ranges::count_if(cluster.ReplicasOf(cluster.partitions[of]),
                                 [](const Replica& replica) { return CountsTowardsTarget(replica) && !replica.Leaves(); });
  };
  int64_t most = -count(partition);
  for (const PartitionId of_parent : cluster.services[parent].partitions) most += count(of_parent);
  return most;
}

int64_t BelowTarget(const Cluster& cluster, const Demand& demand) {
  const Partition& partition = cluster.partitions[demand.partition];
  const auto missing = static_cast<int64_t>(demand.replicas.size());
  const int64_t target = cluster.ServiceOf(partition).target_replicas;
  if (target <= 0) return missing;
  return std::clamp<int64_t>(target - std::ranges::count_if(cluster.ReplicasOf(partition), CountsTowardsTarget), 0, missing);
}

}  // namespace

Demands FindDemands(const Arrangement& arrangement, const ServiceGroup& group, std::span<const PartitionId> waiting) {
  const Cluster& cluster = arrangement.cluster();
  const std::vector<double> averages = AverageSizes(arrangement, group);
  Demands found;
  for (const ServiceId service : group.services) {
    for (const PartitionId partition : cluster.services[service].partitions) {
      if (cluster.partitions[partition].Has(kPartitionToBeDeleted) || arrangement.NextUnplaced(partition) == kNoId ||
          std::ranges::find(waiting, partition) != waiting.end())
        continue;
      const auto [first, last] = arrangement.NewOf(partition);
      const int64_t most = MostOfChild(arrangement, partition);
      if (most <= 0) {
        found.waiting.push_back(partition);
        continue;
      }
      Demand& demand = found.demands.emplace_back();
      demand.partition = partition;
      for (ReplicaId replica = first; replica < last; ++replica) {
        if (arrangement.NodeOf(replica) == kNoId) demand.replicas.push_back(replica);
      }
      if (static_cast<int64_t>(demand.replicas.size()) > most) {
        demand.replicas.resize(static_cast<size_t>(most));
        found.waiting.push_back(partition);
      }
      demand.size = std::max(
          SizeOf(arrangement, averages, first, RoleOfNew(arrangement, partition)),
          SizeOf(arrangement, averages, first, cluster.services[service].stateful ? Role::kSecondary : Role::kInstance));
      demand.below_target = BelowTarget(cluster, demand);
    }
  }
  const auto is_child = [&](const Demand& demand) {
    return cluster.services[cluster.partitions[demand.partition].service].affinity_to != kNoId;
  };
  std::ranges::sort(found.demands, {}, [&](const Demand& demand) {
    return std::tuple(is_child(demand), demand.below_target == 0, -demand.size, demand.partition);
  });
  return found;
}

bool Placed(const Arrangement& arrangement, const Demand& demand) {
  return std::ranges::none_of(demand.replicas, [&](ReplicaId replica) { return arrangement.NodeOf(replica) == kNoId; });
}

bool AllOrNothing(const Arrangement& arrangement, PartitionId partition) {
  const Cluster& cluster = arrangement.cluster();
  const Partition& given = cluster.partitions[partition];
  if (arrangement.settings().partially_place_services && !cluster.ConstraintOf(cluster.ServiceOf(given)).non_partially()) {
    return false;
  }
  return std::ranges::none_of(cluster.ReplicasOf(given), [](const Replica& replica) { return CountsTowardsTarget(replica); });
}

void TakeBackPartial(StepJournal& journal, std::span<const Demand> demands) {
  const Arrangement& arrangement = journal.arrangement();
  for (const Demand& demand : demands) {
    if (Placed(arrangement, demand) || !AllOrNothing(arrangement, demand.partition)) continue;
    for (const ReplicaId replica : demand.replicas) {
      if (arrangement.NodeOf(replica) != kNoId) journal.Remove(replica);
    }
  }
}

PlacementOutcome OutcomeOf(const StepJournal& journal, std::span<const Demand> demands) {
  const Arrangement& arrangement = journal.arrangement();
  PlacementOutcome outcome{.movements = journal.movements(), .deviation = journal.score().average_deviation()};
  for (const Demand& demand : demands) {
    int64_t unplaced =
        std::ranges::count_if(demand.replicas, [&](ReplicaId replica) { return arrangement.NodeOf(replica) == kNoId; });
    if (unplaced > 0 && AllOrNothing(arrangement, demand.partition)) unplaced = static_cast<int64_t>(demand.replicas.size());
    outcome.unplaced += static_cast<size_t>(unplaced);
    const int64_t placed = static_cast<int64_t>(demand.replicas.size()) - unplaced;
    outcome.below_target += std::max<int64_t>(0, demand.below_target - placed);
  }
  return outcome;
}

}  // namespace evenkeel::balancing
