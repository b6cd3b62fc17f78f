#include "balancing/placement/placement_upgrades.h"

#include <algorithm>
#include <optional>

#include "balancing/rules/placement_needs.h"

namespace evenkeel::balancing {
namespace {

// Which secondary becomes the primary: smaller is better.
struct SuccessorRank {
  bool overfull, not_asked_for, not_upgraded, leaving;
  double deviation;
  NodeTie tie;  // its replicas do not matter: they stay
  ReplicaId replica;
  auto operator<=>(const SuccessorRank&) const = default;
};

SuccessorRank RankOf(const Arrangement& arrangement, const NodeTies& ties, ReplicaId replica, double deviation) {
  const Replica& is = arrangement.cluster().replicas[replica];
  NodeTie tie = ties.Of(arrangement.NodeOf(replica), Role::kPrimary);
  tie.replicas = 0;
  return {.overfull = false,
          .not_asked_for = !is.Has(kPrimaryToBePlaced) && !is.Has(kPreferredPrimaryLocation),
          .not_upgraded = !IsUpgraded(arrangement, arrangement.ServiceOf(replica), arrangement.NodeOf(replica)),
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

class UpgradeMeeting {
 public:
  UpgradeMeeting(StepJournal& journal, SearchLevels& levels, const NodeTies& ties)
      : journal_(journal), arrangement_(journal.arrangement()), levels_(levels), ties_(ties) {}

  UpgradeOutcome Run();

 private:
  void Change(PartitionId partition);
  bool ChangePrimary(PartitionId partition, const PrimarySwap& wanted);
  bool TryChange(ReplicaId primary, ReplicaId secondary, const Constraints& constraints, SwapFor purpose);
  void BringBack(PartitionId partition);
  std::optional<Constraint> TryReturn(PartitionId partition, const Return& wanted);
  void ChooseHowToFill(PartitionId partition);

  StepJournal& journal_;
  const Arrangement& arrangement_;
  SearchLevels& levels_;
  const NodeTies& ties_;
  UpgradeOutcome outcome_;
};

// With the children that swap along. Where these are checked, all or none of them do.
bool UpgradeMeeting::TryChange(ReplicaId primary, ReplicaId secondary, const Constraints& constraints, SwapFor purpose) {
  const auto followers = constraints.FollowingSwaps(primary, secondary);
  const size_t mark = journal_.Mark();
  journal_.Swap(primary, secondary);
  for (const auto& [first, second] : followers) {
    if (!journal_.InGroup(first)) continue;
    if (!constraints.SwapObstacle(first, second, purpose)) {
      journal_.Swap(first, second);
    } else if (arrangement_.settings().check_aligned_affinity_for_upgrade) {
      journal_.UndoTo(mark);
      return false;
    }
  }
  return true;
}

bool UpgradeMeeting::ChangePrimary(PartitionId partition, const PrimarySwap& wanted) {
  const ReplicaId primary = arrangement_.PrimaryOf(partition);
  const SwapFor purpose = wanted.to == kNoId ? SwapFor::kUpgrade : SwapFor::kReturn;
  for (size_t level = 0; level < levels_.size(); ++level) {
    const Constraints& constraints = levels_[level];
    std::vector<SuccessorRank> ranks;
    for (const ReplicaId replica : Successors(arrangement_, partition)) {
      if (wanted.to != kNoId && replica != wanted.to) continue;
      const auto obstacle = constraints.SwapObstacle(primary, replica, purpose);
      if (obstacle && !Tolerable(arrangement_, constraints, replica, *obstacle)) continue;
      const auto changes = arrangement_.ChangesOfSwap(primary, replica);
      ranks.push_back(RankOf(arrangement_, ties_, replica,
                             journal_.score().AverageDeviationAfter(arrangement_.ServiceOf(replica), changes)));
      ranks.back().overfull = constraints.SwapOverloads(primary, replica);
    }
    std::ranges::sort(ranks);
    for (const SuccessorRank& rank : ranks) {
      if (TryChange(primary, rank.replica, constraints, purpose)) return true;
    }
  }
  return false;
}

void UpgradeMeeting::Change(PartitionId partition) {
  if (NeedsPromotion(arrangement_, partition)) Promote(journal_, levels_, ties_, partition);
  const PrimarySwap wanted = PrimarySwapOf(arrangement_, partition);
  if (!wanted.swap && !wanted.impossible) return;
  const ReplicaId primary = arrangement_.PrimaryOf(partition);
  if (wanted.swap && !wanted.impossible && ChangePrimary(partition, wanted)) {
    outcome_.waiting.push_back(partition);
  } else if (wanted.to != kNoId) {
    const auto obstacle = levels_.last().SwapObstacle(primary, wanted.to, SwapFor::kReturn);
    outcome_.impossible.push_back({partition, arrangement_.NodeOf(wanted.to), obstacle});
  } else if (wanted.impossible) {
    outcome_.impossible.push_back({partition, arrangement_.NodeOf(primary), std::nullopt});
  }
}

// What is in the way; none: it came back.
std::optional<Constraint> UpgradeMeeting::TryReturn(PartitionId partition, const Return& wanted) {
  const ReplicaId replica = arrangement_.NextUnplaced(partition);
  const ReplicaId primary = arrangement_.PrimaryOf(partition);
  Role role = RoleOfNew(arrangement_, partition);
  if (wanted.as_primary) role = Role::kPrimary;
  std::optional<Constraint> obstacle;
  for (size_t level = 0; level < levels_.size(); ++level) {
    obstacle = levels_[level].Obstacle(replica, wanted.node, role);
    if (obstacle && !Tolerable(arrangement_, levels_[level], replica, *obstacle)) continue;
    if (role == Role::kPrimary && primary != kNoId) {
      journal_.Place(replica, wanted.node, Role::kSecondary);
      journal_.Swap(primary, replica);
    } else {
      journal_.Place(replica, wanted.node, role);
    }
    return std::nullopt;
  }
  return obstacle;
}

void UpgradeMeeting::BringBack(PartitionId partition) {
  // One that came back may be what another one waited for.
  std::vector<std::pair<Return, std::optional<Constraint>>> left;
  for (const Return& wanted : ReturnsOf(arrangement_, partition)) left.emplace_back(wanted, std::nullopt);
  for (bool came_back = true; came_back && arrangement_.NextUnplaced(partition) != kNoId;) {
    came_back = false;
    for (auto at = left.begin(); at != left.end() && arrangement_.NextUnplaced(partition) != kNoId;) {
      at->second = TryReturn(partition, at->first);
      came_back = came_back || !at->second;
      at = at->second ? at + 1 : left.erase(at);
    }
  }
  if (arrangement_.NextUnplaced(partition) == kNoId) return;
  bool asked_at_node = false;
  for (const auto& [wanted, obstacle] : left) {
    outcome_.impossible.push_back({partition, wanted.node, obstacle});
    asked_at_node = asked_at_node || !wanted.as_primary;
  }
  if (asked_at_node) outcome_.waiting.push_back(partition);
}

// While the primary is to go and nobody can take over, a stand-by replica is the quickest one that could.
void UpgradeMeeting::ChooseHowToFill(PartitionId partition) {
  const ReplicaId primary = arrangement_.PrimaryOf(partition);
  if (primary == kNoId || arrangement_.IsNew(primary) || arrangement_.NextUnplaced(partition) == kNoId) return;
  if (!arrangement_.cluster().replicas[primary].Has(kPrimaryToBeSwappedOut) || !Successors(arrangement_, partition).empty())
    return;
  const auto replicas = arrangement_.cluster().ReplicasOf(arrangement_.cluster().partitions[partition]);
  const bool stands_by = std::ranges::any_of(replicas, [](const Replica& replica) { return replica.role == Role::kStandBy; });
  if (stands_by) outcome_.stand_by_first.push_back(partition);
}

UpgradeOutcome UpgradeMeeting::Run() {
  for (const bool children : {false, true}) {
    for (const ServiceId service : journal_.group().services) {
      if (!arrangement_.cluster().services[service].stateful || levels_[0].affinity().IsChild(service) != children) continue;
      for (const PartitionId partition : arrangement_.cluster().services[service].partitions) {
        Change(partition);
        BringBack(partition);
        ChooseHowToFill(partition);
      }
    }
  }
  return std::move(outcome_);
}

}  // namespace

bool IsUpgraded(const Arrangement& arrangement, ServiceId service, NodeId node) {
  const Cluster& cluster = arrangement.cluster();
  const ApplicationId application = cluster.services[service].application;
  if (application == kNoId || !arrangement.settings().prefer_upgraded_uds) return false;
  const std::vector<std::string>& done = cluster.applications[application].upgraded_domains;
  return std::ranges::find(done, cluster.nodes[node].upgrade_domain) != done.end();
}

UpgradeOutcome MeetUpgrades(StepJournal& journal, SearchLevels& levels, const NodeTies& ties) {
  return UpgradeMeeting(journal, levels, ties).Run();
}

}  // namespace evenkeel::balancing
