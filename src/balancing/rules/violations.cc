#include <algorithm>
#include <functional>
#include <tuple>

#include "balancing/rules/constraints.h"
#include "balancing/rules/movability.h"

namespace evenkeel::balancing {
namespace {

struct NodeCount {
  int64_t replicas;
  NodeId node;
};

/// The nodes that the application has too many of: those with the fewest replicas. `leaves` loses one and `comes` gets one.
std::vector<NodeCount> SurplusNodes(const Arrangement& arrangement, ApplicationId application, NodeId leaves, NodeId comes) {
  const int64_t max_nodes = arrangement.cluster().applications[application].max_nodes;
  std::vector<NodeCount> counts;
  bool comes_is_new = comes != kNoId;
  for (const NodeId node : arrangement.applications().NodesOf(application)) {
    const int64_t change = (node == comes ? 1 : 0) - (node == leaves ? 1 : 0);
    comes_is_new = comes_is_new && node != comes;
    const int64_t replicas = arrangement.ReplicasOnNode(application, node) + change;
    if (replicas > 0) counts.push_back({replicas, node});
  }
  if (comes_is_new) counts.push_back({1, comes});
  const auto surplus = static_cast<size_t>(std::max<int64_t>(0, static_cast<int64_t>(counts.size()) - max_nodes));
  std::ranges::sort(counts, {}, [](const NodeCount& count) { return std::pair(count.replicas, count.node); });
  counts.resize(surplus);
  return counts;
}

int64_t Replicas(const std::vector<NodeCount>& counts) {
  int64_t replicas = 0;
  for (const NodeCount& count : counts) replicas += count.replicas;
  return replicas;
}

enum class Comparing { kBetter, kSame, kWorse, kMixed };

/// Of the same constraints in the same order.
Comparing CompareExcess(std::span<const ViolationSummary::Entry> a, std::span<const ViolationSummary::Entry> b) {
  bool better = false, worse = false;
  for (size_t i = 0; i < a.size(); ++i) {
    better = better || a[i].excess < b[i].excess;
    worse = worse || a[i].excess > b[i].excess;
  }
  if (better && worse) return Comparing::kMixed;
  if (better) return Comparing::kBetter;
  return worse ? Comparing::kWorse : Comparing::kSame;
}

std::span<const ViolationSummary::Entry> OfFirstPriority(std::span<const ViolationSummary::Entry> entries) {
  const auto end = std::ranges::find_if(entries, [&](const auto& entry) { return entry.priority != entries[0].priority; });
  return entries.first(static_cast<size_t>(end - entries.begin()));
}

}  // namespace

bool Constraints::ScalesOut(ReplicaId replica, NodeId to) const {
  const Cluster& cluster = arrangement_.cluster();
  const ApplicationId id = cluster.services[arrangement_.ServiceOf(replica)].application;
  const int64_t max_nodes = cluster.applications[id].max_nodes;
  if (max_nodes == 0) return false;
  if (arrangement_.settings().relax_scaleout_constraint_during_upgrade &&
      cluster.partitions[arrangement_.PartitionOf(replica)].Has(kPartitionInUpgrade)) {
    return false;
  }
  const NodeId at = arrangement_.NodeOf(replica);
  const int64_t comes = arrangement_.ReplicasOnNode(id, to) == 0 ? 1 : 0;
  const int64_t leaves = at != kNoId && arrangement_.ReplicasOnNode(id, at) == 1 ? 1 : 0;
  const int64_t before = arrangement_.NodesOf(id), after = before + comes - leaves;
  if (after <= max_nodes) return false;
  if (before <= max_nodes || after != before) return after > before;
  return Replicas(SurplusNodes(arrangement_, id, at, to)) > Replicas(SurplusNodes(arrangement_, id, kNoId, kNoId));
}

std::vector<Violation> Constraints::Violations() const {
  std::vector<Violation> found;
  FindPlacementViolations(found);
  FindDomainViolations(found);
  if (Active(Constraint::kCapacity)) FindCapacityViolations(found);
  FindApplicationViolations(found);
  if (Active(Constraint::kAffinity)) FindAffinityViolations(found);
  for (Violation& violation : found) violation.priority = PriorityOf(arrangement_.settings(), violation.constraint);
  std::ranges::stable_sort(found, {}, [](const Violation& violation) {
    return std::tuple(violation.priority, violation.constraint, violation.node, violation.partition, violation.metric);
  });
  return found;
}

void Constraints::FindPlacementViolations(std::vector<Violation>& found) const {
  const Cluster& cluster = arrangement_.cluster();
  for (PartitionId partition = 0; partition < cluster.partitions.size(); ++partition) {
    const ServiceId service = cluster.partitions[partition].service;
    if (cluster.services[service].on_every_node) continue;
    const NodeSet& blocked = arrangement_.sets().Blocked(service);
    const NodeSet& for_primary = arrangement_.sets().BlockedForPrimary(service);
    arrangement_.ForEachOf(partition, [&](ReplicaId replica) {
      const NodeId node = arrangement_.NodeOf(replica);
      if (node == kNoId || !domains_.Counts(replica)) return;
      const auto add = [&](Constraint constraint) {
        found.push_back({.constraint = constraint, .node = node, .replica = replica, .partition = partition});
      };
      if (!Active(Constraint::kPlacementConstraint)) return;
      if (!arrangement_.IsNew(replica) && node == cluster.replicas[replica].node &&
          IsBlockedForType(cluster, cluster.replicas[replica])) {
        return;
      }
      if ((arrangement_.RoleOf(replica) == Role::kPrimary ? for_primary : blocked).test(node)) {
        add(Constraint::kPlacementConstraint);
      }
    });
  }
}

void Constraints::FindDomainViolations(std::vector<Violation>& found) const {
  std::vector<ReplicaId> surplus;
  for (const DomainKind kind : {DomainKind::kFault, DomainKind::kUpgrade}) {
    const Constraint constraint = kind == DomainKind::kFault ? Constraint::kFaultDomain : Constraint::kUpgradeDomain;
    if (!Active(constraint)) continue;
    for (PartitionId partition = 0; partition < arrangement_.cluster().partitions.size(); ++partition) {
      if (domains_.Distance(kind, partition) == 0) continue;
      surplus.clear();
      domains_.FindSurplus(kind, partition, surplus);
      std::ranges::sort(surplus);
      for (size_t i = 0; i < surplus.size(); ++i) {
        if (i > 0 && surplus[i] == surplus[i - 1]) {
          ++found.back().excess;
          continue;
        }
        found.push_back(
            {.constraint = constraint, .node = arrangement_.NodeOf(surplus[i]), .replica = surplus[i], .partition = partition});
      }
    }
  }
}

void Constraints::FindCapacityViolations(std::vector<Violation>& found) const {
  const Cluster& cluster = arrangement_.cluster();
  for (MetricId metric = 0; metric < cluster.metrics.size(); ++metric) {
    for (NodeId node = 0; node < nodes_; ++node) {
      const int64_t excess = arrangement_.UsedOf(metric, node) - capacity_[metric * nodes_ + node];
      if (excess <= 0 || !cluster.nodes[node].up) continue;
      found.push_back({.constraint = Constraint::kCapacity, .node = node, .metric = metric, .excess = excess});
    }
  }
}

void Constraints::FindApplicationViolations(std::vector<Violation>& found) const {
  const Cluster& cluster = arrangement_.cluster();
  for (ApplicationId id = 0; id < cluster.applications.size(); ++id) {
    const Application& application = cluster.applications[id];
    if (Active(Constraint::kScaleoutCount) && application.max_nodes > 0 && arrangement_.NodesOf(id) > application.max_nodes) {
      for (const NodeCount& count : SurplusNodes(arrangement_, id, kNoId, kNoId)) {
        found.push_back(
            {.constraint = Constraint::kScaleoutCount, .node = count.node, .application = id, .excess = count.replicas});
      }
    }
    if (!Active(Constraint::kApplicationCapacity)) continue;
    for (size_t i = 0; i < application.metrics.size(); ++i) {
      const ApplicationMetric& limits = application.metrics[i];
      const auto check = [&](NodeId node, int64_t load, int64_t limit) {
        if (limit == 0 || load <= limit) return;
        found.push_back({.constraint = Constraint::kApplicationCapacity,
                         .node = node,
                         .metric = limits.metric,
                         .application = id,
                         .excess = load - limit});
      };
      check(kNoId, arrangement_.LoadOf(id, i), limits.total_capacity);
      for (const NodeId node : arrangement_.applications().NodesOf(id)) {
        check(node, arrangement_.LoadOnNode(id, i, node), limits.max_node_capacity);
      }
    }
  }
}

void Constraints::FindAffinityViolations(std::vector<Violation>& found) const {
  const Cluster& cluster = arrangement_.cluster();
  std::vector<ReplicaId> misplaced;
  for (ServiceId service = 0; service < cluster.services.size(); ++service) {
    if (!affinity_.IsChild(service)) continue;
    for (const PartitionId partition : cluster.services[service].partitions) {
      misplaced.clear();
      affinity_.FindMisplaced(partition, misplaced);
      for (const ReplicaId replica : misplaced) {
        found.push_back({.constraint = Constraint::kAffinity,
                         .node = arrangement_.NodeOf(replica),
                         .replica = replica,
                         .partition = partition});
      }
    }
  }
}

ViolationSummary Summarize(std::span<const Violation> violations) {
  ViolationSummary summary;
  const auto key = [](const auto& of) { return std::pair(of.priority, of.constraint); };
  for (const Violation& violation : violations) {
    auto entry = std::ranges::lower_bound(summary.entries, key(violation), {}, key);
    if (entry == summary.entries.end() || key(*entry) != key(violation)) {
      entry = summary.entries.insert(entry, {.priority = violation.priority, .constraint = violation.constraint});
    }
    ++entry->replicas;
    entry->excess += violation.excess;
  }
  return summary;
}

bool Better(const ViolationSummary& a, const ViolationSummary& b) {
  std::span<const ViolationSummary::Entry> rest_a = a.entries, rest_b = b.entries;
  while (!rest_a.empty() && !rest_b.empty()) {
    if (rest_a[0].priority != rest_b[0].priority) return rest_a[0].priority > rest_b[0].priority;
    const auto here_a = OfFirstPriority(rest_a), here_b = OfFirstPriority(rest_b);
    if (here_a.size() != here_b.size()) return here_a.size() < here_b.size();
    if (!std::ranges::equal(here_a, here_b, {}, &ViolationSummary::Entry::constraint, &ViolationSummary::Entry::constraint)) {
      return false;
    }
    const Comparing comparison = CompareExcess(here_a, here_b);
    if (comparison != Comparing::kSame) return comparison == Comparing::kBetter;
    rest_a = rest_a.subspan(here_a.size());
    rest_b = rest_b.subspan(here_b.size());
  }
  return rest_a.empty() && !rest_b.empty();
}

}  // namespace evenkeel::balancing
