#include "balancing/search/placement_drops.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "balancing/rules/placement_needs.h"

namespace evenkeel::balancing {
namespace {

// Which of a partition's replicas goes first: smaller goes first.
struct DropRank {
  bool primary;
  bool suits;  // its node suits it and stays
  bool built;
  bool alone;  // on its node
  bool followed;
  int64_t fault_distance, upgrade_distance;  // of the others from their rules
  double deviation;
  NodeTie tie;  // turned round: from where there is most
  ReplicaId replica;
  auto operator<=>(const DropRank&) const = default;
};

bool IsAlone(const Arrangement& arrangement, ReplicaId replica) {
  bool alone = true;
  arrangement.ForEachOf(arrangement.PartitionOf(replica), [&](ReplicaId other) {
    alone = alone && (other == replica || arrangement.NodeOf(other) != arrangement.NodeOf(replica));
  });
  return alone;
}

DropRank RankOf(StepJournal& journal, const Constraints& constraints, const NodeTies& ties, ReplicaId replica) {
  const Arrangement& arrangement = journal.arrangement();
  const NodeId node = arrangement.NodeOf(replica);
  const ServiceId service = arrangement.ServiceOf(replica);
  DropRank rank{.primary = arrangement.RoleOf(replica) == Role::kPrimary,
                .suits = arrangement.sets().ValidForService(service).test(node),
                .built = !arrangement.cluster().replicas[replica].Has(kInBuild),
                .alone = IsAlone(arrangement, replica),
                .followed = !constraints.FollowersOf(replica).empty(),
                .fault_distance = 0,
                .upgrade_distance = 0,
                .deviation = 0,
                .tie = ties.Of(node, Role::kSecondary),
                .replica = replica};
  rank.tie.replicas = -rank.tie.replicas;
  rank.tie.load = -rank.tie.load;
  const size_t mark = journal.Mark();
  journal.Remove(replica);
  const PartitionId partition = arrangement.PartitionOf(replica);
  rank.fault_distance = constraints.domains().Distance(DomainKind::kFault, partition);
  rank.upgrade_distance = constraints.domains().Distance(DomainKind::kUpgrade, partition);
  rank.deviation = journal.score().average_deviation();
  journal.UndoTo(mark);
  return rank;
}

void DropExtras(StepJournal& journal, const Constraints& constraints, const NodeTies& ties, PartitionId partition) {
  const Arrangement& arrangement = journal.arrangement();
  for (int64_t extra = ExtraReplicas(arrangement, partition); extra > 0; --extra) {
    std::optional<DropRank> best;
    const auto [first, last] = arrangement.ExistingOf(partition);
    for (ReplicaId replica = first; replica < last; ++replica) {
      if (arrangement.NodeOf(replica) == kNoId || !CountsTowardsTarget(arrangement.cluster().replicas[replica])) continue;
      const DropRank rank = RankOf(journal, constraints, ties, replica);
      if (!best || rank < *best) best = rank;
    }
    if (!best) return;
    journal.Remove(best->replica);
  }
}

bool Upgraded(const Arrangement& arrangement, ReplicaId replica) {
  const Cluster& cluster = arrangement.cluster();
  const ApplicationId application = cluster.services[arrangement.ServiceOf(replica)].application;
  if (application == kNoId || !arrangement.settings().prefer_upgraded_uds) return false;
  const std::vector<std::string>& done = cluster.applications[application].upgraded_domains;
  return std::ranges::find(done, cluster.nodes[arrangement.NodeOf(replica)].upgrade_domain) != done.end();
}

// Which secondary becomes the primary: smaller is better.
struct SuccessorRank {
  bool not_asked_for, not_upgraded, leaving;
  double deviation;
  NodeTie tie;  // its replicas do not matter: they stay
  ReplicaId replica;
  auto operator<=>(const SuccessorRank&) const = default;
};

SuccessorRank RankOf(const Arrangement& arrangement, const NodeTies& ties, ReplicaId replica, double deviation) {
  const Replica& is = arrangement.cluster().replicas[replica];
  NodeTie tie = ties.Of(arrangement.NodeOf(replica), Role::kPrimary);
  tie.replicas = 0;
  return {.not_asked_for = !is.Has(kPrimaryToBePlaced) && !is.Has(kPreferredPrimaryLocation),
          .not_upgraded = !Upgraded(arrangement, replica),
          .leaving = !arrangement.cluster().nodes[is.node].Available(),
          .deviation = deviation,
          .tie = tie,
          .replica = replica};
}

// A parent's children can be put where their parent is afterwards, and in an upgrade they may stay behind.
bool Tolerable(const Arrangement& arrangement, const Constraints& constraints, ReplicaId replica, Constraint obstacle) {
  if (obstacle != Constraint::kAffinity) return false;
  return constraints.affinity().IsParent(arrangement.ServiceOf(replica)) ||
         (arrangement.settings().relax_affinity_constraint_during_upgrade &&
          arrangement.cluster().partitions[arrangement.PartitionOf(replica)].Has(kPartitionInUpgrade));
}

void Promote(StepJournal& journal, SearchLevels& levels, const NodeTies& ties, PartitionId partition) {
  const Arrangement& arrangement = journal.arrangement();
  for (size_t level = 0; level < levels.size(); ++level) {
    const Constraints& constraints = levels[level];
    std::optional<SuccessorRank> best;
    for (const ReplicaId replica : Successors(arrangement, partition)) {
      const NodeId node = arrangement.NodeOf(replica);
      const auto obstacle = constraints.Obstacle(replica, node, Role::kPrimary);
      if (obstacle && !Tolerable(arrangement, constraints, replica, *obstacle)) continue;
      const NodeChange change{node, arrangement.LoadsOf(replica), arrangement.LoadsOf(replica, Role::kPrimary)};
      const SuccessorRank rank =
          RankOf(arrangement, ties, replica,
                 journal.score().AverageDeviationAfter(arrangement.ServiceOf(replica), std::array{change}));
      if (!best || rank < *best) best = rank;
    }
    if (!best) continue;
    journal.ChangeRole(best->replica, Role::kPrimary);
    return;
  }
}

void SwapOut(StepJournal& journal, SearchLevels& levels, const NodeTies& ties, PartitionId partition,
             const PrimarySwap& wanted) {
  const Arrangement& arrangement = journal.arrangement();
  const ReplicaId primary = arrangement.PrimaryOf(partition);
  for (size_t level = 0; level < levels.size(); ++level) {
    const Constraints& constraints = levels[level];
    std::optional<SuccessorRank> best;
    for (const ReplicaId replica : Successors(arrangement, partition)) {
      if (wanted.to != kNoId && replica != wanted.to) continue;
      const auto obstacle = constraints.SwapObstacle(primary, replica);
      if (obstacle && !Tolerable(arrangement, constraints, replica, *obstacle)) continue;
      const auto changes = arrangement.ChangesOfSwap(primary, replica);
      const SuccessorRank rank =
          RankOf(arrangement, ties, replica, journal.score().AverageDeviationAfter(arrangement.ServiceOf(replica), changes));
      if (!best || rank < *best) best = rank;
    }
    if (!best) continue;
    const auto followers = constraints.FollowingSwaps(primary, best->replica);
    journal.Swap(primary, best->replica);
    for (const auto& [first, second] : followers) {
      if (journal.InGroup(first) && !constraints.SwapObstacle(first, second)) journal.Swap(first, second);
    }
    return;
  }
}

}  // namespace

void DropReplicas(StepJournal& journal, const Constraints& constraints, const NodeTies& ties) {
  const Arrangement& arrangement = journal.arrangement();
  for (const bool children : {true, false}) {
    for (const ServiceId service : journal.group().services) {
      if (constraints.affinity().IsChild(service) != children) continue;
      for (const PartitionId partition : arrangement.cluster().services[service].partitions) {
        for (const ReplicaId replica : ReplicasToDrop(arrangement, partition)) journal.Remove(replica);
        DropExtras(journal, constraints, ties, partition);
      }
    }
  }
}

void ChangePrimaries(StepJournal& journal, SearchLevels& levels, const NodeTies& ties) {
  const Arrangement& arrangement = journal.arrangement();
  for (const bool children : {false, true}) {
    for (const ServiceId service : journal.group().services) {
      if (!arrangement.cluster().services[service].stateful || levels[0].affinity().IsChild(service) != children) continue;
      for (const PartitionId partition : arrangement.cluster().services[service].partitions) {
        if (NeedsPromotion(arrangement, partition)) Promote(journal, levels, ties, partition);
        const PrimarySwap wanted = PrimarySwapOf(arrangement, partition);
        if (wanted.swap) SwapOut(journal, levels, ties, partition, wanted);
      }
    }
  }
}

}  // namespace evenkeel::balancing
