#include "balancing/placement/placement_drops.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "balancing/rules/placement_needs.h"

namespace evenkeel::balancing {
namespace {

// Which of a partition's replicas goes first: smaller goes first.
struct DropRank {
  bool with_family;  // beside a child or its parent
  bool stays;        // nobody moves it already
  bool suits;        // its node suits it and stays
  bool built;
  bool alone;                                // on its node
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
  DropRank rank{.with_family = constraints.affinity().BesideFamily(replica),
                .stays = !arrangement.cluster().replicas[replica].Has(kMoveInProgress),
                .suits = arrangement.sets().ValidForService(service).test(node),
                .built = !arrangement.cluster().replicas[replica].Has(kInBuild),
                .alone = IsAlone(arrangement, replica),
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
  const int64_t extra = ExtraReplicas(arrangement, partition);
  for (int64_t dropped = 0; dropped < extra; ++dropped) {
    std::optional<DropRank> best;
    const auto [first, last] = arrangement.ExistingOf(partition);
    for (ReplicaId replica = first; replica < last; ++replica) {
      if (!MayBeExtra(arrangement, replica)) continue;
      const DropRank rank = RankOf(journal, constraints, ties, replica);
      if (!best || rank < *best) best = rank;
    }
    if (!best) return;
    journal.Remove(best->replica);
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

}  // namespace evenkeel::balancing
