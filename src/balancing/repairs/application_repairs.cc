#include "balancing/repairs/application_repairs.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>

#include "balancing/repairs/repair_price.h"

namespace evenkeel::balancing {

bool ApplicationRepairs::Vacate(ApplicationId application, NodeId node, const Constraints& constraints,
                                const TargetFinder::Accept& accept) {
  const size_t mark = journal_.Mark();
  const std::vector<ReplicaId> on_node(arrangement_.On(node).begin(), arrangement_.On(node).end());
  for (const ReplicaId replica : on_node) {
    const bool concerned = arrangement_.cluster().services[arrangement_.ServiceOf(replica)].application == application;
    if (!concerned || arrangement_.NodeOf(replica) != node) continue;
    const bool movable = mover_.slots_left() > 0 && mover_.Movable(constraints, replica);
    const std::vector<Target> targets =
        movable ? finder_.Best(constraints, replica, arrangement_.RoleOf(replica), kRepairTargets, accept)
                : std::vector<Target>();
    const bool moved =
        std::ranges::any_of(targets, [&](const Target& target) { return mover_.TryMove(constraints, replica, target.node); });
    if (!moved) break;
  }
  if (arrangement_.ReplicasOnNode(application, node) == 0) return true;
  journal_.UndoTo(mark);
  return false;
}

double ApplicationRepairs::CostToVacate(ApplicationId application, NodeId node) const {
  const Cluster& cluster = arrangement_.cluster();
  double cost = 0;
  for (const ReplicaId replica : arrangement_.On(node)) {
    const bool concerned = cluster.services[arrangement_.ServiceOf(replica)].application == application;
    cost += concerned ? journal_.CostOfMoving(replica) : 0;
  }
  return cost;
}

// The application leaves the node that costs least to leave, until it is on few enough or can leave none.
void ApplicationRepairs::LeaveNodes(ApplicationId application, const Constraints& constraints) {
  struct Choice {
    RepairPrice price;
    NodeId node;
    auto operator<=>(const Choice&) const = default;
  };
  const int64_t most = arrangement_.cluster().applications[application].max_nodes;
  while (arrangement_.NodesOf(application) > most && finder_.evaluations() <= budget_) {
    const int64_t nodes = arrangement_.NodesOf(application);
    const std::vector<NodeId> used(arrangement_.applications().NodesOf(application).begin(),
                                   arrangement_.applications().NodesOf(application).end());
    const auto stays = [&](NodeId node) { return arrangement_.ReplicasOnNode(application, node) > 0; };
    const size_t mark = journal_.Mark();
    std::optional<Choice> best;
    for (const NodeId node : used) {
      if (!stays(node)) continue;
      if (Vacate(application, node, constraints, stays) && arrangement_.NodesOf(application) < nodes) {
        const Choice choice{CostFirst(journal_), node};
        if (!best || choice < *best) best = choice;
      }
      journal_.UndoTo(mark);
    }
    if (!best || !Vacate(application, best->node, constraints, stays)) return;
  }
}

// On as many of its nodes as it may have, with one that is new to it instead of the others.
bool ApplicationRepairs::GatherOnNewNode(ApplicationId application, const Constraints& constraints) {
  const int64_t most = arrangement_.cluster().applications[application].max_nodes;
  const size_t mark = journal_.Mark();
  std::vector<NodeId> used;
  for (const NodeId node : arrangement_.applications().NodesOf(application)) {
    if (arrangement_.ReplicasOnNode(application, node) > 0) used.push_back(node);
  }
  std::ranges::stable_sort(used, std::greater<>(), [&](NodeId node) { return CostToVacate(application, node); });
  for (const NodeId fresh : arrangement_.sets().all()) {
    if (finder_.evaluations() > budget_) return false;
    if (!arrangement_.sets().available().test(fresh) || std::ranges::find(used, fresh) != used.end()) continue;
    const auto kept = std::span(used).first(static_cast<size_t>(most - 1));
    const auto accept = [&](NodeId node) { return node == fresh || std::ranges::find(kept, node) != kept.end(); };
    bool gathered = true;
    for (size_t i = static_cast<size_t>(most) - 1; i < used.size() && gathered; ++i) {
      gathered = Vacate(application, used[i], constraints, accept);
    }
    if (gathered && arrangement_.NodesOf(application) <= most) return true;
    journal_.UndoTo(mark);
  }
  return false;
}

// What an application has altogether becomes less where a replica takes the place of a stand-by one.
void ApplicationRepairs::MendTotal(const Violation& violation) {
  const Cluster& cluster = arrangement_.cluster();
  const std::vector<ApplicationMetric>& metrics = cluster.applications[violation.application].metrics;
  const auto index =
      static_cast<size_t>(std::ranges::find(metrics, violation.metric, &ApplicationMetric::metric) - metrics.begin());
  const auto excess = [&] { return arrangement_.LoadOf(violation.application, index) - metrics[index].total_capacity; };
  const Constraints& constraints = levels_[0];
  for (const ServiceId service : group_.services) {
    if (cluster.services[service].application != violation.application) continue;
    for (const PartitionId partition : cluster.services[service].partitions) {
      const auto [first, last] = arrangement_.ExistingOf(partition);
      for (ReplicaId replica = first; replica < last && excess() > 0; ++replica) {
        if (!mover_.Movable(constraints, replica)) continue;
        for (ReplicaId place = first; place < last; ++place) {
          const NodeId node = arrangement_.NodeOf(place);
          if (node == kNoId || arrangement_.RoleOf(place) != Role::kStandBy) continue;
          const size_t mark = journal_.Mark();
          const int64_t before = excess();
          if (mover_.TryMove(constraints, replica, node) && excess() < before) break;
          journal_.UndoTo(mark);
        }
      }
    }
  }
}

int64_t ApplicationRepairs::TooMany(ApplicationId application) const {
  return std::max<int64_t>(0, arrangement_.NodesOf(application) - arrangement_.cluster().applications[application].max_nodes);
}

bool ApplicationRepairs::MendScaleout(const Violation& violation, const Constraints& constraints) {
  ConstraintOptions options = constraints.options();
  options.ignored |= static_cast<uint16_t>(1 << static_cast<int>(Constraint::kScaleoutCount));
  const Constraints gathering(arrangement_, options);
  const size_t mark = journal_.Mark();
  LeaveNodes(violation.application, gathering);
  if (TooMany(violation.application) == 0) return true;
  const size_t left = journal_.Mark();
  if (left > mark) journal_.UndoTo(mark);
  if (GatherOnNewNode(violation.application, gathering)) return true;
  LeaveNodes(violation.application, gathering);
  return journal_.Mark() > mark;
}

}  // namespace evenkeel::balancing
